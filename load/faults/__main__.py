"""Break an embedded range in one way after the other, each in the middle of a run, and say what happens.

    python -m leakrange.load.faults [--only WORD ...]

Prints a line for each fault. Exit status 1 unless every run is done, or has failed with the message that it
should, and every account says that each sample was paid once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from leakrange.clients.cli.embedded.launcher import Settings, detach, stop
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.load.faults.catalogue import FAULTS
from leakrange.load.faults.standing import FaultyRange, Wrong

RELEASES = "48m"
"""Size of the disk for releases, which a fault fills."""


def main() -> None:
    """Run the drill from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[""], help="faults whose line has one of these words")
    options = parser.parse_args()
    chosen = [each for each in enumerate(FAULTS, 1) if any(word in each[1].done for word in options.only)]
    wrong, began = 0, time.monotonic()
    with standing() as range_:
        print(f"a range stands, {time.monotonic() - began:.0f} s", flush=True)
        for number, fault in chosen:
            began = time.monotonic()
            try:
                happened = fault.carry_out(range_, number)
            except Wrong as error:
                happened, wrong = f"WRONG: {error}", wrong + (not str(error).startswith("not tried"))
            print(f"{fault.done} → {happened} ({time.monotonic() - began:.0f} s)", flush=True)
    if wrong:
        raise SystemExit(f"{wrong} of {len(chosen)} faults ended as they should not")


@contextmanager
def standing() -> Iterator[FaultyRange]:
    """A range with two attackers, and a small disk for releases where one can be mounted."""
    with TemporaryDirectory(prefix="leakrange-faults-") as root, small_disk(Path(root) / "releases"):
        folder = StateFolder(Path(root))
        record = detach(Settings(folder, base=0, workers=2), starting=lambda _: None)
        try:
            yield FaultyRange(folder, record)
        finally:
            stop(folder, print)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a disk in memory at ``folder`` if this user is root; else do nothing."""
    folder.mkdir()
    mounted = False
    if os.geteuid() == 0 and shutil.which("mount"):
        command = ["mount", "-t", "tmpfs", "-o", f"size={RELEASES},mode=700", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


if __name__ == "__main__":
    main()
