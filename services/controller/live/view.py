"""What a page shows of a run's state at one moment: texts, states and shares by the name of their place.

A page is rendered with these values, and later gets those that have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from leakrange.metrics import described
from leakrange.metrics.numbers import count, duration, figure, percent
from services.controller.live.boxes import Box, boxes
from services.controller.live.state import WINDOW, Cell, Flow, Running, RunState, Work

__all__ = [
    "Group",
    "View",
    "WorkShown",
    "groups",
    "lasting",
    "side",
    "strongest",
    "under_way",
    "view",
    "works",
]

KINDS = {
    "train": "Train models",
    "deploy": "Deploy them",
    "stream": "Users’ uploads",
    "probe": "Probe from outside",
    "fit": "Fit attacks",
    "audit": "Audit models",
    "evaluate": "Judge trials",
}
"""What a run does, in that order."""
ENDED = ("done", "refused", "failed")
SIDES = {"attacker": "attackers", "auditor": "attackers"}
"""Whose keys are whose: all others are users'."""


@dataclass(frozen=True)
class View:
    """The values by place. ``share`` is in [0, 1]; ``title`` is what a trial says when pointed at."""

    text: dict[str, str] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)
    share: dict[str, float] = field(default_factory=dict)
    title: dict[str, str] = field(default_factory=dict)

    def changed(self, before: View) -> dict[str, dict[str, Any]]:
        """What is not as it was ``before``, by kind and place."""
        found: dict[str, dict[str, Any]] = {}
        for kind in ("text", "state", "share", "title"):
            was: dict[str, Any] = getattr(before, kind)
            now: dict[str, Any] = getattr(self, kind)
            if new := {place: value for place, value in now.items() if was.get(place) != value}:
                found[kind] = new
        return found


def side(holder: str) -> str:
    """Whether a holder of keys is among the users or among the attackers."""
    return SIDES.get(holder, "users")


def view(state: RunState, now: float) -> View:
    """The values at a time (seconds since the epoch). Of a run that is over they do not depend on it."""
    made = View()
    _run(made, state, state.last if state.over else now)
    if state.over:  # nothing flows any more
        now = state.last + WINDOW
    _flows(made, state, now)
    for number, box in enumerate(boxes(state)):
        _provider(made, f"provider.{number}", box, now)
    for number, account in enumerate(state.accounts.values()):
        made.text[f"account.{number}"] = f"{account.spent:,} of {account.budget:,}"
        made.share[f"account.{number}"] = _share(account.spent, account.budget)
    for group in groups(state):
        made.text[group.slot] = _reached([cell for _, cell in group.cells])
    most = _most(state)
    for number, cell in enumerate(state.trials.values()):
        place = f"cell.{number}"
        made.state[place] = cell.state
        made.share[place] = round(leaked(cell, most), 3)
        made.title[place] = _title(cell)
    return made


def lasting(state: RunState, shown: View, number: int) -> View:
    """What of ``shown`` has been so since event ``number``: of trials, which are many; everything else is
    told anew. Shares on a scale without an end depend on other trials."""
    last = View()
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
    """What the run does, by kind; of kinds that it does not need nothing."""
    serving = sum(model.state == "serving" for model in state.models.values())
    ended = [cell.state for cell in state.trials.values()]
    judged = ended.count("done") + ended.count("refused")
    everything = state.work | {
        "deploy": Work(state.served, serving),
        "evaluate": Work(len(ended), judged, ended.count("failed")),
    }
    return [
        WorkShown(
            title,
            f"{work.done:,} of {work.expected:,}" + (f", {work.failed:,} failed" if work.failed else ""),
            _share(work.done, work.expected),
        )
        for kind, title in KINDS.items()
        if (work := everything.get(kind)) is not None
    ]


def under_way(state: RunState) -> list[Running]:
    """Jobs that are under way, those first of which something is known."""
    return sorted(state.running.values(), key=lambda each: not each.said)


@dataclass(frozen=True)
class Group:
    """The trials of a provider under a defence, each with its number."""

    slot: str
    provider: str
    defence: str
    cells: list[tuple[int, Cell]]


def groups(state: RunState) -> list[Group]:
    """All trials, in the order of the scenario."""
    made: dict[tuple[str, str], Group] = {}
    for number, cell in enumerate(state.trials.values()):
        key = cell.provider, cell.defence
        group = made.setdefault(key, Group(f"group.{len(made)}", *key, []))
        group.cells.append((number, cell))
    return list(made.values())


def strongest(cells: Iterable[Cell]) -> Cell | None:
    """The trial whose attack went furthest beyond chance, or its control; where that is not known of any,
    the one with the greatest value."""
    done = [each for each in cells if each.state == "done" and each.value is not None]
    return max(done, key=lambda each: (each.reached.strength, each.value or 0.0), default=None)


def _most(state: RunState) -> dict[str, float]:
    """By metrics whose scale has no end, the greatest distance from chance."""
    found: dict[str, float] = {}
    for cell in state.trials.values():
        if cell.gain is None and cell.reached.mean is not None:
            found[cell.metric] = max(cell.reached.mean, found.get(cell.metric, 0.0))
    return found


