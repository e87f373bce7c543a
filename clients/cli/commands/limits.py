"""``limits list|show|put|delete``: what bounds API keys of the defence proxy beside their budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import orjson
import typer

from leakrange.clients.cli.commands.administration import Administered, Named, checked_name
from leakrange.clients.cli.console import note, print_json, print_table
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.wire.administration import LimitKind, LimitUse, NamedLimit

__all__ = ["limits"]

limits = typer.Typer(help="What bounds API keys beside their budgets.", no_args_is_help=True)


@limits.command("list")
def list_limits(state: State = None, url: Url = None, as_json: AsJson = False) -> None:
    """List the limits that there are, and the kinds with their parameters."""
    with connect(state, url) as place:
        limit_list = place.limits.all()
    if as_json:
        print_json(limit_list)
        return
    print_table(
        ("limit", "kind", "parameters"),
        [(one.name, one.kind, _parameters(one)) for one in limit_list.limits],
        empty="no limits yet: 'leakrange limits put' makes one",
    )
    note("")
    print_table(
        ("kind", "parameters", "what it allows"),
        [(kind.kind, _named(kind), kind.summary) for kind in limit_list.kinds],
        empty="no kinds",
    )


@limits.command("put")
def put(
    name: Named,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="'leakrange limits list' shows the kinds")],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PARAMETER=VALUE...",
            help="e.g. samples=100 seconds=60; a part of one with a point: costs.features=10",
        ),
    ] = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Create or change a limit. What is counted under it stays, unless its kind changes."""
    checked_name(name, "limit")
    body: dict[str, Any] = {}
    for given in parameters or []:
        path, equals, value = given.partition("=")
        if not equals or not path:
            raise CliError(f"{given!r} is not PARAMETER=VALUE", code=Exit.USAGE)
        _set(body, path.split("."), _value(value), given)
    with connect(state, url) as place:
        limit = place.limits.put(name, kind, **body)
    if as_json:
        print_json(limit)
        return
    note(f"limit {name!r}: {limit.kind}, {_parameters(limit)}; keys name it with --limit {name}")


def _set(body: dict[str, Any], path: list[str], value: Any, given: str) -> None:
    for part in path[:-1]:
        body = body.setdefault(part, {})
        if not isinstance(body, dict):
            raise CliError(f"{given!r}: {part} has a value already", code=Exit.USAGE)
    body[path[-1]] = value


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _parameters(limit: NamedLimit) -> str:
    parameters = limit.model_extra or {}
    return ", ".join(f"{name}={orjson.dumps(value).decode()}" for name, value in parameters.items())


def _named(kind: LimitKind) -> str:
    return ", ".join(name if name in kind.required else f"[{name}]" for name in kind.parameters)


def _details(limit: LimitUse) -> Mapping[str, Any]:
    used = ", ".join(f"{whose or 'all'}: {count:,}" for whose, count in limit.used.items())
    spent = ", ".join(f"{whose}: {epsilon:.3g}" for whose, epsilon in limit.spent.items())
    details = {"limit": limit.name, "kind": limit.kind, "parameters": _parameters(limit), "used": used or "0"}
    return details | ({"epsilon spent": spent} if spent else {})


_FRAME = Administered("limit", "limits", lambda place, name: place.limits.get(name), _details, _details)
_FRAME.add_show(limits)
_FRAME.add_delete(
    limits, lambda place, name: place.limits.delete(name), done="is deleted, and what was counted under it"
)
