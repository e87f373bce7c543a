"""What audits said of models whose truth is known: how often they err, and where a figure lies among theirs.

The figures in ``known_models.yaml`` are what ``python -m leakrange.load.bench.audits --write FILE`` measured.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from statistics import fmean, stdev
from typing import Literal

import yaml

from leakrange.strict import Strict

__all__ = ["TABLES", "KnownModels", "Outcomes", "known_models", "nearest"]


TABLES = "drawn tables"
"""The task of the models of scikit-learn."""
PICTURES = ("digits", "synthfaces")
"""Tasks, by the name of their data set, whose samples are pictures."""


class Outcomes(Strict):
    """What audits said of so many ``models``, and the lead of the strongest attack on each: its AUC less what
    can be guessed without the model."""

    models: int
    leaks: int
    passes: int
    cannot_tell: int
    leads: tuple[float, ...]


class KnownModels(Strict):
    """Models for one ``task`` behind one ``policy``, audited with so many ``records`` of either side
    by one ``attack`` or by all (""): those that are ``leaking``, and the others."""

    task: str
    policy: str
    about: Literal["membership", "attribute"]
    records: int
    attack: str
    leaking: Outcomes
    others: Outcomes

    def z(self, lead: float) -> float | None:
        """By how many deviations a lead is above those of the models that do not leak; None where these are
        all alike."""
        if len(self.others.leads) < 2:
            return None
        spread = stdev(self.others.leads)
        return (lead - fmean(self.others.leads)) / spread if spread > 0.0 else None

    def among(self, lead: float) -> str:
        """Where a lead lies among theirs, in words."""
        below, all_others = sum(each < lead for each in self.others.leads), len(self.others.leads)
        reached, all_leaking = sum(each < lead for each in self.leaking.leads), len(self.leaking.leads)
        z = self.z(lead)
        side = "above" if z is not None and z > 0.0 else "below"
        apart = "" if z is None else f", {abs(z):.1f} deviations {side} their mean"
        return (
            f"Its lead is {lead:.2f}: more than that of {below} of {all_others} known models ({self.task}) "
            f"in which no such leak is planted{apart}, and than that of {reached} of {all_leaking} in "
            "which one is."
        )

    @property
    def sentence(self) -> str:
        """How often an audit errs, in words."""
        leaking, others = self.leaking, self.others
        models = (
            "models of scikit-learn on drawn tables, attacked without models of the attackers' own"
            if self.task == TABLES
            else f"nets for {self.task} that the range trained"
        )
        return (
            f"How often such an audit errs: with {self.records:,} records of either side, of "
            f"{leaking.models} known models that leak by {_about(self.about)} it said so of {leaking.leaks},"
            f" let {leaking.passes} pass, and could not tell of {leaking.cannot_tell}; of {others.models}"
            f" in which no such leak is planted, it accused {others.leaks}, let {others.passes} pass, and "
            f"could not tell of {others.cannot_tell}. These are {models}."
        )


def _about(question: str) -> str:
    return "who was trained on" if question == "membership" else "an attribute"


@cache
def known_models() -> tuple[KnownModels, ...]:
    """All that are known, the fewest records first."""
    text = files("leakrange.assessment").joinpath("known_models.yaml").read_text(encoding="utf-8")
    rows = [KnownModels.model_validate(each) for each in yaml.safe_load(text)]
    return tuple(sorted(rows, key=lambda each: each.records))


def nearest(about: str, records: int, *, task: str, pictures: bool) -> KnownModels | None:
    """Those that were audited without a policy, by all attacks, with the most records of either side, but no
    more than that; the fewest where all had more. They are of that ``task``, a name of a data set, where such
    models are known; else of tasks whose samples are ``pictures``, or are none. None for a question that none
    was asked."""
    asked = [each for each in known_models() if (each.about, each.policy, each.attack) == (about, "none", "")]
    alike = [each for each in asked if (each.task in PICTURES) == pictures]
    rows = [each for each in asked if each.task == task] or alike or asked
    fitting = [each for each in rows if each.records <= records] or rows[:1]
    return fitting[-1] if fitting else None
