"""``python -m services.provider``: one provider in one process."""

from __future__ import annotations

from leakrange.service.logs import configure_logs
from leakrange.service.serving import serve
from services.provider.main import create_provider
from services.provider.settings import ProviderSettings


def main() -> None:
    """Read the environment and serve until told to stop."""
    settings = ProviderSettings()
    configure_logs(settings.provider_name, settings.log_level)
    serve(lambda: create_provider(settings), settings, workers=settings.workers)


if __name__ == "__main__":
    main()
