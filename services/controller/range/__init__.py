"""How the controller carries out runs with the fleet, the providers, the proxy and the edge clients."""
