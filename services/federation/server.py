"""The server's loop over Flower's grid: its nodes, the rounds, and their result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from leakrange.defences.registered import federated_defence
from leakrange.federation.rounds import Rounds
from leakrange.federation.settings import Federation
from leakrange.federation.updates import Lost, Update
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.services.federation.messages import read_answer, task
from leakrange.services.federation.seats import seats
from leakrange.wire.errors import InvalidInput, LeakrangeError

if TYPE_CHECKING:
    from flwr.app import Message
    from flwr.serverapp import Grid

    from leakrange.defences.artifact import TrainedDefence

__all__ = ["Patience", "federate", "federation_of"]

PAUSES = (0.05, 1.0)
"""Seconds between the first two looks for messages; doubled for each further one, up to the last."""
log = structlog.get_logger("leakrange.federation")


@dataclass(frozen=True)
class Patience:
    """Seconds that the server waits: for all devices before the first round (``gather``), and for their
    answers in each (``answer``)."""

    gather: float = 60.0
    answer: float = 600.0


def federation_of(recipe: TrainingRecipe) -> Federation:
    """The federation that trains the extractor of ``recipe``. Raises `InvalidInput` where the recipe is for
    something else, or asks for a feature that is missing over Flower; `UnknownName` for an unknown defence.
    """
    federation: Federation = federated_defence(recipe).parameters.federation
    if federation.secure:
        raise InvalidInput(
            "over Flower devices send their updates as they are: there is no secure aggregation",
            hint="let the range train this one, in one process",
        )
    return federation


def federate(grid: Grid, recipe: TrainingRecipe, patience: Patience) -> TrainedDefence:
    """Train the extractor of ``recipe`` by all rounds of its federation.

    The server draws the devices whose updates it takes; the other training devices only report that they are
    done. A device that is absent, dies, or does not answer in time is lost for the round. Raises
    `LeakrangeError` where no update counted in any round, and as `federation_of` and
    `leakrange.defences.federated.FederatedDevices` do.
    """
    import torch

    from leakrange.data import load
    from leakrange.defences.extractor_training import finished
    from leakrange.defences.federated import FederatedDevices

    torch.set_num_threads(1)
    began = time.perf_counter()
    recipe.check_versions()
    federation_of(recipe)
    devices = FederatedDevices(recipe, load(recipe.data))
    samples = [len(part) for part in devices.parts]
    rounds = Rounds(devices.federation, devices.initial(), recipe.seed, samples)
    server = _Server(grid, recipe, rounds, patience)
    server.gather()
    while not rounds.over:
        entry = server.one_round()
        log.info("round", **entry)
    if not any(entry["accepted"] for entry in rounds.history):
        raise LeakrangeError(
            "no update counted in any round, so nothing was learned",
            hint="start as many devices as the recipe has, enrol them, and run it again",
        )
    return finished(devices, rounds, {}, time.perf_counter() - began)


@dataclass
class _Server:
    grid: Grid
    recipe: TrainingRecipe
    rounds: Rounds
    patience: Patience

    def seats(self) -> dict[int, int]:
        """The present nodes, by device number."""
        return seats(self.grid.get_nodes(), self.rounds.federation.devices)

    def gather(self) -> None:
        """Wait until there is a node for every device, or patience ends."""
        for _ in _looks(self.patience.gather):
            if len(self.seats()) == self.rounds.federation.devices:
                return
        log.warning("devices are missing; rounds begin without them")

    def one_round(self) -> dict[str, float]:
        """Run the next round, and return its entry of the history."""
        began = time.perf_counter()
        seated = self.seats()
        answers: list[Update | Lost] = []
        waiting: dict[str, int] = {}
        chosen = set(self.rounds.chosen())
        for device in self.rounds.training():
            node = seated.get(device)
            if node is None:
                answers.append(Lost(device, "it is not there"))
                continue
            number, patience = self.rounds.number, self.patience.answer
            order = task(self.recipe, self.rounds.shared, node, device, number, device in chosen, patience)
            message_id = self._push(order)
            if message_id is None:
                answers.append(Lost(device, "its task could not be sent"))
            else:
                waiting[message_id] = device
        for _ in _looks(self.patience.answer):
            for message_id, message in self._pull(waiting):
                answers.append(read_answer(message, waiting.pop(message_id)))
            if not waiting:
                break
        answers += [Lost(each, f"no answer in {self.patience.answer:g} s") for each in waiting.values()]
        entry = self.rounds.close([answer for answer in answers if answer.device in chosen])
        entry["seconds"] = time.perf_counter() - began
        return entry

    def _push(self, message: Message) -> str | None:
        [message_id] = self.grid.push_messages([message]) or [None]
        return message_id or None

    def _pull(self, message_ids: Iterable[str]) -> list[tuple[str, Message | Exception]]:
        """The answers that have come, or the errors of unreadable ones, with the ids of the messages that
        they answer. Each is fetched alone, since an unreadable one would take others with it."""
        answers: list[tuple[str, Message | Exception]] = []
        for each in list(message_ids):
            try:
                answers += [(each, message) for message in list(self.grid.pull_messages([each]))[:1]]
            except Exception as error:  # a device may send anything, and must not end the round
                answers.append((each, error))
        return answers


def _looks(seconds: float) -> Iterator[None]:
    """Yield for one look after the other, with pauses, until so many seconds are over."""
    until = time.monotonic() + seconds
    pause, longest = PAUSES
    while True:
        yield
        if (left := until - time.monotonic()) <= 0:
            return
        time.sleep(min(pause, left))
        pause = min(2.0 * pause, longest)
