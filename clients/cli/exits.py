"""Exit codes of the `leakrange` command, and the one error for failures that can be foreseen."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path

from leakrange.wire.errors import DamagedFile, LeakrangeError, StorageFull

__all__ = ["CliError", "Exit", "refusal", "told"]


class Exit(IntEnum):
    """Exit codes, as ``leakrange --help`` lists them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    NOT_STARTED = 5
    CANNOT_TELL = 6
    INTERRUPTED = 130


class CliError(Exception):
    """Shown to the user without a traceback: what happened, what to do about it, and the exit code.

    ``lines`` are printed as they are before the message: mistakes of a scenario, the end of a log.
    """

    def __init__(
        self, message: str, *, code: Exit, hint: str | None = None, lines: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.hint, self.lines = message, code, hint, lines


def told(error: OSError, folder: Path | None = None) -> CliError:
    """Return the error for a file that cannot be read or written; a full disk is named by the file or
    ``folder``."""
    from leakrange.wire.disk import is_full, storage_full

    if not is_full(error):
        return CliError(str(error), code=Exit.FAILED)
    full = storage_full(folder or Path(error.filename or "."))
    return CliError(full.detail, code=Exit.FAILED, hint="free space there, then do it again")


_CODES = {422: Exit.USAGE, 502: Exit.UNREACHABLE, 503: Exit.UNREACHABLE}


def refusal(error: LeakrangeError) -> CliError:
    """Return the error for input that a range, or the library, refuses, with every wrong field."""
    if isinstance(error, StorageFull):
        return CliError(error.detail, code=Exit.FAILED, hint="free space there, then do it again")
    damaged = isinstance(error, DamagedFile)
    code = Exit.FAILED if damaged else _CODES.get(error.status, Exit.REFUSED)
    mistakes = error.extra.get("mistakes") or ()
    lines = tuple(f"{str(each['path']).removeprefix('body.')}: {each['message']}" for each in mistakes)
    return CliError(error.detail, code=code, hint=error.hint, lines=lines)
