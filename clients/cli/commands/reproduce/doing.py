"""Carries out a reproduction's plan, with progress bars, and writes its page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from clients.cli.console import note, out, told
from clients.cli.exits import CliError, Exit
from leakrange.allocator import ALLOCATOR
from leakrange.wire.disk import room_in

if TYPE_CHECKING:
    from leakrange.report.document import Document
    from leakrange.reproduction.work import Work

__all__ = ["do", "prepare", "write"]


def prepare(store: Path, *files: Path | None) -> None:
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


def write(found: Document, output: Path | None, page: Path | None) -> None:
    """The page as Markdown on the console and in ``output``, pictures beside it in a folder of its name, and
    as HTML in ``page``."""
    from leakrange.report.document import html, markdown, pictures

    if output:
        folder = output.with_suffix("")
        with room_in(output.parent):
            for name, svg in pictures(found).items():
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(svg, encoding="utf-8")
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(markdown(found, folder.name), encoding="utf-8")
        note(f"results: {output}")
    if page:
        with room_in(page.parent):
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(html(found), encoding="utf-8")
        note(f"results: {page}")
    out.print(markdown(found), markup=False, highlight=False, soft_wrap=True)


def do(planned: list[Work], store: Path, jobs: int) -> None:
    """Carry out what is not done yet, ``jobs`` works at a time. Raises what a work raises."""
    from leakrange.reproduction.work import WorkEvent, carry_out

    os.environ.update({name: value for name, value in ALLOCATOR.items() if name not in os.environ})
    threads = max(1, (os.cpu_count() or 1) // jobs)
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    missing = sum(not work.done(store) for work in planned)
    note(f"{len(planned)} models, {len(planned) - missing} of them there already")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=told, disable=not told.is_terminal) as bars:
        total = bars.add_task("models", total=missing)
        shown = {}

        def tell(event: WorkEvent) -> None:
            if event.index not in shown:
                shown[event.index] = bars.add_task(planned[event.index].title, total=100)
            bars.update(shown[event.index], completed=round(100 * event.progress))
            if event.progress >= 1.0:
                bars.remove_task(shown[event.index])
                bars.advance(total)
                if not told.is_terminal:
                    note(f"done: {planned[event.index].title}")

        carry_out(planned, store, jobs=jobs, threads=threads, tell=tell)
