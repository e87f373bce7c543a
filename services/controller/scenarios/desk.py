"""``python -m leakrange.services.controller.scenarios.desk SOCKET PARENT``: checks scenarios. The controller
begins it.

Anybody who may read can have a scenario checked, and one of a few lines can take minutes and gigabytes: so
each is checked by a process of its own, with limits on both. It is a fork of this one, which has imported and
looked up all that a check needs, and runs no threads.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from difflib import unified_diff

import orjson
from pydantic import BaseModel

from leakrange.scenario.completion import complete
from leakrange.scenario.forecast import foreseen
from leakrange.scenario.language import parse
from leakrange.scenario.shipped import shipped
from leakrange.service.parent import die_with
from leakrange.services.controller.scenarios.schemas import (
    Asked,
    Changes,
    Checking,
    Differing,
    Mistake,
    Planned,
    Writing,
)
from leakrange.wire.errors import InvalidScenario

__all__ = ["answered"]

PATIENCE = 120
"""Seconds until a fork ends, however little it did."""


def answered(asked: Asked) -> BaseModel:
    """Answer a question about a scenario."""
    work: Callable[..., BaseModel] = _WORK[type(asked.what)]
    return work(asked.what)


def _checked(what: Checking) -> Planned:
    try:
        scenario = parse(what.text.encode("latin-1"), here=True)
        return Planned(outlook=foreseen(scenario))
    except InvalidScenario as error:
        return Planned(mistakes=[Mistake.model_validate(each) for each in error.extra["mistakes"]])


def _completed(what: Writing) -> BaseModel:
    return complete(what.text, what.line, what.column)


def _differing(what: Differing) -> Changes:
    kinds = {"-": "gone", "+": "new", "@": "where"}
    lines = list(unified_diff(what.before.splitlines(), what.after.splitlines(), n=1, lineterm=""))[2:]
    marked = [(kinds.get(line[:1], "same"), line if line.startswith("@") else line[1:]) for line in lines]
    return Changes(lines=marked)


_WORK: dict[type[BaseModel], Callable[..., BaseModel]] = {
    Checking: _checked,
    Writing: _completed,
    Differing: _differing,
}


def main() -> None:
    """Serve until the controller ends."""
    descriptor, parent = map(int, sys.argv[1:])
    die_with(parent)
    os.nice(5)
    _checked(Checking(text=shipped()["demo"].text))
    complete("", 1, 1)
    gc.freeze()  # what is here is shared with all forks, and stays so
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    with socket.socket(fileno=descriptor) as listening:
        while True:
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    listening.close()
                    _serve(connection)


def _serve(connection: socket.socket) -> None:
    """Answer one question, and end. A process that takes too much ends without an answer."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(PATIENCE)
        with connection.makefile("rb") as sent:
            asked = Asked.model_validate(orjson.loads(sent.read()))
        resource.setrlimit(resource.RLIMIT_CPU, (asked.seconds, asked.seconds + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (asked.memory, asked.memory))
        connection.sendall(answered(asked).model_dump_json().encode())
        status = 0
    except MemoryError:
        pass
    except BaseException:
        traceback.print_exc()
        connection.sendall(b"!")
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
