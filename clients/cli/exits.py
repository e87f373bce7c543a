"""How the `leakrange` command ends, and the one error that its commands raise for what can be foreseen."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["CliError", "Exit"]


class Exit(IntEnum):
    """Exit codes, as ``leakrange --help`` lists them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    NOT_STARTED = 5
    INTERRUPTED = 130


class CliError(Exception):
    """Told to the user without a traceback: what happened, what to do about it, and how the command ends.

    ``lines`` are printed as they are before the message: mistakes of a scenario, the end of a log.
    """

    def __init__(
        self, message: str, *, code: Exit, hint: str | None = None, lines: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.hint, self.lines = message, code, hint, lines
