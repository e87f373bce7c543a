"""The controller's hands: how it drives the fleet, the providers, the proxy and the edge clients."""
