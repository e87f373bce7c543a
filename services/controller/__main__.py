"""``python -m services.controller``."""

from __future__ import annotations

import uvicorn

from leakrange.wire.logs import configure_logs
from services.controller.main import controller
from services.controller.settings import ControllerSettings

if __name__ == "__main__":
    settings = ControllerSettings()
    configure_logs("controller", settings.log_level)
    uvicorn.run(
        controller(settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
    )
