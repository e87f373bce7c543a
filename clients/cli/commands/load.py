"""``load``: a scenario whose questions load users ask."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from leakrange.client import Range
from leakrange.clients.cli.commands.runs import accepted, to_its_end
from leakrange.clients.cli.console import note, print_text
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State, Url, connect

__all__ = ["load"]


def load(
    scenario: Annotated[
        Path | None, typer.Argument(metavar="SCENARIO", help="a YAML or JSON file with a section 'load'")
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", help="continue this run instead of starting a scenario")
    ] = None,
    web: Annotated[
        int | None, typer.Option("--web", metavar="PORT", help="show Locust's page at this port")
    ] = None,
    headless: Annotated[bool, typer.Option("--headless", help="show no page (the default)")] = False,
    workers: Annotated[int, typer.Option(min=0, help="processes that ask; 0: this one alone")] = 0,
    expect: Annotated[
        int, typer.Option(min=0, help="wait at port 5557 for this many Locust workers from other machines")
    ] = 0,
    report: Annotated[Path | None, typer.Option(help="write the run's report here")] = None,
    picture: Annotated[
        Path | None, typer.Option(help="write the picture here: success against queries, an SVG file")
    ] = None,
    table: Annotated[Path | None, typer.Option(help="write its figures here, as .csv or .json")] = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario under load: its section 'load' says which users ask what its attacks ask. Ends with 1
    where the run fails. Needs the extra 'load'."""
    if (scenario is None) == (run is None):
        raise typer.BadParameter("give a scenario, or --run with the run to continue")
    if web is not None and headless:
        raise typer.BadParameter("--web or --headless, not both")
    if workers and expect:
        raise typer.BadParameter("--workers are started here, those to --expect elsewhere: not both")
    if table is not None and table.suffix not in (".csv", ".json"):
        raise typer.BadParameter("--table is a .csv or a .json file")
    if find_spec("locust") is None:
        raise CliError(
            "load tests need Locust, which is not installed",
            code=Exit.USAGE,
            hint="pip install 'leakrange[load]'",
        )
    with connect(state, url) as place:
        if run is None:
            assert scenario is not None
            begun = accepted(place, scenario, as_json, load=True)
            note(f"run {begun.id}: {begun.name}, {begun.trials} trials, under load")
            run = begun.id
        else:
            place.controller.operate("GET", f"/v1/runs/{run}/load")  # or it is refused
        _ask(place, run, _command(run, web, workers, expect))
        to_its_end(place, run, report, False, as_json)
        if not as_json:
            print_text(place.runs.load_table(run, "text").decode(errors="replace") + "\n")
        if picture is not None:
            picture.write_bytes(place.runs.load_picture(run))
        if table is not None:
            table.write_bytes(place.runs.load_table(run, table.suffix.removeprefix(".")))


def _command(run: str, web: int | None, workers: int, expect: int) -> list[str]:
    command = [sys.executable, "-m", "leakrange.load", "--leakrange-run", run]
    command += ["--only-summary", "--loglevel", "WARNING", "--stop-timeout", "20"]
    command += ["--headless"] if web is None else ["--web-port", str(web), "--autostart", "--autoquit", "2"]
    if workers:
        command += ["--processes", str(workers)]
    if expect:
        command += ["--master", "--expect-workers", str(expect)]
    return command


def _ask(place: Range, run: str, command: list[str]) -> None:
    """Let Locust ask until nothing is left to ask."""
    controller = place.controller
    known = {"LEAKRANGE_URL": controller.url, "LEAKRANGE_OPERATOR_KEY": controller.operator_key or ""}
    again = f"'leakrange load --run {run}' continues it, 'leakrange cancel {run}' ends it"
    try:
        done = subprocess.run(command, env=os.environ | known, stdout=2)
    except KeyboardInterrupt:
        raise CliError("interrupted; the run waits for answers", code=Exit.INTERRUPTED, hint=again) from None
    if done.returncode != 0:
        raise CliError(f"Locust ended with {done.returncode}", code=Exit.FAILED, hint=again)
