"""Training of an extractor by a federation in one process, and its figures."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from leakrange.data.samples import Samples
from leakrange.defences.artifact import TrainedDefence
from leakrange.defences.federated import FederatedDevices, Part, load_arrays
from leakrange.federation.in_process import States, one_round
from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.providers.loop import Progress, through_epochs

__all__ = ["finished", "train_extractor"]

JUDGED = 2_000
"""Largest number of test samples on which devices' own adversaries are judged."""
BATCH = 500


def train_extractor(
    recipe: TrainingRecipe,
    samples: Samples,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> TrainedDefence:
    """Train the extractor that ``recipe`` names, on the training samples of ``samples``, which devices share
    out between them. Raises as `leakrange.defences.federated.FederatedDevices` does."""
    began = time.perf_counter()
    devices = FederatedDevices(recipe, samples, device)
    rounds, states = Rounds(devices.federation, devices.initial(), recipe.seed), States()

    def one(after: Callable[[float], None]) -> dict[str, float]:
        return one_round(rounds, devices, states, after)

    through_epochs(devices.federation.all_rounds, one, progress)
    return finished(devices, rounds, states, time.perf_counter() - began)


def finished(devices: FederatedDevices, rounds: Rounds, states: States, seconds: float) -> TrainedDefence:
    """The result of the past ``rounds``. ``states`` are the nets that devices have kept, as far as devices
    share them. They give figures on the test samples: "adversary" with the name of the private attribute is
    the mean accuracy of the devices' own adversaries, "majority" the share of the commonest class,
    "adversary_loss" their cross-entropy and "kept_loss" the loss of the part that keeps features useful.

    The record holds "federation": the number of devices and of the samples of each, and the devices left out
    with the reason; and "differential_privacy" of a defence that has it
    (`FederatedRepresentation.accounted`).
    """
    private = devices.link.parameters.private
    load_arrays(devices.extractor, rounds.shared)
    figures = {}
    if states:
        figures["test"] = _judged(devices, list(states.values()), private)
    module = devices.extractor.to("cpu").eval().requires_grad_(False)
    samples = [len(part) for part in devices.parts]
    federation = {
        "devices": devices.federation.devices,
        "samples": samples,
        "left_out": rounds.left_out,
    }
    accepted = [int(entry["accepted"]) for entry in rounds.history]
    if proven := devices.link.accounted(samples, rounds.turns(), accepted):
        federation["differential_privacy"] = proven
    return TrainedDefence(
        recipe=devices.recipe,
        config=devices.config,
        module=module,
        history=rounds.history,
        figures=figures,
        record={"federation": federation},
        chosen_epoch=rounds.number,
        seconds=seconds,
    )


def _judged(devices: FederatedDevices, states: list[Arrays], private: str) -> dict[str, float]:
    """Means over the devices that took part, each with the state of its last round."""
    part = devices.split("test")
    part = Part(part.samples[:JUDGED], part.private[:JUDGED], part.useful[:JUDGED])
    by_device = _tried(devices, states, part)
    means = {name: sum(each[name] for each in by_device) / len(by_device) for name in by_device[0]}
    accuracy = means.pop("accuracy")
    majority = float(torch.bincount(part.private).max()) / len(part)
    return {
        "samples": float(len(part)),
        f"adversary {private}": accuracy,
        f"majority {private}": majority,
        **means,
    }


@torch.no_grad()
def _tried(devices: FederatedDevices, states: list[Arrays], part: Part) -> list[dict[str, float]]:
    """Figures of each state's nets on the samples, whose features are the same for all of them."""
    devices.extractor.eval()
    devices.game.eval()
    batches = [
        part.batch(indices, indices.roll(1)) for indices in torch.split(torch.arange(len(part)), BATCH)
    ]
    embedded = [(devices.extractor(batch.samples), batch) for batch in batches]
    figures = []
    for state in states:
        load_arrays(devices.game, state)
        right = inferring = keeping = 0.0
        for features, batch in embedded:
            count = len(features)
            right += float((devices.game.adversary(features).argmax(dim=1) == batch.private).sum())
            inferring += float(devices.game.inferring(features, batch)) * count
            keeping += float(devices.game.keeping(features, batch)) * count
        sums = {"accuracy": right, "adversary_loss": inferring, "kept_loss": keeping}
        figures.append({name: total / len(part) for name, total in sums.items()})
    return figures
