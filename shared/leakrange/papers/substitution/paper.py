"""PASS as trials of a range: Tables 1 to 5, 7, 9 to 12, 15, 17 and 18, and repeated probing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from leakrange.data import datasets
from leakrange.data.catalogue import GivenSet
from leakrange.metrics.probing import mean_gain, noise_of
from leakrange.papers import papers
from leakrange.papers.cells import Cell
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.sheet import read_sheet
from leakrange.papers.substitution.attributes import PLAYED, played, skewed
from leakrange.papers.targets import PaperRow
from leakrange.papers.trials import PaperTrial
from leakrange.report.document import PaperSection
from leakrange.scenario.results import TrialResult

__all__ = ["StochasticSubstitution", "SubstitutionSettings"]

ATTRIBUTES = ("gender", "accent", "age", "id", "digit", "activity", *PLAYED["celeba_sub"])
FIGURES = MappingProxyType(
    {
        "nag": ("nag", "NAG of {}"),
        "acc": ("accuracy", "accuracy of {}"),
        "unfinetuned": ("unfinetuned_nag", "NAG of {}, unfinetuned"),
        "protector": ("protector_nag", "NAG of {}, protector’s"),
        "panel": ("panel_auc", "AUC of {}, panel"),
    }
)
"""Names of the figures about an attribute, by the beginning of the figure's name: in cells, and on the
page."""
GAINS = ("nag", "unfinetuned_nag", "protector_nag")
"""The NAGs of an attribute in cells."""
PRINTED = MappingProxyType(
    {"speech": "AudioMNIST, 2000", "motion": "MotionSense, 200", "faces": "CelebA, 50"}
)
"""The paper's data sets, and the epochs on each."""
RIVALS = ("ADV", "GAP", "MSDA", "BDQ", "PPDAR", "MaSS", "SPAct", "DP-Image")
"""Rivals that are trained."""

Epochs = Annotated[int, Field(ge=1, le=10_000)]
Rate = Annotated[float, Field(gt=0.0, le=1.0)]
Width = Annotated[float, Field(gt=0.0, le=8.0)]


def _parted(value: Any) -> Any:
    """Parse ``PASS:0.003,ADV:0.01`` to a mapping."""
    return dict(part.partition(":")[::2] for part in value.split(",")) if isinstance(value, str) else value


Rates = Annotated[Mapping[str, Rate], BeforeValidator(_parted)]


class SubstitutionSettings(PaperSettings):
    """The data sets that play the paper's, the nets, and the length of training on each.

    ``speech`` stands for AudioMNIST, ``motion`` for MotionSense, ``faces`` for CelebA with pictures of
    ``size`` pixels a side. The net of a set embeds samples for PASS, and is the adversary of rivals and of
    attackers. ``…_epochs`` are PASS's. Rivals and attackers train as long as PASS, or as their own settings
    say. ``rates`` are learning rates by method (``PASS:0.003,ADV:0.01``); of the others PASS has ``lr``, and
    rivals have ``rival_lr`` or else ``lr``. ``half``: the number of training samples that Table 15 draws
    from; half of them are the protector's.
    """

    speech: str = "fsdd"
    motion: str = "hmp-recordings"
    faces: str = "celeba_sub"
    size: Annotated[int, Field(ge=16, le=512)] | None = None
    speech_net: str = "conv-1d"
    motion_net: str = "conv-1d"
    faces_net: str = "conv-2d"
    speech_width: Width = 1.0
    motion_width: Width = 1.0
    faces_width: Width = 1.0
    speech_epochs: Epochs = 2000
    motion_epochs: Epochs = 200
    faces_epochs: Epochs = 50
    speech_rival_epochs: Epochs | None = None
    motion_rival_epochs: Epochs | None = None
    faces_rival_epochs: Epochs | None = None
    probing_epochs: Epochs | None = None
    lr: Rate | None = None
    rival_lr: Rate | None = None
    rates: Rates = Field(default_factory=dict)
    half: Annotated[int, Field(ge=20, le=1_000_000)] = 4000

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name in (self.speech, self.motion, self.faces):
            if name not in PLAYED:
                raise ValueError(
                    f"the attributes of {name!r} are not matched with the paper's, only those of "
                    f"{', '.join(PLAYED)}"
                )
        return self


