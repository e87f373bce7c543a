"""``keys list|show|create|put|rotate|delete``: API keys of the defence proxy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from leakrange.clients.cli.commands.administration import Administered, Named, checked_name, words
from leakrange.clients.cli.console import note, print_json, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.registry import UnknownName
from leakrange.wire.administration import Account
from leakrange.wire.endpoints import ENDPOINTS
from leakrange.wire.names import is_name

__all__ = ["keys"]

keys = typer.Typer(help="API keys of the defence proxy.", no_args_is_help=True)


Models = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL,...", help="all that it may ask about (repeatable; default: any model)"),
]
Endpoints = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ENDPOINT,...",
        help=f"all that it may be used for: {', '.join(ENDPOINTS)} (repeatable; default: all, but where"
        " the policy of a model holds for it neither artifact nor the list of the gallery)",
    ),
]
KeyLimits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit", metavar="NAME,...", help="what bounds it beside its budget (repeatable): see limits"
    ),
]


class Counting(StrEnum):
    """How the ledger counts a key's samples."""

    EXACT = "exact"
    LEASED = "leased"


@keys.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="whom the key is for")],
    budget: Annotated[int, typer.Option(min=0, help="samples that it may have answered")],
    policy: Annotated[
        str | None,
        typer.Option(help="the defence policy that its releases pass"),
    ] = None,
    models: Models = None,
    endpoints: Endpoints = None,
    limits: KeyLimits = None,
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
    passes = f"policy {created.policy}" if created.policy else "no policy of its own"
    note(
        f"key {name!r}: {budget} samples, {passes}, {allowed} of "
        f"{', '.join(created.models or ['all models'])}; it is shown this once"
    )
    say(created.key)


@keys.command("put")
def put(
    id: Named,
    budget: Annotated[
        int | None, typer.Option(min=0, help="the whole budget, spent samples included")
    ] = None,
    models: Models = None,
    endpoints: Endpoints = None,
    limits: KeyLimits = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Change what a key may ask, by its id. What is not named stays."""
    checked_name(id, "key")
    changes: dict[str, Any] = {} if budget is None else {"budget": budget}
    changes |= {} if models is None else {"models": _listed("--models", models, _model)}
    changes |= {} if endpoints is None else {"endpoints": _listed("--endpoints", endpoints, _endpoint)}
    changes |= {} if limits is None else {"limits": _listed("--limit", limits, _limit)}
    if not changes:
        raise CliError(
            "nothing to change was given",
            code=Exit.USAGE,
            hint="give --budget, --models, --endpoints or --limit",
        )
    with connect(state, url) as place:
        account = place.keys.change(id, **changes)
    _FRAME.print_one(account, as_json=as_json)


@keys.command("rotate")
def rotate(
    id: Named,
    overlap: Annotated[
        int,
        typer.Option(min=0, max=31 * 86_400, help="seconds for which the key before is valid as well"),
    ] = 3600,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Replace a key, by its id. Budget, ledger and permissions stay. The new one is shown this once."""
    checked_name(id, "key")
    with connect(state, url) as place:
        rotated = place.keys.rotate(id, overlap=overlap)
    if as_json:
        print_json(rotated)
        return
    note(f"key {id!r} is replaced; the one before is valid for {overlap:,} s more. It is shown this once")
    say(rotated.key)


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


def _row(account: Account) -> Mapping[str, Any]:
    return {
        "key": account.id,
        "whose": account.name,
        "spent": f"{account.spent:,}",
        "budget": "no limit" if account.budget is None else f"{account.budget:,}",
        "own policy": account.policy or "-",
        "models": words(account.models, "any"),
        "state": "revoked" if account.revoked else "in use",
    }


def _details(account: Account) -> Mapping[str, Any]:
    return {
        **_row(account),
        "left": "no limit" if account.remaining is None else f"{account.remaining:,}",
        "being answered": f"{account.reserved:,}",
        "held by proxies": f"{account.held:,}",
        "requests": f"{account.requests:,} answered, {account.replays:,} again, {account.refused:,} refused",
        "given back": f"{account.refunded:,}",
        "endpoints": words(account.endpoints, "all"),
        "limits": words(account.limits, "none"),
        "counting": account.counting,
    }


_FRAME = Administered("key", "keys", lambda place, name: place.keys.get(name), _row, _details)
_FRAME.add_list(keys, lambda place: place.keys.all(), empty="no keys yet: 'leakrange keys create' makes one")
_FRAME.add_show(keys)
_FRAME.add_delete(
    keys, lambda place, name: place.keys.revoke(name), done="is revoked for good; its ledger stays"
)
