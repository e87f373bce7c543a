"""Makes a run's state of its events: the same events give the same state, whoever reads them, and whenever.

What the run is made of comes from its plan; everything that happens comes from events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from leakrange.attacks.kinds import kinds
from leakrange.data import names
from leakrange.jobs.step import label
from leakrange.metrics import Estimate, described
from leakrange.metrics.verdict import Reached, spread
from leakrange.scenario.labels import attribute
from leakrange.scenario.plan import Plan, PlannedModel
from leakrange.scenario.results import TrialResult
from leakrange.services.controller.live.state import (
    CellState,
    Flow,
    KindOfWork,
    LiveAccount,
    LiveModel,
    LiveProvider,
    MatrixCell,
    Message,
    Running,
    RunState,
)
from leakrange.wire.events import (
    EVENTS,
    AccountOpened,
    AccountsSettled,
    JobDone,
    JobFailed,
    JobProgress,
    JobsExpected,
    JobStarted,
    ModelServed,
    Purpose,
    RunEvent,
    RunFinished,
    RunQueued,
    RunRunning,
    TrialEnded,
    TrialStarted,
)

__all__ = ["Fold"]

QUIET = ("job.progress", "jobs.expected", "job.started", "trial.started", "accounts.settled")
"""Kinds of events that are not among the last messages: their content is shown elsewhere."""


class Fold:
    """The state of one run. ``scenario`` is its scenario as it was expanded."""

    def __init__(self, plan: Plan, scenario: Mapping[str, Any]) -> None:
        self.state = _at_first(plan, scenario)
        self._models = self.state.models
        self._needed_by: defaultdict[str, list[MatrixCell]] = defaultdict(list)
        for trial in plan.trials:
            needs = trial.needs
            probes = (name for of_role in needs.probes.values() for name in of_role)
            for name in {*needs.streams, *needs.undefended, *probes}:
                self._needed_by[name].append(self.state.trials[trial.result.id])

    def take(self, number: int, kind: str, at: datetime, data: Mapping[str, Any]) -> None:
        """Take the next event. An event of an unknown kind changes nothing but the number."""
        state, when = self.state, at.timestamp()
        state.seq, state.last = number, max(state.last, when)
        if kind not in EVENTS:
            return
        event = EVENTS[kind].model_validate(data)
        self._apply(event, when, kind)
        if event.message and kind not in QUIET:
            state.messages.append(Message(number, when, kind, event.message))

    def _apply(self, event: RunEvent, at: float, kind: str) -> None:
        match event:
            case RunQueued():
                self.state.name = event.name
            case RunRunning():
                self.state.state, self.state.began = "running", at
                self.state.steps = dict(event.steps)
            case RunFinished():
                self._finished(event)
            case JobsExpected():
                self._work(event.kind).expected += event.count
            case JobStarted():
                self._started(event)
            case JobProgress():
                self._progressed(event)
            case JobDone():
                self._done(event, at)
            case JobFailed():
                self._failed(event)
            case ModelServed():
                self._served(event)
            case AccountOpened():
                self.state.accounts[event.key] = LiveAccount(
                    event.key, self._whose(event), event.holder, event.provider, event.defence, event.budget
                )
            case AccountsSettled():
                self._settled(event)
            case TrialStarted():
                cell = self._cell(event.trial)
                if cell.state != "running":
                    cell.state, cell.since = "running", self.state.seq
            case TrialEnded():
                self._judged(event, kind.removeprefix("trial."))

    # --- the run -------------------------------------------------------------------------------------

    def _finished(self, event: RunFinished) -> None:
        state = self.state
        state.state = event.state
        state.running.clear()
        for cell in state.trials.values():
            if cell.state in ("queued", "running"):
                cell.state, cell.since = "cancelled", state.seq
        for model in self._models.values():
            if model.state == "training":
                model.state, model.progress = "waiting", 0.0

    # --- jobs ----------------------------------------------------------------------------------------

    def _work(self, kind: str) -> KindOfWork:
        return self.state.work.setdefault(kind, KindOfWork())

    def _started(self, event: JobStarted) -> None:
        self.state.running[event.identity] = Running(event.kind, self._about(event))
        for cell in self._needed_by.get(event.stream or event.probe, ()):
            if cell.state in ("queued", "failed"):
                cell.state, cell.since = "running", self.state.seq

    def _about(self, event: JobStarted) -> str:
        """What a job does, and for whom."""
        return ": ".join(filter(None, (label(event.kind), self._whose(event))))

    def _whose(self, purpose: Purpose) -> str:
        """The model and the defence that something is for."""
        model = self._models.get(purpose.model)
        whose = purpose.provider or purpose.model if model is None else model.label
        return ", ".join(filter(None, (whose, purpose.defence and self.state.under(purpose.defence))))

    def _progressed(self, event: JobProgress) -> None:
        running = self.state.running.get(event.identity)
        if running is None:
            return  # it has ended meanwhile
        running.progress, running.said = event.progress, event.message
        if event.model in self._models:
            model = self._models[event.model]
            model.state, model.progress = "training", event.progress
            model.figures |= event.figures

    def _ended(self, event: JobDone | JobFailed) -> KindOfWork:
        self.state.running.pop(event.identity, None)
        return self._work(event.kind)

    def _done(self, event: JobDone, at: float) -> None:
        self._ended(event).done += 1
        if event.kind == "train" and (model := self._models.get(event.model)) is not None:
            if model.state != "serving":
                model.state = "trained"
            model.progress, model.already = 1.0, model.already or event.already
            model.figures |= event.figures
        if event.samples:
            self._exchanged(event, at)

    def _exchanged(self, event: JobDone, at: float) -> None:
        state, account = self.state, self.state.accounts.get(event.key)
        holder = "attacker" if account is None else account.holder
        flows = [state.flows.setdefault(holder, Flow())]
        if event.provider in state.providers:
            flows.append(state.providers[event.provider].flow)
        if event.defence not in state.undefended:
            flows.append(state.defended)
        for flow in flows:
            flow.add(at, event.samples, event.requests)
        if account is not None:
            account.spent += event.samples

    def _failed(self, event: JobFailed) -> None:
        self._ended(event).failed += 1
        if event.kind == "train" and event.model in self._models:
            self._models[event.model].state = "failed"

    def _served(self, event: ModelServed) -> None:
        if event.model in self._models:
            model = self._models[event.model]
            model.state, model.progress = "serving", 1.0

    def _settled(self, event: AccountsSettled) -> None:
        for name, spent in event.spent.items():
            if (account := self.state.accounts.get(name)) is not None:
                account.spent, account.settled = spent, True

    # --- trials --------------------------------------------------------------------------------------

    def _cell(self, trial: str) -> MatrixCell:
        return self.state.trials[trial]

    def _judged(self, event: TrialEnded, state: str) -> None:
        cell = self._cell(event.trial)
        cell.state, cell.since = cast("CellState", state), self.state.seq
        cell.metric, cell.value = event.leakage, event.metrics.get(event.leakage)
        cell.reached = _reached(event)
        cell.gain, cell.error = event.gain, event.message if state != "done" else ""


def _at_first(plan: Plan, scenario: Mapping[str, Any]) -> RunState:
    """The run before its first event."""
    undefended = [name for name, chain in scenario.get("defences", {}).items() if not chain]
    trials = {each.result.id: _cell(each.result) for each in plan.trials}
    outside = {each.result.attack: None for each in plan.trials if each.needs.probes}
    return RunState(
        name=str(scenario.get("name", "")),
        clients={name: each.get("count", 1) for name, each in scenario.get("clients", {}).items()},
        defences=list(dict.fromkeys(each.defence for each in trials.values())),
        undefended=undefended,
        outside=list(outside),
        served=len(plan.models),
        providers=_providers(plan),
        others={each.id: LiveModel(each.id, each.id) for each in plan.trained if each not in plan.models},
        trials=trials,
    )


def _providers(plan: Plan) -> dict[str, LiveProvider]:
    providers: dict[str, LiveProvider] = {}
    for planned in plan.models:
        provider = providers.setdefault(
            planned.provider,
            LiveProvider(
                planned.provider,
                planned.plays,
                planned.sensitive,
                planned.release,
                planned.target,
                planned.data,
                _classes(plan, planned),
            ),
        )
        provider.models[planned.id] = LiveModel(planned.id, f"“{planned.provider}” of seed {planned.seed}")
    return providers


def _classes(plan: Plan, planned: PlannedModel) -> list[str]:
    hidden = names(planned.sensitive)
    return plan.classes.get(planned.data, {}).get(hidden[0], []) if hidden else []


def _reached(event: TrialEnded) -> Reached:
    metric = described(event.leakage)
    estimates = [] if event.beyond is None else [Estimate(value=event.beyond, low=event.low, high=event.high)]
    return Reached(
        event.beyond,
        spread(estimates),
        unsigned=metric.unsigned and not any(name in event.metrics for name in metric.excess),
        constant="constant" in event.metrics,
        scale=metric.scale,
    )


def _cell(result: TrialResult) -> MatrixCell:
    kind = kinds.get(result.kind)
    return MatrixCell(
        result.id,
        result.provider,
        result.defence,
        result.attack,
        result.knowledge,
        result.budget,
        result.seed,
        (kind.hides if kind else "") or attribute(result.sensitive or None),
    )
