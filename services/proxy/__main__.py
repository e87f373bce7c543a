"""``python -m services.proxy``."""

from __future__ import annotations

import sys

import uvicorn
from pydantic import ValidationError

from leakrange.wire.logs import configure_logs
from services.proxy.main import proxy
from services.proxy.settings import ProxySettings


def main() -> None:
    """Serve until told to stop; requests under way are finished first."""
    try:
        settings = ProxySettings()
    except ValidationError as error:
        # Without the values: one of them may be a secret.
        told = (
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_input=False)
        )
        sys.exit("the proxy's settings cannot be taken:\n  " + "\n  ".join(told))
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
