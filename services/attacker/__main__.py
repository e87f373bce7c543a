"""``python -m services.attacker --queues probe,fit --concurrency 2``: a worker of the fleet."""

from __future__ import annotations

import argparse
import os
import socket

from leakrange.wire.logs import configure_logs
from services.attacker.celery_app import QUEUES, celery_app, settings

__all__ = ["main"]


def main() -> None:
    """Run a worker until SIGTERM, which lets it finish the job at hand."""
    parser = argparse.ArgumentParser(prog="python -m services.attacker", description=__doc__)
    parser.add_argument(
        "--queues", default="probe,fit", help=f"some of {','.join(QUEUES)} (default: %(default)s)"
    )
    parser.add_argument("--concurrency", type=int, default=2, help="jobs at a time (default: %(default)s)")
    options = parser.parse_args()
    unknown = sorted(set(options.queues.split(",")) - set(QUEUES))
    if unknown:
        parser.error(f"no queue {', '.join(unknown)}; there are {', '.join(QUEUES)}")
    if options.concurrency < 1:
        parser.error("--concurrency must be 1 or more")
    configure_logs("attacker", settings.log_level)
    # A fork after OpenMP has made threads deadlocks; with one thread there is nothing to lose.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    name = f"{options.queues.replace(',', '-')}-{os.getpid()}@{socket.gethostname()}"
    celery_app.worker_main(
        [
            "worker",
            f"--queues={options.queues}",
            f"--concurrency={options.concurrency}",
            f"--hostname={name}",
            f"--loglevel={settings.log_level.upper()}",
            "--without-gossip",
            "--without-mingle",
        ]
    )


if __name__ == "__main__":
    main()
