"""``compare``: runs beside one another."""

from __future__ import annotations

from typing import Annotated

import typer

from leakrange.clients.cli.console import note, print_json, print_table, print_text, say
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.wire.comparison import Change, ComparedCell, Comparison, RunFigure
from leakrange.wire.runs import STATES

__all__ = ["compare"]


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN RUN", help="two to six runs; the others with the first")
    ],
    as_csv: Annotated[bool, typer.Option("--csv", help="print the shared figures as CSV")] = False,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Tell how the scenarios of runs differ, and how the figures changed that they share."""
    if len(set(runs)) < 2:
        raise typer.BadParameter("name two runs or more, as 'leakrange runs' lists them")
    with connect(state, url) as place:
        if as_csv:
            print_text(place.runs.compare_table(*runs).decode(errors="replace"))
            return
        comparison = place.runs.compare(*runs)
    if as_json:
        print_json(comparison)
        return
    _show(comparison)


def _show(comparison: Comparison) -> None:
    letters = [run.letter for run in comparison.runs]
    for run in comparison.runs:
        note(f"{run.letter}: {run.run} {run.name}, {STATES[run.state]}")
    print_table(
        ("scenario", *letters),
        [
            (each.path, *(value if value is not None else "–" for value in each.values))
            for each in comparison.differences
        ],
        empty="the scenarios do not differ",
    )
    say("")
    changes = [f"{letter} less {letters[0]}" for letter in letters[1:]]
    print_table(
        ("cell", "metric", *letters, *changes),
        [
            (
                _cell(each),
                each.title,
                *(_figure(figure) for figure in each.figures),
                *(_change(change) for change in each.changes[1:]),
            )
            for each in comparison.cells
        ],
        empty="the runs share no cell that is finished in the first and in another",
    )
    for sentence in comparison.notes:
        note(sentence)


def _cell(cell: ComparedCell) -> str:
    return f"{cell.provider}.{cell.defence}.{cell.attack}.{cell.knowledge}.b{cell.budget}.{cell.sensitive}"


def _figure(figure: RunFigure | None) -> str:
    return "–" if figure is None else f"{figure.mean:.4g}"


def _change(change: Change | None) -> str:
    if change is None:
        return "–"
    if change.low is None or change.high is None:
        return f"{change.value:+.4f}"
    mark = " *" if change.clear else ""
    return f"{change.value:+.4f} ({change.low:+.4f} to {change.high:+.4f}, {change.method}){mark}"
