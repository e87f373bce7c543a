"""``routes list|show|put|delete``: the models that the proxy serves, and who answers for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from leakrange.clients.cli.commands.administration import Administered, Named, checked_name
from leakrange.clients.cli.console import note, print_json
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.targets.target import target_of
from leakrange.wire.administration import Route

__all__ = ["routes"]

routes = typer.Typer(help="The models that the proxy serves, and who answers.", no_args_is_help=True)


@routes.command("put")
def put(
    name: Named,
    upstream: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="of the provider, such as http://127.0.0.1:8702")
    ],
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Send requests for a model to a provider. Models that somebody else serves are put by 'targets put'."""
    checked_name(name, "model")
    with connect(state, url) as place:
        route = place.routes.put(name, upstream)
    if as_json:
        print_json(route)
    else:
        note(f"requests for {name!r} go to {route.upstream}")


def _row(route: Route) -> Mapping[str, Any]:
    if route.target is None:
        return {"model": route.model, "answered by": "provider", "address": route.upstream}
    target = target_of(route.target)
    return {"model": route.model, "answered by": f"target {target.name}", "address": target.steps[-1].url}


def _details(route: Route) -> Mapping[str, Any]:
    more = f"leakrange targets show {route.model}" if route.target is not None else None
    return {**_row(route), "more": more}


_FRAME = Administered("route", "routes", lambda place, name: place.routes.get(name), _row, _details)
_FRAME.add_list(routes, lambda place: place.routes.all(), empty="the proxy serves no model now")
_FRAME.add_show(routes)
_FRAME.add_delete(routes, lambda place, name: place.routes.delete(name), done="is deleted")
