"""The pages of the commands, from what `leakrange --help` tells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command
from words import cell, code, sentence

from leakrange.clients.cli.main import EPILOG, app

__all__ = ["pages"]

SUBJECTS = {
    "range": ("The range", ("up", "down", "status", "open", "acts", "backup", "restore")),
    "runs": ("Runs", ("run", "follow", "load", "runs", "cancel", "trace")),
    "results": ("Results", ("report", "view", "compare", "prices", "reproduce")),
    "inputs": ("Scenarios, data, models", ("init", "scenario", "data", "models", "federation")),
    "keys": ("Keys and limits", ("keys", "limits")),
    "policies": ("Policies", ("policies",)),
    "targets": ("Routes and targets", ("routes", "target", "targets")),
    "audits": ("Audits", ("audit", "answers")),
}
"""The pages: the title of each, and the commands and groups of commands that it tells of."""
OTHERS = ("More commands", ())
COMMON = 20
"""An option that so many commands have is explained once, on the first page."""


def pages() -> Iterator[tuple[str, str]]:
    """A page for each subject, with a section for each command, and one that lists all commands."""
    root = get_command(app)
    commands = list(_commands(root, root.make_context("leakrange", [], resilient_parsing=True)))
    everywhere = Counter(record for command, context in commands for record in _records(command, context))
    common = [record for record, count in everywhere.items() if count >= COMMON]
    sections: dict[str, list[str]] = {}
    rows = []
    for command, context in commands:
        path = context.command_path
        page = _subject(path.split()[1])
        usage = command.get_usage(context).removeprefix("Usage: ")
        specific = [each for each in _records(command, context) if each not in common]
        sections.setdefault(page, []).extend(
            [f"## {path}", sentence(command.help), f"```text\n{usage}\n```", *_table(specific)]
        )
        first = sentence(command.help).partition(". ")[0].removesuffix(".")
        rows.append(f"| [`{path}`]({page}.md#{path.replace(' ', '-')}) | {cell(first)} |")
    for page, parts in sections.items():
        title, _ = SUBJECTS.get(page, OTHERS)
        yield f"commands/{page}.md", "\n\n".join([f"# {title}", *parts]) + "\n"
    introduction = [
        "# Commands",
        sentence(root.help),
        "`leakrange COMMAND --help` says the same in a terminal.",
    ]
    listed = ["\n".join(["| command | what it does |", "|---|---|", *rows])]
    shared = ["## Options of most commands", *_table(common), "## Exit statuses", EPILOG]
    yield "commands/index.md", "\n\n".join([*introduction, *listed, *shared]) + "\n"


def _subject(word: str) -> str:
    return next((page for page, (_, words) in SUBJECTS.items() if word in words), "others")


def _commands(command: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(command, TyperGroup):
        yield command, context
        return
    for name in command.list_commands(context):
        inner = command.commands[name]
        if not inner.hidden:
            below = inner.make_context(name, [], parent=context, resilient_parsing=True)
            yield from _commands(inner, below)


def _records(command: Any, context: Any) -> list[tuple[str, str]]:
    records = [each.get_help_record(context) for each in command.params if each.name != "help"]
    return [record for record in records if record]


def _table(records: list[tuple[str, str]]) -> Iterator[str]:
    if records:
        rows = [_row(*each) for each in records]
        yield "\n".join(["| argument or option | meaning | |", "|---|---|---|", *rows])


def _row(names: str, help_text: str) -> str:
    """What typer puts into brackets at the end (default, range, required) gets a column of its own."""
    parts = re.fullmatch(r"(.*?)\s*(?:\[([^\[\]]*(?:\[[^\]]*\][^\[\]]*)*)\])?", help_text, re.DOTALL)
    meaning, more = parts.groups() if parts else (help_text, "")
    return f"| {code(names)} | {cell(meaning)} | {cell(more or '')} |"
