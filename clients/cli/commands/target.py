"""``target check``, ``target new``: the file of a model that somebody else serves, without a range."""

from __future__ import annotations

import typer

from leakrange.clients.cli.commands.target_new import new
from leakrange.clients.cli.console import note, print_json, print_table
from leakrange.clients.cli.options import AsJson
from leakrange.clients.cli.target_files import TargetFile, read_file_of, release_rows

__all__ = ["target"]

target = typer.Typer(
    help="The file of a model that somebody else serves. Needs no range.", no_args_is_help=True
)


target.command("new")(new)


@target.command("check")
def check(file: TargetFile, as_json: AsJson = False) -> None:
    """Check a target's file: ask one sample, its probe or zeros, and print how the answer is read."""
    from leakrange.clients.cli.target_requests import Exchange, converse  # brings aiohttp: only where asked
    from leakrange.targets.dialogue import dialogue, probe_of

    described = read_file_of(file)
    note(f"{file}: the target {described.name!r} is written as it should be")

    def heard(exchange: Exchange) -> None:
        note(exchange.summary())
        note(f"  {exchange.answer()}")

    [values] = converse(described, dialogue(described, probe_of(described)), heard).tolist()
    if as_json:
        print_json({"target": described.name, "release": described.card.release, "values": values})
        return
    note(f"read as {described.card.release}:")
    heading = "class" if described.card.classes else "value"
    print_table((heading, "answered to its probe"), release_rows(described, values), empty="")
