"""What the events of a run tell, from its first job to its last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.events import Events
from leakrange.store.tables import EventRow
from leakrange.wire.events import EVENTS, AccountOpened, JobDone, JobStarted, Purpose, TrialEnded
from leakrange.wire.keys import api_key
from tests.controller.conftest import FLEET_SECRET, OPERATOR
from tests.controller.parties import StoodIn, stood_in
from tests.controller.test_graph import SCENARIO, planned
from tests.databases import Databases


@pytest.fixture
def told(
    settings: Callable[..., ControllerSettings], databases: Databases, empty_redis_url: str
) -> ControllerSettings:
    return settings(database_url=databases.migrated("sqlite"), redis_url=empty_redis_url)


async def heard(run: StoodIn) -> list[EventRow]:
    async with run.database.read() as session:
        return list(await Events(session).after(run.run))


async def test_events_add_up_to_the_run(told: ControllerSettings) -> None:
    async with stood_in(planned(SCENARIO), told) as run:
        results = await run.execute()
        spent = {name: own for name, (own, _) in (await run.ledger()).items()}
        events = await heard(run)
    read = [(event.kind, EVENTS[event.kind].model_validate(event.data)) for event in events]
    expected = Counter[str]()
    for event in events:
        if event.kind == "jobs.expected":
            expected[event.data["kind"]] += event.data["count"]
    done = [each for _, each in read if isinstance(each, JobDone)]
    assert Counter(each.kind for each in done) == expected
    assert {each.identity for _, each in read if isinstance(each, JobStarted)} == {
        each.identity for each in done
    }
    places = {
        (event.kind, event.data.get("identity") or event.data.get("trial")): event.seq for event in events
    }
    for (kind, identity), place in places.items():
        if kind in ("job.done", "trial.done"):
            assert places[kind.replace("done", "started"), identity] < place

    # Forty users of each provider under each defence, in chunks of at most 25.
    own = [each for each in done if each.stream == "curious-s0.noisy.u0"]
    assert sorted(each.samples for each in own) == [15, 25]
    assert {(each.model, each.provider, each.behaviour, each.defence, each.key) for each in own} == {
        ("curious-s0", "curious", "curious/parameterized", "noisy", f"{run.run}.users.curious-s0.noisy.u0")
    }
    assert [each.requests for each in own] == [1, 1]
    assert all(each.sent == 8 * each.samples for each in own)  # two numbers of four bytes a sample

    [settled] = [event.data["spent"] for event in events if event.kind == "accounts.settled"]
    assert {name.removeprefix(f"{run.run}."): amount for name, amount in settled.items()} == spent
    opened = [each for _, each in read if isinstance(each, AccountOpened)]
    assert sorted(each.key for each in opened) == sorted(settled)
    assert {each.key: each.budget for each in opened}[f"{run.run}.users.curious-s0.noisy.u0"] == 40
    holders = {each.key.removeprefix(f"{run.run}.").partition(".")[0]: each.holder for each in opened}
    assert holders == {"users": "users", "attacker": "attacker"}

    ended = {each.trial: each for _, each in read if isinstance(each, TrialEnded)}
    assert ended.keys() == results.keys()
    decoded = ended["curious-s0.none.inside.unaware.b90"]
    assert (decoded.leakage, decoded.metrics["auc"], decoded.gain) == ("auc", 1.0, 1.0)
    assert (decoded.provider, decoded.defence, decoded.budget) == ("curious", "none", 90)


async def test_a_second_run_tells_that_nothing_was_asked_again(told: ControllerSettings) -> None:
    async with stood_in(planned(SCENARIO), told) as run:
        await run.execute()
        before = len(await heard(run))
        await run.execute()
        assert {event.kind for event in (await heard(run))[before:]} == {"accounts.settled"}


def test_the_documentation_names_every_kind_and_all_that_it_tells() -> None:
    page = (Path(__file__).parents[2] / "docs" / "events.md").read_text()
    rows = dict(re.findall(r"(?m)^\| `([a-z.]+)` \| (.*) \|$", page))
    common = {"message"} | set(Purpose.model_fields)
    for kind, schema in EVENTS.items():
        own = set(schema.model_fields) - (common if issubclass(schema, Purpose) else {"message"})
        assert set(re.findall(r"`([a-z]+)`", rows[kind])) >= own, kind
        assert issubclass(schema, Purpose) == ("purpose" in rows[kind]), kind
    assert rows.keys() == EVENTS.keys()
    assert all(f"`{name}`" in page for name in common)


async def test_no_event_holds_a_key(told: ControllerSettings) -> None:
    async with stood_in(planned(SCENARIO), told) as run:
        await run.execute()
        said = "".join(str(event.data) for event in await heard(run))
        names = list(await run.ledger())
    assert names
    for name in names:
        account = f"{run.run}.{name}"
        assert account in said
        for secret in (OPERATOR, FLEET_SECRET):
            assert secret not in said
            assert api_key(secret, account) not in said
