"""The controller's application: wiring and lifecycle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from leakrange.service.app import create_app
from leakrange.service.operators import Edge, Providers, Proxy
from leakrange.store.engine import Database
from leakrange.store.files import FolderStore
from leakrange.store.migrate import upgrade
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.names import PublicNames
from leakrange.wire.transport import AiohttpTransport
from services.controller.audits.endpoints import router as audits
from services.controller.audits.service import AuditService
from services.controller.catalogue.endpoints import router as catalogue
from services.controller.comparisons.endpoints import router as comparisons
from services.controller.live.service import LiveService
from services.controller.load.endpoints import figures
from services.controller.load.endpoints import router as load
from services.controller.load.service import LoadService
from services.controller.metrics import Standing
from services.controller.obfuscators import router as obfuscators
from services.controller.pages import add_pages
from services.controller.pages.run import parts_of
from services.controller.range.fleet import Fleet
from services.controller.range.news import News
from services.controller.range.parties import Parties
from services.controller.range.served_models import ModelKeeper
from services.controller.range.supervisor import Supervisor
from services.controller.reading.process import ReadingProcess
from services.controller.runs.endpoints import router as runs
from services.controller.runs.service import RunService
from services.controller.scenarios.endpoints import router as scenarios
from services.controller.scenarios.service import ScenarioService
from services.controller.settings import ControllerSettings
from services.controller.turns import Followers
from services.controller.victim.endpoints import router as victim_api
from services.controller.victim.service import VictimService
from services.controller.views.endpoints import router as views
from services.controller.visitors import Reader

log = structlog.get_logger("services.controller")

DESCRIPTION = """Takes scenarios, has the range execute them, and reports what leaks and what hiding it costs.
Starting and cancelling runs, and starting audits, wants the operator key."""


def controller(settings: ControllerSettings) -> FastAPI:
    """The application. Migrates the database (unless configured otherwise), resumes unfinished runs, and
    serves."""
    database = Database(settings.database_url)
    registry = CollectorRegistry()
    fleet = Fleet(settings.redis_url, settings.broker_url, registry)
    news = News(database, registry)
    standing = Standing(database, fleet, registry)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if settings.migrate:
            await _migrate(settings.database_url)
        transport = AiohttpTransport(timeout=60.0)
        parties = _parties(settings, database, fleet, transport)
        # Somebody at a page is told at once that the proxy is away; a run waits for it.
        app.state.administration = Proxy(
            transport, settings.proxy_url, settings.operator_key.get_secret_value(), attempts=1
        )
        supervisor = Supervisor(settings, database, news, parties)
        app.state.runs = service = RunService(database, parties.releases, news, supervisor)
        app.state.scenarios = checking = ScenarioService(database)
        app.state.reading = reading = ReadingProcess(settings)
        app.state.live = live = LiveService(database, news, parts_of)
        app.state.load = LoadService(database, parties.releases, supervisor)
        app.state.audits = examiner = AuditService(
            database, fleet, parties.proxy, transport, parties.releases, settings
        )
        await fleet.start()
        await supervisor.resume()
        await examiner.resume()
        app.state.victim = victim = VictimService(
            database, parties, limit=settings.try_samples, keep=settings.withdraw_after / 2
        )
        parties.keeper.start()
        try:
            yield
        finally:
            service.close()
            live.close()
            await reading.stop()
            await checking.stop()
            await supervisor.stop()
            await examiner.stop()
            await victim.stop()
            await parties.keeper.stop()
            await fleet.stop()
            await transport.close()
            await database.close()

    broker = {"broker": fleet.ping_broker} if settings.broker_url else {}
    app = create_app(
        "controller",
        max_body=settings.max_body,
        lifespan=lifespan,
        ready={"database": lambda: _ping(database), "redis": fleet.ping} | broker,
        registry=registry,
        metrics_key=settings.metrics_key,
        refresh=standing.refresh,
        description=DESCRIPTION,
    )
    app.state.settings = settings
    app.state.followers = Followers()
    app.state.database = database
    for router in (
        runs,
        views,
        load,
        figures,
        audits,
        catalogue,
        obfuscators,
        scenarios,
        comparisons,
        victim_api,
    ):
        app.include_router(router, dependencies=[Reader])
    add_pages(app)
    return app


def _parties(
    settings: ControllerSettings, database: Database, fleet: Fleet, transport: AiohttpTransport
) -> Parties:
    key, tries = settings.operator_key.get_secret_value(), settings.attempts
    providers = Providers(transport, settings.providers, key, attempts=tries)
    proxy = Proxy(transport, settings.proxy_url, key, attempts=tries)
    return Parties(
        fleet=fleet,
        providers=providers,
        proxy=proxy,
        edge=Edge(transport, settings.edge_url, key, attempts=tries),
        models=FolderStore(settings.models_dir),
        releases=FolderStore(settings.releases_dir),
        proxy_for_clients=settings.proxy_for_clients,
        names=PublicNames(key),
        keeper=ModelKeeper(database, providers, proxy, after=settings.withdraw_after),
        fleet_secret=settings.fleet_secret,
    )


async def _migrate(url: str) -> None:
    try:
        await asyncio.to_thread(upgrade, url)
    except LeakrangeError as error:
        log.error("the database cannot be used", reason=error.detail, hint=error.hint)
        raise


async def _ping(database: Database) -> None:
    try:
        async with database.read() as session:
            await session.execute(text("select 1"))
    except SQLAlchemyError as error:
        raise OSError(f"the database does not answer: {error}") from error
