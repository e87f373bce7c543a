"""What a page shows of a run's state at one moment: texts, states and shares by the name of their place.

A page is rendered with these values, and later gets those that have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from leakrange.jobs.step import in_order
from leakrange.jobs.steps.serve import SERVE
from leakrange.metrics import described
from leakrange.metrics.numbers import SPACE, count, duration, figure, percent, time_left, titled
from leakrange.services.controller.live.drawing import Box, boxes
from leakrange.services.controller.live.state import WINDOW, Flow, KindOfWork, MatrixCell, Running, RunState
from leakrange.wire.runs import STATES

__all__ = [
    "Group",
    "LiveView",
    "WorkShown",
    "groups",
    "lasting",
    "side",
    "strongest",
    "under_way",
    "view",
    "works",
]

JUDGED = "judging trials"
ENDED = ("done", "refused", "failed")
SIDES = {"attacker": "attackers", "auditor": "attackers"}
"""The holders of keys who are attackers; all others are users."""


@dataclass(frozen=True)
class LiveView:
    """The values by place. ``share`` is in [0, 1]; ``title`` is what a trial says when pointed at."""

    text: dict[str, str] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)
    share: dict[str, float] = field(default_factory=dict)
    title: dict[str, str] = field(default_factory=dict)

    def changed(self, before: LiveView) -> dict[str, dict[str, Any]]:
        """The values that differ from ``before``, by kind and place."""
        changes: dict[str, dict[str, Any]] = {}
        for kind in ("text", "state", "share", "title"):
            was: dict[str, Any] = getattr(before, kind)
            now: dict[str, Any] = getattr(self, kind)
            if new := {place: value for place, value in now.items() if was.get(place) != value}:
                changes[kind] = new
        return changes


def side(holder: str) -> str:
    """Whether a holder of keys is among the users or among the attackers."""
    return SIDES.get(holder, "users")


def view(state: RunState, now: float) -> LiveView:
    """The values at a time (seconds since the epoch). If the run is over, they do not depend on the time."""
    values = LiveView()
    _run(values, state, state.last if state.over else now)
    if state.over:  # nothing flows any more
        now = state.last + WINDOW
    _flows(values, state, now)
    for number, box in enumerate(boxes(state)):
        _provider(values, f"provider.{number}", box, now)
    for number, account in enumerate(state.accounts.values()):
        values.text[f"account.{number}"] = f"{account.spent:,} of {account.budget:,}"
        values.share[f"account.{number}"] = _share(account.spent, account.budget)
    for group in groups(state):
        values.text[group.slot] = _reached([cell for _, cell in group.cells])
    most = _most(state)
    for number, cell in enumerate(state.trials.values()):
        place = f"cell.{number}"
        values.state[place] = cell.state
        values.share[place] = round(leaked(cell, most), 3)
        values.title[place] = _title(cell)
    return values


def lasting(state: RunState, shown: LiveView, number: int) -> LiveView:
    """The values of ``shown`` that have not changed since event ``number``: those of trials, which are many;
    everything else is sent anew. Shares on a scale without an end depend on other trials."""
    last = LiveView()
    for place, cell in ((f"cell.{each}", cell) for each, cell in enumerate(state.trials.values())):
        if cell.since <= number:
            last.state[place], last.title[place] = shown.state[place], shown.title[place]
            if cell.gain is not None or cell.reached.mean is None:
                last.share[place] = shown.share[place]
    return last


@dataclass(frozen=True)
class WorkShown:
    """Jobs of one kind, in words."""

    title: str
    text: str
    share: float


def works(state: RunState) -> list[WorkShown]:
    """The work of the run, by kind, without kinds that it does not need."""
    serving = sum(model.state == "serving" for model in state.models.values())
    ended = [cell.state for cell in state.trials.values()]
    judged = ended.count("done") + ended.count("refused")
    kinds = state.work | {SERVE.name: KindOfWork(state.served, serving)}
    labelled = [
        (step.label, replace(work, expected=max(work.expected, state.steps.get(step.name, 0))))
        for step in in_order()
        if (work := kinds.get(step.name, KindOfWork())).expected or step.name in state.steps
    ]
    labelled.append((JUDGED, KindOfWork(len(ended), judged, ended.count("failed"))))
    shown = [
        WorkShown(
            title[0].upper() + title[1:],
            f"{work.done:,} of {work.expected:,}" + (f", {work.failed:,} failed" if work.failed else ""),
            _share(work.done, work.expected),
        )
        for title, work in labelled
    ]
    return [_everything(state, [work for _, work in labelled]), *shown]


def _everything(state: RunState, works: list[KindOfWork]) -> WorkShown:
    """All steps and trials together, and how long the rest will take if it goes on like this."""
    total, ended = sum(work.expected for work in works), sum(work.done + work.failed for work in works)
    text = f"{100 * ended // max(total, 1)}{SPACE}%"
    if state.state == "running" and state.began is not None:
        left = time_left(state.last - state.began, ended, total)
        text += f", {left}" if left else ""
    return WorkShown("Everything", text, _share(ended, total))


def under_way(state: RunState) -> list[Running]:
    """Jobs that are under way, those with a message first."""
    return sorted(state.running.values(), key=lambda each: not each.said)


@dataclass(frozen=True)
class Group:
    """The trials of a provider under a defence, each with its number."""

    slot: str
    provider: str
    defence: str
    cells: list[tuple[int, MatrixCell]]


def groups(state: RunState) -> list[Group]:
    """All trials, in the order of the scenario."""
    grouped: dict[tuple[str, str], Group] = {}
    for number, cell in enumerate(state.trials.values()):
        key = cell.provider, cell.defence
        group = grouped.setdefault(key, Group(f"group.{len(grouped)}", *key, []))
        group.cells.append((number, cell))
    return list(grouped.values())


def strongest(cells: Iterable[MatrixCell]) -> MatrixCell | None:
    """The trial whose attack went furthest beyond chance, or its control; if that is unknown for all, the one
    with the greatest value."""
    done = [each for each in cells if each.state == "done" and each.value is not None]
    return max(done, key=lambda each: (each.reached.strength, each.value or 0.0), default=None)


def _most(state: RunState) -> dict[str, float]:
    """The greatest distance from chance, by metric, for metrics whose scale has no end."""
    greatest: dict[str, float] = {}
    for cell in state.trials.values():
        if cell.gain is None and cell.reached.mean is not None:
            greatest[cell.metric] = max(cell.reached.mean, greatest.get(cell.metric, 0.0))
    return greatest


def leaked(cell: MatrixCell, most: Mapping[str, float]) -> float:
    """How much leaked, in [0, 1]: the gain, or where the scale has no end, the distance from chance as a part
    of the greatest one."""
    if cell.gain is not None:
        return cell.gain
    greatest = most.get(cell.metric, 0.0)
    return max(0.0, (cell.reached.mean or 0.0) / greatest) if greatest > 0 else 0.0


def _reached(cells: list[MatrixCell]) -> str:
    ended = sum(cell.state in ENDED for cell in cells)
    best = strongest(cells)
    if best is None:
        return f"{ended} of {len(cells)}"
    most = figure(best.value, described(best.metric).unit)
    return most if ended == len(cells) else f"{ended} of {len(cells)}, {most}"


def _run(values: LiveView, state: RunState, now: float) -> None:
    ended = sum(cell.state in ENDED for cell in state.trials.values())
    values.text["run.state"], values.state["run"] = STATES[state.state], state.state
    values.text["run.clock"] = duration(max(0.0, now - state.began)) if state.began else "not begun yet"
    values.text["run.trials"] = f"{ended:,} of {count(len(state.trials), 'trial')}"
    values.text["tour"] = "What happened" if state.over else "What is happening"
    values.text["announce"] = f"The run is {STATES[state.state]}."
    values.share["run.trials"] = _share(ended, len(state.trials))
    everything = works(state)[0]
    values.text["run.all"], values.share["run.all"] = everything.text, everything.share


def _flows(values: LiveView, state: RunState, now: float) -> None:
    everything: list[Flow] = []
    for who in ("users", "attackers"):
        of_side = [flow for holder, flow in state.flows.items() if side(holder) == who]
        keys = [account for account in state.accounts.values() if side(account.holder) == who]
        everything += of_side
        _flow(values, f"flow.{who}", of_side, now)
        spent, budget = sum(key.spent for key in keys), sum(key.budget for key in keys)
        values.text[f"keys.{who}"] = count(len(keys), "key")
        values.text[f"budget.{who}"] = f"{spent:,} of {budget:,} samples spent"
        values.text[f"left.{who}"] = f"{max(0, budget - spent):,} samples left"
        values.share[f"budget.{who}"] = _share(spent, budget) if budget else 1.0
    _flow(values, "flow.proxy", everything, now)
    values.text["proxy.keys"] = count(len(state.accounts), "key")
    trained = sum(each.state in ("trained", "serving") for each in state.models.values())
    values.text["trainers.total"] = f"{trained} of {count(len(state.models), 'model')} trained"
    training = sum(each.state == "training" for each in state.models.values())
    waiting = sum(each.kind == "train" for each in state.running.values()) - training
    progress = f"{training} now" + (f", {waiting} to come" if waiting > 0 else "")
    values.text["trainers.now"] = progress if training or waiting > 0 else _rest(state)
    values.state["trainers"] = "active" if training else "used" if trained else "idle"
    jobs = len(state.running)
    values.text["controller.now"] = f"{count(jobs, 'job')} under way" if jobs else _rest(state)
    values.state["controller"] = "active" if jobs else "idle"


def _flow(values: LiveView, place: str, flows: Iterable[Flow], now: float) -> None:
    flows = list(flows)
    samples, requests = sum(each.samples for each in flows), sum(each.requests for each in flows)
    rates = [each.rate(now) for each in flows]
    a_second = [f"{_number(sum(each))}" for each in zip(*rates, strict=True)]
    moving = any(each[1] for each in rates)
    values.text[place] = f"{count(samples, 'sample')} in {count(requests, 'request')}"
    values.text[f"{place}.samples"], values.text[f"{place}.requests"] = f"{samples:,}", f"{requests:,}"
    values.text[f"{place}.rate"] = "{} samples/s, {} requests/s".format(*a_second) if moving else "at rest"
    values.text[f"{place}.brief"] = count(samples, "sample")
    values.text[f"{place}.short"] = f"{a_second[0]}/s" if moving else f"{samples:,}"
    values.state[place] = "active" if moving else "used" if samples else "idle"


def _provider(values: LiveView, place: str, box: Box, now: float) -> None:
    _flow(values, place, (each.flow for each in box.providers), now)
    models, trained = box.models, box.trained
    values.share[place] = round(fmean(each.progress for each in models), 3)
    values.state[f"{place}.model"] = word = _word({each.state for each in models})
    many = count(len(models), "model") if trained == len(models) else f"{trained} of {len(models)}"
    accuracies = [each.figures["honesty"] for each in models if "honesty" in each.figures]
    reached = f", {percent(fmean(accuracies))} right" if accuracies else ""
    values.text[f"{place}.model"] = f"{word} {many}{reached}" if word != "waiting" else "waiting"


def _word(states: Set[str]) -> str:
    for word in ("failed", "training"):
        if word in states:
            return word
    if states == {"serving"}:
        return "serving"
    return "trained" if states & {"serving", "trained"} else "waiting"


def _title(cell: MatrixCell) -> str:
    where = f"{cell.attack} ({cell.knowledge}), budget {cell.budget:,}, seed {cell.seed}"
    if cell.state == "done":
        return f"{where}: {titled(described(cell.metric), cell.value)}"
    return f"{where}: {STATES[cell.state]}" + (f": {cell.error}" if cell.error else "")


def _share(part: int, whole: int) -> float:
    return round(min(1.0, part / whole), 4) if whole else 0.0


def _rest(state: RunState) -> str:
    return "at rest" if state.over else "waiting"


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
