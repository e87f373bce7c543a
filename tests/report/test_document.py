"""Paper, ours and the difference: the arithmetic of the cells, and both renderings."""

from xml.etree import ElementTree

import pytest

from leakrange.report.charts.drawing import Axis, Key, lines, picture
from leakrange.report.document import (
    Document,
    PaperColumn,
    PaperLine,
    PaperSection,
    PrintedFigure,
    html,
    markdown,
    pictures,
)


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (PaperColumn(PrintedFigure(90.0, 0.5), [82.0, 84.0]), ("90.00 ± 0.50", "83.00 ± 1.41", "-7.00")),
        (PaperColumn(PrintedFigure(90.0), [91.5]), ("90.00", "91.50", "+1.50")),
        (PaperColumn(None, [0.5, 0.5]), ("–", "0.50 ± 0.00", "–")),
        (PaperColumn(PrintedFigure(90.0, 0.5), []), ("90.00 ± 0.50", "–", "–")),
    ],
)
def test_a_figure_stands_as_paper_ours_and_difference(
    column: PaperColumn, cells: tuple[str, str, str]
) -> None:
    assert column.cells() == cells


def test_both_renderings_hold_every_cell_and_escape_what_they_must() -> None:
    line = PaperLine(["<model>"], [PaperColumn(PrintedFigure(1.0), [2.0])], ["3"])
    section = PaperSection("Table 1", ["model"], ["honesty"], ["seeds"], [line])
    page = Document("A paper", "leakrange reproduce x", "About.", ["fewer epochs"], [section])
    text = markdown(page)
    assert "| model | honesty: paper | ours | difference | seeds |" in text
    assert "| <model> | 1.00 | 2.00 | +1.00 | 3 |" in text
    assert "- fewer epochs" in text
    web = html(page)
    for cell in ("&lt;model&gt;", "<td>1.00</td>", "<td>2.00</td>", "<td>+1.00</td>", "fewer epochs"):
        assert cell in web
    assert "<model>" not in web
    assert "http" not in web.replace("http-equiv", "")


def test_pictures_stand_in_the_page_and_as_files_of_their_own() -> None:
    rows = [{"x": end, "y": end, "line": "", "colour": 1, "tip": "a line"} for end in (0, 1)]
    drawn = picture(
        "AUC & more", "two points", [lines(rows, Axis("x"), Axis("y"))], keys=[Key("a < b", colour=1, dash=0)]
    )
    section = PaperSection("PrintedFigure 1", ["model"], [], [], [], pictures=[drawn])
    page = Document("A paper", "leakrange reproduce x", "About.", [], [section])
    [(name, file)] = pictures(page).items()
    assert name == "auc-more.svg"
    assert f"![AUC & more](figures/{name})" in markdown(page, "figures")
    root = ElementTree.fromstring(file)  # well-formed, with its legend
    assert "a < b" in "".join(root.itertext())
    assert "--s1:" in file  # the colours that it draws with
    web = html(page)
    assert drawn.svg in web
    assert "a &lt; b" in web
