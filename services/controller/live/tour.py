"""What is happening in a run, in short sentences: each appears when, and only when, its condition holds in
the run's state, with the figures of that moment. What leaks is told by the report's sentences
(`leakrange.report.answer`), which pages show beside these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from leakrange.metrics.numbers import count, percent
from leakrange.services.controller.live.state import LiveModel, LiveProvider, RunState
from leakrange.services.controller.live.view import side
from leakrange.wire.runs import STATES

__all__ = ["STEPS", "Said", "TourStep", "tour"]


@dataclass(frozen=True)
class TourStep:
    """A part of the explanation: ``says`` gives its text, None while there is nothing to say."""

    name: str
    title: str
    says: Callable[[RunState], str | None]


@dataclass(frozen=True)
class Said:
    """A step that has something to say."""

    name: str
    title: str
    text: str


def tour(state: RunState) -> list[Said]:
    """The steps whose condition holds, in order."""
    return [Said(step.name, step.title, text) for step in STEPS if (text := step.says(state))]


def _parties(state: RunState) -> str | None:
    if not state.providers:
        return None
    many = len(state.providers)
    sentences = [f"{count(many, 'provider')} {'offers a model' if many == 1 else 'offer models'} to users."]
    for plays, one, several in (
        ("honest", "trained for its task, and nothing else", "trained for their tasks, and nothing else"),
        (
            "curious",
            "its outputs also carry {hides}, which no user agreed to tell",
            "their outputs also carry {hides}, which no user agreed to tell",
        ),
        (
            "vicious",
            "its outputs carry so much of the input that it can be drawn again",
            "their outputs carry so much of the input that it can be drawn again",
        ),
    ):
        players = [each for each in state.providers.values() if each.plays == plays]
        if players:
            verb, what = ("is", one) if len(players) == 1 else ("are", several)
            sentences.append(f"{len(players)} {verb} {plays}: {what.format(hides=_hidden(players))}.")
    return " ".join(sentences)


def _training(state: RunState) -> str | None:
    trained, models = _trained(state), list(state.models.values())
    if not trained and not any(each.state == "training" for each in models):
        return None
    already = sum(each.already for each in trained)
    text = f"{len(trained)} of {count(len(models), 'model')} are trained"
    text += f", {already} of them by earlier runs." if already else "."
    now = max(
        (each for each in models if each.state == "training"), key=lambda each: each.progress, default=None
    )
    if now is not None:
        text += f" The furthest of the others, {now.label}, is {100 * now.progress:.0f}\u00a0% done"
        honesty = now.figures.get("honesty")
        text += (
            f", and so far right on {percent(honesty)} of validation samples." if honesty is not None else "."
        )
    return text


def _alike(state: RunState) -> str | None:
    honest, others = _accuracies(state, honest=True), _accuracies(state, honest=False)
    if not honest or not others:
        return None
    return (
        f"At their tasks, honest models are right on {_span(honest)} of validation samples, the others on "
        f"{_span(others)}. The decisions alone do not show what else the outputs carry."
    )


def _hides(state: RunState) -> str | None:
    curious = [
        (model.figures["curiosity"], provider, model)
        for provider in state.providers.values()
        for model in provider.models.values()
        if provider.plays == "curious" and "curiosity" in model.figures
    ]
    if not curious:
        return None
    best, provider, model = max(curious, key=lambda each: each[0])
    when = "already" if model.state == "training" else "now"
    return (
        f"Of the curious providers, “{provider.name}” reads most from its own outputs: {when} it tells "
        f"{provider.hides} right on {percent(best)} of validation samples."
    )


def _users(state: RunState) -> str | None:
    flow = state.flows.get("users")
    if flow is None:
        return None
    users = count(sum(state.clients.values()), "user")
    far = f"so far for {count(flow.samples, 'sample')}, in {count(flow.requests, 'upload')}."
    if any(each.release == "sample" for each in state.providers.values()):
        return f"{users} send what their devices made of their samples, {far}"
    return f"{users} run the models on their own devices. No sample leaves these, only outputs: {far}"


def _proxy(state: RunState) -> str | None:
    samples = sum(flow.samples for flow in state.flows.values())
    if not samples:
        return None
    text = (
        f"Everything passes the defence proxy. It has counted {count(samples, 'sample')} on "
        f"{count(len(state.accounts), 'key')}"
    )
    active = [name for name in state.defences if name not in state.undefended]
    if active and state.defended.samples:
        text += (
            f", and let only defended outputs through for {state.defended.samples:,} of them "
            f"({', '.join(active)})"
        )
    return text + "."


def _attackers(state: RunState) -> str | None:
    flow = state.flows.get("attacker")
    if flow is None:
        return None
    keys = [each for each in state.accounts.values() if side(each.holder) == "attackers"]
    budget, spent = sum(each.budget for each in keys), sum(each.spent for each in keys)
    return (
        f"Attackers hold keys like any customer ({', '.join(state.outside)}). They had "
        f"{count(flow.samples, 'sample')} answered; of their budgets {max(0, budget - spent):,} of "
        f"{budget:,} samples are left."
    )


def _over(state: RunState) -> str | None:
    if not state.over:
        return None
    states = [each.state for each in state.trials.values()]
    done, failed = states.count("done"), states.count("failed")
    text = f"The run is {STATES[state.state]}: {done:,} of {count(len(states), 'trial')} have a result"
    return text + (f", {failed:,} failed." if failed else ".")


STEPS = (
    TourStep("parties", "Who is who", _parties),
    TourStep("training", "Training", _training),
    TourStep("alike", "Nothing to see from outside", _alike),
    TourStep("hides", "What a curious provider hides", _hides),
    TourStep("users", "Users use the app", _users),
    TourStep("proxy", "The proxy stands between", _proxy),
    TourStep("attackers", "Attackers ask", _attackers),
    TourStep("over", "The end", _over),
)


def _trained(state: RunState) -> list[LiveModel]:
    return [each for each in state.models.values() if each.state in ("trained", "serving")]


def _accuracies(state: RunState, *, honest: bool) -> list[float]:
    return [
        model.figures["honesty"]
        for provider in state.providers.values()
        if (provider.plays == "honest") == honest
        for model in provider.models.values()
        if model.state in ("trained", "serving") and "honesty" in model.figures
    ]


def _span(shares: list[float]) -> str:
    low, high = percent(min(shares)), percent(max(shares))
    return low if low == high else f"{low} to {high}"


def _hidden(providers: Iterable[LiveProvider]) -> str:
    hides = dict.fromkeys(each.hides for each in providers if each.hides)
    return " or ".join(hides) or "something"
