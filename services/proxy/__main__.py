"""``python -m services.proxy``."""

from __future__ import annotations

import uvicorn

from leakrange.wire.logs import configure_logs
from leakrange.wire.settings import read_settings
from services.proxy.main import proxy
from services.proxy.settings import ProxySettings


def main() -> None:
    """Serve until told to stop; requests under way are finished first."""
    settings = read_settings(ProxySettings, "proxy")
    configure_logs("proxy", settings.log_level)
    uvicorn.run(
        proxy(settings),
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http="httptools",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=round(settings.upstream_timeout),
    )


if __name__ == "__main__":
    main()
