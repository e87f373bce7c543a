"""The page of the commands, from what `leakrange --help` tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command
from words import cell, code, sentence

from leakrange.clients.cli.main import EPILOG, app

__all__ = ["page"]


def page() -> str:
    """One section for each command, with its arguments, options and defaults."""
    root = get_command(app)
    parts = [
        "# Commands",
        sentence(root.help),
        "`leakrange COMMAND --help` says the same in a terminal.",
        EPILOG,
    ]
    for command, context in _commands(root, root.make_context("leakrange", [], resilient_parsing=True)):
        usage = command.get_usage(context).removeprefix("Usage: ")
        parts += [f"## {context.command_path}", sentence(command.help), f"```text\n{usage}\n```"]
        parts += _table(command, context)
    return "\n\n".join(parts) + "\n"


def _commands(command: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(command, TyperGroup):
        yield command, context
        return
    for name in command.list_commands(context):
        found = command.commands[name]
        if not found.hidden:
            below = found.make_context(name, [], parent=context, resilient_parsing=True)
            yield from _commands(found, below)


def _table(command: Any, context: Any) -> Iterator[str]:
    told = [each.get_help_record(context) for each in command.params if each.name != "help"]
    rows = [_row(*each) for each in told if each]
    if rows:
        yield "\n".join(["| argument or option | meaning | |", "|---|---|---|", *rows])


def _row(names: str, told: str) -> str:
    """What typer puts into brackets at the end (default, range, required) gets a column of its own."""
    found = re.fullmatch(r"(.*?)\s*(?:\[([^\[\]]*(?:\[[^\]]*\][^\[\]]*)*)\])?", told, re.DOTALL)
    meaning, more = found.groups() if found else (told, "")
    return f"| {code(names)} | {cell(meaning)} | {cell(more or '')} |"
