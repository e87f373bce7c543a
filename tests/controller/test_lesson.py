"""A run step by step: what a class is told at each moment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leakrange.services.controller.live.lesson import followed, shown_steps
from leakrange.services.controller.live.state import RunState
from leakrange.services.controller.settings import ControllerSettings
from leakrange.wire.views import LessonStep
from tests.controller.recorded import Recorded, recorded_run
from tests.databases import Databases

FOUND = LessonStep("finds", "It finds out much.", "93 of 100", "guessing: 50 of 100")


@pytest.fixture(scope="module")
def recorded(settings: Callable[..., ControllerSettings], databases: Databases, redis_url: str) -> Recorded:
    return recorded_run(settings(database_url=databases.migrated("sqlite"), redis_url=redis_url))


def shown(state: RunState, provider: str, *found: LessonStep) -> dict[str, tuple[str, str, bool]]:
    return {
        each.step.name: (
            each.step.sentence.replace("\xa0", " "),
            each.step.figure.replace("\xa0", " "),
            each.waits,
        )
        for each in shown_steps(state, state.providers[provider], found)
    }


def test_the_first_curious_provider_is_followed(recorded: Recorded) -> None:
    state = recorded.after(0)
    assert [each.name for each in state.providers.values()] == ["honest", "curious"]
    chosen = followed(state)
    assert chosen is not None
    assert chosen.name == "curious"
    del state.providers["curious"]
    assert followed(state) is state.providers["honest"]
    del state.providers["honest"]
    assert followed(state) is None


def test_before_anything_has_happened_the_others_wait(recorded: Recorded) -> None:
    steps = shown(recorded.after(0), "honest")
    waiting = {name for name, (*_, waits) in steps.items() if waits}
    assert waiting == {"keeps", "asks", "finds", "changes", "costs"}
    assert steps["users"] == ("2 users ask the model of “honest” for one thing: “parity”.", "2", False)
    assert steps["finds"] == ("The run has not come that far.", "waiting", True)
    inside = recorded.after(0)
    inside.outside = []
    assert shown(inside, "curious")["asks"] == (
        "Nobody has to ask: the provider itself reads what it keeps.",
        "0",
        False,
    )


def test_at_the_end_the_figures_are_what_the_run_recorded(recorded: Recorded) -> None:
    steps = shown(recorded.end, "curious", FOUND)
    kept = sum(spent for name, spent in recorded.spent.items() if ".users.curious-" in name)
    assert steps["hides"] == (
        "There is something that nobody asked them and they did not agree to tell: “large”.",
        "2 possible answers",
        False,
    )
    assert steps["keeps"] == (
        "The samples stay with the users. The provider keeps the raw scores of each answer. Its model was "
        "trained to write “large” into them.",
        f"{kept:,}",
        False,
    )
    assert steps["finds"] == (FOUND.sentence, FOUND.figure, False)
    assert steps["costs"] == ("This run did not measure it.", "–", False)
    asked = sum(spent for name, spent in recorded.spent.items() if ".attacker.honest-" in name)
    sentence, figure, _ = shown(recorded.end, "honest")["asks"]
    assert (sentence.startswith("An attacker holds a key like any customer."), figure) == (True, f"{asked:,}")
    assert "for its task alone" in shown(recorded.end, "honest")["keeps"][0]


def test_every_step_has_a_title_and_a_note_for_the_speaker(recorded: Recorded) -> None:
    steps = shown_steps(recorded.end, recorded.end.providers["curious"], [])
    assert len({step.title for step in steps}) == len({step.note for step in steps}) == len(steps) == 7
