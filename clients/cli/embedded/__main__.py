"""``python -m leakrange.clients.cli.embedded``: the launcher that ``leakrange up --detach`` leaves behind."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from leakrange.client.embedded import RangeRecord
from leakrange.clients.cli.embedded.launcher import Settings, serve
from leakrange.clients.cli.embedded.state import StateFolder
from leakrange.clients.cli.exits import CliError, refusal, told
from leakrange.wire.errors import LeakrangeError


def main() -> int:
    """Serve until SIGTERM, and log to standard output, which is the launcher's log file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--ports", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument(
        "--lock", type=int, help="file descriptor of the folder's lock, where it is handed on"
    )
    given = parser.parse_args()

    def announce(message: str) -> None:
        sys.stdout.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {message}\n")
        sys.stdout.flush()

    def starting(record: RangeRecord) -> None:
        announce(f"starting {len(record.parties)} parties")

    def ready(record: RangeRecord) -> None:
        announce(f"ready: the controller is at {record.controller}")

    try:
        serve(
            Settings(StateFolder(given.state, given.lock), given.ports, given.workers),
            announce=announce,
            starting=starting,
            ready=ready,
        )
    except (CliError, LeakrangeError, OSError) as failed:
        error = _error(failed, given.state)
        for line in (*error.lines, error.message, error.hint or ""):
            announce(line)
        return error.code
    return 0


def _error(failed: CliError | LeakrangeError | OSError, state: Path) -> CliError:
    if isinstance(failed, OSError):
        return told(failed, state)
    return refusal(failed) if isinstance(failed, LeakrangeError) else failed


if __name__ == "__main__":
    sys.exit(main())
