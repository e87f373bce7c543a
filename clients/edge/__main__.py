"""``python -m clients.edge``: one edge client in one process."""

from __future__ import annotations

import uvicorn

from clients.edge.main import create_edge
from clients.edge.settings import EdgeSettings
from leakrange.wire.logs import configure_logs


def main() -> None:
    """Read the environment and serve until told to stop."""
    settings = EdgeSettings()
    configure_logs("edge", settings.log_level)
    uvicorn.run(
        create_edge(settings),
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http="httptools",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=10,
    )


if __name__ == "__main__":
    main()
