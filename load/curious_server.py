"""What the updates of a federation tell its server: samples in the first round, membership over all rounds.

    python -m leakrange.load.curious_server [--data adult] [--private gender] [--devices 10]
        [--participants 5] [--rounds 6] [--setting 10:10:1 ...] [--defence tappfl]
        [--parameters '{"strength": 0.5}'] [--seeds 2]

A setting is SAMPLES:BATCH:EPOCHS, of one device and its local training. The server has the parameters that it
sent, the updates, and records of its own from the same population (``auxiliary``). ``plain`` is a server that
sees each device's update, ``secure`` one that sees the mean of a round's. A parameter that a device has not
shared counts as one that has not moved.

- ``read``: the share of the samples that lie within 5 % of one that rows of the first layer's update agree
  on; ``error``: the mean error, relative to that of guessing the population's mean, which is 1.
- ``found`` and ``error``: the same of optimised samples, for updates of up to 10 samples. Two devices are
  tried, from three starts each.
- ``span``, ``drift``: AUC of a device's samples against test samples, for the distance from the span of the
  first layer's update, and for the drift of features. Scores are standardised by the server's own records
  and averaged over the rounds in which the device takes part. ``1%``: the true positive rate of the first,
  where one in a hundred others is taken for a member; of all devices' scores together.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from leakrange.attacks.federation import (
    distances_from_span,
    feature_drifts,
    filled,
    moves_of_first_layer,
    optimised_samples,
    relative_errors,
    samples_in_rows,
)
from leakrange.data import Samples, load
from leakrange.defences.federated import FederatedDevices
from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.federated import FederatedRepresentation
from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays
from leakrange.jobs.recipe import DataSpec
from leakrange.metrics.roc import auc, tpr_at_fpr
from leakrange.nets.classifier import to_input

__all__ = ["main"]

SETTINGS = ("2:8:1", "5:8:1", "5:8:10", "10:10:1", "10:10:10", "20:10:1", "50:10:1", "50:10:10", "100:10:10")
OWN = 2_000
"""Most records of the server's own, and most test samples."""
SEARCHED = 10
NEAR = 0.05
TINY = 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SeenUpdate:
    """One exchange that the server sees: the parameters that it sent and those that came back, from these
    devices together."""

    number: int
    devices: tuple[int, ...]
    sent: Arrays
    received: Arrays


@dataclass(frozen=True)
class Federated:
    """A federation that has learned, and samples as nets take them."""

    devices: FederatedDevices
    plain: list[SeenUpdate]
    secure: list[SeenUpdate]
    known: NDArray[np.float32]
    others: NDArray[np.float32]

    def samples(self, numbers: Sequence[int]) -> NDArray[np.float32]:
        """The samples of these devices."""
        return np.concatenate(
            [self.devices.part(self.devices.parts[each]).samples.numpy() for each in numbers]
        )


def flat(samples: Samples, split: str) -> NDArray[np.float32]:
    chosen = samples.where(split)[:OWN]
    return to_input(torch.from_numpy(samples.values[chosen]), samples.spec).numpy()


def learnt(options: argparse.Namespace, setting: tuple[int, int, int], seed: int) -> Federated:
    """Run the rounds, and record what the server sees of them."""
    count, batch, epochs = setting
    entry = representation_defences[options.defence]
    federation = {
        "devices": options.devices,
        "share": options.participants / options.devices,
        "rounds": options.rounds,
        "pretraining": 0,
        "local_epochs": epochs,
        "most_norm": 1e9,
    }
    parameters = {"private": options.private, "batch": batch, "federation": federation, **options.parameters}
    link = entry(entry.Parameters.model_validate(parameters))
    assert isinstance(link, FederatedRepresentation)
    data = DataSpec(name=options.data, limit=count * options.devices, seed=seed)
    devices = FederatedDevices(link.recipe(data, seed), load(data))
    population = load(DataSpec(name=options.data, limit=OWN, seed=seed))
    rounds = Rounds(devices.federation, devices.initial(), seed)
    states: dict[int, Arrays] = {}
    plain, secure = [], []
    while not rounds.over:
        sent, number, chosen = rounds.shared, rounds.number, rounds.chosen()
        before = {device: states.get(device) for device in rounds.training()}
        trained = devices.train(sent, before, number)
        states.update({device: state for device, (_, state) in trained.items()})
        updates = [trained[device][0] for device in chosen]
        for device, update in zip(chosen, updates, strict=True):
            plain.append(SeenUpdate(number, (device,), sent, filled(sent, update.shared)))
        rounds.close(updates)
        secure.append(SeenUpdate(number, tuple(chosen), sent, rounds.shared))
    return Federated(devices, plain, secure, flat(population, "auxiliary"), flat(population, "test"))


