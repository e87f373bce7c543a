"""A federation over Flower: server app, client app, and the command that starts them.

What is computed is in `leakrange.federation` and `leakrange.defences.federated`. Here is only what carries
it: messages, who is which device, how long to wait. Needs the extra ``federation``, in an environment of its
own.
"""

from __future__ import annotations

import os

__all__ = ["QUIET"]

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Flower and Ray report to their makers unless they are told not to."""

# Both read these when they are first imported, which only modules of this package do; processes inherit them.
os.environ.update(QUIET)
