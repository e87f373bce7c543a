"""An edge client: runs a downloaded model on the device and uploads outputs, or samples, but obfuscated."""
