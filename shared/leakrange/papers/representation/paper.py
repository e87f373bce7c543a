"""TAPPFL as trials of a range: Table 2, Figures 2 and 4, and the comparisons of its discussion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from leakrange.metrics.intervals import student_interval
from leakrange.papers import papers
from leakrange.papers.cells import Cell
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.representation.claims import CLAIMS
from leakrange.papers.representation.pictures import compared, tradeoffs
from leakrange.papers.targets import PaperRow
from leakrange.papers.trials import PaperTrial
from leakrange.report.charts.drawing import Picture

__all__ = ["RepresentationLearning", "RepresentationSettings"]

METHODS = MappingProxyType(
    {
        "TAPPFL": "tappfl",
        "DP-Gaussian": "dp-gaussian",
        "DP-Laplace": "dp-laplace",
        "MC": "compressed",
        "DPFE": "dpfe",
        "AT": "adversarial",
    }
)
LEVELS = MappingProxyType(
    {"tappfl": "strength", "dpfe": "strength", "adversarial": "strength", "compressed": "amount"}
)
"""The parameter that a row's level sets; for defences that add noise it is the noise."""
CLIPS = MappingProxyType({"dp-gaussian": 2.0, "dp-laplace": 200.0})
"""Norms to which a device's moves are clipped: about the size of its move in a round, by L2 and by L1."""
TASK_SPECIFIC = ("dpfe", "adversarial")
ASKED = MappingProxyType({"cifar10": "object", "adult": "income", "loans": "affordability"})
PRIVATE = MappingProxyType(
    {"animal": "animal", "race": "race", "gender": "gender", "marital": "marital-status"}
)
PLAYED = MappingProxyType({"hmda": {"affordability": "high-priced", "race": "race-2"}})
"""Attributes that play the paper's where a set calls them otherwise."""
RECORDS = 3_000
"""Number of the attacker's labelled records, which no device has."""

Epochs = Annotated[int, Field(ge=1, le=1000)]
Limit = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0.0, le=1.0)]
Batch = Annotated[int, Field(ge=8, le=4096)]


class RepresentationSettings(PaperSettings):
    """The data sets that play the paper's, the nets, and the length of training.

    ``loans`` may be the paper's own (``loans``, files of the FHFA) or its stand-in ``hmda``, of which
    ``loans_limit`` samples of each split are used. ``critics`` and ``picture_net`` are the paper's, or
    "small" and ``tappfl-small`` for a CPU. ``picture_…`` are settings of CIFAR-10, the others of tables. The
    paper does not state the number of rounds before anything is hidden (``pretraining``), nor how the task is
    learned on the extractor's features: ``task_epochs`` in batches of 128.
    """

    cifar10: str = "cifar10"
    adult: str = "adult"
    loans: str = "hmda"
    loans_limit: Limit | None = None
    critics: Literal["paper", "small"] = "paper"
    picture_net: str = "tappfl-conv"
    lr: Rate = 0.01
    batch: Batch = 10
    devices: Annotated[int, Field(ge=2, le=10_000)] = 100
    share: Rate = 0.1
    rounds: Epochs = 20
    pretraining: Annotated[int, Field(ge=0, le=1000)] = 5
    local_epochs: Epochs = 10
    picture_batch: Batch = 10
    picture_rounds: Epochs = 20
    picture_pretraining: Annotated[int, Field(ge=0, le=1000)] = 5
    picture_local_epochs: Epochs = 10
    task_epochs: Epochs = 6
    task_lr: Rate = 3e-3