@papers.register("pass")
class StochasticSubstitution(Paper):
    """Zhang et al., ICML 2025."""

    sheet = read_sheet(__package__)
    Settings = SubstitutionSettings
    settings: SubstitutionSettings

    def names(self, row: PaperRow) -> Mapping[str, Any]:
        """The row's data set with its attributes, net and epochs, and the parameters that the row sets for
        PASS."""
        width, epochs = self._of_set(row, "width"), self._of_set(row, "epochs")
        roles = {role: self._played(row, role) for role in ("private", "useful", "general")}
        private, useful = roles["private"], roles["useful"]
        return {
            **{role: names[0] if len(names) == 1 else names for role, names in roles.items()},
            "data": self._set(row),
            "first_useful": useful[0],
            "all_private": ", ".join(private),
            "net": self._of_set(row, "net"),
            "width": None if width == 1.0 else width,
            "set_width": width,
            "printed": PRINTED[row["set"]],
            "played": _renamed(self._set(row)),
            "epochs": epochs,
            "rival_epochs": self._of_set(row, "rival_epochs") or epochs,
            "attacker_epochs": self.settings.probing_epochs or epochs,
            "learning_rate": self._lr(row),
            "sticky": row["method"].endswith("sticky"),
            "weight_of_useful": row.number("lambda") * len(useful) / len(private) if row["lambda"] else None,
            "skew": self._skew(row) if row["male"] else None,
        }

    def _set(self, row: PaperRow) -> str:
        return str(getattr(self.settings, row["set"]))

    def _of_set(self, row: PaperRow, name: str) -> Any:
        """A setting that every set has."""
        return getattr(self.settings, f"{row['set']}_{name}")

    def _played(self, row: PaperRow, role: str) -> list[str]:
        return played(self._set(row), row[role])

    def _lr(self, row: PaperRow) -> float:
        """The learning rate that a row tries, that of its method, that of all, or the paper's."""
        method, settings = row["method"].split()[0], self.settings
        of_all = settings.lr if method == "PASS" else settings.rival_lr or settings.lr
        papers = 1e-4 if row["set"] == "faces" else 1e-3
        return row.number("rate") or settings.rates.get(method) or of_all or papers

    def _skew(self, row: PaperRow) -> dict[str, list[float]]:
        """Shares of the classes of the first private and the first useful attribute."""
        attributes = datasets[self._set(row)].attributes
        ends = {"private": (row.number("male"), False), "useful": (row.number("digit0"), True)}
        skew = {}
        for role, (percent, first) in ends.items():
            name = self._played(row, role)[0]
            shares = skewed(percent / 100, len(attributes[name].classes), first)
            skew[name] = [round(share, 6) for share in shares]
        return skew

    def kept(self, trial: PaperTrial, result: TrialResult) -> Cell:
        """Metrics, and every figure of each attribute under the names of both."""
        cell = super().kept(trial, result)
        for row in result.views["attributes"]:
            cell |= {
                f"{figure} {row['attribute']}": value
                for figure, value in row.items()
                if figure not in ("attribute", "role")
            }
        return cell

    def read(self, row: PaperRow, cells: list[Cell]) -> list[Cell]:
        """The cells without the NAGs of attributes that unprotected samples do not tell clearly under every
        seed."""
        hidden, kept = (
            self._played(row, "private"),
            self._played(row, "useful") + self._played(row, "general"),
        )
        unclear = {name for name in (*hidden, *kept) if not all(_leads(cell, name) for cell in cells)}
        if not unclear:
            return cells
        dropped = {f"{figure} {name}" for figure in GAINS for name in unclear} | {"mnag"}
        clear = []
        for cell in cells:
            useful, private = (
                mean_gain([cell.get(f"nag {name}") for name in side if name not in unclear])
                for side in (kept, hidden)
            )
            mnag = {} if useful is None or private is None else {"mnag": useful - private}
            clear.append({name: value for name, value in cell.items() if name not in dropped} | mnag)
        return clear

    def heading(self, figure: str) -> str:
        """The name of a figure on the page."""
        kind, _, attribute = figure.partition("_")
        return FIGURES[kind][1].format(attribute) if kind in FIGURES else super().heading(figure)

    def value(self, row: PaperRow, figure: str, cell: Cell) -> float | None:
        """A figure in percent, of the attribute that plays the paper's."""
        kind, _, attribute = figure.partition("_")
        name = figure
        if kind in FIGURES:
            name = f"{FIGURES[kind][0]} {PLAYED[self._set(row)].get(attribute)}"
        return super().value(row, name, cell)

    def shown(self, table: str, rows: Sequence[PaperRow]) -> Sequence[str]:
        """The figures about an attribute of the rows that the set has."""
        kinds = {"1": ("protector", "nag"), "7": ("nag", "acc", "mnag"), "4": ("nag", "unfinetuned", "mnag")}
        attributes = set()
        roles = ("private",) if table == "1" else ("private", "useful", "general")
        for row in rows:
            named = " ".join(row[role] for role in roles).split()
            attributes |= {name for name in named if name in PLAYED[self._set(row)]}
        figures = []
        for figure in self.sheet.figures:
            kind, _, attribute = figure.partition("_")
            if kind in kinds.get(table, ("nag", "mnag")) and (attribute in attributes or kind == "mnag"):
                figures.append(figure)
        private = {name for row in rows for name in row["private"].split() if name in PLAYED[self._set(row)]}
        return figures + [f"panel_{name}" for name in ATTRIBUTES if name in private]

    def most(self, row: PaperRow, seeds: int) -> int:
        """One seed of a learning rate that is tried; none where the set has no other draw."""
        return seeds if not row["rate"] else min(seeds, int(self._drawn(row)))

    def _drawn(self, row: PaperRow) -> bool:
        return not issubclass(datasets[self._set(row)], GivenSet)

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        """The accuracies of each attribute, under the row's first seed."""
        if not measured[row]:
            return [""]
        cell = measured[row][0]
        names = [name for role in ("private", "useful", "general") for name in self._played(row, role)]
        return [
            ", ".join(
                f"{name} {100 * cell[f'majority {name}']:.1f} to {100 * cell[f'undefended {name}']:.1f}"
                f"{'' if f'nag {name}' in cell else ': no lead to share'}"
                for name in names
                if f"majority {name}" in cell
            )
        ]

    def _section(self, table: str, rows: Sequence[PaperRow], measured: Measured) -> PaperSection:
        section = super()._section(table, rows, measured)
        return replace(section, remark=" ".join(filter(None, (section.remark, self._rivals(rows, measured)))))

    def _rivals(self, rows: Sequence[PaperRow], measured: Measured) -> str:
        """Epochs of the rows' rivals as a share of PASS's, and the origin of their learning rates; empty
        without rivals."""
        trained = (row for row in rows if row["method"] in RIVALS)
        shares = {
            self._set(row): (self._of_set(row, "rival_epochs") or self._of_set(row, "epochs"))
            / self._of_set(row, "epochs")
            for row in trained
        }
        if not shares:
            return ""
        lengths = ", ".join(f"{share:.0%} of PASS’s epochs on {name}" for name, share in shares.items())
        if rows[0]["rate"]:
            return f"Rivals train for {lengths}."
        tried = [each for each in rows if each["method"].split()[0] in ("PASS", *RIVALS)]
        rates = [self._best_of(each, measured) for each in tried]
        if not all(self._lr(each) in best for each, best in zip(tried, rates, strict=True)):
            return f"Rivals train for {lengths}; no rival was tuned."
        *most, last = sorted({row.number("rate") for row in measured if row["rate"]})
        listed = f"{', '.join(f'{each:g}' for each in most)} and {last:g}"
        return (
            f"Rivals train for {lengths}. Each of them, and PASS, has the learning rate that gave the "
            f"highest mNAG of {listed} on another draw of the set, under one seed."
        )

    def _best_of(self, row: PaperRow, measured: Measured) -> Collection[float]:
        """The learning rates with the highest mNAG among those tried for a row's method; none where one of
        them was not measured."""
        tried = [
            each
            for each in measured
            if each["rate"] and (each["set"], each["method"]) == (row["set"], row["method"])
        ]
        values = {each: [self.value(each, "mnag", cell) for cell in measured[each]] for each in tried}
        gains = {each: figures[0] for each, figures in values.items() if figures and figures[0] is not None}
        if len(gains) < len(tried) or not gains:
            return ()
        return {each.number("rate") for each in gains if gains[each] == max(gains.values())}

    def words(self) -> Mapping[str, Any]:
        """Settings that differ from the paper's, and whether there is another draw to search on."""
        settings = self.settings
        smaller = f"faces of {settings.size} pixels a side; the paper’s: 160" if settings.size else ""
        named = {"PASS": settings.lr, "rivals": settings.rival_lr or settings.lr, **settings.rates}
        rates = ", ".join(f"{name} {rate:g}" for name, rate in named.items() if rate)
        draw = "Nobody whose samples are in the other tables is in this one, where the highest mNAG chooses."
        if issubclass(datasets[settings.motion], GivenSet):
            draw = f"{settings.motion} is given, not drawn: there is no other draw to try on."
        return {
            "smaller_faces": smaller,
            "learning_rates": f"learning rates: {rates}; the paper’s: 0.001, of faces 0.0001"
            if rates
            else "",
            "other_draw": draw,
        }


def _renamed(data: str) -> str:
    """The attributes of a data set that play the paper's under another name."""
    names = ", ".join(f"{theirs} is {ours}" for theirs, ours in PLAYED[data].items() if theirs != ours)
    return f" ({names})" if names else ""


def _leads(cell: Cell, name: str) -> bool:
    """Whether unprotected samples tell more of that attribute than the commonest class, and not by chance.
    True where the cell has no such attribute."""
    undefended = cell.get(f"undefended {name}")
    if undefended is None:
        return True
    noise = noise_of(undefended, cell["curiosity"], cell["curiosity_low"], cell["curiosity_high"])
    return bool(undefended - cell[f"majority {name}"] > noise)
