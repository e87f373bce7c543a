"""``run``, ``follow``, ``runs``, ``cancel``, ``report``: runs of scenarios."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from leakrange.client import Range
from leakrange.clients.cli.console import note, open_page, print_json, print_table, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import mistakes_named, read_scenario, write_file
from leakrange.clients.cli.options import AsJson, Open, State, Url, connect
from leakrange.clients.cli.progress import watch
from leakrange.wire.runs import Accepted

__all__ = ["accepted", "cancel", "follow", "report", "run", "runs", "to_its_end"]

RunId = Annotated[str, typer.Argument(metavar="RUN", help="the run's id, as 'leakrange runs' lists it")]
ReportPath = Annotated[
    Path | None,
    typer.Option("--report", help="write the report here when the run is finished, as .html or .json"),
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
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario. Ends with 1 where the run fails, with 2 where the scenario has mistakes."""
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
        to_its_end(place, begun.id, report, opened, as_json)


def accepted(place: Range, scenario: Path, as_json: bool, *, load: bool = False) -> Accepted:
    """Return the controller's answer to an accepted scenario. Ends with the scenario's mistakes if it is
    refused."""
    with mistakes_named(scenario, as_json=as_json):
        return place.runs.start(read_scenario(scenario), load=load)


def follow(
    run: RunId,
    report: ReportPath = None,
    opened: Open = False,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Watch a run to its end. Ends with 1 where the run failed."""
    with connect(state, url) as place:
        to_its_end(place, run, report, opened, as_json)


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
                view.state,
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
    note(f"run {run} is {view.state}")


def report(
    run: RunId,
    target: Annotated[
        Path | None,
        typer.Option("--out", help="file to write, .html or .json (default: leakrange-RUN.html)"),
    ] = None,
    opened: Open = False,
    state: State = None,
    url: Url = None,
) -> None:
    """Write a run's report, one self-contained HTML page or its results as JSON, and say where it is."""
    path = target or Path(f"leakrange-{run}.html")
    with connect(state, url) as place:
        _write_report(place, run, path, opened, say)


def to_its_end(place: Range, run: str, report: Path | None, opened: bool, as_json: bool) -> None:
    """Watch a run to its end, and write its report if wanted. Raises `CliError` if the run failed."""
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
        note(f"run {run} is {view.state} after {_seconds(view.seconds)} s")
    if view.state == "done" and not as_json:
        _print_answer(place, run)
    if view.state != "cancelled" and (report is not None or opened):
        # With --json nothing but JSON goes to standard output.
        tell = note if as_json else say
        _write_report(place, run, report or Path(f"leakrange-{run}.html"), opened, tell)
    if view.state != "done":
        raise CliError(
            view.error or f"the run was {view.state}",
            code=Exit.FAILED,
            hint="the logs of the parties tell more" if view.state == "failed" else None,
        )


def _print_answer(place: Range, run: str) -> None:
    """What leaked, by provider and defence, and the answer of the report in sentences."""
    views = place.runs.views(run)
    for table in views.glance:
        say(table.task)
        rows = [(row.provider, *row.cells) for row in table.rows]
        print_table(("provider", *table.defences), rows, empty="nothing was measured")
    for sentence in views.sentences:
        say(sentence)


def _write_report(place: Range, run: str, path: Path, opened: bool, tell: Callable[[str], None]) -> None:
    if path.suffix == ".json":
        write_file(path, place.runs.results(run).model_dump_json(indent=2))
    else:
        write_file(path, place.runs.report(run))
    tell(f"report: {path.resolve().as_uri()}")
    if opened:
        open_page(path.resolve().as_uri())


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
