"""``policies list|show|put|delete|bind|unbind|shadow``: the output defences, and for whom each holds or is
tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
import yaml

from leakrange.clients.cli.commands.administration import Administered, Named, checked_name
from leakrange.clients.cli.console import note, print_json, print_table
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.wire.administration import BindingBody, Policy

__all__ = ["policies"]

policies = typer.Typer(help="Output defences, and for whom each holds.", no_args_is_help=True)
Key = Annotated[str | None, typer.Option(metavar="ID", help="for this key alone")]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="for this model alone")]
Endpoint = Annotated[str | None, typer.Option(help="for this endpoint of the model alone")]


@policies.command("put")
def put(
    name: Named,
    chain: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LINK...",
            help="as scenarios write them: 'round: {decimals: 1}' argmax; none changes nothing",
        ),
    ] = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Create or replace a policy: a chain of output defences. It holds at once wherever it is bound."""
    checked_name(name, "policy")
    with connect(state, url) as place:
        policy = place.policies.put(name, [_link(text) for text in chain or []])
    if as_json:
        print_json(policy)
    else:
        note(f"policy {name!r}: {policy.in_words()}; 'leakrange policies bind' says for whom it holds")


@policies.command("bind")
def bind(
    name: Named,
    key: Key = None,
    model: Model = None,
    endpoint: Endpoint = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Let a policy hold for a key, a model, one endpoint of a model, or for all else. The most specific
    wins."""
    checked_name(name, "policy")
    with connect(state, url) as place:
        binding = place.policies.bind(name, key=key, model=model, endpoint=endpoint)
    if as_json:
        print_json(binding)
    else:
        note(f"policy {name!r} holds for {_whose(binding)}")


@policies.command("unbind")
def unbind(
    key: Key = None,
    model: Model = None,
    endpoint: Endpoint = None,
    state: State = None,
    url: Url = None,
) -> None:
    """Delete the binding of exactly these; with none of them, that for all else."""
    with connect(state, url) as place:
        place.policies.unbind(key=key, model=model, endpoint=endpoint)
    note("the binding is deleted")


@policies.command("bindings")
def bindings(state: State = None, url: Url = None, as_json: AsJson = False) -> None:
    """List for whom which policy holds."""
    with connect(state, url) as place:
        bound = place.policies.bindings()
    if as_json:
        print_json(bound)
        return
    print_table(
        ("holds for", "policy"),
        [(_whose(binding), binding.policy) for binding in bound],
        empty="no policy holds for anybody: 'leakrange policies bind' changes that",
    )


@policies.command("shadow")
def shadow(
    name: Named,
    key: Key = None,
    model: Model = None,
    endpoint: Endpoint = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Try a policy beside the one that holds: it is computed on the same answers and counted, and nothing of
    it is sent."""
    checked_name(name, "policy")
    with connect(state, url) as place:
        tried = place.policies.shadow(name, key=key, model=model, endpoint=endpoint)
    if as_json:
        print_json(tried)
    else:
        note(f"policy {name!r} is tried for {_whose(tried)}; 'leakrange policies shadows' says what changes")


@policies.command("shadows")
def shadows(state: State = None, url: Url = None, as_json: AsJson = False) -> None:
    """List the policies that are tried, and what each would have changed."""
    with connect(state, url) as place:
        tried = place.policies.shadows()
    if as_json:
        print_json(tried)
        return
    print_table(
        ("tried for", "policy", "samples", "other values", "other decisions", "mean distance"),
        [
            (
                _whose(each),
                each.policy,
                each.samples,
                each.changed,
                each.decisions,
                None if each.distance is None else f"{each.distance:.4g}",
            )
            for each in tried
        ],
        empty="no policy is tried: 'leakrange policies shadow' does so",
    )


@policies.command("unshadow")
def unshadow(
    key: Key = None,
    model: Model = None,
    endpoint: Endpoint = None,
    state: State = None,
    url: Url = None,
) -> None:
    """Try no policy any more for exactly these; with none of them, for all else."""
    with connect(state, url) as place:
        place.policies.unshadow(key=key, model=model, endpoint=endpoint)
    note("the policy is tried no more")


def _link(text: str) -> Any:
    """A link of a chain, as scenarios write it. Raises `CliError`."""
    try:
        link = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CliError(
            f"{text!r} is no link of a chain",
            code=Exit.USAGE,
            hint="write argmax, or 'round: {decimals: 1}'",
        ) from error
    return link


def _whose(binding: BindingBody) -> str:
    parts = [
        f"{what} {value}"
        for what, value in (("key", binding.key), ("model", binding.model), ("endpoint", binding.endpoint))
        if value is not None
    ]
    return ", ".join(parts) or "all else"


def _row(policy: Policy) -> Mapping[str, Any]:
    return {
        "policy": policy.name,
        "chain": policy.in_words(),
        "asked again": "the same answer" if policy.deterministic else "another answer",
    }


def _details(policy: Policy) -> Mapping[str, Any]:
    return {**_row(policy), "digest": policy.digest}


_FRAME = Administered("policy", "policies", lambda place, name: place.policies.get(name), _row, _details)
_FRAME.add_list(
    policies, lambda place: place.policies.all(), empty="no policies yet: 'leakrange policies put' makes one"
)
_FRAME.add_show(policies)
_FRAME.add_delete(policies, lambda place, name: place.policies.delete(name), done="is deleted")
