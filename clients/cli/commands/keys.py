"""``keys create``: API keys of the defence proxy."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from leakrange.clients.cli.console import note, print_json, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.registry import UnknownName
from leakrange.wire.endpoints import ENDPOINTS
from leakrange.wire.names import is_name

__all__ = ["keys"]

keys = typer.Typer(help="API keys of the defence proxy.", no_args_is_help=True)


class Counting(StrEnum):
    """How the ledger counts a key's samples."""

    EXACT = "exact"
    LEASED = "leased"


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
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL,...", help="all that it may ask about (repeatable; default: any model)"),
    ] = None,
    endpoints: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENDPOINT,...",
            help=f"all that it may be used for: {', '.join(ENDPOINTS)} (repeatable; default: all, but where"
            " the policy of a model holds for it neither artifact nor the list of the gallery)",
        ),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--limit", metavar="NAME,...", help="what bounds it beside its budget (repeatable): see limits"
        ),
    ] = None,
    counting: Annotated[
        Counting,
        typer.Option(
            help="leased: each proxy takes a block of the samples and answers from it, which is faster; what"
            " a killed proxy holds counts as spent, and there may be no limits"
        ),
    ] = Counting.EXACT,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Make an API key with a budget. It is shown this once, and only its hash is kept."""
    asked = None if models is None else _listed("--models", models, _model)
    used = None if endpoints is None else _listed("--endpoints", endpoints, _endpoint)
    bounds = _listed("--limit", limits or [], _limit)
    with connect(state, url) as place:
        created = place.keys.create(
            name,
            budget,
            policy=policy,
            models=asked,
            endpoints=used,
            limits=bounds,
            counting=counting.value,
        )
    if as_json:
        print_json(created)
        return
    allowed = ", ".join(created.endpoints or ["all endpoints"])
    note(
        f"key {name!r}: {budget} samples, policy {created.policy or 'none'}, {allowed} of "
        f"{', '.join(created.models or ['all models'])}; it is shown this once"
    )
    say(created.key)


def _listed(option: str, given: list[str], mistake: Callable[[str], str | None]) -> list[str]:
    """Return the values of an option that is repeated, comma separated or both; raises `CliError` for a wrong
    one."""
    values = [value.strip() for one in given for value in one.split(",")]
    for value in values:
        if error := mistake(value):
            raise CliError(f"{option} {','.join(given)}: {error}", code=Exit.USAGE)
    return values


def _limit(name: str) -> str | None:
    return None if is_name(name) else f"{name!r} is no limit's name"


def _model(name: str) -> str | None:
    return None if is_name(name) else f"{name!r} is no model's name"


def _endpoint(name: str) -> str | None:
    return None if name in ENDPOINTS else str(UnknownName("endpoint", name, tuple(ENDPOINTS)))
