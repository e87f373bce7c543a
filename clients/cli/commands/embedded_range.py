"""``up``, ``down``, ``status``: the embedded range; ``open``: the pages of any."""

from __future__ import annotations

import os
import sys
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import httpx
import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from leakrange.client import Range
from leakrange.client.embedded import RangeRecord
from leakrange.clients.cli.console import note, open_page, plain, print_json, print_table, say, screen
from leakrange.clients.cli.embedded.launcher import Settings, detach, ending, serve, stop
from leakrange.clients.cli.embedded.parties import check_variables
from leakrange.clients.cli.embedded.ports import DEFAULT_BASE, check_base
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State, Url, connect, state_folder
from leakrange.service.parties import SERVERS
from leakrange.wire.errors import LeakrangeError

__all__ = ["down", "open_pages", "status", "up"]


def up(
    detached: Annotated[bool, typer.Option("--detach", help="return once the range is ready")] = False,
    state: State = None,
    ports: Annotated[
        int, typer.Option(help="first of consecutive ports on 127.0.0.1; 0: any free ones")
    ] = DEFAULT_BASE,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="attacker processes, besides the one that trains")
    ] = 1,
    traces: Annotated[
        bool, typer.Option("--traces", help="have each party write what it does, for 'leakrange trace'")
    ] = False,
) -> None:
    """Stand up the embedded range: one process per party, all on this machine alone. Ctrl-C stops all."""
    check_base(ports)
    if decided := check_variables():
        note(f"ignored, because the range sets it by itself: {', '.join(decided)}")
    settings = Settings(state_folder(state), ports, workers)
    if traces:
        os.environ["LEAKRANGE_TRACES"] = str(settings.folder.traces)
    if (before := ending(settings.folder)) is not None:
        note(before[0])
    _note_compiling()
    display = _Display()
    try:
        if detached:
            record = detach(settings, starting=display.show)
            display.close()
            _welcome(record)
            note(f"it runs in {settings.folder.root} until 'leakrange down'")
            return

        def ready(record: RangeRecord) -> None:
            display.close()
            _welcome(record)
            note("Ctrl-C stops it")

        stood = serve(settings, announce=note, starting=display.show, ready=ready)
    finally:
        display.close()
    if not stood:
        raise typer.Exit(Exit.INTERRUPTED)


def down(
    state: State = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="say nothing where nothing was running")] = False,
) -> None:
    """Stop the embedded range and wait until all its processes are gone."""
    folder = state_folder(state)
    if stop(folder, note):
        note(f"stopped the range in {folder.root}")
    elif not quiet:
        note(f"no range was running in {folder.root}")


def open_pages(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="show this run")] = None,
    state: State = None,
    url: Url = None,
) -> None:
    """Open the range's pages in a browser, logged in, and print the address. It logs in once, within ten
    minutes."""
    with connect(state, url) as place:
        link = place.login_link("/" if run is None else f"/runs/{quote(run, safe='')}")
    say(link)
    if not open_page(link):
        note("no desktop is here: give the address to a browser that reaches it")


def status(state: State = None, as_json: AsJson = False) -> None:
    """Show the parties of the embedded range. Ends with 1 where one is not ready, 3 where none is running."""
    folder = state_folder(state)
    record, held = folder.record(), folder.held()
    if record is None or not held:
        nothing = f"no range is running in {folder.root}", "start one with 'leakrange up'"
        reason, hint = ending(folder) or nothing
        raise CliError(reason, code=Exit.UNREACHABLE, hint=hint)
    rows = [
        {
            "party": entry.name,
            "state": entry.state,
            "ready": entry.state == "ready" and _answers(entry.name, entry.port),
            "pid": entry.pid,
            "port": entry.port,
            "restarts": entry.restarts,
            "log": str(folder.log(entry.name)),
        }
        for entry in record.parties
    ]
    if as_json:
        about = {"state", "launcher", "controller", "proxy", "edge"}
        print_json(record.model_dump(include=about) | {"parties": rows})
    else:
        print_table(
            ("party", "ready", "pid", "port", "restarts"),
            [
                (
                    row["party"],
                    "yes" if row["ready"] else f"no ({row['state']})",
                    row["pid"],
                    row["port"],
                    row["restarts"],
                )
                for row in rows
            ],
            empty="no parties",
        )
        note(f"logs: {folder.log('PARTY')}")
    if record.state != "ready" or not all(row["ready"] for row in rows):
        raise typer.Exit(Exit.FAILED)


def _answers(name: str, port: int | None) -> bool:
    """Return whether a listening party answers now. For workers and Redis the record is believed."""
    if port is None or name in SERVERS:
        return True
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=3.0, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def _note_compiling() -> None:
    """Say why a start takes longer where no installer has compiled the packages that parties import."""
    spec = find_spec("sqlalchemy")
    if spec is None or spec.origin is None or Path(cache_from_source(spec.origin)).exists():
        return
    if sys.dont_write_bytecode:
        note("PYTHONDONTWRITEBYTECODE is set: every start compiles all Python files, which takes long")
    else:
        note("the first start compiles Python files, and takes up to twice as long as later ones")


class _Display:
    """A table of parties on a terminal, kept fresh while they start; elsewhere one line."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._record: RangeRecord | None = None
        self._closed = False

    def show(self, record: RangeRecord) -> None:
        first, self._record = self._record is None, record
        if not first or self._closed or not record.parties:  # without parties it says why it failed
            return
        if screen.is_terminal:
            self._live = Live(
                get_renderable=self._table, console=screen, refresh_per_second=5, transient=True
            )
            self._live.start()
        else:
            note(f"starting {len(record.parties)} parties")

    def close(self) -> None:
        self._closed = True
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, show_header=False)
        for entry in self._record.parties if self._record else ():
            colour = {"ready": "green", "starting": "yellow"}.get(entry.state, "dim")
            where = f"127.0.0.1:{entry.port}" if entry.port else ""
            table.add_row(Text(plain(entry.name)), Text(plain(entry.state), colour), where)
        return table


def _welcome(record: RangeRecord) -> None:
    note(f"the range is ready: controller {record.controller}, proxy {record.proxy}, edge {record.edge}")
    try:
        with Range(record.controller, operator_key=record.operator_key, local=True) as place:
            link = place.login_link()
    except LeakrangeError as error:  # it may be so busy that it answers later
        note(f"its pages open by 'leakrange open' ({error.detail})")
    else:
        note(f"its pages: {link} (logs you in once, within ten minutes; 'leakrange open' again)")
