"""Training an extractor by a federation in one process, and the figures of what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from leakrange.data.samples import Samples
from leakrange.defences.federated import Devices, Part, load_arrays
from leakrange.defences.outcome import TrainedDefence
from leakrange.federation.in_process import States, one_round
from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.providers.loop import Progress, through_epochs

__all__ = ["finished", "train_extractor"]

JUDGED = 2_000
"""Test samples on which devices' own adversaries are judged, at most."""
BATCH = 500


def train_extractor(
    recipe: TrainingRecipe,
    samples: Samples,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> TrainedDefence:
    """Train the extractor that ``recipe`` names, on the training samples of ``samples``, which devices share
    out between them. Raises as `leakrange.defences.federated.Devices` does."""
    began = time.perf_counter()
    devices = Devices(recipe, samples, device)
    rounds, states = Rounds(devices.federation, devices.initial(), recipe.seed), States()

    def one(after: Callable[[float], None]) -> dict[str, float]:
        return one_round(rounds, devices, states, after)

    through_epochs(devices.federation.all_rounds, one, progress)
    return finished(devices, rounds, states, time.perf_counter() - began)


def finished(devices: Devices, rounds: Rounds, states: States, seconds: float) -> TrainedDefence:
    """What came of the past ``rounds``. ``states`` are what devices have kept, as far as they tell it: on the
    test samples, "adversary" with the name of the private attribute is the mean accuracy of their own
    adversaries, "majority" the share of the commonest class, "adversary_loss" their cross-entropy and
    "kept_loss" the loss of what keeps features useful.

    Told is "federation": how many devices with how many samples each, who was left out and why, and
    "differential_privacy" of a defence that has it (`FederatedRepresentation.accounted`).
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
        told={"federation": federation},
        chosen_epoch=rounds.number,
        seconds=seconds,
    )


def _judged(devices: Devices, states: list[Arrays], private: str) -> dict[str, float]:
    """Means over the devices that took part, each with what it has kept of its last round."""
    part = devices.split("test")
    part = Part(part.samples[:JUDGED], part.private[:JUDGED], part.useful[:JUDGED])
    found = _tried(devices, states, part)
    told = {name: sum(each[name] for each in found) / len(found) for name in found[0]}
    accuracy = told.pop("accuracy")
    majority = float(torch.bincount(part.private).max()) / len(part)
    return {
        "samples": float(len(part)),
        f"adversary {private}": accuracy,
        f"majority {private}": majority,
        **told,
    }


@torch.no_grad()
def _tried(devices: Devices, states: list[Arrays], part: Part) -> list[dict[str, float]]:
    """What each state's nets make of the samples, whose features are the same for all of them."""
    devices.extractor.eval()
    devices.game.eval()
    batches = [part.batch(places, places.roll(1)) for places in torch.split(torch.arange(len(part)), BATCH)]
    seen = [(devices.extractor(batch.samples), batch) for batch in batches]
    found = []
    for state in states:
        load_arrays(devices.game, state)
        right = inferring = keeping = 0.0
        for features, batch in seen:
            count = len(features)
            right += float((devices.game.adversary(features).argmax(dim=1) == batch.private).sum())
            inferring += float(devices.game.inferring(features, batch)) * count
            keeping += float(devices.game.keeping(features, batch)) * count
        sums = {"accuracy": right, "adversary_loss": inferring, "kept_loss": keeping}
        found.append({name: total / len(part) for name, total in sums.items()})
    return found
