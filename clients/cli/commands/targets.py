"""``targets list|show|put|delete``: the models that somebody else serves, and that the proxy asks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from leakrange.client import Range
from leakrange.clients.cli.commands.administration import Administered, checked_name
from leakrange.clients.cli.console import note, print_json, print_table
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.clients.cli.target_files import TargetFile, read_file_of, release_rows
from leakrange.targets.target import RemoteTarget, target_of
from leakrange.wire.administration import Route, TargetHealth

__all__ = ["targets"]

targets = typer.Typer(help="Models that somebody else serves, behind the proxy.", no_args_is_help=True)


@targets.command("put")
def put(
    file: TargetFile,
    model: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="under which the proxy serves it (default: its own name)"),
    ] = None,
    no_probe: Annotated[
        bool, typer.Option("--no-probe", help="do not ask it one sample first: it may be away")
    ] = False,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Have the proxy serve a target. It is asked one sample first, and refused if its answer cannot be
    used."""
    target = read_file_of(file)
    name = model or target.name
    checked_name(name, "target")
    written = target.model_dump(mode="json", by_alias=True, exclude_unset=True)
    with connect(state, url) as place:
        route = place.routes.put_target(name, written, probe=not no_probe)
    if as_json:
        print_json(route)
        return
    note(f"the proxy serves the target {target.name!r} as {name!r}: {target.card.release}")
    if route.tried is None:
        note("it was not asked")
    else:
        print_table(
            (_value_of(target), "answered to its probe"),
            release_rows(target, route.tried),
            empty="",
        )


def _value_of(target: RemoteTarget) -> str:
    return "class" if target.card.classes else "value"


def _target(place: Range, name: str) -> Route:
    """The route of a target. Raises `CliError` where a provider of the range answers for the model."""
    route = place.routes.get(name)
    if route.target is None:
        raise CliError(
            f"{name!r} is no target: {route.upstream} answers for it",
            code=Exit.REFUSED,
            hint=f"see 'leakrange routes show {name}'",
        )
    return route


def _delete(place: Range, name: str) -> None:
    _target(place, name)
    place.routes.delete(name)


def _row(route: Route) -> Mapping[str, Any]:
    target = target_of(route.target or {})
    return {
        "target": route.model,
        "address": target.steps[-1].url,
        "release": target.card.release,
        "owner": target.owner,
        "authorised": target.authorised or "on this machine",
    }


def _details(route: Route) -> Mapping[str, Any]:
    target, asked = target_of(route.target or {}), route.asked
    card, limits = target.card, target.limits
    most = [f"{limits.samples:,} samples"] if limits.samples is not None else []
    most += [f"{limits.money:g} in money"] if limits.money is not None else []
    counted = None
    if asked is not None:
        counted = f"{asked.requests:,} requests, {asked.sent:,} samples sent, {asked.answered:,} answered"
    return {
        "served as": route.model,
        "owner": target.owner,
        "authorised": target.authorised or "on this machine",
        "asked by": "; ".join(f"{step.method} {step.url}" for step in target.steps),
        "sample": f"{card.input.encoding} {'x'.join(map(str, card.input.spec.shape))}",
        "release": card.release if card.answers == "all" else f"{card.release}, {card.answers} alone",
        "classes": ", ".join(card.classes) or None,
        "at most": ", ".join(
            [f"{target.batch} samples a request", f"{limits.concurrency} requests at a time"]
            + ([limits.rate] if limits.rate else [])
        ),
        "cap": ", ".join(most) or "none",
        "price of a sample": limits.price,
        "variables": ", ".join(sorted(target.variables)) or None,
        "asked so far": counted,
        "health": _health(route.health),
    }


def _health(health: TargetHealth | None) -> str | None:
    """How it fared last; None where it was never asked."""
    if health is None or (health.answered, health.failed) == (None, None):
        return None
    if (health.failed or 0.0) > (health.answered or 0.0):
        return f"failed at {_time(health.failed)}: {health.failure}"
    return f"answered at {_time(health.answered)}"


def _time(seconds: float | None) -> str:
    return f"{datetime.fromtimestamp(seconds or 0.0, UTC):%Y-%m-%d %H:%M:%S} UTC"


_FRAME = Administered("target", "targets", _target, _row, _details)
_FRAME.add_list(
    targets,
    lambda place: [route for route in place.routes.all() if route.target is not None],
    empty="no targets yet: 'leakrange targets put FILE' adds one",
)
_FRAME.add_show(targets)
_FRAME.add_delete(targets, _delete, done="is asked no more; what it was asked stays counted")
