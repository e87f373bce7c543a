"""PASS as trials of a range: Tables 1 to 5, 7, 9 to 12, 15, 17 and 18, and repeated probing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from leakrange.data import datasets
from leakrange.data.catalogue import GivenSet
from leakrange.metrics.probing import mean_gain, noise_of
from leakrange.papers import papers
from leakrange.papers.cells import Cell
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.substitution.attributes import PLAYED, played, skewed
from leakrange.papers.substitution.claims import CLAIMS
from leakrange.papers.targets import PaperRow
from leakrange.papers.trials import PaperTrial
from leakrange.report.document import PaperSection
from leakrange.scenario.results import TrialResult

__all__ = ["StochasticSubstitution", "SubstitutionSettings"]

ATTRIBUTES = ("gender", "accent", "age", "id", "digit", "activity", *PLAYED["celeba_sub"])
NAGS = tuple(f"nag_{name}" for name in ATTRIBUTES)
PROTECTORS = ("protector_gender", "protector_id", "protector_male")
ACCURACIES = tuple(f"acc_{name}" for name in ATTRIBUTES[:5])
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
RIVALS = MappingProxyType(
    {name: name.lower() for name in ("ADV", "GAP", "MSDA", "BDQ", "PPDAR", "MaSS", "SPAct")}
)
NOISE: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "Laplace": {"laplace-input": {"epsilon": 2.0}},
        "DPPix": {"dppix": {"epsilon": 2.0, "block": 4, "neighbours": 4}},
        "Snow": {"snow": {"share": 0.5}},
    }
)
"""Parameters of noise. The paper states none of them: these are ours."""
DP_IMAGE = MappingProxyType({"epsilon": 500.0, "latent": 64})
ALL_RECORDS = 1_000_000
REPEATED_SHARE = 0.2
"""The attacker's share of the training samples, whose obfuscation it repeats."""

