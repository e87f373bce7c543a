"""``keys create``: API keys of the defence proxy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clients.cli.connection import connect
from clients.cli.console import note, out, print_json
from clients.cli.options import AsJson, State, Url

__all__ = ["keys"]

keys = typer.Typer(help="API keys of the defence proxy.", no_args_is_help=True)


@keys.callback()
def _group() -> None:
    """Keep ``create`` a command of its own, though it is the only one."""


@keys.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="whom the key is for")],
    budget: Annotated[int, typer.Option(min=0, help="samples that it may have answered")],
    policy: Annotated[
        str | None,
        typer.Option(help="the defence policy that its releases pass"),
    ] = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Make an API key with a budget. It is shown this once, and only its hash is kept."""
    body: dict[str, Any] = {"name": name, "budget": budget}
    if policy is not None:
        body["policy"] = policy
    created = connect(state, url).operate_proxy("POST", "/admin/keys", body).json()
    if as_json:
        print_json(created)
        return
    note(f"key {name!r}: {budget} samples, policy {created.get('policy') or 'none'}; it is shown this once")
    out.print(created["key"])