def reconstructed(federated: Federated, seen: Sequence[SeenUpdate], seed: int) -> dict[str, list[float]]:
    """Share and errors of the samples that the first round reveals."""
    mean = federated.known.mean(axis=0)
    results: dict[str, list[float]] = {"read": [], "error": [], "found": [], "searched": []}
    for place, each in enumerate(each for each in seen if each.number == 0):
        samples = federated.samples(each.devices)
        rows = samples_in_rows(moves_of_first_layer(each.sent, each.received))
        errors = relative_errors(samples, rows, mean)
        results["read"].append(float((errors < NEAR).mean()))
        results["error"].append(float(errors.mean()))
        if len(samples) > SEARCHED or place >= 2:
            continue
        draw = np.random.default_rng([seed, place])
        start = federated.known[draw.choice(len(federated.known), len(samples), replace=False)]
        resembling, _ = optimised_samples(
            federated.devices.extractor, each.sent, each.received, start, seed, searches=3
        )
        errors = relative_errors(samples, resembling, mean)
        results["found"].append(float((errors < NEAR).mean()))
        results["searched"].append(float(errors.mean()))
    return results


def inferred(federated: Federated, seen: Sequence[SeenUpdate]) -> dict[str, list[float]]:
    """AUCs of membership over all rounds."""
    extractor = federated.devices.extractor
    scores: dict[str, Callable[[SeenUpdate, NDArray[np.float32]], Floats]] = {
        "span": lambda each, samples: (
            -np.log(distances_from_span(moves_of_first_layer(each.sent, each.received), samples) + TINY)
        ),
        "drift": lambda each, samples: feature_drifts(extractor, each.sent, each.received, samples),
    }
    devices = sorted({device for each in seen for device in each.devices})
    areas: dict[str, list[float]] = {}
    for name, score in scores.items():
        together, truth = [], []
        for device in devices:
            samples = federated.samples([device])
            candidates = np.concatenate([federated.known, samples, federated.others])
            turns = [score(each, candidates) for each in seen if device in each.devices]
            mean_scores = np.mean([standard(turn, len(federated.known)) for turn in turns], axis=0)
            members = np.arange(len(mean_scores)) < len(samples)
            areas.setdefault(name, []).append(auc(mean_scores, members))
            together.append(mean_scores)
            truth.append(members)
        areas[f"{name} 1%"] = [tpr_at_fpr(np.concatenate(together), np.concatenate(truth), 0.01)]
    return areas


def standard(scores: Floats, known: int) -> Floats:
    """The scores of other samples, standardised by the mean and deviation of the ``known`` first ones."""
    mean, deviation = scores[:known].mean(), scores[:known].std()
    standardised: Floats = (scores[known:] - mean) / max(float(deviation), 1e-12)
    return standardised


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default="adult")
    parser.add_argument("--private", default="gender")
    parser.add_argument("--devices", type=int, default=10)
    parser.add_argument("--participants", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--setting", nargs="+", default=SETTINGS)
    parser.add_argument("--defence", default="tappfl")
    parser.add_argument("--parameters", type=json.loads, default={}, help="of the defence, as JSON")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    columns = ("read", "error", "found", "searched", "span", "span 1%", "drift", "drift 1%")
    print(f"{options.defence} {json.dumps(options.parameters)} on {options.data}, {options.devices} devices,")
    print(f"{options.participants} in each of {options.rounds} rounds, {options.seeds} seeds\n")
    print("| samples:batch:epochs | server | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 2))
    for setting in options.setting:
        numbers = tuple(map(int, setting.split(":")))
        results: dict[str, dict[str, list[float]]] = {"plain": {}, "secure": {}}
        for seed in range(options.seeds):
            federated = learnt(options, numbers, seed)  # type: ignore[arg-type]
            for server, seen in (("plain", federated.plain), ("secure", federated.secure)):
                parts: dict[str, Any] = {**reconstructed(federated, seen, seed), **inferred(federated, seen)}
                for name, values in parts.items():
                    results[server].setdefault(name, []).extend(values)
        for server, figures in results.items():
            cells = [f"{np.mean(figures[name]):.2f}" if figures[name] else "" for name in columns]
            print(f"| {setting} | {server} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
