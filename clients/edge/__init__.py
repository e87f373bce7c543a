"""An edge client: it runs a downloaded model on the device and uploads outputs, or obfuscated samples."""
