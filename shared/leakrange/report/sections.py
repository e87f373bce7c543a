"""The chart sections of the page: the charts of each, or in one line the reason why it is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from leakrange.metrics.numbers import count
from leakrange.report.charts.adaptivity import adaptivity, place_of
from leakrange.report.charts.bits import BITS_KEYS, bits
from leakrange.report.charts.budgets import budget_lines
from leakrange.report.charts.drawing import Key, Picture
from leakrange.report.charts.entropy import entropies
from leakrange.report.charts.frontier import frontiers
from leakrange.report.charts.plane import planes
from leakrange.report.charts.training import histories
from leakrange.report.charts.under_load import under_load
from leakrange.report.findings import Findings, leak
from leakrange.report.load_table import LoadTableRow, ends, load_rows
from leakrange.report.views import View, views

__all__ = ["ChartGroup", "Section", "chart_sections"]


@dataclass(frozen=True)
class ChartGroup:
    """Pictures under one heading; beyond the first few they fold away. ``wide`` ones need twice the room."""

    heading: str
    pictures: list[Picture]
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """A section of charts. ``missing`` says why there is none, and then ``groups`` is empty."""

    anchor: str
    title: str
    lead: str
    groups: list[ChartGroup] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    missing: str = ""
    table: list[LoadTableRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def brief(self) -> str:
        """The number of its charts, for the line that unfolds it."""
        return count(sum(len(group.pictures) for group in self.groups), "chart")


def chart_sections(findings: Findings) -> list[Section]:
    """All chart sections in the order of the page; none of them holds an empty chart, and no two charts have
    the same name."""
    return [_named(section) for section in _sections(findings)]


def _named(section: Section) -> Section:
    """The section with names for its pictures, from their headings and not from their figures."""
    taken: dict[str, int] = {}
    groups = []
    for group in section.groups:
        pictures = []
        for picture in group.pictures:
            digest = sha256(f"{group.heading}\n{picture.title}".encode()).hexdigest()[:10]
            taken[digest] = taken.get(digest, 0) + 1
            again = f"-{taken[digest]}" if taken[digest] > 1 else ""
            pictures.append(replace(picture, name=f"{section.anchor}-{digest}{again}"))
        groups.append(replace(group, pictures=pictures))
    return replace(section, groups=groups)


def _sections(findings: Findings) -> list[Section]:
    measured = [row for row in findings.summaries if leak(row) is not None]
    single = "Only one budget was tried" if len({row.budget for row in measured}) == 1 else ""
    return [
        _plane(findings),
        *_load(findings),
        *_views(findings),
        *_bits(findings),
        _section(
            "entropy",
            "Entropy of the outputs",
            "A secret that is hidden in an output needs room there: curious providers’ outputs tend to carry "
            "more bits than the task asks for. Undefended outputs, all seeds together; dashed: the mean.",
            _per_data(findings, entropies),
            "No model’s outputs have an entropy histogram.",
            [
                Key("this provider", colour=1),
                Key("honest provider of the same task (outline)", colour=0, dash=0),
            ],
        ),
        _section(
            "budget",
            "Leakage against budget",
            "What the attack finds out from so many answers; bars are one sample deviation over seeds, the "
            "dashed line is the chance level.",
            _per_data(findings, budget_lines),
            f"{single or 'No attack has finished at two budgets'}, so there is nothing to draw a line "
            "through.",
            _defence_keys(findings, lines=True),
        ),
        _section(
            "adaptivity",
            "Adaptivity gap",
            "The same attack by an attacker who does not know the defence (unaware), who was fitted on "
            "defended outputs (aware), and who repeats each query and averages. A defence with a wide gap "
            "protects by obscurity.",
            _per_data(findings, adaptivity),
            "No attack was made with more than one knowledge of the defence.",
            [
                Key(name, colour=place_of(name) + 1, marker=place_of(name))
                for name in sorted(
                    {row.knowledge for row in measured}, key=lambda each: (place_of(each), each)
                )
            ],
        ),
        _section(
            "training",
            "Training",
            "All but losses are on validation samples. Thick: mean over seeds; thin: single seeds.",
            _per_data(findings, histories),
            "No model has a training history.",
        ),
    ]


def _section(
    anchor: str, title: str, lead: str, groups: list[ChartGroup], missing: str, keys: Sequence[Key] = ()
) -> Section:
    return Section(anchor, title, lead, groups, list(keys), "" if groups else missing)


def _per_data(findings: Findings, make: Callable[[Findings, str], list[Picture]]) -> list[ChartGroup]:
    names = list(dict.fromkeys([*findings.datasets, *(model.data for model in findings.results.models)]))
    return [ChartGroup(name, pictures) for name in names if (pictures := make(findings, name))]


def _defence_keys(findings: Findings, *, lines: bool = False) -> list[Key]:
    tried = [name for name in findings.defences if any(defence == name for _, defence in findings.best)]
    if not lines:
        return [Key(name, colour=findings.colour(name)) for name in tried]
    return [Key(name, colour=(i := findings.colour(name)), marker=i, dash=i) for name in tried]


_PLANE = (
    "A point is one provider under one defence, against the strongest attack at the largest budget; bars are "
    "one sample deviation over seeds. The further right, the better users are served; the closer to the "
    "dashed line of chance, the less is learnt about them. A line joins the defences of a provider that no "
    "other defence beats in both."
)
_FRONTIER = (
    "Where a figure of leakage has no best value, a point is a defence against the strongest attacker of "
    "those who were fitted to undefended answers (plain) or to the defence (adaptive); the line joins the "
    "defences that no other beats in both."
)


def _plane(findings: Findings) -> Section:
    charts = planes(findings)
    groups = [ChartGroup("", charts, wide=True)] if charts else []
    for subject in findings.subjects:
        if subject.metric.best is None and (pictures := frontiers(findings, subject)):
            groups.append(ChartGroup(f"{subject.data}: {findings.label(subject)}", pictures))
    lead = " ".join(text for text, used in ((_PLANE, charts), (_FRONTIER, groups[bool(charts) :])) if used)
    return Section(
        "plane",
        "Utility against leakage",
        lead,
        groups,
        _defence_keys(findings),
        "" if groups else "No finished trial has both a figure of utility and one of leakage.",
    )


def _load(findings: Findings) -> Iterator[Section]:
    """The section on load; nothing where the run was not under load."""
    load = findings.results.load
    if load is None:
        return
    pictures = under_load(findings)
    counts = load.spec["users"]
    users = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    yield Section(
        "load",
        "Under load",
        f"What attacks find out from so many queries while {users} users ask at the peak, and how requests "
        f"were answered under each defence in {load.seconds:.0f} s. Bars are 95 % intervals; the dashed line "
        "is the chance level.",
        [ChartGroup("", pictures, wide=True)] if pictures else [],
        missing="" if pictures else "No attack has finished yet.",
        table=load_rows(findings),
        notes=[
            f"{provider}, {attack} ({knowledge}) under {defence}: {why}."
            for (provider, attack, knowledge, defence), why in ends(findings).items()
        ],
    )


def _bits(findings: Findings) -> Iterator[Section]:
    """The section on bits; nothing where no attack counts bits, as in most runs."""
    if groups := _per_data(findings, bits):
        yield Section(
            "bits",
            "Bits of a release",
            "How much of a sample one release can carry at most, by how many different answers a defence "
            "leaves, beside what it is known to have carried: what the strongest reconstruction from one "
            "release tells of which of the samples it is. The truth lies between.",
            groups,
            list(BITS_KEYS),
        )


def _views(findings: Findings) -> Iterator[Section]:
    """The sections of the views that finished trials hold; most kinds of attack have only one or two."""
    for name, view in views.items():

        def drawn(findings: Findings, data: str, view: View = view) -> list[Picture]:
            charts = (view.draw(findings, subject) for subject in findings.of_data(data))
            return [picture for picture in charts if picture is not None]

        if groups := _per_data(findings, drawn):
            groups = [replace(group, wide=view.wide) for group in groups]
            yield Section(name, view.title, view.lead, groups)
