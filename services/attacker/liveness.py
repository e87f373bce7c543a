"""The key by which a worker says that it lives. Apart from the worker, for a health check that imports
little."""

__all__ = ["ALIVE", "ALIVE_SECONDS"]

ALIVE = "leakrange:worker:{host}"
ALIVE_SECONDS = 15.0
