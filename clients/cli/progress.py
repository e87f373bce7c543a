"""Follows a run: progress bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from leakrange.client import Event, Range
from leakrange.clients.cli.console import note, plain, screen
from leakrange.jobs.step import label, steps
from leakrange.metrics.numbers import time_left
from leakrange.wire.errors import Unavailable
from leakrange.wire.runs import FINAL, STATES, Count, RunView

__all__ = ["watch"]

ASK_EVERY, LINE_EVERY = 0.5, 5.0


def watch(place: Range, run: str) -> RunView:
    """Show the progress of ``run`` until it is finished; returns its last view."""
    shown = _Bars() if screen.is_terminal else _Lines()
    asked = 0.0
    with shown:
        for event in place.runs.follow(run):
            shown.event(event)
            now = time.monotonic()
            if now - asked >= ASK_EVERY:
                asked = now
                # `follow` waits for a controller that restarts; until then the bars stand still.
                with suppress(Unavailable):
                    shown.view(place.runs.view(run))
        last = place.runs.view(run)
        shown.view(last)
    return last


def _counts(view: RunView) -> dict[str, Count]:
    """Return the counts by kind of job and those of the trials, in their order."""
    counts = {**view.jobs, "trials": view.trials}
    return {kind: counts[kind] for kind in sorted(counts, key=_rank)}


class _Bars:
    """One bar for each kind of job and one for the trials; below, the last message of the run."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.fields[label]:<15}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[message]}", style="dim", markup=False),
            console=screen,
        )
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> _Bars:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def event(self, event: Event) -> None:
        kind = str(event.data.get("kind", "trials" if event.kind.startswith("trial.") else ""))
        message = str(event.data.get("message", ""))
        if kind in self._bars and message:
            self._progress.update(self._bars[kind], message=_short(plain(message)))

    def view(self, view: RunView) -> None:
        for kind, count in _counts(view).items():
            if count.total == 0:
                continue
            if kind not in self._bars:
                words = plain(label(kind))
                self._bars[kind] = self._progress.add_task("", label=words, message="", total=count.total)
            bar = self._bars[kind]
            finished = count.done + count.failed
            self._progress.update(bar, completed=finished, total=count.total)
            if finished == count.total:
                failed = f"{count.failed} failed" if count.failed else ""
                self._progress.update(bar, message=failed)


class _Lines:
    """The counts every five seconds, for logs and pipes."""

    def __init__(self) -> None:
        self._noted_at = time.monotonic()
        self._last = ""
        self._began: datetime | None = None
        self._now = datetime.now(UTC)
        self._planned: dict[str, int] = {}
        self._failures: set[str] = set()

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def event(self, event: Event) -> None:
        self._now = event.at
        if event.kind == "run.running":
            self._began, self._planned = event.at, event.data.get("steps", {})
        message = event.message
        if event.kind.endswith(".failed") and message not in self._failures:
            self._failures.add(message)  # one broken job fails every trial that needs it, in the same words
            note(message)

    def view(self, view: RunView) -> None:
        now = time.monotonic()
        final = view.state in FINAL
        if now - self._noted_at < LINE_EVERY and not final:
            return
        parts = [f"{kind} {count.done + count.failed}/{count.total}" for kind, count in _counts(view).items()]
        if not final and (left := self._left(_counts(view))):
            parts.append(left)
        line = f"{STATES[view.state]}: {', '.join(parts)}"
        if line != self._last:
            note(line)
            self._noted_at, self._last = now, line

    def _left(self, counts: dict[str, Count]) -> str:
        """The time left by the range's clock, as the page of the run tells it."""
        if self._began is None:
            return ""
        ended = sum(count.done + count.failed for count in counts.values())
        total = sum(max(count.total, self._planned.get(kind, 0)) for kind, count in counts.items())
        total += sum(number for kind, number in self._planned.items() if kind not in counts)
        return time_left((self._now - self._began).total_seconds(), ended, total)


def _rank(kind: str) -> tuple[int, str]:
    step = steps.get(kind)
    return (10**6 + (kind == "trials") if step is None else step.rank, kind)


def _short(message: str, width: int = 60) -> str:
    return message if len(message) <= width else message[: width - 1] + "…"
