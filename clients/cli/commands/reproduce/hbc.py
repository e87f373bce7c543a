"""``leakrange reproduce hbc``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import ValidationError

from clients.cli.commands.reproduce.doing import do, prepare, write
from clients.cli.exits import CliError, Exit
from leakrange.wire.errors import InvalidInput, LeakrangeError

if TYPE_CHECKING:
    from leakrange.reproduction.hbc.paper import PaperRow
    from leakrange.reproduction.work import Work

__all__ = ["hbc"]

BLACK_BOX, DETECTION = "fig4", "detection"
SPECIAL = (BLACK_BOX, DETECTION)
"""Beside the tables: what has no printed rows."""
QUICK = (
    BLACK_BOX,
    "1:s=male,beta_y=1|0.7,classifier=honest|raw",
    "4:Y=2,classifier=honest|raw",
    "5:classifier=honest|raw,beta_x=0",
)
"""Small rows of every kind, for a look that takes minutes."""
QUICK_EPOCHS, QUICK_SEEDS = 3, 1


def hbc(
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="1 to 9, fig4, fig9 or detection, or some rows of it: 3:Y=3,S=2|5 (repeatable; default: all)"
        ),
    ] = None,
    rows: Annotated[
        str, typer.Option(help="rows of every table that has such: classifier=raw|soft,beta_y=0.7")
    ] = "",
    epochs: Annotated[
        list[str] | None, typer.Option(help="N, or celeba=N and utkface=N (the paper's are 50)")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="default: 5, as the paper's")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="models trained side by side")] = os.cpu_count() or 1,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")] = "cpu",
    bf16: Annotated[bool, typer.Option(help="train in bfloat16, where the processor has it")] = False,
    passes: Annotated[
        Literal["one", "two"], typer.Option(help="passes through F in a step of the parameterized attack")
    ] = "two",
    logarithm: Annotated[
        bool, typer.Option(help="let G read the logarithms of soft outputs, not the probabilities")
    ] = False,
    data: Annotated[
        list[str] | None, typer.Option(help="celeba=SET or utkface=SET: which data set plays the paper's")
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="side of the images in pixels (default: the set's own)")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="so many images of each split, for a quick look")] = None,
    store: Annotated[
        Path, typer.Option(help="folder of models and cells: what it has is not done again")
    ] = Path(".leakrange/reproduce"),
    output: Annotated[Path | None, typer.Option("--out", help="file for the tables (Markdown)")] = None,
    page: Annotated[Path | None, typer.Option(help="file for a page (HTML)")] = None,
    quick: Annotated[bool, typer.Option(help="a few rows, 3 epochs, 1 seed: does it run?")] = False,
    show: Annotated[bool, typer.Option(help="train nothing: the page of what the store has")] = False,
) -> None:
    """Honest-but-Curious Nets (CCS 2021), Tables 1 to 9.

    Interrupt it whenever you like: models and cells that are in the store are not made again.
    """
    from leakrange.reproduction.hbc.blackbox_work import BlackBoxWork
    from leakrange.reproduction.hbc.blackbox_work import section as blackbox_section
    from leakrange.reproduction.hbc.detection_work import POPULATION, DetectionWork
    from leakrange.reproduction.hbc.detection_work import section as detection_section
    from leakrange.reproduction.hbc.experiments import SETS, Settings, check, require_data, trials, works
    from leakrange.reproduction.hbc.paper import EPOCHS, REPETITIONS, TABLES
    from leakrange.reproduction.hbc.results import document

    if quick and (table or rows):
        raise CliError("--quick has rows of its own: leave out --table and --rows", code=Exit.USAGE)
    prepare(store, output, page)
    whole = list(TABLES) if rows else [BLACK_BOX, *TABLES, DETECTION]
    chosen = list(QUICK) if quick else table or whole
    if quick:
        epochs, seeds = epochs or [str(QUICK_EPOCHS)], seeds or QUICK_SEEDS
    seeds = seeds or REPETITIONS
    try:
        kept = _rows(chosen, rows, every=not table)
        settings = Settings(
            epochs=tuple(_epochs(epochs or [str(EPOCHS)], SETS).items()),
            sets=tuple((SETS | _sets(data or [])).items()),
            size=size,
            limit=limit,
            bf16=bf16,
            passes=passes,
            logarithm=logarithm,
            device=device,
        )
        mixtures = [BlackBoxWork(seed) for seed in range(seeds)] if BLACK_BOX in chosen else []
        population = max(POPULATION, seeds) if DETECTION in chosen else 0
        models = [DetectionWork(seed) for seed in range(population)]
        check(kept, settings)
        planned: list[Work] = [*mixtures, *models, *works(trials(kept, range(seeds), settings), settings)]
        if not show:
            _device(device)
            require_data(kept, settings)
            do(planned, store, jobs)
        others = [blackbox_section(mixtures, store)] if mixtures else []
        others += [detection_section(models, store)] if models else []
        command = shlex.join(["leakrange", *sys.argv[1:]])
        found = document(kept, range(seeds), settings, store, command, others)
    except LeakrangeError as error:
        raise CliError(error.detail, code=Exit.USAGE, hint=error.hint) from error
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(str(part) for part in first["loc"])
        raise CliError(f"--{option} {first['input']}: {first['msg']}", code=Exit.USAGE) from error
    write(found, output, page)


def _rows(chosen: Iterable[str], filters: str, *, every: bool) -> list[PaperRow]:
    """The rows of the tables that were chosen. Where that is ``every`` table, one without such rows is left
    out, unless all are."""
    from leakrange.reproduction.hbc.paper import TABLES, select

    kept: list[PaperRow] = []
    refused: InvalidInput | None = None
    for one in chosen:
        number, _, own = one.partition(":")
        if number in SPECIAL:
            if own:
                raise CliError(f"--table {one}: {number} has no rows to choose from", code=Exit.USAGE)
            continue
        if number not in TABLES:
            known = ", ".join((*TABLES, *SPECIAL))
            raise CliError(f"no table {number!r}; there are: {known}", code=Exit.USAGE)
        try:
            kept += select(number, ",".join(filter(None, (own, filters))))
        except InvalidInput as error:
            if not every:
                raise
            refused = error
    if refused is not None and not kept:
        raise refused
    return kept


def _device(name: str) -> None:
    """Refuse a device that this machine does not have."""
    import torch

    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise CliError(f"--device {name} cannot be used here: {reason}", code=Exit.USAGE) from error


def _epochs(given: list[str], names: Iterable[str]) -> dict[str, int]:
    chosen: dict[str, int] = {}
    for one in given:
        name, equals, count = one.rpartition("=")
        if not count.isdecimal() or int(count) < 1 or (equals and name not in names):
            raise CliError(f"--epochs {one}: write N, celeba=N or utkface=N", code=Exit.USAGE)
        chosen |= {name: int(count)} if equals else dict.fromkeys(names, int(count))
    if missing := [name for name in names if name not in chosen]:
        raise CliError(f"--epochs says nothing about {', '.join(missing)}", code=Exit.USAGE)
    return chosen


def _sets(given: list[str]) -> dict[str, str]:
    chosen = {}
    for one in given:
        name, equals, ours = one.partition("=")
        if name not in ("celeba", "utkface") or not equals or not ours:
            raise CliError(f"--data {one}: write celeba=SET or utkface=SET", code=Exit.USAGE)
        chosen[name] = ours
    return chosen
