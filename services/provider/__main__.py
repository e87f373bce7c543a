"""``python -m services.provider``: one provider in one process."""

from __future__ import annotations

import uvicorn

from leakrange.wire.logs import configure_logs
from services.provider.main import create_provider
from services.provider.settings import ProviderSettings


def main() -> None:
    """Read the environment and serve until told to stop."""
    settings = ProviderSettings()
    configure_logs(settings.provider_name, settings.log_level)
    uvicorn.run(
        create_provider(settings),
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
