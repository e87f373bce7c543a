"""The results page of a paper: sections of lines, each figure as paper, ours and the difference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakrange.report.charts.drawing import Picture
from leakrange.report.charts.standalone import standalone
from leakrange.report.rendering import page

__all__ = [
    "Document",
    "PaperColumn",
    "PaperLine",
    "PaperSection",
    "PrintedFigure",
    "html",
    "markdown",
    "pictures",
]

NOTHING = "–"


@dataclass(frozen=True)
class PrintedFigure:
    """A printed mean and its deviation, in the paper's units."""

    mean: float
    deviation: float | None = None


@dataclass(frozen=True)
class PaperColumn:
    """One figure of a line: the paper's, and ours under every seed, in the paper's units; ``nothing`` is
    shown where we have none."""

    paper: PrintedFigure | None
    ours: Sequence[float]
    decimals: int = 2
    nothing: str = NOTHING

    def cells(self) -> tuple[str, str, str]:
        """Paper, ours and difference; with deviations over seeds where there are several."""
        paper = NOTHING if self.paper is None else self._spread(self.paper.mean, self.paper.deviation)
        if not self.ours:
            return paper, self.nothing, NOTHING
        mean = float(np.mean(self.ours))
        deviation = float(np.std(self.ours, ddof=1)) if len(self.ours) > 1 else None
        difference = NOTHING if self.paper is None else f"{mean - self.paper.mean:+.{self.decimals}f}"
        return paper, self._spread(mean, deviation), difference

    def _spread(self, mean: float, deviation: float | None) -> str:
        places = self.decimals
        return f"{mean:.{places}f}" + ("" if deviation is None else f" ± {deviation:.{places}f}")


@dataclass(frozen=True)
class PaperLine:
    """One row: its labels, its figures in the order of the section's, and its notes."""

    labels: Sequence[str]
    columns: Sequence[PaperColumn]
    notes: Sequence[str]

    def cells(self) -> list[str]:
        """All its fields, as text."""
        return [*self.labels, *(cell for column in self.columns for cell in column.cells()), *self.notes]


@dataclass(frozen=True)
class PaperSection:
    """One of the paper's tables or figures. ``labels``, ``figures`` and ``notes`` name the fields of its
    lines."""

    title: str
    labels: Sequence[str]
    figures: Sequence[str]
    notes: Sequence[str]
    lines: Sequence[PaperLine]
    remark: str = ""
    pictures: Sequence[Picture] = ()

    def header(self) -> list[str]:
        """A name for every cell of a line."""
        figures = (name for figure in self.figures for name in (f"{figure}: paper", "ours", "difference"))
        return [*self.labels, *figures, *self.notes]


@dataclass(frozen=True)
class Document:
    """A paper's page. ``differences`` are the settings that differ from the paper's."""

    title: str
    command: str
    about: str
    differences: Sequence[str]
    sections: Sequence[PaperSection]


def markdown(document: Document, folder: str = "") -> str:
    """The page as Markdown; its pictures have the file names of `pictures`, below ``folder``."""
    parts = [f"# {document.title}\n\nMade by `{document.command}`.\n\n{document.about}\n\n"]
    parts += [f"- {difference}\n" for difference in document.differences]
    for section in document.sections:
        parts.append(f"\n## {section.title}\n\n" + (f"{section.remark}\n\n" if section.remark else ""))
        header = section.header()
        rows = [header, ["---"] * len(header), *(line.cells() for line in section.lines)]
        parts += [f"| {' | '.join(row)} |\n" for row in rows]
        for picture in section.pictures:
            parts.append(f"\n**{picture.title}** {picture.note}\n\n")
            parts.append(f"![{picture.title}]({folder}{'/' if folder else ''}{_file(picture)})\n")
    return "".join(parts)


def pictures(document: Document) -> dict[str, str]:
    """All pictures as self-contained SVG files, by file name."""
    return {
        _file(picture): standalone(picture) for section in document.sections for picture in section.pictures
    }


def _file(picture: Picture) -> str:
    return re.sub(r"[^a-z0-9]+", "-", picture.title.lower()).strip("-") + ".svg"


def html(document: Document) -> str:
    """The page as one self-contained HTML file, in the style of the reports of runs."""
    return page("document.html.j2", document=document)
