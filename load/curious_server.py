"""What the updates of a federation tell its server: samples in the first round, membership over all rounds.

    python -m load.curious_server [--data adult] [--private gender] [--devices 10] [--participants 5]
        [--rounds 6] [--setting 10:10:1 ...] [--defence tappfl] [--parameters '{"strength": 0.5}'] [--seeds 2]

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

from leakrange.attacks.federation.drift import feature_drifts
from leakrange.attacks.federation.first_layer import (
    distances_from_span,
    moves_of_first_layer,
    samples_in_rows,
)
from leakrange.attacks.federation.judged import relative_errors
from leakrange.attacks.federation.optimised import optimised_samples
from leakrange.attacks.federation.unshared import filled
from leakrange.data import Samples, load
from leakrange.defences.federated import Devices
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
"""Records of the server's own, and test samples, at most."""
SEARCHED = 10
NEAR = 0.05
TINY = 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """One thing that the server sees: the parameters that it sent and those that came back, of these devices
    together."""

    number: int
    devices: tuple[int, ...]
    sent: Arrays
    received: Arrays


@dataclass(frozen=True)
class Federated:
    """A federation that has learned, and samples as nets take them."""

    devices: Devices
    plain: list[Seen]
    secure: list[Seen]
    own: NDArray[np.float32]
    others: NDArray[np.float32]

    def samples(self, numbers: Sequence[int]) -> NDArray[np.float32]:
        """Those of these devices."""
        return np.concatenate(
            [self.devices.part(self.devices.parts[each]).samples.numpy() for each in numbers]
        )


def flat(samples: Samples, split: str) -> NDArray[np.float32]:
    chosen = samples.where(split)[:OWN]
    return to_input(torch.from_numpy(samples.values[chosen]), samples.spec).numpy()


def learnt(given: argparse.Namespace, setting: tuple[int, int, int], seed: int) -> Federated:
    """Go through the rounds, and keep what the server sees of them."""
    count, batch, epochs = setting
    entry = representation_defences[given.defence]
    federation = {
        "devices": given.devices,
        "share": given.participants / given.devices,
        "rounds": given.rounds,
        "pretraining": 0,
        "local_epochs": epochs,
        "most_norm": 1e9,
    }
    parameters = {"private": given.private, "batch": batch, "federation": federation, **given.parameters}
    link = entry(entry.Parameters.model_validate(parameters))
    assert isinstance(link, FederatedRepresentation)
    data = DataSpec(name=given.data, limit=count * given.devices, seed=seed)
    devices = Devices(link.recipe(data, seed), load(data))
    whole = load(DataSpec(name=given.data, limit=OWN, seed=seed))
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
            plain.append(Seen(number, (device,), sent, filled(sent, update.shared)))
        rounds.close(updates)
        secure.append(Seen(number, tuple(chosen), sent, rounds.shared))
    return Federated(devices, plain, secure, flat(whole, "auxiliary"), flat(whole, "test"))


def reconstructed(of: Federated, seen: Sequence[Seen], seed: int) -> dict[str, list[float]]:
    """What the first round tells of samples."""
    mean, found = of.own.mean(axis=0), {"read": [], "error": [], "found": [], "searched": []}
    for place, each in enumerate(each for each in seen if each.number == 0):
        samples = of.samples(each.devices)
        rows = samples_in_rows(moves_of_first_layer(each.sent, each.received))
        errors = relative_errors(samples, rows, mean)
        found["read"].append(float((errors < NEAR).mean()))
        found["error"].append(float(errors.mean()))
        if len(samples) > SEARCHED or place >= 2:
            continue
        start = of.own[np.random.default_rng([seed, place]).choice(len(of.own), len(samples), replace=False)]
        rows, _ = optimised_samples(of.devices.extractor, each.sent, each.received, start, seed, searches=3)
        errors = relative_errors(samples, rows, mean)
        found["found"].append(float((errors < NEAR).mean()))
        found["searched"].append(float(errors.mean()))
    return found


def inferred(of: Federated, seen: Sequence[Seen]) -> dict[str, list[float]]:
    """What all rounds tell of membership."""
    extractor = of.devices.extractor
    scores: dict[str, Callable[[Seen, NDArray[np.float32]], Floats]] = {
        "span": lambda each, samples: (
            -np.log(distances_from_span(moves_of_first_layer(each.sent, each.received), samples) + TINY)
        ),
        "drift": lambda each, samples: feature_drifts(extractor, each.sent, each.received, samples),
    }
    devices = sorted({device for each in seen for device in each.devices})
    found: dict[str, list[float]] = {}
    for name, score in scores.items():
        together, truth = [], []
        for device in devices:
            samples = of.samples([device])
            asked = np.concatenate([of.own, samples, of.others])
            turns = [score(each, asked) for each in seen if device in each.devices]
            told = np.mean([standard(turn, len(of.own)) for turn in turns], axis=0)
            members = np.arange(len(told)) < len(samples)
            found.setdefault(name, []).append(auc(told, members))
            together.append(told)
            truth.append(members)
        found[f"{name} 1%"] = [tpr_at_fpr(np.concatenate(together), np.concatenate(truth), 0.01)]
    return found


def standard(scores: Floats, own: int) -> Floats:
    """The scores of others by the mean and deviation of those of one's own records, which come first."""
    mean, deviation = scores[:own].mean(), scores[:own].std()
    return (scores[own:] - mean) / max(float(deviation), 1e-12)


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
    given = parser.parse_args()
    torch.set_num_threads(1)
    columns = ("read", "error", "found", "searched", "span", "span 1%", "drift", "drift 1%")
    print(f"{given.defence} {json.dumps(given.parameters)} on {given.data}, {given.devices} devices,")
    print(f"{given.participants} in each of {given.rounds} rounds, {given.seeds} seeds\n")
    print("| samples:batch:epochs | server | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 2))
    for setting in given.setting:
        numbers = tuple(map(int, setting.split(":")))
        found: dict[str, dict[str, list[float]]] = {"plain": {}, "secure": {}}
        for seed in range(given.seeds):
            of = learnt(given, numbers, seed)  # type: ignore[arg-type]
            for server, seen in (("plain", of.plain), ("secure", of.secure)):
                parts: dict[str, Any] = {**reconstructed(of, seen, seed), **inferred(of, seen)}
                for name, values in parts.items():
                    found[server].setdefault(name, []).extend(values)
        for server, told in found.items():
            cells = [f"{np.mean(told[name]):.2f}" if told[name] else "" for name in columns]
            print(f"| {setting} | {server} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
