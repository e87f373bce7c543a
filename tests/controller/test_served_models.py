"""Models that runs had served: withdrawn a while after the last run that wanted them, and served again when
one wants them. The provider and the proxy are real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from pydantic import SecretStr
from sqlalchemy import update

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.scenario.plan import PlannedModel
from leakrange.services.controller.engine.engine import Engine
from leakrange.services.controller.engine.how.fleet import served
from leakrange.services.controller.range.calls import EdgeCalls, Providers
from leakrange.services.controller.range.fleet import Fleet
from leakrange.services.controller.range.journal import Journal
from leakrange.services.controller.range.news import News
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.served_models import ModelKeeper
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.provider.main import create_provider
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.store.engine import Database
from leakrange.store.files import FolderStore
from leakrange.store.runs import RunStore
from leakrange.store.tables import RunRow, now
from leakrange.wire.names import PublicNames
from leakrange.wire.operator import Proxy
from leakrange.wire.runs import State
from leakrange.wire.transport import AiohttpTransport
from tests.controller.conftest import FLEET_SECRET, NOWHERE, OPERATOR, serve
from tests.databases import Databases
from tests.embedded import wait_for
from tests.provider.tiny import save_model
from tests.serving import serving


@dataclass
class Servers:
    """A provider and a proxy before it, as their operator sees them."""

    provider: str
    proxy: str
    models: Path
    client: httpx.Client

    def served(self) -> set[str]:
        """Names of the models that the provider serves."""
        return {card["name"] for card in self.client.get(f"{self.provider}/v1/models").json()["models"]}

    def routed(self) -> set[str]:
        """Names of the models to which the proxy has a route."""
        return {route["model"] for route in self.client.get(f"{self.proxy}/admin/routes").json()["routes"]}

    def deploy(self, name: str, **how: Any) -> None:
        """As an operator does, who routes it, too."""
        self.client.put(f"{self.provider}/v1/operator/models/{name}", json=how).raise_for_status()
        route = {"upstream": self.provider}
        self.client.put(f"{self.proxy}/admin/routes/{name}", json=route).raise_for_status()


@pytest.fixture
def servers(tmp_path: Path, empty_redis_url: str) -> Iterator[Servers]:
    provider = create_provider(
        ProviderSettings(operator_key=OPERATOR, models_dir=tmp_path / "models", state_dir=tmp_path)
    )
    before = proxy(ProxySettings(operator_key=OPERATOR, redis_url=empty_redis_url))
    with (
        serving(provider) as provider_url,
        serving(before) as proxy_url,
        httpx.Client(headers={"Authorization": f"Bearer {OPERATOR}"}, timeout=60) as client,
    ):
        yield Servers(provider_url, proxy_url, tmp_path / "models", client)


@dataclass
class Controller:
    """What a controller does for runs, without a fleet: their models are trained already."""

    url: str
    database: Database
    parties: Parties

    async def begin(self) -> str:
        """A run that is under way."""
        async with self.database.write() as session:
            made = await RunStore(session).create("served", scenario_yaml="", scenario={})
            await RunStore(session).move(made.id, "running")
            return made.id

    async def end(self, run: str, state: State = "done") -> None:
        async with self.database.write() as session:
            assert await RunStore(session).move(run, state)

    def engine(self, run: str) -> Engine:
        return Engine(self.parties, Journal(run, self.database, News(self.database)))

    async def serve(self, run: str, model: PlannedModel) -> str:
        """Have the model served for the run; its name."""
        engine = self.engine(run)
        await served(engine, model)
        return engine.name(model)

    def keeper(self, after: float) -> ModelKeeper:
        """One that withdraws so many seconds after a run has ended."""
        parties = self.parties
        return ModelKeeper(self.database, parties.providers, parties.proxy, after=after)


@pytest.fixture
def database_url(databases: Databases) -> str:
    return databases.migrated("sqlite")


@pytest.fixture
async def controller(servers: Servers, database_url: str, redis_url: str) -> AsyncIterator[Controller]:
    database, transport = Database(database_url), AiohttpTransport(timeout=30)
    fleet = Fleet(redis_url)
    providers = Providers(transport, {"honest": servers.provider}, OPERATOR, attempts=1)
    before = Proxy(transport, servers.proxy, OPERATOR, attempts=1)
    yield Controller(
        database_url,
        database,
        Parties(
            fleet=fleet,
            providers=providers,
            proxy=before,
            edge=EdgeCalls(transport, NOWHERE, OPERATOR, attempts=1),
            models=FolderStore(servers.models),
            releases=FolderStore(servers.models),
            proxy_for_clients=servers.proxy,
            names=PublicNames(OPERATOR),
            fleet_secret=SecretStr(FLEET_SECRET),
            keeper=ModelKeeper(database, providers, before, after=0.0),
        ),
    )
    await fleet.stop()
    await transport.close()
    await database.close()


def trained(servers: Servers, seed: int = 0) -> PlannedModel:
    """A model whose artifact is there."""
    digest = save_model(servers.models, seed=seed)
    record = orjson.loads((servers.models / digest / "training.json").read_bytes())
    return PlannedModel(
        id=f"honest-s{seed}",
        provider="honest",
        seed=seed,
        data="digits",
        recipe=TrainingRecipe.model_validate(record["recipe"]),
        release="logits",
        target="digit",
        sensitive=None,
    )


async def test_a_model_is_withdrawn_when_the_last_run_that_wanted_it_has_ended(
    servers: Servers, controller: Controller
) -> None:
    shared, own, keeper = trained(servers), trained(servers, seed=1), controller.parties.keeper
    first, second = await controller.begin(), await controller.begin()
    names = {await controller.serve(first, model) for model in (shared, own)}
    name = await controller.serve(second, shared)
    servers.deploy("door", artifact=shared.artifact, service="verification")
    await keeper.withdraw_unused()
    assert servers.served() == servers.routed() == names | {"door"}
    await controller.end(first, "failed")
    await keeper.withdraw_unused()
    assert servers.served() == servers.routed() == {name, "door"}
    await controller.end(second)
    assert await keeper.withdraw_unused() is None
    assert servers.served() == servers.routed() == {"door"}


async def test_a_new_run_has_its_model_served_again(servers: Servers, controller: Controller) -> None:
    model, keeper = trained(servers), controller.parties.keeper
    names = []
    for _ in range(2):
        run = await controller.begin()
        names.append(await controller.serve(run, model))
        await keeper.withdraw_unused()
        assert servers.served() == servers.routed() == {names[0]} == set(names)
        await controller.end(run)
        await keeper.withdraw_unused()
        assert servers.served() == servers.routed() == set()


async def test_what_the_operator_deployed_under_that_name_stays(
    servers: Servers, controller: Controller
) -> None:
    model, keeper = trained(servers), controller.parties.keeper
    for deploying in (True, False):  # the second run finds it there
        run = await controller.begin()
        name = await controller.serve(run, model)
        if deploying:
            servers.deploy(name, artifact=model.artifact)
        await controller.end(run)
        assert await keeper.withdraw_unused() is None
        assert servers.served() == servers.routed() == {name}


async def test_a_route_of_the_operators_to_another_provider_stays(
    servers: Servers, controller: Controller
) -> None:
    run = await controller.begin()
    name = await controller.serve(run, trained(servers))
    elsewhere = {"upstream": "http://127.0.0.1:9"}
    servers.client.put(f"{servers.proxy}/admin/routes/{name}", json=elsewhere).raise_for_status()
    await controller.end(run)
    await controller.parties.keeper.withdraw_unused()
    assert (servers.served(), servers.routed()) == (set(), {name})


async def test_what_visitors_try_is_kept_although_its_run_ended_long_ago(
    servers: Servers, controller: Controller
) -> None:
    run, model = await controller.begin(), trained(servers)
    name = await controller.serve(run, model)
    await controller.end(run)
    async with controller.database.write() as session:
        long_ago = now() - timedelta(hours=2)
        await session.execute(update(RunRow).where(RunRow.id == run).values(finished=long_ago))
    keeper = controller.keeper(after=3600)
    await keeper.hold(run, name, model.plays)
    wait = await keeper.withdraw_unused()
    assert wait is not None
    assert 3500 < wait <= 3600
    assert servers.served() == servers.routed() == {name}
    # Another controller knows nothing of these visitors; the next of them has the model deployed again.
    assert await controller.keeper(after=3600).withdraw_unused() is None
    assert servers.served() == servers.routed() == set()


async def test_it_is_served_on_for_as_long_as_the_setting_says(
    servers: Servers, controller: Controller
) -> None:
    run = await controller.begin()
    name = await controller.serve(run, trained(servers))
    await controller.end(run)
    wait = await controller.keeper(after=600).withdraw_unused()
    assert wait is not None
    assert 0 < wait <= 600
    assert servers.served() == {name}


async def test_a_run_that_begins_while_its_model_is_withdrawn_gets_it_back(
    servers: Servers, controller: Controller
) -> None:
    """Whatever the order in which the two come to the provider."""
    model, keeper = trained(servers), controller.parties.keeper
    for _ in range(5):
        old = await controller.begin()
        await controller.serve(old, model)
        await controller.end(old)
        new = await controller.begin()
        _, name = await asyncio.gather(keeper.withdraw_unused(), controller.serve(new, model))
        assert servers.served() == servers.routed() == {name}
        await controller.end(new)


async def test_users_do_not_see_the_identity_of_an_upload(controller: Controller) -> None:
    """It is made of the model's recipe, which can be guessed."""
    engine, identity = controller.engine("run"), "0123456789abcdef" * 4
    upload = engine.upload(identity)
    assert upload == engine.upload(identity) != engine.upload(identity[::-1])
    assert upload.startswith("run.")
    assert not any(identity[start : start + 8] in upload for start in range(len(identity) - 7))


async def test_a_provider_that_is_away_is_tried_again(servers: Servers, controller: Controller) -> None:
    run = await controller.begin()
    await controller.serve(run, trained(servers))
    await controller.end(run)
    transport = AiohttpTransport(timeout=5)
    away = Providers(transport, {"honest": NOWHERE}, OPERATOR, attempts=1)
    keeper = ModelKeeper(controller.database, away, controller.parties.proxy, after=0.0)
    assert (await keeper.withdraw_unused() or 0) > 0
    await transport.close()
    assert await controller.parties.keeper.withdraw_unused() is None
    assert servers.served() == servers.routed() == set()


async def test_a_controller_that_starts_withdraws_what_an_earlier_one_had_served(
    servers: Servers, controller: Controller, settings: Callable[..., ControllerSettings]
) -> None:
    run = await controller.begin()
    await controller.serve(run, trained(servers))
    await controller.end(run)
    made = settings(
        database_url=controller.url,
        providers={"honest": servers.provider},
        proxy_url=servers.proxy,
        withdraw_after=0,
    )
    with serve(made):
        wait_for(lambda: servers.served() == servers.routed() == set(), "the model to be withdrawn")
