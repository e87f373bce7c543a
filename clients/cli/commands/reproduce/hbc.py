"""``leakrange reproduce hbc``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clients.cli.commands.reproduce.doing import do, write
from clients.cli.exits import CliError, Exit
from leakrange.wire.errors import LeakrangeError

if TYPE_CHECKING:
    from leakrange.reproduction.work import Work

__all__ = ["hbc"]

BLACK_BOX, DETECTION = "fig4", "detection"
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
    rows: Annotated[str, typer.Option(help="rows of every table: classifier=raw|soft,beta_y=0.7")] = "",
    epochs: Annotated[
        list[str] | None, typer.Option(help="N, or celeba=N and utkface=N (the paper's are 50)")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="the paper's are 5")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="models trained side by side")] = os.cpu_count() or 1,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")] = "cpu",
    bf16: Annotated[bool, typer.Option(help="train in bfloat16, where the processor has it")] = False,
    passes: Annotated[
        Literal["one", "two"] | None, typer.Option(help="passes through F in a step (default: two)")
    ] = None,
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
    any_code: Annotated[
        bool, typer.Option(help="take what an earlier version of the training code gave, and say so")
    ] = False,
) -> None:
    """Honest-but-Curious Nets (CCS 2021), Tables 1 to 9.

    Interrupt it whenever you like: models and cells that are in the store are not made again.
    """
    from leakrange.reproduction.hbc.blackbox_work import BlackBoxWork
    from leakrange.reproduction.hbc.blackbox_work import section as blackbox_section
    from leakrange.reproduction.hbc.detection_work import POPULATION, DetectionWork
    from leakrange.reproduction.hbc.detection_work import section as detection_section
    from leakrange.reproduction.hbc.experiments import SETS, Settings, trials, works
    from leakrange.reproduction.hbc.paper import EPOCHS, TABLES, PaperRow, select
    from leakrange.reproduction.hbc.results import document

    chosen = list(QUICK) if quick else table or [BLACK_BOX, *TABLES, DETECTION]
    if quick:
        epochs, seeds = epochs or [str(QUICK_EPOCHS)], QUICK_SEEDS
    try:
        kept: list[PaperRow] = []
        for one in chosen:
            if one in (BLACK_BOX, DETECTION):
                continue
            number, _, filters = one.partition(":")
            kept += select(number, ",".join(filter(None, (filters, rows))))
        settings = Settings(
            epochs=tuple(_epochs(epochs or [str(EPOCHS)], SETS).items()),
            sets=tuple((SETS | _sets(data or [])).items()),
            size=size,
            limit=limit,
            bf16=bf16,
            passes=passes,
            logarithm=logarithm,
            device=device,
            any_code=any_code,
        )
        mixtures = (
            [BlackBoxWork(seed, any_code=any_code) for seed in range(seeds)] if BLACK_BOX in chosen else []
        )
        population = max(POPULATION, seeds) if DETECTION in chosen else 0
        models = [DetectionWork(seed, any_code=any_code) for seed in range(population)]
        planned: list[Work] = [*mixtures, *models, *works(trials(kept, range(seeds), settings), settings)]
        if not show:
            do(planned, store, jobs)
        others = [blackbox_section(mixtures, store)] if mixtures else []
        others += [detection_section(models, store)] if models else []
        command = shlex.join(["leakrange", *sys.argv[1:]])
        found = document(kept, range(seeds), settings, store, command, others)
    except LeakrangeError as error:
        raise CliError(error.detail, code=Exit.USAGE, hint=error.hint) from error
    write(found, output, page)


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
