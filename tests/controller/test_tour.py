"""What the tour says of a run, and when."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leakrange.services.controller.live.state import RunState
from leakrange.services.controller.live.tour import STEPS, tour
from leakrange.services.controller.settings import ControllerSettings
from tests.controller.recorded import Recorded, recorded_run
from tests.databases import Databases


@pytest.fixture(scope="module")
def recorded(settings: Callable[..., ControllerSettings], databases: Databases, redis_url: str) -> Recorded:
    return recorded_run(settings(database_url=databases.migrated("sqlite"), redis_url=redis_url))


def said(state: RunState) -> dict[str, str]:
    return {step.name: step.text.replace("\N{NO-BREAK SPACE}", " ") for step in tour(state)}


def test_each_step_appears_when_its_time_has_come_and_not_before(recorded: Recorded) -> None:
    begins = {
        "parties": 0,
        "training": recorded.first("job.done", kind="train"),
        "users": min(e.seq for e in recorded.events if e.data.get("stream") and e.data.get("samples")),
        "proxy": min(e.seq for e in recorded.events if e.kind == "job.done" and e.data.get("samples")),
        "attackers": min(e.seq for e in recorded.events if e.data.get("probe") and e.data.get("samples")),
        "over": len(recorded.events),
    }
    fold = recorded.fold([])
    seen = dict.fromkeys(said(fold.state), 0)
    for event in recorded.events:
        fold.take(event.seq, event.kind, event.at, event.data)
        for name in said(fold.state):
            seen.setdefault(name, event.seq)
    assert seen == begins
    assert list(said(fold.state)) == [step.name for step in STEPS if step.name in begins]


def test_the_figures_are_those_of_the_moment(recorded: Recorded) -> None:
    begun = min(e.seq for e in recorded.events if e.data.get("stream") and e.data.get("samples"))
    for number in ((begun + len(recorded.events)) // 2, len(recorded.events)):
        state = recorded.after(number)
        done = [event.data for event in recorded.events[:number] if event.kind == "job.done"]
        uploaded = sum(each.get("samples", 0) for each in done if each.get("stream"))
        asked = sum(each.get("samples", 0) for each in done if each.get("probe"))
        assert f"for {uploaded:,} samples" in said(state)["users"]
        assert f"counted {uploaded + asked:,} samples" in said(state)["proxy"]
        trained = sum(each["kind"] == "train" for each in done)
        assert said(state)["training"].startswith(f"{trained} of 2 models are trained")
    assert said(state)["over"].endswith(
        f"{len(recorded.results)} of {len(recorded.results)} trials have a result."
    )


def test_who_is_who_is_as_the_scenario_says(recorded: Recorded) -> None:
    assert said(recorded.after(0))["parties"] == (
        "2 providers offer models to users. 1 is honest: trained for its task, and nothing else. "
        "1 is curious: its outputs also carry “large”, which no user agreed to tell."
    )


def test_what_a_training_has_reached_is_told_while_it_goes_on(recorded: Recorded) -> None:
    state = recorded.after(0)
    assert not {"training", "alike", "hides"} & said(state).keys()
    honest, curious = state.models["honest-s0"], state.models["curious-s0"]
    curious.state, curious.progress = "training", 0.4
    curious.figures |= {"honesty": 0.912, "curiosity": 0.734}
    assert said(state)["training"] == (
        "0 of 2 models are trained. The furthest of the others, “curious” of seed 0, is 40 % done, and so "
        "far right on 91.2 % of validation samples."
    )
    assert "already it tells “large” right on 73.4 %" in said(state)["hides"]
    assert "alike" not in said(state)  # one of them is not trained yet
    for model, honesty in ((honest, 0.95), (curious, 0.93)):
        model.state = "trained"
        model.figures["honesty"] = honesty
    assert "honest models are right on 95.0 %" in said(state)["alike"]
    assert "the others on 93.0 %" in said(state)["alike"]
    assert "now it tells “large” right on 73.4 %" in said(state)["hides"]