@papers.register("tappfl")
class RepresentationLearning(Paper):
    """Arevalo et al., AAAI 2024."""

    name = "tappfl"
    title = "TAPPFL: privacy-preserving representations learned across devices"
    about = (
        "Accuracies in percent. Test accuracy is the provider’s: it learns the task on the features of its "
        "own samples and decides on what devices upload. The attacker learns the private attribute on "
        f"features of up to {RECORDS:,} labelled records that no device had, and reads the same uploads. The "
        "paper’s inference accuracy is that of the networks which devices train the extractor against; ours "
        "of these stands beside the attacker’s, as the mean over devices. The paper prints one run of each "
        "row, and no deviation."
    )
    figures = ("honesty", "curiosity", "local_curiosity")
    tables: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "2": "Table 2 and Figure 2: test accuracy and attribute inference by λ",
            "fig4": "Figure 4: defences that know no task, on CIFAR-10",
            "tasks": "Discussion: defences that know the task",
            "decensoring": "Discussion: de-censoring",
            "rivals": "Defences that know no task, on Adult",
            "chosen": "Only the chosen devices train, which is not Algorithm 1",
        }
    )
    labels = ("data", "private", "method", "attack")
    seeds = 3
    quick = ("2:set=adult,private=gender,level=0|1,method=TAPPFL", "tasks:set=loans,method=AT,level=0.5")
    quick_settings: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "critics": "small",
            "lr": 0.1,
            "rounds": 3,
            "pretraining": 2,
            "local_epochs": 2,
            "loans_limit": 5000,
            "task_epochs": 2,
        }
    )
    decimals = 1
    claims, naming = CLAIMS, ("set", "private", "level")
    Settings = RepresentationSettings
    settings: RepresentationSettings

    def trial(self, row: PaperRow, seed: int) -> PaperTrial:
        """Devices that upload features, a provider that decides on them, and an attacker who reads them."""
        settings = self.settings
        return PaperTrial(
            seed=seed,
            data=self._data(row),
            provider={
                "behaviour": "honest",
                "target": self._attribute(row, ASKED[row["set"]]),
                "release": "features",
                "net": {"name": self._net(row)},
                "schedule": {"epochs": settings.task_epochs, "batch": 128, "lr": settings.task_lr},
            },
            defence=self._defence(row),
            attack=self._attack(row),
        )

    def _set(self, row: PaperRow) -> str:
        return str(getattr(self.settings, row["set"]))

    def _attribute(self, row: PaperRow, name: str) -> str:
        return PLAYED.get(self._set(row), {}).get(name, name)

    def _private(self, row: PaperRow) -> str:
        return self._attribute(row, PRIVATE[row["private"]])

    def _data(self, row: PaperRow) -> dict[str, Any]:
        limit = self.settings.loans_limit if row["set"] == "loans" else None
        return {"name": self._set(row), **({"limit": limit} if limit else {})}

    def _net(self, row: PaperRow) -> str:
        return self.settings.picture_net if row["set"] == "cifar10" else "tappfl-mlp"

    def _of(self, row: PaperRow, name: str) -> Any:
        """A setting that pictures have by themselves."""
        return getattr(self.settings, f"picture_{name}" if row["set"] == "cifar10" else name)

    def _defence(self, row: PaperRow) -> list[Any]:
        if row["method"] == "none":
            return []
        name, settings = METHODS[row["method"]], self.settings
        level = row.number("level")
        names = ("rounds", "pretraining", "local_epochs")
        federation = {each: self._of(row, each) for each in names}
        federation |= {"devices": settings.devices, "share": settings.share}
        if row.table == "chosen":
            federation["participation"] = "chosen"
        parameters = {
            "private": self._private(row),
            "net": self._net(row),
            "batch": self._of(row, "batch"),
            "lr": settings.lr,
            LEVELS.get(name, "noise"): level,
            "critics": settings.critics,
            "federation": federation,
        }
        if name in CLIPS:
            parameters["clip"] = CLIPS[name]
        if name in TASK_SPECIFIC:
            parameters["useful"] = self._attribute(row, ASKED[row["set"]])
        return [{name: parameters}]

    def _attack(self, row: PaperRow) -> dict[str, Any]:
        kind = "attribute-inference" if row["attack"] == "direct" else row["attack"]
        return {
            "kind": kind,
            "sensitive": self._private(row),
            "auxiliary": RECORDS,
            "knowledge": "aware",
        }

    def label(self, row: PaperRow) -> list[str]:
        """Data, attribute, method with its level, and the attack."""
        marks = {"none": "", "MC": f" {row['level']} pruned"}
        mark = marks.get(row["method"])
        if mark is None:
            sign = "λ" if row["method"] in ("TAPPFL", "DPFE", "AT") else "noise"
            mark = f", {sign} = {row['level']}"
        method = "no defence" if row["method"] == "none" else row["method"]
        return [self._set(row), self._private(row), f"{method}{mark}", row["attack"]]

    def heading(self, figure: str) -> str:
        """The name of a figure on the page."""
        return {
            "honesty": "test accuracy",
            "curiosity": "inference, fresh attacker",
            "local_curiosity": "inference, devices’ own",
        }[figure]

    def value(self, row: PaperRow, figure: str, cell: Cell) -> float | None:
        """See `Paper.value`; an AUC in percent as well."""
        value = super().value(row, figure, cell)
        return 100.0 * value if figure == "auc" and value is not None else value

    def shown(self, table: str, rows: Sequence[PaperRow]) -> list[str]:  # noqa: ARG002
        """All figures: rows that are not printed have ours."""
        return list(self.figures)

    def notes(self, table: str) -> tuple[str, ...]:  # noqa: ARG002
        """Titles of the notes: the baselines of the accuracies, and their bounds."""
        return (
            "AUC of the fresh attacker, %, with the 95 % interval over seeds",
            "majority: private, task",
            "NAG: fresh, devices’ own",
            "advantage",
            "bound by Theorem 2 (tight, printed)",
            "ε",
        )

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        """The notes of one row: means over its seeds, and of a bound the least of all seeds."""
        cells = measured[row]
        if not cells:
            return [""] * 6

        def mean(name: str) -> str:
            values = [cell[name] for cell in cells if name in cell]
            return f"{100 * sum(values) / len(values):.1f}" if values else "–"

        def least(name: str) -> str:
            values = [cell[name] for cell in cells if name in cell]
            return f"{100 * min(values):.1f}" if values else "–"

        advantage = mean("advantage")
        return [
            _over_seeds([100 * cell["auc"] for cell in cells if "auc" in cell]),
            f"{mean('majority')}, {mean('majority_target')}",
            f"{mean('nag')}, {mean('local_nag')}",
            advantage,
            f"{least('accuracy_bound')}, {least('loose_accuracy_bound')}",
            _epsilons(cells[0]),
        ]

    def remark(self, table: str) -> str:
        """Help for reading a table."""
        return {
            "2": (
                "The paper’s inference accuracies of Adult and several of CIFAR-10 lie below the share of "
                "the commonest class: whoever guesses that is right more often. It prints the gap to random "
                "guessing; the NAG is the gap to the commonest class."
            ),
            "fig4": (
                "The paper tunes noise and pruning so that each defence has the inference accuracy of "
                "TAPPFL (55 to 75 %) and draws test accuracies, which it does not print. Compare rows of "
                "equal inference accuracy. The noise is a multiple of the norm to which devices clip what "
                f"they moved: {CLIPS['dp-gaussian']:g} (L2) for DP-Gaussian, {CLIPS['dp-laplace']:g} (L1) "
                "for DP-Laplace. ε, for δ = 10⁻⁵, bounds what is told of the data of one device: to a server "
                "that sees every update, and behind the comma to who sees the extractor alone."
            ),
            "tasks": "The paper compares on Loans; Adult is ours.",
            "decensoring": "The paper tries it on Loans; Adult is ours.",
            "rivals": "The paper compares on CIFAR-10; Adult is ours. Levels are noise and pruning as there.",
            "chosen": (
                "A device that is not chosen keeps the adversary of its last round, which knows other "
                "features than the final ones: its accuracy falls by that alone, at λ = 0 as well."
            ),
        }.get(table, "")

    def pictures(self, table: str, measured: Measured) -> list[Picture]:
        """The losses against λ for Table 2 (Figure 2), and both accuracies of each method for Figure 4."""
        if table == "2":
            defended = {row: cells for row, cells in measured.items() if row["method"] != "none"}
            return tradeoffs(defended, {row: f"{self._set(row)}, {self._private(row)}" for row in defended})
        return compared(measured) if table == "fig4" else []

    def differences(self, measured: Measured) -> list[str]:
        """Data, nets, rounds, rates."""
        settings = self.settings
        limit = settings.loans_limit
        limited = {"loans": f", {limit:,} samples of each split"} if limit else {}
        sentences = [
            f"{name}: {getattr(settings, name)}{limited.get(name, '')}"
            for name in dict.fromkeys(row["set"] for row, cells in measured.items() if cells)
        ]
        sentences.append(
            f"nets of tables: tappfl-mlp (the paper’s extractor), of pictures {settings.picture_net}; "
            f"critics: {settings.critics}; a head of one hidden layer, {settings.task_epochs} epochs"
        )
        sentences.append(
            f"learning rate of devices {settings.lr:g} (the paper’s: .01); {settings.pretraining} rounds "
            f"before anything is hidden, {settings.rounds} rounds of {settings.local_epochs} local epochs in "
            f"batches of {settings.batch} (20 rounds, 10 epochs, 10); of pictures "
            f"{settings.picture_pretraining}, {settings.picture_rounds}, {settings.picture_local_epochs}, "
            f"{settings.picture_batch}"
        )
        sentences.append(
            f"{settings.devices} devices, all of which train in every round, and {settings.share:g} of which "
            "the server then averages (100, .1)"
        )
        passes = (settings.pretraining + settings.rounds) * settings.local_epochs
        sentences.append(
            f"every defence of tables trains for the same {passes} passes of each device through its "
            "samples, with the same rate and batches; no parameter of a rival was tuned"
        )
        sentences.append("weights begin as N(0, 2/inputs), which the paper does not say")
        return sentences


def _over_seeds(values: Sequence[float]) -> str:
    """The mean with its 95 % interval (Student's t). A single seed tells nothing of others, and has no
    interval."""
    if not values:
        return "–"
    if len(values) < 2:
        return f"{values[0]:.1f}"
    low, high = student_interval(fmean(values), stdev(values), len(values))
    return f"{fmean(values):.1f} ({low:.1f} to {high:.1f})"


def _epsilons(cell: Cell) -> str:
    if "epsilon_server" not in cell:
        return "–"
    return f"{cell['epsilon_server']:.3g}, {cell['epsilon_extractor']:.3g}"
