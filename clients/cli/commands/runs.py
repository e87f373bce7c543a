"""``run``, ``follow``, ``runs``, ``cancel``, ``report``: runs of scenarios."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from leakrange.client import Range
from leakrange.clients.cli.console import fits, note, open_page, print_json, print_table, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import mistakes_named, read_scenario, write_file, write_pieces
from leakrange.clients.cli.options import AsJson, Open, State, Url, connect
from leakrange.clients.cli.progress import watch
from leakrange.wire.errors import Conflict
from leakrange.wire.runs import STATES, Accepted
from leakrange.wire.views import GlanceLine, RunViews

__all__ = ["accepted", "cancel", "follow", "print_answer", "report", "run", "runs", "to_its_end"]

MOST_ROWS = 5
"""So many rows of the table at a glance are printed; the report has all."""
GRADES = "EDC?BA"
"""From the worst to the best."""
RunId = Annotated[str, typer.Argument(metavar="RUN", help="the run's id, as 'leakrange runs' lists it")]
ReportPath = Annotated[
    Path | None,
    typer.Option("--report", help="write the report here when the run is finished, as .html or .json"),
]

LEAKS, CANNOT_TELL = "leaks", "cannot-tell"
FailIf = Annotated[
    str | None,
    typer.Option(
        "--fail-if",
        metavar="leaks|cannot-tell[:DEFENCE]",
        help="end with 1 if a provider leaks under that defence (default: the first one); with cannot-tell"
        " also end with 6 if that is not clear for each",
    ),
]


def run(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="a YAML or JSON file, or a ready one's name")
    ],
    followed: Annotated[
        bool, typer.Option("--follow/--detach", help="watch it to its end, or return at once")
    ] = True,
    report: ReportPath = None,
    opened: Open = False,
    fail_if: FailIf = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario. Ends with 1 where the run fails, with 2 where the scenario has mistakes, and with 1 or
    6 where --fail-if says so."""
    fails = _failing(fail_if)
    if fails is not None and not followed:
        raise typer.BadParameter("--fail-if needs the run's end: leave out --detach")
    if report is not None and not followed:
        raise typer.BadParameter("--report needs the run's end: leave out --detach")
    with connect(state, url) as place:
        begun = accepted(place, scenario, as_json)
        note(f"run {begun.id}: {begun.name}, {begun.trials} trials")
        if not followed:
            if as_json:
                print_json(begun)
            else:
                say(begun.id)
            return
        to_its_end(place, begun.id, report, opened, as_json, fails)


def accepted(place: Range, scenario: Path, as_json: bool, *, load: bool = False) -> Accepted:
    """Return the controller's answer to an accepted scenario. Ends with the scenario's mistakes if it is
    refused."""
    with mistakes_named(scenario, as_json=as_json):
        return place.runs.start(read_scenario(scenario), load=load)


