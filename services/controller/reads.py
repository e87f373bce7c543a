"""``python -m leakrange.services.controller.reads SOCKET PARENT``: the process that reads for the controller.

Begun by the controller alone. It gets the controller's settings on its standard input, and serves on the
socket of that descriptor until the process with the identity PARENT ends.
"""

from __future__ import annotations

import resource
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import uvicorn
from fastapi import FastAPI, Request

from leakrange.service.app import create_app
from leakrange.service.logs import configure_logs
from leakrange.service.parent import die_with
from leakrange.services.controller.assessments.documents import documents, planning
from leakrange.services.controller.assessments.reader import AssessmentReader
from leakrange.services.controller.comparisons.endpoints import router as comparisons
from leakrange.services.controller.comparisons.service import ComparisonService
from leakrange.services.controller.load.endpoints import figures
from leakrange.services.controller.pages import assessments, assets, board, compare
from leakrange.services.controller.reading.process import VISITOR
from leakrange.services.controller.runs.reader import RunReader
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.controller.views.endpoints import router as views
from leakrange.services.controller.views.service import ViewService
from leakrange.services.controller.visitors import Visitor, reader
from leakrange.store.engine import Database
from leakrange.store.places import store_at

__all__ = ["reading_app"]


def reading_app(settings: ControllerSettings) -> FastAPI:
    """The endpoints of the controller that take long. The controller says who asks."""
    database = Database(settings.database_url)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.runs = runs = RunReader(database, store_at(settings.releases_dir))
        app.state.views = views_of_runs = ViewService(runs)
        app.state.comparisons = ComparisonService(views_of_runs)
        app.state.assessments = AssessmentReader(database)
        try:
            yield
        finally:
            await database.close()

    app = create_app("controller", max_body=settings.max_body, lifespan=lifespan)
    app.state.settings = settings
    app.dependency_overrides[reader] = _visitor
    for router in (
        views,
        comparisons,
        figures,
        documents,
        planning,
        assets.charts,
        board.router,
        compare.router,
        assessments.documents,
    ):
        app.include_router(router)
    return app


def _visitor(request: Request) -> Visitor:
    return Visitor(**orjson.loads(request.headers[VISITOR]))


def main() -> None:
    """Serve until the controller ends."""
    descriptor, parent = map(int, sys.argv[1:])
    die_with(parent)
    settings = ControllerSettings.handed_over(sys.stdin.buffer.read())
    configure_logs("controller", settings.log_level)
    # The data of the process, and not its address space: of that a JavaScript engine reserves a lot.
    resource.setrlimit(resource.RLIMIT_DATA, (settings.reading_memory, settings.reading_memory))
    config = uvicorn.Config(
        reading_app(settings),
        loop="uvloop",
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
    )
    uvicorn.Server(config).run([socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    main()
