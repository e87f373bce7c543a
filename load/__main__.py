"""Locust with the users and shapes of runs under load: ``python -m leakrange.load [OPTIONS OF LOCUST]``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["main"]


def main() -> None:
    """Replace this process by Locust."""
    users = str(Path(__file__).with_name("locustfile.py"))
    os.execv(sys.executable, [sys.executable, "-m", "locust", "-f", users, *sys.argv[1:]])


if __name__ == "__main__":
    main()
