"""``python -m leakrange.services.provider``: one provider, in `ProviderSettings.workers` processes."""

from __future__ import annotations

from leakrange.allocator import start_anew


def main() -> None:
    """Read the environment and serve until stopped."""
    start_anew("leakrange.services.provider")
    from leakrange.service.logs import configure_logs
    from leakrange.service.serving import serve
    from leakrange.service.settings import read_settings
    from leakrange.service.traces import configure_traces
    from leakrange.services.provider.main import create_provider
    from leakrange.services.provider.settings import ProviderSettings

    settings = read_settings(ProviderSettings, "provider")
    configure_logs(settings.provider_name, settings.log_level)
    configure_traces(f"provider-{settings.provider_name}", settings.traces)
    serve(lambda: create_provider(settings), settings, workers=settings.workers)


if __name__ == "__main__":
    main()
