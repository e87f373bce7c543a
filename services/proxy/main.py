"""The proxy's application: the data path in front, the admin API behind, and their lifecycle."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from leakrange.service.acts import Noted
from leakrange.service.app import create_app
from leakrange.service.bodies import SMALL_BODY
from leakrange.service.open_inference import documented_inference
from leakrange.services.proxy.accounts import AccountStore
from leakrange.services.proxy.acts import SHOWN, ActStore
from leakrange.services.proxy.admin import router
from leakrange.services.proxy.budgeting import Budgeting
from leakrange.services.proxy.configuration import Configuration
from leakrange.services.proxy.data_path import DataPath
from leakrange.services.proxy.forward import Forward
from leakrange.services.proxy.free import Free
from leakrange.services.proxy.ledger import BudgetLedger
from leakrange.services.proxy.limit_store import LimitStore
from leakrange.services.proxy.metrics import Metrics
from leakrange.services.proxy.openapi import KEY, described
from leakrange.services.proxy.pipe import Pipe
from leakrange.services.proxy.policies import PolicyStore
from leakrange.services.proxy.redis_client import connect, redis_errors
from leakrange.services.proxy.settings import ProxySettings
from leakrange.services.proxy.shadows import Shadows
from leakrange.services.proxy.targets import Targets
from leakrange.services.proxy.upstream import Upstream
from leakrange.wire.names import derived_secret

DESCRIPTION = """Stands between API keys and providers: authenticates, counts budgets in samples, and
transforms releases by policy. Under /v1 the native API, for API keys; under /admin the operator's."""


def proxy(settings: ProxySettings) -> DataPath:
    """The application. State lives in Redis: any number of proxies may share it, and any may be killed."""
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    upstream = Upstream(metrics, settings)
    pipe = Pipe(settings.redis_url, settings.redis_timeout, settings.redis_replicas)
    redis = connect(pipe, settings.redis_timeout)
    targets = Targets(pipe, metrics, settings)
    ledger = _ledger(pipe, settings)
    configuration = Configuration(redis, pipe)
    # All proxies of a range share this secret, so they draw the same sticky noise, restarted or not.
    secret = derived_secret(settings.derivation_secret, "proxy noise")
    free = Free(configuration, upstream, settings)
    shadows = Shadows(redis, pipe.names, registry)
    forward = Forward(upstream, targets, secret, settings.max_samples, shadows)
    budgeting = Budgeting(configuration, ledger, metrics, forward, secret)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with upstream, targets, redis:
            try:
                yield
            finally:
                await budgeting.close()
                await shadows.close()
                await pipe.close()

    app = create_app(
        "proxy",
        max_body=SMALL_BODY,
        lifespan=lifespan,
        ready={"redis": partial(_ping, redis)},
        registry=registry,
        metrics_key=settings.metrics_key,
        description=DESCRIPTION,
    )
    acts = ActStore(redis, configuration)
    app.add_middleware(Noted, party="proxy", note=acts.note, shown=SHOWN)
    app.state.settings, app.state.acts = settings, acts
    app.state.configuration = configuration
    app.state.policies = PolicyStore(configuration)
    app.state.accounts = AccountStore(redis, configuration, ledger)
    app.state.shadows = shadows
    app.state.targets = targets
    app.state.limits = LimitStore(redis, configuration)
    app.include_router(router)
    app.include_router(described())
    app.include_router(documented_inference(), dependencies=[KEY])
    # In front of the application, not inside: the data path pays for nothing of the framework.
    return DataPath(
        app,
        settings=settings,
        metrics=metrics,
        configuration=configuration,
        budgeting=budgeting,
        free=free,
        forward=forward,
        upstream=upstream,
    )


def _ledger(pipe: Pipe, settings: ProxySettings) -> BudgetLedger:
    return BudgetLedger(
        pipe,
        hold=settings.reservation_seconds,
        lease=settings.lease_seconds,
        keep=settings.idempotency_seconds,
        keep_bytes=settings.idempotency_max_body,
    )


async def _ping(redis: Redis) -> None:
    with redis_errors():
        await redis.ping()
