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

from leakrange.service.acts import Noted
from leakrange.service.app import create_app
from leakrange.services.controller.acts.endpoints import router as acts
from leakrange.services.controller.acts.service import ActLog
from leakrange.services.controller.assessments.documents import documents
from leakrange.services.controller.assessments.endpoints import router as assessments
from leakrange.services.controller.assessments.service import AssessmentService
from leakrange.services.controller.audits.endpoints import router as audits
from leakrange.services.controller.audits.service import AuditService
from leakrange.services.controller.catalogue.endpoints import router as catalogue
from leakrange.services.controller.comparisons.endpoints import router as comparisons
from leakrange.services.controller.engine.supervisor import Supervisor
from leakrange.services.controller.live.service import LiveService
from leakrange.services.controller.load.endpoints import figures
from leakrange.services.controller.load.endpoints import router as load
from leakrange.services.controller.load.service import LoadService
from leakrange.services.controller.metrics import RangeGauges
from leakrange.services.controller.obfuscators import router as obfuscators
from leakrange.services.controller.pages import add_pages
from leakrange.services.controller.pages.run import parts_of
from leakrange.services.controller.range.calls import EdgeCalls, Providers
from leakrange.services.controller.range.fleet import Fleet
from leakrange.services.controller.range.news import News
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.served_models import ModelKeeper
from leakrange.services.controller.reading.process import ReadingProcess
from leakrange.services.controller.runs.endpoints import router as runs
from leakrange.services.controller.runs.service import RunService
from leakrange.services.controller.scenarios.endpoints import router as scenarios
from leakrange.services.controller.scenarios.service import ScenarioService
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.controller.turns import Followers
from leakrange.services.controller.victim.endpoints import router as victim_api
from leakrange.services.controller.victim.service import VictimService
from leakrange.services.controller.views.endpoints import router as views
from leakrange.services.controller.visitors import Reader
from leakrange.store.engine import Database
from leakrange.store.migrate import upgrade
from leakrange.store.places import store_at
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.names import PublicNames
from leakrange.wire.operator import Proxy
from leakrange.wire.transport import AiohttpTransport

log = structlog.get_logger("leakrange.services.controller")

DESCRIPTION = """Takes scenarios, has the range execute them, and reports what leaks and what hiding it costs.
Starting and cancelling runs, and starting audits, wants the operator key."""


def controller(settings: ControllerSettings) -> FastAPI:
    """The application. Migrates the database (unless configured otherwise), resumes unfinished runs, and
    serves."""
    database = Database(settings.database_url)
    registry = CollectorRegistry()
    fleet = Fleet(settings.redis_url, settings.broker_url, registry)
    news = News(database, registry)
    standing = RangeGauges(database, fleet, registry)

    broker = {"broker": fleet.ping_broker} if settings.broker_url else {}
    app = create_app(
        "controller",
        max_body=settings.max_body,
        lifespan=lambda app: _serving(app, settings, database, fleet, news),
        ready={"database": lambda: _ping(database), "redis": fleet.ping} | broker,
        registry=registry,
        metrics_key=settings.metrics_key,
        refresh=standing.refresh,
        description=DESCRIPTION,
    )
    app.state.settings = settings
    app.state.followers = Followers()
    app.state.database = database
    app.add_middleware(Noted, party="controller", note=lambda act: app.state.acts.note(act), shown={})
    for router in (
        acts,
        runs,
        views,
        load,
        figures,
        audits,
        assessments,
        documents,
        catalogue,
        obfuscators,
        scenarios,
        comparisons,
        victim_api,
    ):
        app.include_router(router, dependencies=[Reader])
    add_pages(app)
    return app


@asynccontextmanager
async def _serving(
    app: FastAPI, settings: ControllerSettings, database: Database, fleet: Fleet, news: News
) -> AsyncIterator[None]:
    """Everything that works while the application serves."""
    if settings.migrate:
        await _migrate(settings.database_url)
    transport = AiohttpTransport(timeout=60.0)
    parties = _parties(settings, database, fleet, transport)
    # Somebody at a page is told at once that the proxy is away; a run waits for it.
    app.state.administration = Proxy(
        transport,
        settings.proxy_url,
        settings.shown_key,
        attempts=1,
        derive_from=settings.derivation_secret,
    )
    app.state.acts = act_log = ActLog(database, app.state.administration)
    supervisor = Supervisor(settings, database, news, parties)
    app.state.names = parties.names
    app.state.runs = service = RunService(database, parties.releases, news, supervisor)
    app.state.scenarios = checking = ScenarioService(database)
    app.state.reading = reading = ReadingProcess(settings)
    app.state.live = live = LiveService(database, news, parts_of)
    app.state.load = LoadService(database, parties.releases, supervisor)
    app.state.audits = examiner = AuditService(database, parties, transport, attempts=settings.attempts)
    app.state.assessments = assessor = AssessmentService(database, service, reading, news, settings)
    await fleet.start()
    await supervisor.resume()
    await examiner.resume()
    await assessor.resume()
    app.state.victim = victim = VictimService(
        database, parties, limit=settings.try_samples, keep=settings.withdraw_after / 2
    )
    parties.keeper.start()
    act_log.start()
    try:
        yield
    finally:
        await act_log.stop()
        service.close()
        live.close()
        await reading.stop()
        await checking.stop()
        await supervisor.stop()
        await examiner.stop()
        await assessor.stop()
        await victim.stop()
        await parties.keeper.stop()
        await fleet.stop()
        await transport.close()
        await database.close()


def _parties(
    settings: ControllerSettings, database: Database, fleet: Fleet, transport: AiohttpTransport
) -> Parties:
    key, tries = settings.shown_key, settings.attempts
    providers = Providers(transport, settings.providers, key, attempts=tries)
    proxy = Proxy(transport, settings.proxy_url, key, attempts=tries, derive_from=settings.derivation_secret)
    return Parties(
        fleet=fleet,
        providers=providers,
        proxy=proxy,
        edge=EdgeCalls(transport, settings.edge_url, key, attempts=tries),
        models=store_at(settings.models_dir),
        releases=store_at(settings.releases_dir),
        proxy_for_clients=settings.proxy_for_clients,
        names=PublicNames(settings.derivation_secret),
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