ANOTHER_DRAW = 1
"""The seed of the data on which learning rates are tried."""

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

    name = "pass"
    title = "PASS: Private Attributes Protection with Stochastic Data Substitution"
    about = (
        "NAG and mNAG (Eqs. 13 and 14) in percent. A NAG is that of a classifier that an attacker, or a user "
        "of the samples, trains on obfuscated training samples and tries on obfuscated test samples; its "
        "upper end is a classifier of the same kind on samples as they are, its lower end the commonest "
        "class. The paper’s figures are means and deviations of 3 seeds, ours of as many as each row tells. "
        "Where samples as they are do not tell more of an attribute than the commonest class under every "
        "seed, by more than the 95 % interval of that accuracy, there is no NAG, and the mNAG is without it. "
        "Beside the NAG of a private attribute stands an AUC, in percent as well, of which 50 is chance (of "
        "more than two classes the mean of one against the rest): that of the same classifier or of another "
        "learner of a panel, whoever did best on samples that were not learned from."
    )
    figures = (*NAGS, "unfinetuned_activity", *PROTECTORS, "mnag", *ACCURACIES)
    tables: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "1": "Table 1: the protector’s own adversary against an attacker’s",
            "2": "Table 2: speech",
            "7": "Table 7: speech, with accuracies",
            "3": "Table 3: speech, other private attributes",
            "4": "Table 4: motion",
            "15": "Table 15: motion, the protector has half of the attacker’s samples",
            "5": "Table 5: faces",
            "17": "Table 17: faces, against noise",
            "18": "Table 18: faces, against SPAct",
            "9": "Table 9: speech, by λ",
            "10": "Table 10: speech, by μ",
            "11": "Table 11: speech, by the number of substitutes",
            "12": "Table 12: speech, by the classes of substitutes",
            "repeats": "Repeated probing of one input, which the paper does not try",
            "search": "Learning rates, tried on another draw of the set",
        }
    )
    labels = ("data", "method", "setting")
    seeds = 3
    quick = ("2:method=ADV|PASS", "4:method=PASS", "repeats:method=PASS,repeats=1|4")
    quick_settings: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "speech_epochs": 40,
            "motion_epochs": 8,
            "speech_rival_epochs": 6,
            "probing_epochs": 5,
            "lr": 3e-3,
            "motion_width": 0.5,
        }
    )
    decimals = 1
    claims, naming = CLAIMS, ("set", "method")
    Settings = SubstitutionSettings
    settings: SubstitutionSettings

    def trial(self, row: PaperRow, seed: int) -> PaperTrial:
        """A device that obfuscates, and an attacker who learns from its uploads."""
        return PaperTrial(
            seed=seed,
            data=self._data(row),
            provider=self._provider(row),
            defence=[self._defence(row)],
            attack=self._attack(row),
        )

    def _set(self, row: PaperRow) -> str:
        return str(getattr(self.settings, row["set"]))

    def _of_set(self, row: PaperRow, name: str) -> Any:
        """A setting that every set has."""
        return getattr(self.settings, f"{row['set']}_{name}")

    def _played(self, row: PaperRow, role: str) -> list[str]:
        return played(self._set(row), row[role])

    def _data(self, row: PaperRow) -> dict[str, Any]:
        data: dict[str, Any] = {"name": self._set(row), "auxiliary": 0.0}
        if row["set"] == "faces" and self.settings.size:
            data["size"] = self.settings.size
        # An attacker who repeats has few records, of all classes, in a split that is drawn at random.
        if row["repeats"]:
            data["auxiliary"] = REPEATED_SHARE
        if row["rate"]:
            data["seed"] = ANOTHER_DRAW
        if row.table == "15":
            data["subset"] = {"pool": self.settings.half, "share": 0.5}
        return data

    def _net(self, row: PaperRow) -> dict[str, Any]:
        width = self._of_set(row, "width")
        return {"name": self._of_set(row, "net"), **({} if width == 1.0 else {"width": width})}

    def _provider(self, row: PaperRow) -> dict[str, Any]:
        """The receiver of the samples; its model is that of somebody who never saw a substitute."""
        return {
            "behaviour": "honest",
            "target": self._played(row, "useful")[0],
            "release": "sample",
            "net": self._net(row),
            "schedule": {"epochs": 3, "batch": 100, "lr": 2e-3},
        }

    def _lr(self, row: PaperRow) -> float:
        """The learning rate that a row tries, that of its method, that of all, or the paper's."""
        method, settings = row["method"].split()[0], self.settings
        of_all = settings.lr if method == "PASS" else settings.rival_lr or settings.lr
        papers = 1e-4 if row["set"] == "faces" else 1e-3
        return row.number("rate") or settings.rates.get(method) or of_all or papers

    def _defence(self, row: PaperRow) -> dict[str, Any]:
        method = row["method"]
        if method in NOISE:
            return {name: dict(parameters) for name, parameters in NOISE[method].items()}
        shared = {
            "private": _one(self._played(row, "private")),
            "useful": _one(self._played(row, "useful")),
            **({"net": self._of_set(row, "net")}),
            **({} if self._of_set(row, "width") == 1.0 else {"width": self._of_set(row, "width")}),
        }
        epochs = self._of_set(row, "epochs")
        if method.startswith("PASS"):
            return {"pass": {**shared, "epochs": epochs, "lr": self._lr(row), **self._pass(row)}}
        shared |= {"epochs": self._of_set(row, "rival_epochs") or epochs, "lr": self._lr(row)}
        return {"dp-image": {**shared, **DP_IMAGE}} if method == "DP-Image" else {RIVALS[method]: shared}

    def _pass(self, row: PaperRow) -> dict[str, Any]:
        """The parameters that a row sets for PASS."""
        parameters: dict[str, Any] = {"sticky": True} if row["method"].endswith("sticky") else {}
        private, useful = self._played(row, "private"), self._played(row, "useful")
        weights = {}
        if row["lambda"]:
            weights["useful"] = row.number("lambda") * len(useful) / len(private)
        if row["mu"]:
            weights["general"] = row.number("mu")
        if row["substitutes"]:
            parameters["substitutes"] = int(row["substitutes"])
        if row["male"]:
            attributes = datasets[self._set(row)].attributes
            skew = {private[0]: (row.number("male"), False), useful[0]: (row.number("digit0"), True)}
            parameters["skew"] = {
                name: [round(share, 6) for share in skewed(first / 100, len(attributes[name].classes), end)]
                for name, (first, end) in skew.items()
            }
        return {**parameters, **({"weights": weights} if weights else {})}

    def _attack(self, row: PaperRow) -> dict[str, Any]:
        repeats = int(row.number("repeats"))
        general = self._played(row, "general")
        return {
            "kind": "probing",
            "private": _one(self._played(row, "private")),
            "useful": _one(self._played(row, "useful")),
            **({"general": _one(general)} if general else {}),
            "net": self._net(row),
            "epochs": self.settings.probing_epochs or self._of_set(row, "epochs"),
            "records": "auxiliary" if repeats else "pool" if row.table == "15" else "train",
            "auxiliary": ALL_RECORDS,
            **({"repeats": repeats, "knowledge": "averaging"} if repeats > 1 else {"knowledge": "aware"}),
        }

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

    def label(self, row: PaperRow) -> list[str]:
        """Data, method, and the setting that the table varies."""
        about = {
            "3": f"private: {', '.join(self._played(row, 'private'))}",
            "9": f"λ = {row['lambda']} N/M",
            "10": f"μ = {row['mu']}",
            "11": f"{row['substitutes']} substitutes",
            "12": f"{row['male']} % male, {row['digit0']} % digit 0",
            "repeats": f"{row['repeats']} draws",
            "search": f"learning rate {row['rate']}",
        }.get(row.table, "")
        return [self._set(row), row["method"], about]

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
        return 100.0 * cell[name] if name in cell else None

    def shown(self, table: str, rows: Sequence[PaperRow]) -> list[str]:
        """The figures about an attribute of the rows that the set has."""
        kinds = {"1": ("protector", "nag"), "7": ("nag", "acc", "mnag"), "4": ("nag", "unfinetuned", "mnag")}
        attributes = set()
        roles = ("private",) if table == "1" else ("private", "useful", "general")
        for row in rows:
            named = " ".join(row[role] for role in roles).split()
            attributes |= {name for name in named if name in PLAYED[self._set(row)]}
        figures = []
        for figure in self.figures:
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

    def notes(self, table: str) -> tuple[str, ...]:  # noqa: ARG002
        """The title of the accuracies between which a gain lies."""
        return ("commonest class and undefended accuracy",)

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
        trained = (row for row in rows if row["method"] in (*RIVALS, "DP-Image"))
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
        tried = [each for each in rows if each["method"].split()[0] in ("PASS", "DP-Image", *RIVALS)]
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

    def remark(self, table: str) -> str:
        """The attributes that play the paper’s, and the choices that are ours."""
        if table == "repeats":
            return (
                f"The attacker has {REPEATED_SHARE:.0%} of the training samples to itself. It has each of "
                "them obfuscated so many times, and reads as many uploads of each user’s sample. A sticky "
                "device draws the same substitute each time."
            )
        if table == "search":
            return (
                "Nobody whose samples are in the other tables is in this one, where the highest mNAG chooses."
                if not issubclass(datasets[self.settings.motion], GivenSet)
                else f"{self.settings.motion} is given, not drawn: there is no other draw to try on."
            )
        if table == "12":
            return "The last class of the private attribute plays the men."
        return ""

    def differences(self, measured: Measured) -> list[str]:
        """Data, attributes, nets, epochs."""
        settings, sentences = self.settings, []
        paper = {"speech": ("AudioMNIST", 2000), "motion": ("MotionSense", 200), "faces": ("CelebA", 50)}
        for name in dict.fromkeys(row["set"] for row, cells in measured.items() if cells):
            data = getattr(settings, name)
            names = ", ".join(
                f"{printed} is {name_here}"
                for printed, name_here in PLAYED[data].items()
                if printed != name_here
            )
            epochs = getattr(settings, f"{name}_epochs")
            rivals = getattr(settings, f"{name}_rival_epochs") or epochs
            net, width = getattr(settings, f"{name}_net"), getattr(settings, f"{name}_width")
            attackers = settings.probing_epochs or epochs
            sentences.append(
                f"{name}: {data}{f' ({names})' if names else ''}, net {net} of width {width:g}; epochs of "
                f"PASS {epochs}, of rivals {rivals}, of attackers {attackers}; the paper’s: "
                f"{paper[name][0]}, {paper[name][1]} epochs of each"
            )
        if settings.size:
            sentences.append(f"faces of {settings.size} pixels a side; the paper’s: 160")
        rate, rival = settings.lr, settings.rival_lr or settings.lr
        if rate or rival or settings.rates:
            named = {"PASS": rate, "rivals": rival, **settings.rates}
            listed = ", ".join(f"{name} {each:g}" for name, each in named.items() if each)
            sentences.append(f"learning rates: {listed}; the paper’s: 0.001, of faces 0.0001")
        sentences.append("parameters of noise are ours: the paper states none")
        sentences.append("mNAG is a mean over those attributes that the set has")
        return sentences


def _leads(cell: Cell, name: str) -> bool:
    """Whether unprotected samples tell more of that attribute than the commonest class, and not by chance.
    True where the cell has no such attribute."""
    undefended = cell.get(f"undefended {name}")
    if undefended is None:
        return True
    noise = noise_of(undefended, cell["curiosity"], cell["curiosity_low"], cell["curiosity_high"])
    return bool(undefended - cell[f"majority {name}"] > noise)


def _one(names: Sequence[str]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)
