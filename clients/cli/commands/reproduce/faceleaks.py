"""``leakrange reproduce faceleaks``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clients.cli.commands.reproduce.doing import do, prepare, write
from clients.cli.connection import state_folder
from clients.cli.console import note
from clients.cli.embedded.launcher import Settings as RangeSettings
from clients.cli.embedded.launcher import detach, stop
from clients.cli.embedded.state import RangeRecord, StateFolder
from clients.cli.exits import CliError, Exit
from leakrange.reproduction.faceleaks.settings import PARTS, Settings
from leakrange.wire.errors import LeakrangeError

if TYPE_CHECKING:
    from leakrange.reproduction.faceleaks.channel import Range

__all__ = ["faceleaks"]

PROVIDER = "provider-honest"


def faceleaks(
    part: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(PARTS)} (repeatable; default: all)")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="each casts the people anew and trains a teacher")] = 5,
    data: Annotated[
        str, typer.Option(help="people (celeba_sub and lfw), synthpeople (drawn), vggface2 or lfw-people")
    ] = "people",
    size: Annotated[int | None, typer.Option(help="side of the images in pixels (default: 64)")] = None,
    epochs: Annotated[int | None, typer.Option(help="of the teacher (default: 4)")] = None,
    width: Annotated[float | None, typer.Option(help="of the teacher's net (default: 0.5)")] = None,
    images: Annotated[int | None, typer.Option(help="of each person that is attacked (default: 15)")] = None,
    tested: Annotated[
        int | None, typer.Option(help="members and as many others whose AUC is measured (default: 60)")
    ] = None,
    validated: Annotated[
        int | None, typer.Option(help="members and as many others on whom signs are learnt (default: 40)")
    ] = None,
    pairs: Annotated[int | None, typer.Option(help="asked of each person (default: 40)")] = None,
    store: Annotated[
        Path, typer.Option(help="folder of models, answers and cells: what it has is not done again")
    ] = Path(".leakrange/reproduce"),
    state: Annotated[
        Path | None, typer.Option(help="a range that is up (default: one is stood up for this)")
    ] = None,
    output: Annotated[Path | None, typer.Option("--out", help="file for the tables (Markdown)")] = None,
    page: Annotated[Path | None, typer.Option(help="file for a page (HTML)")] = None,
    quick: Annotated[bool, typer.Option(help="drawn people, a small teacher, 1 seed: does it run?")] = False,
    show: Annotated[bool, typer.Option(help="ask nothing: the page of what the store has")] = False,
) -> None:
    """FaceLeaks (2020): membership and attributes through features, verification and recognition services.

    Services are asked over HTTP, through the proxy of a range. Interrupt it whenever you like: what the store
    has is neither trained nor asked again.
    """
    from leakrange.reproduction.faceleaks.part_work import PartWork
    from leakrange.reproduction.faceleaks.results import document

    chosen = list(part or PARTS)
    if unknown := sorted(set(chosen) - set(PARTS)):
        raise CliError(f"--part {unknown[0]}: there are {', '.join(PARTS)}", code=Exit.USAGE)
    prepare(store, output, page)
    folder = state_folder(state or store / "range")
    given: dict[str, Any] = {
        "data": None if quick else data,
        "size": size,
        "epochs": epochs,
        "width": width,
        "images": images,
        "tested": tested,
        "validated": validated,
        "pairs": pairs,
    }
    known = {name: value for name, value in given.items() if value is not None}
    settings = replace(_quick(Settings()) if quick else Settings(), **known)
    seeds = 1 if quick else seeds

    def works(where: Range | None, models: Path | None) -> list[PartWork]:
        return [
            PartWork(seed, each, settings, where, models)
            for seed in range(seeds)
            for each in PARTS
            if each in chosen
        ]

    try:
        if not show and not all(work.done(store) for work in works(None, None)):
            with _range(folder, given=state is not None) as (where, models):
                do([*works(where, models)], store, 1)
        found = document(works(None, None), settings, store, shlex.join(["leakrange", *sys.argv[1:]]))
    except LeakrangeError as error:
        raise CliError(error.detail, code=Exit.USAGE, hint=error.hint) from error
    write(found, output, page)


def _quick(settings: Settings) -> Settings:
    """Drawn people at half the size."""
    return replace(
        settings,
        data="synthpeople",
        size=32,
        width=0.25,
        epochs=3,
        images=12,
        tested=40,
        validated=20,
        pairs=20,
        classes=10,
        repeats=2,
    )


@contextmanager
def _range(folder: StateFolder, *, given: bool) -> Iterator[tuple[Range, Path]]:
    """The range of a ``given`` folder, else one in it for as long as the block lasts; and its folder of
    models."""
    if given or folder.held():
        record = folder.record()
        if record is None or record.state != "ready":
            raise CliError(f"no range is up in {folder.root}", code=Exit.USAGE, hint="leakrange up --detach")
        yield _addresses(record), folder.models
        return
    note("standing up a range")
    record = detach(RangeSettings(folder, 0, 1), starting=lambda _: None)
    try:
        yield _addresses(record), folder.models
    finally:
        stop(folder, note)


def _addresses(record: RangeRecord) -> Range:
    from leakrange.reproduction.faceleaks.channel import Range

    return Range(record.proxy, record.url(PROVIDER), record.operator_key)
