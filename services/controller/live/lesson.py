"""A run step by step, for a class: seven steps about one provider, each a sentence and the figure of now.
The first four come from the run's state, the others from its report (`leakrange.report.lesson`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leakrange.metrics.numbers import count, joined
from leakrange.scenario.labels import attribute
from leakrange.services.controller.live.state import LiveAccount, LiveProvider, RunState
from leakrange.services.controller.live.view import ENDED, side
from leakrange.wire.views import LessonStep

__all__ = ["ShownStep", "followed", "shown_steps"]

RELEASES = {
    "logits": "the raw scores of each answer",
    "softmax": "the probabilities of each answer",
    "features": "the features of each sample",
    "score": "how alike two samples are",
    "sample": "what the device made of each sample",
}


@dataclass(frozen=True)
class _Step:
    name: str
    title: str
    note: str
    """What a speaker may say or ask."""


STEPS = (
    _Step("users", "Who uses it", "Ask: which app of yours sends something to a model of somebody else?"),
    _Step(
        "hides",
        "What they would not tell",
        "Ask: what could a photo, a voice or a form tell about you that you were not asked for? Let everybody"
        " write a guess down: how well will an attacker do?",
    ),
    _Step(
        "keeps",
        "What the provider keeps",
        "The sample itself may never leave the device. Ask: what can be in a few numbers that nobody needs"
        " for the answer? On the page “Try it” somebody can draw a digit and look at these numbers.",
    ),
    _Step(
        "asks",
        "What the attacker asks",
        "An attacker needs no break-in. It learns from samples whose truth it knows what the numbers give"
        " away, and then reads those of users.",
    ),
    _Step(
        "finds",
        "What it finds out",
        "Before you go on: let the class vote. Then compare with guessing, not with 100: whoever always says"
        " the same is right often, too.",
    ),
    _Step(
        "changes",
        "What a defence changes",
        "Ask for ideas first: round the numbers, add noise, or tell the label alone? Then look at which of"
        " them the attacker still gets through.",
    ),
    _Step(
        "costs",
        "What that costs",
        "A defence is worth its price only if the answers stay useful. Ask: would you pay that, and who"
        " should decide?",
    ),
)


@dataclass(frozen=True)
class ShownStep:
    """A step as a page shows it; ``waits`` while its figure does not exist yet."""

    title: str
    note: str
    step: LessonStep
    waits: bool


def followed(state: RunState) -> LiveProvider | None:
    """The provider that a class follows where nobody chooses: the first curious one, else the first vicious
    one, else the first; None of a run without providers."""
    providers = list(state.providers.values())
    for plays in ("curious", "vicious"):
        if those := [each for each in providers if each.plays == plays]:
            return those[0]
    return providers[0] if providers else None


def shown_steps(state: RunState, provider: LiveProvider, found: Sequence[LessonStep]) -> list[ShownStep]:
    """All steps; ``found`` are those of the report that have results."""
    of_report = {each.name: each for each in found}
    steps = []
    for each in STEPS:
        makes = _MAKES.get(each.name)
        step = makes(state, provider) if makes else of_report.get(each.name)
        waits = step is None and not state.over
        steps.append(ShownStep(each.title, each.note, step or _missing(state, each.name), waits))
    return steps


def _missing(state: RunState, name: str) -> LessonStep:
    if state.over:
        return LessonStep(name, "This run did not measure it.", "–", "")
    ended = sum(cell.state in ENDED for cell in state.trials.values())
    trials = count(len(state.trials), "trial")
    return LessonStep(name, "The run has not come that far.", "waiting", f"{ended:,} of {trials} have ended")


def _users(state: RunState, provider: LiveProvider) -> LessonStep:
    users = sum(state.clients.values())
    asked = attribute(provider.target)
    if not users:
        sentence = (
            f"The model of “{provider.name}” answers one question: {asked}. Only attackers ask it here."
        )
    else:
        verb = "asks" if users == 1 else "ask"
        sentence = f"{count(users, 'user')} {verb} the model of “{provider.name}” for one thing: {asked}."
    return LessonStep("users", sentence, f"{users:,}", "user" if users == 1 else "users")


def _hides(state: RunState, provider: LiveProvider) -> LessonStep:
    cells = (cell for cell in state.trials.values() if cell.provider == provider.name)
    things = joined(list(dict.fromkeys(cell.hidden for cell in cells))) or "what nobody asked for"
    sentence = f"There is something that nobody asked them and they did not agree to tell: {things}."
    classes = provider.classes
    if not classes:
        return LessonStep("hides", sentence, "private", things)
    shown = ", ".join(classes[:6]) + (", …" if len(classes) > 6 else "")
    return LessonStep("hides", sentence, count(len(classes), "possible answer"), shown)


def _keeps(state: RunState, provider: LiveProvider) -> LessonStep | None:
    kept = sum(each.spent for each in _accounts(state, provider, "users"))
    meant = {
        "honest": "Its model was trained for its task alone.",
        "curious": f"Its model was trained to write {provider.hides or 'something'} into them.",
        "vicious": "Its model was trained to write the whole input into them.",
    }.get(provider.plays, "How its model was trained is not known.")
    if not state.clients:
        return LessonStep("keeps", f"No users’ answers are kept in this run. {meant}", "0", "answers kept")
    if not kept and not state.over:
        return None
    stays = "" if provider.release == "sample" else "The samples stay with the users. "
    release = RELEASES.get(provider.release, provider.release)
    return LessonStep("keeps", f"{stays}The provider keeps {release}. {meant}", f"{kept:,}", "answers kept")


def _asks(state: RunState, provider: LiveProvider) -> LessonStep | None:
    outside = any(
        cell.provider == provider.name and cell.attack in state.outside for cell in state.trials.values()
    )
    if not outside:
        sentence = "Nobody has to ask: the provider itself reads what it keeps."
        return LessonStep("asks", sentence, "0", "questions asked")
    accounts = _accounts(state, provider, "attackers")
    if not accounts and not state.over:
        return None
    spent, budget = sum(each.spent for each in accounts), sum(each.budget for each in accounts)
    sentence = (
        "An attacker holds a key like any customer. It asks the same model about samples of its own, whose"
        " truth it knows."
    )
    return LessonStep("asks", sentence, f"{spent:,}", f"of {count(budget, 'sample')} that it may ask")


def _accounts(state: RunState, provider: LiveProvider, whose: str) -> list[LiveAccount]:
    return [
        each
        for each in state.accounts.values()
        if each.provider == provider.name and side(each.holder) == whose
    ]


_MAKES: dict[str, Callable[[RunState, LiveProvider], LessonStep | None]] = {
    "users": _users,
    "hides": _hides,
    "keeps": _keeps,
    "asks": _asks,
}
