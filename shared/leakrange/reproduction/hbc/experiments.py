"""From printed rows to works: which model each row needs, and how it is measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from leakrange.data import Samples, datasets
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.registry import UnknownName
from leakrange.reproduction.cells import Cell, Cells
from leakrange.reproduction.hbc.measures import Measure, measure
from leakrange.reproduction.hbc.paper import PaperRow
from leakrange.reproduction.work import Progress
from leakrange.wire.errors import DataUnavailable, InvalidInput

__all__ = ["SETS", "ModelWork", "Settings", "Trial", "check", "require_data", "trials", "works"]

SETS = {"celeba": "celeba_sub-hair", "utkface": "utkface"}
"""CelebA is cut to the images with one of black, blond and brown hair, as the paper's marginals prove."""
FULL_WIDTH = 128
STUDENT_EPOCHS = 2
"""For each of the teacher's: about as many steps."""
USERS_SHARE = 0.2
"""Of the training images, in Table 6: the user's, without labels (Section 5.8)."""
WITHOUT_HAIR = MappingProxyType({"celeba_sub-hair": "celeba_sub", "hub-celeba-hair": "hub-celeba"})
"""Where more of a user's unlabelled images are found: in the set that the provider's is a part of."""


@dataclass(frozen=True)
class Settings:
    """What a reproduction may choose: the data set that plays each of the paper's, training, the device."""

    epochs: tuple[tuple[str, int], ...]
    sets: tuple[tuple[str, str], ...] = tuple(SETS.items())
    size: int | None = None
    limit: int | None = None
    bf16: bool = False
    passes: Literal["one", "two"] = "two"
    logarithm: bool = False
    """Whether G reads the logarithms of soft outputs."""
    device: str = "cpu"

    def schedule(self, data: str) -> Schedule:
        """For one of the paper's data sets, with the paper's batch size and learning rate."""
        return Schedule(epochs=dict(self.epochs)[data], bf16=self.bf16)


@dataclass(frozen=True)
class Trial:
    """One row under one seed: the recipe of its model, and how it is measured."""

    row: PaperRow
    seed: int
    recipe: TrainingRecipe
    measure: Measure

    def identity(self) -> list[Any]:
        """Of its cell: the paper, the recipe of its model, and how that is measured."""
        return ["hbc", self.recipe.identity(), self.measure.identity()]

    def cell(self, store: Path) -> Cell | None:
        """What was measured, if it was."""
        return Cells(store).get(self.identity())


def check(rows: Iterable[PaperRow], settings: Settings) -> None:
    """Refuse what cannot be planned (`InvalidInput`): an unknown data set, or one that lacks an attribute of
    the rows."""
    for row in rows:
        name = dict(settings.sets)[row.data]
        try:
            attributes = datasets[name].attributes
        except UnknownName as unknown:
            raise InvalidInput(str(unknown)) from unknown
        for attribute in (row.y, row.s):
            if attribute not in attributes:
                known = ", ".join(sorted(attributes))
                raise InvalidInput(
                    f"data set {name!r} has no attribute {attribute!r}; there are: {known}",
                    hint="choose another set with --data, or other rows",
                )


def require_data(rows: Iterable[PaperRow], settings: Settings) -> None:
    """`DataUnavailable` where the images of a row are not here, before anything is trained on those of
    another. Loads nothing."""
    for name in dict.fromkeys(dict(settings.sets)[row.data] for row in rows):
        if reason := datasets[name].available():
            raise DataUnavailable(f"data set {name!r} cannot be loaded: {reason}")


def trials(rows: Iterable[PaperRow], seeds: Iterable[int], settings: Settings) -> Iterator[Trial]:
    """Every row under every seed; all rows of a seed before the next, so that an early end leaves whole
    tables."""
    kept = list(rows)
    for seed in seeds:
        for row in kept:
            yield Trial(row, seed, _recipe(row, seed, settings), _measure(row, settings))


