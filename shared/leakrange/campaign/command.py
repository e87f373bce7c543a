"""``python -m leakrange.campaign --plan FILE``: measures the trials of a plan, and keeps their cells."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from leakrange.campaign.plan import Piece, read_plan
from leakrange.campaign.work import Campaign, Hardware
from leakrange.jobs.recipe import DataSpec
from leakrange.papers.cells import Cells
from leakrange.scenario.sizes import split_sizes
from leakrange.wire.errors import InvalidInput, LeakrangeError

__all__ = ["main"]

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status: 1 if something failed, 2 if the plan or an option is wrong,
    130 if it was interrupted."""
    asked = _arguments().parse_args(arguments)
    try:
        pieces = read_plan(asked.plan).pieces()
        campaign = Campaign(pieces, Cells(asked.store), asked.scratch or asked.store / "campaign")
        _say(_forecast(pieces, campaign))
        if asked.dry_run:
            return 0
        hardware = _hardware(asked.device, asked.processes)
    except LeakrangeError as error:
        _say(f"{error.detail}; {error.hint}" if error.hint else error.detail)
        return 2
    _say(f"{hardware.processes} processes of {hardware.threads} threads on {hardware.name}")
    try:
        campaign.run(hardware, 60.0 * asked.minutes, _say)
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    if campaign.left:
        _say(f"{len(campaign.left)} trials are left: the same command goes on where this one ended")
    return 1 if campaign.failed else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m leakrange.campaign", description=__doc__)
    parser.add_argument("--plan", type=Path, required=True, help="which rows of which papers (YAML)")
    parser.add_argument("--minutes", type=float, default=10_080.0, help="end after so many (default: a week)")
    parser.add_argument("--processes", type=int, default=1, help="so many share the device (default: 1)")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto", help="default: auto")
    parser.add_argument(
        "--store", type=Path, default=Path(".leakrange/reproduce"), help="folder of cells, as of reproduce"
    )
    parser.add_argument("--scratch", type=Path, help="folder of models and releases (default: in the store)")
    parser.add_argument("--dry-run", action="store_true", help="tell what there is to do, and do nothing")
    return parser


def _hardware(device: str, processes: int) -> Hardware:
    """The hardware of the options. Raises `InvalidInput` if there is no such device."""
    import torch

    from leakrange.providers.loop import device_name

    there = torch.cuda.is_available()
    if device == "cuda" and not there:
        raise InvalidInput("this machine has no GPU that torch can use", hint="choose --device cpu")
    if processes < 1:
        raise InvalidInput("--processes is at least 1")
    device = ("cuda" if there else "cpu") if device == "auto" else device
    # On a CPU a training takes one thread, as in a range: its figures depend on how many there are.
    threads = 1 if device == "cpu" else max(1, (os.cpu_count() or 1) // processes)
    return Hardware(device, device_name(device), processes, threads)


def _forecast(pieces: Sequence[Piece], campaign: Campaign) -> str:
    """The numbers of trials and trainings, and the number of samples that the trainings read in all their
    epochs."""
    sizes: dict[DataSpec, int | None] = {}
    passes, unknown = 0, 0
    for recipe in campaign.untrained.values():
        data = recipe.data.of_everyone()
        if data not in sizes:
            splits = split_sizes(data)
            sizes[data] = None if splits is None else splits["train"]
        samples = sizes[data]
        passes += 0 if samples is None else samples * recipe.schedule.epochs
        unknown += samples is None
    epochs = sum(recipe.schedule.epochs for recipe in campaign.untrained.values())
    lacking = f"; the data of {unknown} is not on this machine" if unknown else ""
    return (
        f"{len(pieces)} trials, {len(campaign.left)} to measure; {len(campaign.untrained)} models to train, "
        f"{epochs} epochs, {passes / 1e6:.1f} million samples{lacking}"
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
