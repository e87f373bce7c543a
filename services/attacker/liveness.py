"""The key by which a worker reports that it is alive. It is in its own module, so that the health check
imports little."""

__all__ = ["ALIVE", "ALIVE_SECONDS"]

ALIVE = "leakrange:worker:{host}"
ALIVE_SECONDS = 15.0
