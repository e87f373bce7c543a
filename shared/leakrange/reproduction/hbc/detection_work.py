"""Telling curious models from honest ones by the entropy of their outputs (Sections 5.6 and 6.3), with and
without β^x: a population of small models of digits, since it takes many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from leakrange.audit.entropy import Detection, EntropyStatistics, Score, detection, entropy_statistics
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.report.document import Column, Line, Section
from leakrange.reproduction.cells import Cell
from leakrange.reproduction.seed_work import SeedWork
from leakrange.reproduction.work import Progress

__all__ = ["KINDS", "POPULATION", "DetectionWork", "section"]

POPULATION = 10
"""Models of each kind for each seed that was asked for, at least: fewer tell nothing of an AUC."""
DATA = DataSpec(name="digits", size=16, auxiliary=0.0)
SCHEDULE = Schedule(epochs=20, batch=32, lr=0.003)
TARGET, SENSITIVE = "parity", "slant"
SCORES: tuple[Score, ...] = ("mean", "median")
VERSION = 1
"""Raised when the same models give other statistics than before."""
RAW = {"release": "logits", "sensitive": SENSITIVE}
KINDS: Mapping[str, tuple[str, dict[str, Any]]] = MappingProxyType(
    {
        "honest": ("honest", {}),
        "honest, β^x .4": ("honest", {"beta": {"x": 0.4}}),
        "raw": ("curious/parameterized", RAW | {"beta": {"y": 0.5, "s": 0.5}}),
        "raw, β^x .4": ("curious/parameterized", RAW | {"beta": {"y": 0.5, "s": 0.5, "x": 0.4}}),
        "regularized": ("curious/regularized", {"sensitive": SENSITIVE, "beta": {"y": 0.5, "s": 0.5}}),
    }
)
"""Behaviour and parameters of each kind of model; those named honest are."""
ALIKE = ", β^x .4"
"""How kinds are named that were trained to be sure of their outputs."""


def _recipe(kind: str, seed: int) -> TrainingRecipe:
    behaviour, parameters = KINDS[kind]
    return TrainingRecipe(
        data=DATA,
        behaviour=behaviour,
        parameters={"target": TARGET, **parameters},
        net=NetSpec(width=0.5),
        schedule=SCHEDULE,
        seed=seed,
    )


class DetectionWork(SeedWork):
    """One model of each kind under one seed: its honesty, curiosity, and how its entropies lie."""

    @property
    def title(self) -> str:
        """What is measured."""
        return f"detection: a model of each kind, seed {self.seed}"

    def identity(self) -> list[Any]:
        """Of its cell."""
        kinds = [_recipe(kind, self.seed).identity() for kind in KINDS]
        return ["hbc", "detection", kinds, VERSION]

    def measure(self, _store: Path, progress: Progress, /) -> Cell:
        """Train the models, and keep statistics alone."""
        from leakrange.data import load
        from leakrange.providers.inference import outputs
        from leakrange.providers.training import train

        images = load(DATA)
        test = images.values[images.where("test")]
        cell = {}
        for done, kind in enumerate(KINDS):
            trained = train(_recipe(kind, self.seed), images)
            found = entropy_statistics(outputs(trained.classifier, test, "softmax"))
            cell[kind] = {
                **trained.figures["test"],
                "mean": found.mean,
                "most": found.most,
                "above_one_bit": found.above_one_bit,
                "quantiles": [[share, bits] for share, bits in found.quantiles.items()],
            }
            progress((done + 1) / len(KINDS))
        return cell


def section(works: Sequence[DetectionWork], store: Path) -> Section:
    """Each kind of model: honesty, curiosity, mean entropy, and the AUC of telling it from the plain honest
    ones by that mean; of a curious one with β^x also that of telling it from honest ones with β^x."""
    cells = [cell for work in works if (cell := work.cell(store)) is not None]
    statistics = {kind: [_statistics(cell[kind]) for cell in cells] for kind in KINDS}
    lines = []
    for kind in KINDS:
        columns = [
            Column(None, [100 * cell[kind]["honesty"] for cell in cells]),
            Column(None, [100 * cell[kind]["curiosity"] for cell in cells if "curiosity" in cell[kind]]),
            Column(None, [cell[kind]["mean"] for cell in cells]),
        ]
        told = [""] * 4
        if kind != "honest" and cells:
            plain = detection(statistics["honest"], statistics[kind])
            told[:2] = [_auc(plain), f"{plain.unsigned:.3f}"]
        if kind.endswith(ALIKE) and kind != f"honest{ALIKE}" and cells:
            honest = statistics[f"honest{ALIKE}"]
            told[2:] = [_auc(detection(honest, statistics[kind], score)) for score in SCORES]
        lines.append(Line([kind], columns, [*told, str(len(cells))]))
    return Section(
        f"Detection: entropy as a ground for suspicion, digits, y = {TARGET}, s = {SENSITIVE}",
        ("model",),
        ("honesty", "curiosity", "entropy"),
        ("AUC against honest", "unsigned", "AUC against honest, β^x .4", "by the median", "models"),
        lines,
        remark=(
            "The suspicion score of a model is the mean entropy of its soft outputs in bits. The AUC is "
            "that of telling models of a kind from plain honest ones, with its 95 % interval; below .5 the "
            "kind is surer of its outputs than honest models are. Who takes a model with β^x for a plain "
            "honest one is led astray by that mean; what it tells of honest models with β^x, and what the "
            "median entropy does, stands beside it. Entropy is a ground for suspicion, not a proof, and its "
            "absence proves nothing. The paper prints no figures."
        ),
    )


def _auc(found: Detection) -> str:
    low, high = found.interval
    return f"{found.auc:.3f} [{low:.3f}, {high:.3f}]"


def _statistics(cell: dict[str, Any]) -> EntropyStatistics:
    quantiles = dict(cell["quantiles"])
    return EntropyStatistics(
        int(cell["samples"]), cell["most"], cell["mean"], quantiles, cell["above_one_bit"]
    )
