"""The chart sections of the page: the charts of each, or in one line why it is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from leakrange.report.charts.adaptivity import KNOWLEDGES, adaptivity, place_of
from leakrange.report.charts.budgets import budget_lines
from leakrange.report.charts.drawing import Key, Picture
from leakrange.report.charts.entropy import entropies
from leakrange.report.charts.plane import planes
from leakrange.report.charts.training import histories
from leakrange.report.findings import Findings, leak
from leakrange.report.views import View, views

__all__ = ["Group", "Section", "chart_sections"]


@dataclass(frozen=True)
class Group:
    """Pictures under one heading; beyond the first few they fold away."""

    heading: str
    pictures: list[Picture]


@dataclass(frozen=True)
class Section:
    """A section of charts. ``missing`` says why there is none, and then ``groups`` is empty."""

    anchor: str
    title: str
    lead: str
    groups: list[Group] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    missing: str = ""
    wide: bool = False


def chart_sections(findings: Findings) -> list[Section]:
    """All chart sections in the order of the page; none of them holds an empty chart."""
    return [
        _plane(findings),
        *(_view(findings, name, view) for name, view in views.items()),
        _entropy(findings),
        _budget(findings),
        _adaptivity(findings),
        _training(findings),
    ]


def _per_data(findings: Findings, make: Callable[[Findings, str], list[Picture]]) -> list[Group]:
    names = list(dict.fromkeys([*findings.datasets, *(model.data for model in findings.results.models)]))
    return [Group(name, pictures) for name in names if (pictures := make(findings, name))]


def _defence_keys(findings: Findings, *, lines: bool = False) -> list[Key]:
    drawn = [name for name in findings.defences if any(defence == name for _, defence in findings.best)]
    if not lines:
        return [Key(name, colour=findings.colour(name)) for name in drawn]
    return [Key(name, colour=(i := findings.colour(name)), marker=i, dash=i) for name in drawn]


def _plane(findings: Findings) -> Section:
    pictures = planes(findings)
    return Section(
        "plane",
        "Utility against leakage",
        "Each point is one provider under one defence, judged by the strongest attack at the largest "
        "budget; bars are one sample deviation over seeds. Further right, users are served better; close "
        "to the dashed chance level, nothing is learnt about them.",
        [Group("", pictures)] if pictures else [],
        _defence_keys(findings),
        "" if pictures else "No finished trial has both a figure of utility and one of leakage.",
        wide=True,
    )


def _view(findings: Findings, name: str, view: View) -> Section:
    def drawn(findings: Findings, data: str) -> list[Picture]:
        made = (view.draw(findings, subject) for subject in findings.of_data(data))
        return [picture for picture in made if picture is not None]

    groups = _per_data(findings, drawn)
    missing = "" if groups else f"No finished trial has a {view.one}."
    return Section(name, view.title, view.lead, groups, missing=missing)


def _entropy(findings: Findings) -> Section:
    groups = _per_data(findings, entropies)
    return Section(
        "entropy",
        "Entropy of the outputs",
        "A secret that is hidden in an output needs room there: curious providers’ outputs tend to carry "
        "more bits than the task asks for. Undefended outputs, all seeds together; dashed: the mean.",
        groups,
        [Key("this provider", colour=1), Key("honest provider of the same task (outline)", colour=0, dash=0)],
        "" if groups else "No model’s outputs have an entropy histogram.",
    )


def _budget(findings: Findings) -> Section:
    groups = _per_data(findings, budget_lines)
    budgets = {row.budget for row in findings.summaries if leak(row) is not None}
    reason = "Only one budget was tried" if len(budgets) == 1 else "No attack has finished at two budgets"
    return Section(
        "budget",
        "Leakage against budget",
        "What is found out with so many samples answered; bars are one sample deviation over seeds, dashed "
        "is the chance level.",
        groups,
        _defence_keys(findings, lines=True),
        "" if groups else f"{reason}, so there is nothing to draw a line through.",
    )


def _adaptivity(findings: Findings) -> Section:
    groups = _per_data(findings, adaptivity)
    found = {row.knowledge for row in findings.summaries if leak(row) is not None}
    names = [*(name for name in KNOWLEDGES if name in found), *sorted(found - set(KNOWLEDGES))]
    keys = [Key(name, colour=place_of(name) + 1, marker=place_of(name)) for name in names]
    return Section(
        "adaptivity",
        "Adaptivity gap",
        "The same attack by an attacker who does not know the defence (unaware), who was fitted on defended "
        "outputs (aware), and who repeats each query and averages. A defence with a wide gap protects by "
        "obscurity.",
        groups,
        keys,
        "" if groups else "No attack was made with more than one knowledge of the defence.",
    )


def _training(findings: Findings) -> Section:
    groups = _per_data(findings, histories)
    return Section(
        "training",
        "Training",
        "Per epoch, on validation samples where it is a share. Thick: mean over seeds; thin: single seeds.",
        groups,
        missing="" if groups else "No model has a training history.",
    )