def follow(
    run: RunId,
    report: ReportPath = None,
    opened: Open = False,
    fail_if: FailIf = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Watch a run to its end. Ends with 1 where the run failed, and with 1 or 6 where --fail-if says so."""
    fails = _failing(fail_if)
    with connect(state, url) as place:
        to_its_end(place, run, report, opened, as_json, fails)


def runs(state: State = None, url: Url = None, as_json: AsJson = False) -> None:
    """List runs, newest first."""
    with connect(state, url) as place:
        views = place.runs.latest()
    if as_json:
        print_json(views)
        return
    print_table(
        ("run", "name", "state", "trials", "seconds", "created"),
        [
            (
                view.id,
                view.name,
                STATES[view.state],
                f"{view.trials.done}/{view.trials.total}",
                _seconds(view.seconds),
                view.created[:19],
            )
            for view in views
        ],
        empty="no runs yet: 'leakrange run SCENARIO' starts one",
    )


def cancel(run: RunId, state: State = None, url: Url = None) -> None:
    """Cancel a run and free its workers."""
    with connect(state, url) as place:
        view = place.runs.cancel(run)
    note(f"run {run} is {STATES[view.state]}")


def report(
    run: RunId,
    target: Annotated[
        Path | None,
        typer.Option(
            "--out", help="file to write, .html, .json, .csv or .arrow (default: leakrange-RUN.html)"
        ),
    ] = None,
    only: Annotated[
        list[str],
        typer.Option(
            "--only",
            metavar="provider|defence|attack=NAME",
            help="keep a part of the run; several times for several names. Not for .json",
        ),
    ] = [],  # noqa: B006 (Typer's own copy)
    opened: Open = False,
    state: State = None,
    url: Url = None,
) -> None:
    """Write a run's report, one self-contained HTML page, its results as JSON, or its trials as CSV or Arrow,
    and say where it is. Of more than 20,000 trials a page shows those at the largest budgets, or a part with
    --only."""
    path = target or Path(f"leakrange-{run}.html")
    if only and path.suffix == ".json":
        raise CliError("--only is for .html, .csv and .arrow", code=Exit.USAGE)
    with connect(state, url) as place:
        _write_report(place, run, path, opened, say, _narrowed(only))


def to_its_end(
    place: Range,
    run: str,
    report: Path | None,
    opened: bool,
    as_json: bool,
    fails: tuple[str, str | None] | None = None,
) -> None:
    """Watch a run to its end, and write its report if wanted. Raises `CliError` if the run failed, or comes
    to the verdict that ``fails`` names: the word, and the defence that is meant."""
    try:
        view = watch(place, run)
    except KeyboardInterrupt:
        raise CliError(
            "interrupted; the run goes on",
            code=Exit.INTERRUPTED,
            hint=f"'leakrange follow {run}' watches it again, 'leakrange cancel {run}' ends it",
        ) from None
    if as_json:
        print_json(view)
    else:
        note(f"run {run} is {STATES[view.state]} after {_seconds(view.seconds)} s")
    views = None
    if view.state == "done" and (fails is not None or not as_json):
        try:
            views = place.runs.views(run)
        except Conflict:
            # It has too many trials for one report.
            say(place.runs.overview(run).sentence)
            if fails is not None:
                raise
    if views is not None and not as_json:
        print_answer(views)
    if view.state != "cancelled" and (report is not None or opened):
        # With --json nothing but JSON goes to standard output.
        tell = note if as_json else say
        _write_report(place, run, report or Path(f"leakrange-{run}.html"), opened, tell)
    if view.state != "done":
        if view.state == "failed":
            raise CliError(
                f"The run failed. {view.error or 'No reason was given.'}",
                code=Exit.FAILED,
                hint="mend that and start the run again: what is stored already is kept;"
                " 'leakrange status' names the parties' logs, which tell more",
            )
        raise CliError(f"The run was {view.state}.", code=Exit.FAILED)
    if views is not None and fails is not None:
        _end(views, *fails)


def _failing(fail_if: str | None) -> tuple[str, str | None] | None:
    if fail_if is None:
        return None
    word, _, defence = fail_if.partition(":")
    if word not in (LEAKS, CANNOT_TELL):
        raise typer.BadParameter(f"--fail-if {LEAKS} or {CANNOT_TELL}, and ':DEFENCE' behind it if you like")
    return word, defence or None


def _end(views: RunViews, word: str, defence: str | None) -> None:
    """End with another status than 0 where a provider leaks under that defence, or, unless leaks alone are
    meant, where it cannot be told of all."""
    grades = [
        row.grades[place]
        for table in views.glance
        if (name := defence or table.defences[0]) in table.defences
        for row in table.rows
        if row.grades[place := table.defences.index(name)] or row.cells[place] is None
    ]
    if not any(grades):
        under = f"under a defence {defence!r}" if defence else "under the first defence"
        raise CliError(f"no attack was judged {under}: nothing can be told", code=Exit.CANNOT_TELL)
    if any(grade in ("C", "D", "E") for grade in grades):
        raise typer.Exit(Exit.FAILED)
    if word == CANNOT_TELL and (None in grades or "?" in grades):
        raise typer.Exit(Exit.CANNOT_TELL)


def print_answer(views: RunViews) -> None:
    """The first sentence of the report, what leaked by provider and defence, and what to do."""
    say(views.headline)
    left = MOST_ROWS
    for table in views.glance:
        rows = [
            (row.provider, *(_graded(*cell) for cell in zip(row.grades, row.cells, strict=True)))
            for row in sorted(table.rows, key=_worst)[:left]
        ]
        if rows:
            say(table.task)
            heads = ("provider", *table.defences)
            if not fits([heads, *rows]):  # what users got, in brackets, is in the report
                rows = [(row[0], *(cell and cell.partition(" (")[0] for cell in row[1:])) for row in rows]
            print_table(heads, rows, empty="nothing was measured")
        left -= len(rows)
    if more := sum(len(table.rows) for table in views.glance) - MOST_ROWS + left:
        say(f"{more} more in the report")
    if views.recommendation:
        say(views.recommendation)


def _graded(grade: str | None, cell: str | None) -> str | None:
    return f"{grade} {cell}" if grade and cell else cell


def _worst(row: GlanceLine) -> int:
    """The place of a row: those whose first grade is worst come first."""
    grade = next((each for each in row.grades if each), None)
    return GRADES.index(grade) if grade else len(GRADES)


def _narrowed(only: list[str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for each in only:
        what, _, name = each.partition("=")
        if what not in ("provider", "defence", "attack") or not name:
            message = f"--only {each}: write provider=NAME, defence=NAME or attack=NAME"
            raise CliError(message, code=Exit.USAGE)
        names.setdefault(what, []).append(name)
    return names


def _write_report(
    place: Range,
    run: str,
    path: Path,
    opened: bool,
    tell: Callable[[str], None],
    narrowed: dict[str, list[str]] | None = None,
) -> None:
    forms: dict[str, Literal["csv", "arrow"]] = {".csv": "csv", ".arrow": "arrow"}
    if path.suffix == ".json":
        write_file(path, place.runs.results(run).model_dump_json(indent=2))
    elif path.suffix in forms:
        write_pieces(path, place.runs.download(run, forms[path.suffix], **(narrowed or {})))
    else:
        write_file(path, place.runs.report(run, **(narrowed or {})))
    tell(f"report: {path.resolve().as_uri()}")
    if opened:
        open_page(path.resolve().as_uri())


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
