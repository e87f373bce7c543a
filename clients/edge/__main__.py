"""``python -m leakrange.clients.edge``: one edge client in one process."""

from __future__ import annotations

from leakrange.clients.edge.main import create_edge
from leakrange.clients.edge.settings import EdgeSettings
from leakrange.service.logs import configure_logs
from leakrange.service.serving import serve
from leakrange.service.settings import read_settings
from leakrange.service.traces import configure_traces


def main() -> None:
    """Read the environment and serve until stopped."""
    settings = read_settings(EdgeSettings, "edge client")
    configure_logs("edge", settings.log_level)
    configure_traces("edge", settings.traces)
    serve(lambda: create_edge(settings), settings)


if __name__ == "__main__":
    main()