def leaked(cell: Cell, most: Mapping[str, float]) -> float:
    """How much leaked, in [0, 1]: the gain, or where the scale has no end, the distance from chance as a part
    of the greatest one."""
    if cell.gain is not None:
        return cell.gain
    greatest = most.get(cell.metric, 0.0)
    return max(0.0, (cell.reached.mean or 0.0) / greatest) if greatest > 0 else 0.0


def _found(cell: Cell) -> str:
    """What an attack reached: "curiosity 93.1 %"."""
    metric = described(cell.metric)
    return f"{metric.title} {figure(cell.value, metric.unit)}"


def _reached(cells: list[Cell]) -> str:
    ended = sum(cell.state in ENDED for cell in cells)
    best = strongest(cells)
    if best is None:
        return f"{ended} of {len(cells)}"
    most = figure(best.value, described(best.metric).unit)
    return most if ended == len(cells) else f"{ended} of {len(cells)}, {most}"


def _run(made: View, state: RunState, now: float) -> None:
    ended = sum(cell.state in ENDED for cell in state.trials.values())
    made.text["run.state"] = made.state["run"] = state.state
    made.text["run.clock"] = duration(max(0.0, now - state.began)) if state.began else "not begun yet"
    made.text["run.trials"] = f"{ended:,} of {count(len(state.trials), 'trial')}"
    made.text["tour"] = "What happened" if state.over else "What is happening"
    made.text["announce"] = f"The run is {state.state}."
    made.share["run.trials"] = _share(ended, len(state.trials))


def _flows(made: View, state: RunState, now: float) -> None:
    everything: list[Flow] = []
    for who in ("users", "attackers"):
        own = [flow for holder, flow in state.flows.items() if side(holder) == who]
        keys = [account for account in state.accounts.values() if side(account.holder) == who]
        everything += own
        _flow(made, f"flow.{who}", own, now)
        spent, budget = sum(key.spent for key in keys), sum(key.budget for key in keys)
        made.text[f"keys.{who}"] = count(len(keys), "key")
        made.text[f"budget.{who}"] = f"{spent:,} of {budget:,} samples spent"
        made.text[f"left.{who}"] = f"{max(0, budget - spent):,} samples left"
        made.share[f"budget.{who}"] = _share(spent, budget) if budget else 1.0
    _flow(made, "flow.proxy", everything, now)
    made.text["proxy.keys"] = count(len(state.accounts), "key")
    trained = sum(each.state in ("trained", "serving") for each in state.models.values())
    made.text["trainers.total"] = f"{trained} of {count(len(state.models), 'model')} trained"
    training = sum(each.state == "training" for each in state.models.values())
    waiting = sum(each.kind == "train" for each in state.running.values()) - training
    said = f"{training} now" + (f", {waiting} to come" if waiting > 0 else "")
    made.text["trainers.now"] = said if training or waiting > 0 else _rest(state)
    made.state["trainers"] = "active" if training else "used" if trained else "idle"
    jobs = len(state.running)
    made.text["controller.now"] = f"{count(jobs, 'job')} under way" if jobs else _rest(state)
    made.state["controller"] = "active" if jobs else "idle"


def _flow(made: View, place: str, flows: Iterable[Flow], now: float) -> None:
    flows = list(flows)
    samples, requests = sum(each.samples for each in flows), sum(each.requests for each in flows)
    rates = [each.rate(now) for each in flows]
    a_second = [f"{_number(sum(each))}" for each in zip(*rates, strict=True)]
    moving = any(each[1] for each in rates)
    made.text[place] = f"{count(samples, 'sample')} in {count(requests, 'request')}"
    made.text[f"{place}.samples"], made.text[f"{place}.requests"] = f"{samples:,}", f"{requests:,}"
    made.text[f"{place}.rate"] = "{} samples/s, {} requests/s".format(*a_second) if moving else "at rest"
    made.text[f"{place}.brief"] = count(samples, "sample")
    made.text[f"{place}.short"] = f"{a_second[0]}/s" if moving else f"{samples:,}"
    made.state[place] = "active" if moving else "used" if samples else "idle"


def _provider(made: View, place: str, box: Box, now: float) -> None:
    _flow(made, place, (each.flow for each in box.providers), now)
    models, trained = box.models, box.trained
    made.share[place] = round(fmean(each.progress for each in models), 3)
    made.state[f"{place}.model"] = word = _word({each.state for each in models})
    many = count(len(models), "model") if trained == len(models) else f"{trained} of {len(models)}"
    accuracies = [each.figures["honesty"] for each in models if "honesty" in each.figures]
    reached = f", {percent(fmean(accuracies))} right" if accuracies else ""
    made.text[f"{place}.model"] = f"{word} {many}{reached}" if word != "waiting" else "waiting"


def _word(states: Set[str]) -> str:
    for word in ("failed", "training"):
        if word in states:
            return word
    if states == {"serving"}:
        return "serving"
    return "trained" if states & {"serving", "trained"} else "waiting"


def _title(cell: Cell) -> str:
    where = f"{cell.attack} ({cell.knowledge}), budget {cell.budget:,}, seed {cell.seed}"
    if cell.state == "done":
        return f"{where}: {_found(cell)}"
    return f"{where}: {cell.state}" + (f": {cell.error}" if cell.error else "")


def _share(part: int, whole: int) -> float:
    return round(min(1.0, part / whole), 4) if whole else 0.0


def _rest(state: RunState) -> str:
    return "at rest" if state.over else "waiting"


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
