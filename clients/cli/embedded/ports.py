"""The ports of the parties on 127.0.0.1, and whether they are free."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import httpx

from leakrange.clients.cli.exits import CliError, Exit
from leakrange.scenario.registered import behaviours
from leakrange.service.parties import listening

__all__ = ["DEFAULT_BASE", "assign", "check_base", "check_free", "claimed", "names"]

DEFAULT_BASE = 8700


def names() -> tuple[str, ...]:
    """Return the parties that listen, in the order of their ports from the base on."""
    return listening(behaviours())


def check_base(base: int) -> None:
    """Raise `CliError` for a number that cannot be the first port."""
    count = len(names())
    if base and not 1 <= base <= 65535 - count:
        raise CliError(
            f"--ports {base}: this cannot be the first of {count} ports",
            code=Exit.USAGE,
            hint=f"give a number from 1024 to {65535 - count}, or 0 for any free ports",
        )


def assign(base: int) -> dict[str, int]:
    """Return a port for each party of `names`; a base of 0 takes any free ones. Raises as `check_base`."""
    check_base(base)
    if base:
        return {name: base + i for i, name in enumerate(names())}
    probes = [socket.socket() for _ in names()]
    try:
        for probe in probes:  # all open at once, so that no number comes twice
            probe.bind(("127.0.0.1", 0))
        return {name: probe.getsockname()[1] for name, probe in zip(names(), probes, strict=True)}
    finally:
        for probe in probes:
            probe.close()


def check_free(ports: dict[str, int]) -> None:
    """Raise `CliError` naming every port that is taken, the party that wanted it, and what answers there."""
    taken = [
        f"port {port} is taken{_who(port)}: {name} needs it"
        for name, port in ports.items()
        if not _bindable(port)
    ]
    if taken:
        raise CliError(
            "the range cannot start",
            lines=tuple(taken),
            code=Exit.NOT_STARTED,
            hint="choose other ports, e.g. --ports 9700 (or --ports 0 for any that are free),"
            " or stop what listens there",
        )


@contextmanager
def claimed(ports: Iterable[int]) -> Iterator[None]:
    """Keep these ports from everybody else of this machine, before a party listens there and while one is
    restarted: from other launchers, and from servers that take any free port. This works on Linux alone.
    Raises `CliError`."""
    with ExitStack() as held:
        for port in ports if sys.platform == "linux" else ():
            name = held.enter_context(socket.socket(socket.AF_UNIX))
            place = held.enter_context(socket.socket())
            # Bound alike and without listening, it lets a party listen there, and is not a free port.
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                name.bind(f"\0leakrange-port-{port}")  # this name vanishes with its holder
                place.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                raise CliError(
                    f"port {port} is another range's, which is starting or running",
                    code=Exit.NOT_STARTED,
                    hint="choose other ports, e.g. --ports 9700 (or --ports 0 for any that are free)",
                ) from error
        yield


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        # As the servers do: connections of an earlier range that are closing do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _who(port: int) -> str:
    try:
        health = httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=0.5, trust_env=False).json()
        return f" by the {health['party']} of another range"
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return ""
