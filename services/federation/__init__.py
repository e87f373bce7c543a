"""A federation over Flower: server app, client app, and the command that starts them.

The computation is in `leakrange.federation` and `leakrange.defences.federated`. This package only carries it:
messages, the devices behind nodes, time limits. Needs the extra ``federation``, in an environment of its own.
"""

from __future__ import annotations

import os

__all__ = ["QUIET"]

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Variables that stop Flower and Ray from reporting to their makers."""

# Both read these when they are first imported, which only modules of this package do; processes inherit them.
os.environ.update(QUIET)
