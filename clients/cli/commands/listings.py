"""``data list``, ``models list``: what there is to choose from; ``models add`` stands beside the latter."""

from __future__ import annotations

from typing import Any

import typer

from leakrange.clients.cli.commands.model_files import add
from leakrange.clients.cli.console import note, print_json, print_table, say
from leakrange.clients.cli.options import AsJson, State, Url, connect

__all__ = ["data", "models"]

SHOWN = 6
"""Attributes of a data set in the table; JSON has them all."""

data = typer.Typer(help="Data sets.", no_args_is_help=True)
models = typer.Typer(help="Models: trained ones, and files of others.", no_args_is_help=True)
models.command("add")(add)


@data.command("list")
def list_data(as_json: AsJson = False) -> None:
    """List data sets and their attributes, and what brings those here that this machine lacks. Needs no
    range."""
    from leakrange.data.catalogue import datasets  # brings scikit-learn and all sets: only where it is used

    rows = [
        {
            "name": name,
            "sample": entry.spec,
            "attributes": {key: len(value.classes) for key, value in entry.attributes.items()},
            "description": entry.description,
            "source": entry.source,
            "unavailable": entry.available(),
        }
        for name, entry in datasets.items()
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("data set", "sample", "here", "attributes (classes)"),
        [(r["name"], _sample(r), "no" if r["unavailable"] else "yes", _attributes(r)) for r in rows],
        empty="no data sets",
    )
    if missing := [(row["name"], row["unavailable"]) for row in rows if row["unavailable"]]:
        say("")
        print_table(("not here", "what brings it here"), missing, empty="")
    for mistake in datasets.broken:
        note(f"warning: {mistake}")


@models.command("list")
def list_models(state: State = None, url: Url = None, as_json: AsJson = False) -> None:
    """List the models that the range has trained, newest first."""
    with connect(state, url) as place:
        trained = place.models()
    if as_json:
        print_json(trained)
        return
    print_table(
        ("model", "data", "behaviour", "seed", "created"),
        [(m.digest, m.data, m.behaviour, m.seed, m.created[:19]) for m in trained],
        empty="no models yet: a run trains those that it needs",
    )


def _sample(row: dict[str, Any]) -> str:
    sample = row["sample"]
    return f"{sample.encoding} {'x'.join(map(str, sample.shape))}"


def _attributes(row: dict[str, Any]) -> str:
    named = [f"{name} ({classes})" for name, classes in row["attributes"].items()]
    more = [f"and {len(named) - SHOWN} more"] if len(named) > SHOWN else []
    return ", ".join(named[:SHOWN] + more)
