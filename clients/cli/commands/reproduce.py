"""``leakrange reproduce PAPER``: the trials of a paper's tables, run by a range, and their page."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from leakrange.client import Range
from leakrange.clients.cli.console import note, print_text
from leakrange.clients.cli.embedded.launcher import Settings as RangeSettings
from leakrange.clients.cli.embedded.launcher import detach, stop
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import settings_of, write_file
from leakrange.clients.cli.options import State, Url, connect, state_folder
from leakrange.clients.cli.progress import watch
from leakrange.registry import UnknownName, unknown
from leakrange.wire.errors import LeakrangeError

if TYPE_CHECKING:
    from leakrange.papers import Paper
    from leakrange.papers.cells import Cells
    from leakrange.papers.trials import TrialBatch
    from leakrange.report.document import Document

__all__ = ["reproduce"]

PUBLISHED = Path("docs/results")
"""In a checkout, the cells of the results pages: shown where the store has none of the paper."""
Name = Annotated[
    str,
    typer.Argument(
        metavar="PAPER", help="hbc, vicious, faceleaks, pass, tappfl, membership, or a paper of a plugin"
    ),
]
Table = Annotated[
    list[str] | None,
    typer.Option(help="a table, or some rows of it: 3:Y=3,S=2|5 (repeatable; default: all)"),
]
Rows = Annotated[str, typer.Option(help="rows of every table: classifier=raw|soft,beta_y=0.7")]
Chosen = Annotated[
    list[str] | None,
    typer.Option("--set", help="a setting of the paper: NAME=VALUE (repeatable; a wrong one lists them)"),
]
Seeds = Annotated[int | None, typer.Option(min=1, help="how often to measure (default: as the paper)")]
Store = Annotated[Path, typer.Option(help="folder of cells: what it has is not measured again")]
Workers = Annotated[
    int, typer.Option(min=1, max=64, help="attackers of the range, if this command starts one")
]
Out = Annotated[Path | None, typer.Option("--out", help="file for the tables (Markdown)")]
Page = Annotated[Path | None, typer.Option(help="file for a page (HTML)")]
Quick = Annotated[bool, typer.Option("--quick", help="a few rows, little training, 1 seed: does it run?")]
Show = Annotated[
    bool,
    typer.Option("--show", help="run nothing: the page of the cells in the store, or else in docs/results"),
]


def reproduce(
    name: Name,
    table: Table = None,
    rows: Rows = "",
    chosen: Chosen = None,
    seeds: Seeds = None,
    store: Store = Path(".leakrange/reproduce"),
    state: State = None,
    url: Url = None,
    workers: Workers = 1,
    output: Out = None,
    page: Page = None,
    quick: Quick = False,
    show: Show = False,
) -> None:
    """Measure the tables of a paper again, by trials of a range: paper, ours and the difference.

    The range is the one of --state or --url, else one is stood up for this and kept in the store. Interrupt
    it whenever you like: what the range has stored is neither trained nor asked again.
    """
    from leakrange.papers import papers
    from leakrange.papers.cells import Cells
    from leakrange.papers.trials import batches

    if name not in papers:
        hint = f"there are {', '.join(papers)}"
        raise CliError(unknown("paper", name, papers), code=Exit.USAGE, hint=hint)
    entry = papers[name]
    if quick and (table or rows):
        raise CliError("--quick has rows of its own: leave out --table and --rows", code=Exit.USAGE)
    _prepare(store, output, page)
    cells = Cells(store if not show or (store / f"{name}.json").exists() else PUBLISHED)
    tables = list(entry.sheet.quick) if quick else table or list(entry.sheet.tables)
    seeds = seeds or (1 if quick else entry.sheet.seeds)
    with _meant():
        given = {**(entry.sheet.quick_settings if quick else {}), **settings_of(chosen or [])}
        paper = entry(_settings(entry, given))
        kept = entry.select(tables, rows)
        missing = [each for each in paper.wanted(kept, seeds) if cells.get(paper.cell(each)) is None]
        planned = _checked(paper, batches(missing)) if not show else []
    if planned:
        note(f"{len(missing)} trials in {len(planned)} runs")
        with _range(state, url, store / "range", workers) as place:
            for batch in planned:
                _run(place, paper, batch, cells)
    with _meant():
        document = paper.document(kept, seeds, cells, shlex.join(["leakrange", *sys.argv[1:]]))
    _write(document, output, page)


def _prepare(store: Path, *files: Path | None) -> None:
    """Make sure that the folder ``store`` and the ``files`` can be written, before hours are spent on what
    goes there. Raises `CliError`."""
    for path in (store / ".try", *files):
        if path is None:
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new = not path.exists()
            with path.open("ab"):
                pass
            if new:
                path.unlink()
        except OSError as error:
            raise CliError(
                f"{error.filename or path} cannot be written: {error.strerror}",
                code=Exit.USAGE,
                hint="choose another --store" if path.parent == store else "choose another --out or --page",
            ) from error


def _write(document: Document, output: Path | None, page: Path | None) -> None:
    """Write the page as Markdown on the console and in ``output``, pictures beside it in a folder of its
    name, and as HTML in ``page``."""
    from leakrange.report.document import html, markdown, pictures

    if output:
        folder = output.with_suffix("")
        for name, svg in pictures(document).items():
            write_file(folder / name, svg)
        write_file(output, markdown(document, folder.name))
        note(f"results: {output}")
    if page:
        write_file(page, html(document))
        note(f"results: {page}")
    print_text(markdown(document) + "\n")


@contextmanager
def _meant() -> Iterator[None]:
    """Turn errors of the library into usage errors. Calls of a range stay outside."""
    try:
        yield
    except LeakrangeError as error:
        raise CliError(error.detail, code=Exit.USAGE, hint=error.hint) from error
    except UnknownName as error:
        raise CliError(str(error), code=Exit.USAGE) from error


def _settings(entry: type[Paper], given: dict[str, Any]) -> Any:
    try:
        return entry.Settings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise CliError(
            f"--set {name}={first['input']}: {first['msg']}",
            code=Exit.USAGE,
            hint=f"the settings are {', '.join(entry.Settings.model_fields)}",
        ) from error


def _checked(paper: Paper, planned: list[TrialBatch]) -> list[TrialBatch]:
    """Return the runs after checking all their scenarios, before hours are spent on the first. Raises
    `CliError`."""
    from leakrange.scenario.language import parse
    from leakrange.wire.errors import InvalidScenario

    for batch in planned:
        try:
            parse(batch.scenario(paper.sheet.name))
        except InvalidScenario as error:
            lines = tuple(f"{each['path']}: {each['message']}" for each in error.mistakes)
            hint = "choose other settings with --set, or other rows"
            raise CliError("a range cannot run this", code=Exit.USAGE, hint=hint, lines=lines) from error
    return planned


@contextmanager
def _range(state: Path | None, url: str | None, fallback: Path, workers: int) -> Iterator[Range]:
    """Connect to the named range; else to one in the folder ``fallback``, started for the block if none runs
    there."""
    if state is not None or url is not None or os.environ.get("LEAKRANGE_URL"):
        with connect(state, url) as place:
            yield place
        return
    folder = state_folder(fallback)
    if folder.held():
        with connect(fallback, None) as place:
            yield place
        return
    note("standing up a range")
    detach(RangeSettings(folder, 0, workers), starting=lambda _: None)
    try:
        with connect(fallback, None) as place:
            yield place
    finally:
        stop(folder, note)


def _run(place: Range, paper: Paper, batch: TrialBatch, cells: Cells) -> None:
    """Have the range run the scenario of a batch, and keep a cell for each of its trials that is done. Raises
    `CliError` if one is not."""
    run = place.runs.start(batch.scenario(paper.sheet.name)).id
    try:
        watch(place, run)
    except KeyboardInterrupt:
        raise CliError(
            "interrupted", code=Exit.INTERRUPTED, hint="the same command continues where this one stopped"
        ) from None
    failed = None
    for trial, result in batch.with_results(place.runs.results(run)):
        if result.state == "done":
            cells.put(paper.cell(trial), paper.kept(trial, result))
        else:
            failed = failed or result.error or f"the trial {result.id} of run {run} was {result.state}"
    if failed:
        raise CliError(failed, code=Exit.FAILED, hint="the same command continues where this one stopped")
