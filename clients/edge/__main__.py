"""``python -m clients.edge``."""

from __future__ import annotations

import uvicorn

from clients.edge.main import create_edge
from clients.edge.settings import EdgeSettings
from leakrange.wire.logs import configure_logs

if __name__ == "__main__":
    settings = EdgeSettings()
    configure_logs("edge", settings.log_level)
    uvicorn.run(
        create_edge(settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
    )
