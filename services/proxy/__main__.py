"""``python -m leakrange.services.proxy``."""

from __future__ import annotations

from leakrange.service.logs import configure_logs
from leakrange.service.serving import serve
from leakrange.service.settings import read_settings
from leakrange.service.traces import configure_traces
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings


def main() -> None:
    """Serve until told to stop; requests under way are finished first."""
    settings = read_settings(ProxySettings, "proxy")
    configure_logs("proxy", settings.log_level)
    configure_traces("proxy", settings.traces, passes_on=True)
    serve(
        lambda: proxy(settings),
        settings,
        workers=settings.workers,
        grace=round(settings.upstream_timeout),
        server_header=False,
    )


if __name__ == "__main__":
    main()
