"""The state of a run as pages show it: folded from the events of a run that went through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pytest

from leakrange.scenario.language import parse
from leakrange.services.controller.live.drawing import MOST, boxes, drawings
from leakrange.services.controller.live.fold import Fold
from leakrange.services.controller.live.state import WINDOW, Flow
from leakrange.services.controller.live.tour import tour
from leakrange.services.controller.live.view import view, works
from leakrange.services.controller.settings import ControllerSettings
from tests.controller.recorded import Recorded, recorded_run
from tests.controller.test_graph import SCENARIO, planned
from tests.databases import Databases


@pytest.fixture(scope="module")
def recorded(settings: Callable[..., ControllerSettings], databases: Databases, redis_url: str) -> Recorded:
    return recorded_run(settings(database_url=databases.migrated("sqlite"), redis_url=redis_url))


def test_the_end_is_what_the_run_recorded(recorded: Recorded) -> None:
    state = recorded.end
    assert {name: account.spent for name, account in state.accounts.items()} == recorded.spent
    assert {name: cell.state for name, cell in state.trials.items()} == dict.fromkeys(
        recorded.results, "done"
    )
    for name, cell in state.trials.items():
        assert cell.value == recorded.results[name].value("auc")
    assert {model.state for model in state.models.values()} == {"serving"}
    assert state.running == {}
    for work in state.work.values():
        assert (work.done, work.failed) == (work.expected, 0)
    # What users uploaded under four combinations, and what was asked of both providers from outside.
    by_hand = Counter[str]()
    for event in recorded.events:
        if event.kind == "job.done":
            by_hand[event.data["provider"]] += event.data.get("samples", 0)
    assert {name: each.flow.samples for name, each in state.providers.items()} == by_hand
    assert state.flows["users"].samples + state.flows["attacker"].samples == sum(by_hand.values())
    noisy = [e.data for e in recorded.events if e.kind == "job.done" and e.data.get("defence") == "noisy"]
    assert state.defended.samples == sum(each.get("samples", 0) for each in noisy) > 0


def test_how_much_there_is_to_do_is_known_from_the_first_event(recorded: Recorded) -> None:
    begun = 1 + [event.kind for event in recorded.events].index("run.running")
    first, end = works(recorded.after(begun)), works(recorded.end)
    totals = {work.title: work.text.partition(" of ")[2] for work in end if work.title != "Fitting attacks"}
    assert {"Training", "Serving models", "Users' uploads", "Probing", "Judging trials"} < totals.keys()
    assert {work.title: work.text.partition(" of ")[2] for work in first} == totals
    assert (first[0].title, first[0].text, first[0].share) == ("Everything", "0\xa0%", 0.0)
    assert (end[0].text, end[0].share) == ("100\xa0%", 1.0)
    half = next(
        state
        for state in map(recorded.after, range(len(recorded.events)))
        if state.began is not None and works(state)[0].share >= 0.5
    )
    left = works(half)[0].text.partition(", about ")[2]
    assert left.endswith("s left")
    assert 0 < float(left.partition("\xa0")[0]) < half.last - half.began + 1.05  # of seconds


def test_whoever_comes_late_sees_what_others_have_seen(recorded: Recorded) -> None:
    fold = recorded.fold([])
    for number, event in enumerate(recorded.events, 1):
        fold.take(event.seq, event.kind, event.at, event.data)
        if number % 7 == 0:
            at = event.at.timestamp()
            assert view(recorded.after(number), at) == view(fold.state, at)
            assert tour(recorded.after(number)) == tour(fold.state)


def test_changes_lead_from_one_moment_to_the_next(recorded: Recorded) -> None:
    middle, end = recorded.after(len(recorded.events) // 2), recorded.end
    before, after = view(middle, middle.last), view(end, end.last)
    changes = after.changed(before)
    for kind in ("text", "state", "share", "title"):
        assert getattr(before, kind) | changes.get(kind, {}) == getattr(after, kind)
    assert len(changes["state"]) < len(after.state)
    assert after.changed(after) == {}


def test_a_trial_is_queued_then_runs_then_is_done(recorded: Recorded) -> None:
    trial = "curious-s0.noisy.inside.unaware.b90"
    begun = recorded.first("job.started", stream="curious-s0.noisy.u0")
    done = recorded.first("trial.done", trial=trial)
    states = [recorded.after(number).trials[trial].state for number in (begun - 1, begun, done - 1, done)]
    assert states == ["queued", "running", "running", "done"]
    at = recorded.after(done)
    place = f"cell.{list(at.trials).index(trial)}"
    shown = view(at, at.last)
    assert (shown.state[place], shown.share[place]) == ("done", 1.0)
    assert shown.title[place].endswith("seed 0: AUC 1.000")


def test_a_budget_drains_with_every_chunk(recorded: Recorded) -> None:
    [key] = [name for name in recorded.spent if name.endswith("users.curious-s0.noisy.u0")]
    seen = [recorded.after(event.seq).accounts.get(key) for event in recorded.events]
    spent = list(dict.fromkeys(account.spent for account in seen if account is not None))
    assert spent in ([0, 25, 40], [0, 15, 40])


def test_a_cancelled_run_has_nothing_under_way(recorded: Recorded) -> None:
    half = recorded.events[: recorded.first("job.started") + 1]
    fold = recorded.fold(half)
    assert fold.state.running
    last = half[-1]
    fold.take(last.seq + 1, "run.finished", last.at, {"state": "cancelled", "message": "cancelled"})
    assert fold.state.running == {}
    assert {cell.state for cell in fold.state.trials.values()} == {"cancelled"}
    assert not any(model.state == "training" for model in fold.state.models.values())
    assert view(fold.state, last.at.timestamp() + 1000) == view(fold.state, last.at.timestamp())


def test_a_rate_is_of_the_last_seconds() -> None:
    flow = Flow()
    flow.add(100.0, 50, 2)
    flow.add(104.0, 30, 1)
    assert flow.rate(104.0) == (80 / WINDOW, 3 / WINDOW)
    assert flow.rate(110.5) == (30 / WINDOW, 1 / WINDOW)
    assert flow.rate(200.0) == (0.0, 0.0)
    assert (flow.samples, flow.requests) == (80, 3)


def test_many_providers_stand_together_by_what_they_do(recorded: Recorded) -> None:
    kinds = {"honest": "honest", "curious": "curious, method: parameterized, release: logits"}
    providers = "".join(
        f"  p{n}: {{behaviour: {kinds['honest' if n % 3 else 'curious']}, target: parity, sensitive: large,"
        f" schedule: {{epochs: {n + 1}}}}}\n"  # no two may be the same
        for n in range(MOST + 2)
    )
    start, stop = SCENARIO.index("  honest:"), SCENARIO.index("clients:")
    text = SCENARIO[:start] + providers + SCENARIO[stop:]
    state = Fold(planned(text), parse(text).model_dump(mode="json")).state
    assert [(box.plays, len(box.providers)) for box in boxes(state)] == [("curious", 5), ("honest", 9)]
    assert view(state, 0.0).text["provider.1.model"] == "waiting"
    alone = boxes(recorded.after(0))
    assert [(box.name, box.role) for box in alone] == [
        ("honest", "honest: hides nothing"),
        ("curious", "curious: hides “large”"),
    ]


def test_the_map_of_many_providers_fits_a_screen(recorded: Recorded) -> None:
    state = recorded.after(0)
    [first, *_] = state.providers.values()
    state.providers = {f"p{n}": replace(first, name=f"p{n}" * (n * n)) for n in range(1, MOST + 1)}
    wide, narrow = drawings(state)
    assert wide.height < 530  # with what stands above it, of 800
    for drawing in (wide, narrow):
        placed = [(node.x, node.y, node.x + node.width, node.y + node.height) for node in drawing.nodes]
        assert all(
            left >= 0 and up >= 0 and right <= drawing.width and down <= drawing.height
            for left, up, right, down in placed
        )
        for a, b in combinations(placed, 2):  # none stands upon another
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        names = [node.name for node in drawing.nodes if node.kind == "provider"]
        assert names[0] == "p1"
        assert names[-1].endswith("…")
