"""Work on files of others in a process of its own, with bounds of memory and time: what ends the process, or
fills its memory, leaves this one alone."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from leakrange.wire.errors import InvalidArtifact, LeakrangeError

__all__ = ["MEMORY", "SECONDS", "apart"]

Given = ParamSpec("Given")
Result = TypeVar("Result")

MEMORY = 4 * 2**30
"""Bytes that the process may allocate."""
SECONDS = 120.0
NO_MEMORY = ("failed to allocate", "bad alloc", "bad_alloc", "can't allocate memory", "out of memory")
"""Words of onnxruntime, of C++ and of torch, in lower case."""


def apart(
    work: Callable[Given, Result],
    *args: Given.args,
    **options: Given.kwargs,
) -> Result:
    """Return ``work(*args, **options)`` of a new process, which is ended with the call. Raises
    `InvalidArtifact` where it needs more than `MEMORY` or `SECONDS` or ends by itself, and what ``work``
    raises."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(
        target=_work, args=(there, MEMORY, work, args, options), name="model file", daemon=True
    )
    process.start()
    there.close()
    try:
        if not here.poll(SECONDS):
            raise InvalidArtifact(
                f"the file did not compute a few samples in {SECONDS:.0f} seconds",
                hint="such a model cannot be served; make it smaller",
            )
        answer = here.recv()
    except (EOFError, OSError) as error:
        process.join(5.0)
        raise InvalidArtifact(
            f"the process that read the file ended at once (exit status {process.exitcode})",
            hint="the file is damaged, or needs more memory than there is",
        ) from error
    finally:
        process.kill()
        process.join()
        here.close()
    if isinstance(answer, Exception):
        raise answer
    result: Result = answer
    return result


def _work(
    pipe: Connection,
    memory: int,
    work: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        pipe.send(work(*args, **options))
    except Exception as error:
        if isinstance(error, MemoryError) or any(words in str(error).lower() for words in NO_MEMORY):
            pipe.send(
                InvalidArtifact(
                    f"the file needs more than {memory / 2**30:.0f} GiB of memory to compute a few samples",
                    hint="such a model cannot be served; make it smaller",
                )
            )
        elif isinstance(error, LeakrangeError | OSError):
            pipe.send(error)
        else:
            raise
