"""Writes the page of a reproduction, once it is known that it can be written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leakrange.clients.cli.console import note, print_text
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.wire.disk import room_in

if TYPE_CHECKING:
    from leakrange.report.document import Document

__all__ = ["prepare", "write"]


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


def write(document: Document, output: Path | None, page: Path | None) -> None:
    """Write the page as Markdown on the console and in ``output``, pictures beside it in a folder of its
    name, and as HTML in ``page``."""
    from leakrange.report.document import html, markdown, pictures

    if output:
        folder = output.with_suffix("")
        with room_in(output.parent):
            for name, svg in pictures(document).items():
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(svg, encoding="utf-8")
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(markdown(document, folder.name), encoding="utf-8")
        note(f"results: {output}")
    if page:
        with room_in(page.parent):
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(html(document), encoding="utf-8")
        note(f"results: {page}")
    print_text(markdown(document) + "\n")
