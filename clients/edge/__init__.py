"""An edge client: downloads a provider's model, runs it on the device, and uploads nothing but outputs."""
