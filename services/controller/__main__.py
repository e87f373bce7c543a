"""``python -m leakrange.services.controller``."""

from __future__ import annotations

import os
import sys

from leakrange.service.logs import configure_logs
from leakrange.service.settings import read_settings
from leakrange.service.traces import configure_traces
from leakrange.services.controller.settings import ControllerSettings


def main() -> int:
    """Serve until SIGTERM or SIGINT; 1 where the start failed."""
    # Here, since the processes that judge trials import this module, and need none of it.
    from leakrange.services.controller.main import controller
    from leakrange.services.controller.server import ControllerServer

    settings = read_settings(ControllerSettings, "controller")
    configure_logs("controller", settings.log_level)
    configure_traces("controller", settings.traces)
    os.umask(0o077)  # stored releases are private
    server = ControllerServer(controller(settings), settings)
    server.run()
    return 0 if server.started else 1


if __name__ == "__main__":
    sys.exit(main())