def _measure(row: PaperRow, settings: Settings) -> Measure:
    if row.role == "student":
        epochs = STUDENT_EPOCHS * dict(settings.epochs)[row.data]
        unlabelled = WITHOUT_HAIR.get(dict(settings.sets)[row.data], "")
        return Measure("student", row.s, row.output, epochs, unlabelled=unlabelled)
    kind: Literal["own", "overlearning"] = "overlearning" if row.classifier == "honest" else "own"
    return Measure(kind, row.s, row.output, pruned=row.prune)


def _recipe(row: PaperRow, seed: int, settings: Settings) -> TrainingRecipe:
    parameters: dict[str, Any] = {"target": row.y}
    if row.classifier == "honest":
        behaviour = "honest"
        if row.beta_x:
            parameters["beta"] = {"x": row.beta_x}
    else:
        behaviour = f"curious/{row.attack}"
        parameters |= {"sensitive": row.s, "beta": {"y": row.beta_y, "s": row.beta_s}}
        if row.attack == "parameterized":
            parameters["release"] = row.output
            parameters["beta"]["x"] = row.beta_x
            # said although it is the default: recipes that say nothing else must have one name
            parameters["passes"] = settings.passes
            if settings.logarithm and row.output == "softmax":
                parameters["logarithm"] = True
    name = dict(settings.sets)[row.data]
    return TrainingRecipe(
        data=DataSpec(
            name=name,
            # the set's own size goes without saying, too: one name for one recipe
            size=settings.size if settings.size != datasets[name].spec.shape[0] else None,
            limit=settings.limit,
            auxiliary=USERS_SHARE if row.table == "6" else 0.0,
        ),
        behaviour=behaviour,
        parameters=parameters,
        net=NetSpec(width=int(row.width.split("-")[0]) / FULL_WIDTH if row.width else 1.0),
        schedule=settings.schedule(row.data),
        seed=seed,
    )


@dataclass(frozen=True)
class ModelWork:
    """Train one model, unless the store has it, and measure all the rows that it serves."""

    trials: tuple[Trial, ...]
    device: str

    @property
    def title(self) -> str:
        """The rows' tables, and the model."""
        row = self.trials[0].row
        tables = "+".join(sorted({trial.row.table for trial in self.trials}))
        betas = f" ({row.beta_y:g}, {row.beta_s:g})" if row.classifier != "honest" else ""
        more = (f" βx {row.beta_x:g}" if row.beta_x else "") + (f" {row.width}" if row.width else "")
        kind = f"{row.classifier} {row.attack}" if row.classifier != "honest" else "honest"
        return f"Table {tables}: {row.y}/{row.s} {kind}{betas}{more}, seed {self.trials[0].seed}"

    def done(self, store: Path) -> bool:
        """Whether every cell is there."""
        return all(trial.cell(store) is not None for trial in self.trials)

    def carry_out(self, store: Path, progress: Progress) -> None:
        """Train, save, measure; each is kept as soon as it is there."""
        from leakrange.data import load
        from leakrange.providers import artifact
        from leakrange.providers.training import train

        recipe = self.trials[0].recipe
        images = load(recipe.data)
        folder = artifact.find(store, recipe.digest())
        if folder is None:
            trained = train(
                recipe, images, device=self.device, progress=lambda event: progress(0.95 * event["progress"])
            )
            folder = artifact.save(store, trained)
        model = artifact.load(folder)
        for trial in self.trials:
            if trial.cell(store) is None:
                cell = measure(model, images, trial.row.y, trial.measure, trial.seed)
                found = cell | {"data": images.fingerprint, "images": _counts(images)}
                Cells(store).put(trial.identity(), found)


def _counts(images: Samples) -> dict[str, int]:
    return {split: len(images.where(split)) for split in ("train", "validation", "test")}


def works(planned: Iterable[Trial], settings: Settings) -> list[ModelWork]:
    """One work for each distinct model, in order of first need."""
    by_model: dict[str, dict[str, Trial]] = {}
    for trial in planned:
        by_model.setdefault(trial.recipe.digest(), {}).setdefault(str(trial.identity()), trial)
    return [ModelWork(tuple(group.values()), settings.device) for group in by_model.values()]
