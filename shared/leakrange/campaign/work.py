"""Trains and measures the trials of a campaign in several processes, within a time limit."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from leakrange.allocator import ALLOCATOR
from leakrange.campaign.parties import Folders, judge
from leakrange.campaign.plan import Piece, recipes
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.papers.cells import Cells
from leakrange.registry import UnknownName
from leakrange.scenario.plan import Plan, PlannedTrial
from leakrange.scenario.results import TrialResult
from leakrange.service.parent import die_with
from leakrange.wire.digests import digest
from leakrange.wire.errors import LeakrangeError

__all__ = ["Campaign", "Hardware"]

log = structlog.get_logger("leakrange.campaign")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Hardware:
    """Torch's name of the ``device``, the ``name`` of the hardware behind it, and how many ``processes``
    share it, each with that many ``threads``."""

    device: str
    name: str
    processes: int
    threads: int


@dataclass(frozen=True)
class Failed:
    """The reason why a model was not trained or a trial not measured."""

    reason: str


@dataclass(frozen=True)
class _Task:
    """Training the ``recipe``, or measuring the trial ``piece``; ``name`` is the digest of either."""

    name: str
    piece: Piece
    recipe: TrainingRecipe | None = None


class Campaign:
    """The trials that are left of a plan, the worthiest first. A model is trained once for all of them, and
    only one at a time."""

    def __init__(self, pieces: Sequence[Piece], cells: Cells, scratch: Path) -> None:
        self._cells, self._scratch = cells, scratch
        self.left = {digest(piece.cell): piece for piece in pieces if cells.get(piece.cell) is None}
        self._needed = {
            name: {recipe.digest(): recipe for recipe in recipes(piece.plan, piece.planned)}
            for name, piece in self.left.items()
        }
        folders = Folders(scratch)
        wanted: dict[str, TrainingRecipe] = {}
        for needed in self._needed.values():
            wanted |= needed
        self.untrained = {each: recipe for each, recipe in wanted.items() if folders.find(each) is None}
        self.failed: dict[str, str] = {}
        self._running: dict[Future[Any], _Task] = {}

    def run(self, hardware: Hardware, seconds: float, say: Say) -> None:
        """Work until all is done, or for that many ``seconds``; unfinished trainings and trials are given up
        then, and begin anew in the next campaign on the same folders. Raises `BrokenProcessPool` if a process
        dies."""
        deadline, others = time.monotonic() + seconds, set(multiprocessing.active_children())
        threads = str(hardware.threads)
        variables = {**ALLOCATOR, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        before = {name: os.environ[name] for name in variables.keys() & os.environ.keys()}
        os.environ.update(variables)
        spawn = multiprocessing.get_context("spawn")  # a process that has run torch must not be forked
        begin = partial(_begin, os.getpid(), hardware.threads)
        pool = ProcessPoolExecutor(hardware.processes, mp_context=spawn, initializer=begin)
        try:
            while (left := deadline - time.monotonic()) > 0:
                while len(self._running) < hardware.processes and (task := self._next()) is not None:
                    self._running[self._submit(pool, task, hardware.device)] = task
                if not self._running:
                    return
                done, _ = wait(self._running, timeout=left, return_when=FIRST_COMPLETED)
                for future in done:
                    self._ended(self._running.pop(future), future.result(), hardware, say)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
            for name in variables:  # processes that this one begins later are none of the campaign's
                del os.environ[name]
            os.environ.update(before)

    def _next(self) -> _Task | None:
        """The task of highest priority that can be begun."""
        busy = {task.name for task in self._running.values()}
        for name, piece in self.left.items():
            needed = self._needed[name]
            if name in busy or name in self.failed or any(each in self.failed for each in needed):
                continue
            lacking = {each: recipe for each, recipe in needed.items() if each in self.untrained}
            if not lacking:
                return _Task(name, piece)
            for each, recipe in lacking.items():
                if each not in busy and recipe.extractor not in self.untrained:
                    return _Task(each, piece, recipe)
        return None

    def _submit(self, pool: ProcessPoolExecutor, task: _Task, device: str) -> Future[Any]:
        if task.recipe is not None:
            return pool.submit(_done, _train, task.recipe, self._scratch, device)
        return pool.submit(_done, _measure, task.piece.plan, task.piece.planned, self._scratch, device)

    def _ended(self, task: _Task, outcome: Any, hardware: Hardware, say: Say) -> None:
        trial = f"{task.piece.paper.sheet.name} {task.piece.planned.result.id}"
        if isinstance(outcome, Failed):
            self.failed[task.name] = outcome.reason
            say(f"failed: {trial}: {outcome.reason}")
        elif task.recipe is not None:
            del self.untrained[task.name]
            say(f"trained in {outcome:.1f} s: {task.recipe.behaviour} {task.name[:8]} for {trial}")
        else:
            cell = task.piece.paper.kept(task.piece.trial, outcome)
            self._cells.put(task.piece.cell, {**cell, "device": hardware.name})
            del self.left[task.name]
            say(f"measured: {trial}; {len(self.left)} left")


def _begin(parent: int, threads: int) -> None:
    """Prepare a process, before its first task."""
    import torch

    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    torch.set_num_threads(threads)


def _done(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of the ``work``, or the reason why there is none: one trial must not end the others."""
    try:
        return work(*arguments)
    except LeakrangeError as error:
        return Failed(error.detail)
    except (UnknownName, ValueError) as error:
        return Failed(str(error))
    except Exception as error:
        log.error("failed", exc_info=error)
        return Failed(f"{type(error).__name__}: {error}")


def _train(recipe: TrainingRecipe, scratch: Path, device: str) -> float:
    return Folders(scratch).train(recipe, device)


def _measure(plan: Plan, planned: PlannedTrial, scratch: Path, device: str) -> TrialResult:
    return judge(plan, planned, Folders(scratch), device)
