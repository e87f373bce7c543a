"""The server's loop over Flower's grid: who is there, a round, the next, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog

from leakrange.defences.registered import federated_defence
from leakrange.federation.rounds import Rounds
from leakrange.federation.settings import Federation
from leakrange.federation.updates import Lost, Update
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.wire.errors import InvalidInput
from services.federation.messages import answered, question, task
from services.federation.seats import Seats

if TYPE_CHECKING:
    from flwr.app import Message
    from flwr.serverapp import Grid

    from leakrange.defences.outcome import TrainedDefence

__all__ = ["Patience", "federate", "federation_of"]

PAUSES = (0.05, 1.0)
"""Seconds between the first two looks for what others send; doubled for each further one, up to the last."""
NOBODY = -1
"""The number of no device."""
log = structlog.get_logger("leakrange.federation")


@dataclass(frozen=True)
class Patience:
    """How many seconds the server waits: for all devices to be there before the first round (``gather``), and
    for their answers in each (``answer``)."""

    gather: float = 60.0
    answer: float = 600.0


def federation_of(recipe: TrainingRecipe) -> Federation:
    """The federation that trains the extractor of ``recipe``. Raises `InvalidInput` where it is for something
    else, or asks for what is not done over Flower; `UnknownName` for an unknown defence."""
    found: Federation = federated_defence(recipe).parameters.federation
    if found.secure:
        raise InvalidInput(
            "over Flower devices send their updates as they are: there is no secure aggregation",
            hint="let the range train this one, in one process",
        )
    return found


def federate(grid: Grid, recipe: TrainingRecipe, patience: Patience) -> TrainedDefence:
    """Train the extractor of ``recipe`` by all rounds of its federation.

    The server draws whose updates it takes; the others of those that train say that they are through, and
    nothing else. A device that is not there, dies, or does not answer in time is lost for the round. Raises
    as `federation_of` and `leakrange.defences.federated.Devices` do.
    """
    import torch

    from leakrange.data import load
    from leakrange.defences.extractor_training import finished
    from leakrange.defences.federated import Devices

    torch.set_num_threads(1)
    began = time.perf_counter()
    recipe.check_versions()
    federation_of(recipe)
    devices = Devices(recipe, load(recipe.data))
    rounds = Rounds(devices.federation, devices.initial(), recipe.seed)
    server = _Server(grid, recipe, rounds, patience)
    server.gather()
    while not rounds.over:
        entry = server.one_round()
        log.info("round", **entry)
    return finished(devices, rounds, {}, time.perf_counter() - began)


@dataclass
class _Server:
    grid: Grid
    recipe: TrainingRecipe
    rounds: Rounds
    patience: Patience
    seats: Seats = field(init=False)
    asking: dict[str, int] = field(default_factory=dict)
    """Nodes that have not said yet which device they are, by the question's id."""

    def __post_init__(self) -> None:
        self.seats = Seats(self.rounds.federation.devices)

    def gather(self) -> None:
        """Wait until there is a node for every device, or patience ends."""
        for _ in _looks(self.patience.gather):
            self.call()
            if self.seats.enough:
                return
        log.warning("devices are missing; rounds begin without them")

    def call(self) -> None:
        """See which nodes are there, without waiting: newcomers are asked, and seated when they have said
        which device they are."""
        present = set(self.grid.get_node_ids())
        for node in self.seats.strangers(present - set(self.asking.values())):
            sent = self._push(question(node, self.patience.gather + self.patience.answer))
            if sent is not None:
                self.asking[sent] = node
        # A node whose answer is an error, as where its machine is too busy, is asked again.
        found = {self.asking.pop(sent): message for sent, message in self._pull(self.asking)}
        named = {node: _number(message) for node, message in found.items() if not _failed(message)}
        self.seats.take(present, named)
        self.asking = {sent: node for sent, node in self.asking.items() if node in present}

    def one_round(self) -> dict[str, float]:
        """Go through the next round; gives its entry of the history."""
        began = time.perf_counter()
        self.call()
        self.seats.deal()
        answers: list[Update | Lost] = []
        waiting: dict[str, int] = {}
        chosen = set(self.rounds.chosen())
        for device in self.rounds.training():
            node = self.seats.node(device)
            if node is None:
                answers.append(Lost(device, "it is not there"))
                continue
            number, patience = self.rounds.number, self.patience.answer
            wanted = task(self.recipe, self.rounds.shared, node, device, number, device in chosen, patience)
            sent = self._push(wanted)
            if sent is None:
                answers.append(Lost(device, "its task could not be sent"))
            else:
                waiting[sent] = device
        for _ in _looks(self.patience.answer):
            for sent, message in self._pull(waiting):
                answers.append(answered(message, waiting.pop(sent)))
            if not waiting:
                break
        answers += [Lost(each, f"no answer in {self.patience.answer:g} s") for each in waiting.values()]
        entry = self.rounds.close([answer for answer in answers if answer.device in chosen])
        entry["seconds"] = time.perf_counter() - began
        return entry

    def _push(self, message: Message) -> str | None:
        [sent] = self.grid.push_messages([message]) or [None]
        return sent or None

    def _pull(self, sent: Iterable[str]) -> list[tuple[str, Message | Exception]]:
        """The answers that have come, or how they cannot be read, with the ids of what they answer."""
        wanted = set(sent)
        if not wanted:
            return []
        try:
            found = list(self.grid.pull_messages(wanted))
        except Exception as error:  # one answer is damaged: the others are not to suffer for it
            if len(wanted) == 1:
                return [(wanted.pop(), error)]
            return [answer for each in wanted for answer in self._pull([each])]
        by_question = {message.metadata.reply_to_message_id: message for message in found}
        return [(each, message) for each, message in by_question.items() if each in wanted]


def _looks(seconds: float) -> Iterator[None]:
    """One look after the other, with pauses, until so many seconds are over."""
    until = time.monotonic() + seconds
    pause, longest = PAUSES
    while True:
        yield
        if (left := until - time.monotonic()) <= 0:
            return
        time.sleep(min(pause, left))
        pause = min(2.0 * pause, longest)


def _failed(message: Message | Exception) -> bool:
    return not isinstance(message, Exception) and bool(message.has_error())


def _number(message: Message | Exception) -> int | None:
    """Which device a node says it is, None where it leaves that to us; one that talks nonsense is none."""
    if isinstance(message, Exception):
        return NOBODY
    try:
        told: Any = message.content["number"].get("device")
        return None if told is None else int(told)
    except Exception:  # a node may say anything
        return NOBODY
