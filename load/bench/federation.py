"""How long a federation's rounds take, in one process and in Flower's simulation, and how that grows.

.venv-federation/bin/python -m leakrange.load.bench.federation [--data adult] [--private gender] [--rounds 20]
    [--engines in-process simulation] [--cases 100:0.1 1000:0.1 1000:0.01]
    [--processes 2] [--participation all]

A case is a number of devices and the share of them that takes part in a round. The samples are always the
same: of more devices, each has fewer. What is not rounds is the start: loading the samples, sharing them out,
starting Ray's processes, asking every node which device it is. In the simulation's first round its processes
import torch and load the samples. Wants the data set in LEAKRANGE_DATA.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from leakrange.data import load
from leakrange.defences.artifact import TrainedDefence
from leakrange.defences.extractor_training import train_extractor
from leakrange.defences.representation.tappfl import Tappfl, TappflParameters
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.load.bench.harness import machine

__all__ = ["main"]


def recipe(options: argparse.Namespace, devices: int, share: float) -> TrainingRecipe:
    """The recipe of TAPPFL's federation, with the devices of a case."""
    federation = {
        "devices": devices,
        "share": share,
        "participation": options.participation,
        "rounds": options.rounds,
        "pretraining": 0,
    }
    parameters = {"private": options.private, "strength": 0.5, "federation": federation}
    return Tappfl(TappflParameters.model_validate(parameters)).recipe(DataSpec(name=options.data), 0)


def trained(engine: str, order: TrainingRecipe, devices: int, processes: int) -> TrainedDefence:
    """The extractor that an engine trains from a recipe."""
    if engine == "in-process":
        return train_extractor(order, load(order.data))
    from leakrange.services.federation.server import Patience
    from leakrange.services.federation.simulation import simulate

    return simulate(order, devices, Patience(), processes)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default="adult")
    parser.add_argument("--private", default="gender")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--engines", nargs="+", default=["in-process", "simulation"])
    parser.add_argument("--cases", nargs="+", default=["100:0.1", "1000:0.1", "1000:0.01"])
    parser.add_argument("--participation", choices=["all", "chosen"], default="all")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    load(DataSpec(name=options.data))  # the first loading of a set may unpack it
    with machine("torch", "flwr", "ray"):
        print(f"{options.data}, {options.rounds} rounds, {options.processes} processes of the simulation")
        heads = f"{'start s':>9}{'rounds s':>9}{'first s':>9}{'median s':>9}{'lost':>6}"
        print(f"{'engine':<12}{'devices':>8}{'a round':>8}{heads}")
        for case in options.cases:
            devices, _, share = case.partition(":")
            order = recipe(options, int(devices), float(share))
            taking_part = max(1, round(float(share) * int(devices)))
            for engine in options.engines:
                began = time.perf_counter()
                done = trained(engine, order, int(devices), options.processes)
                total = time.perf_counter() - began
                each = [entry["seconds"] for entry in done.history]
                lost = sum(entry["lost"] for entry in done.history)
                print(
                    f"{engine:<12}{devices:>8}{taking_part:>8}{total - sum(each):>9.1f}{sum(each):>9.1f}"
                    f"{each[0]:>9.2f}{statistics.median(each):>9.2f}{lost:>6.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
