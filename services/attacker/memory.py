"""Jobs that ran out of memory, and the error in their reports."""

from __future__ import annotations

import errno

from leakrange.wire.errors import LeakrangeError

__all__ = ["LESS_TO_TRAIN", "OutOfMemory", "out_of_memory"]

LESS_TO_TRAIN = (
    "give the trainer more memory, start it with a smaller --concurrency, or train with a smaller batch"
)
SAID = ("can't allocate memory", "cannot allocate memory", "out of memory")
"""Words in errors of torch, of CUDA and of the loader of shared libraries, in lower case."""


class OutOfMemory(LeakrangeError):
    """A job needs more memory than its worker may have. It is not tried again: it would need as much
    again."""

    slug, title = "out-of-memory", "Out of memory"
    default_hint = (
        "give the worker more memory, start it with a smaller --concurrency, or take a smaller 'chunk' or"
        " budget in the scenario, and run it again"
    )


def out_of_memory(error: Exception) -> OutOfMemory | None:
    """The `OutOfMemory` for an ``error`` that means that memory ran out; None for any other."""
    message = str(error)
    if not (
        isinstance(error, MemoryError)
        or getattr(error, "errno", None) == errno.ENOMEM
        or any(words in message.lower() for words in SAID)
    ):
        return None
    return OutOfMemory(f"out of memory: {message.splitlines()[0] if message else type(error).__name__}")
