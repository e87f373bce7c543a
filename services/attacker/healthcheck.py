"""``python -m services.attacker.healthcheck``: exit status 0 where this machine's worker answers through
Redis.
"""

from __future__ import annotations

import socket
import sys

from celery.exceptions import CeleryError
from kombu.exceptions import OperationalError

from services.attacker.celery_app import celery_app

__all__ = ["main"]


def main() -> int:
    """0 for a worker that answers a ping, 1 with a word why not."""
    here = socket.gethostname()
    try:
        answers = celery_app.control.ping(timeout=3.0)
    except (OperationalError, CeleryError, OSError) as error:
        sys.stderr.write(f"Redis does not answer: {error}\n")
        return 1
    if not any(node.endswith(f"@{here}") for answer in answers for node in answer):
        sys.stderr.write(f"no worker on {here} answered\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
