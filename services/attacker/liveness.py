"""The key by which a worker reports that it is alive. It is in its own module, so that the health check
imports little."""

ALIVE = "leakrange:worker:{host}"
ALIVE_SECONDS = 15
