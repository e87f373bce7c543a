"""Reads a scenario that is still being written: its plain values, as far as they can be known.

The reader of `leakrange.scenario.yaml_source` does it, once the text is mended: a bracket that is still open
is closed where the indentation says so, and what makes no YAML is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.yaml_source import PLAIN, Composer, Source, values_of
from leakrange.wire.errors import InvalidScenario

__all__ = ["CURSOR", "Unfinished", "entries", "read_unfinished"]

CURSOR = "the-word-that-is-being-written-at-the-cursor"
"""Takes the place of that word. It is longer than a name of a scenario may be, and can stand for an alias."""
MOST_REPAIRS = 32
"""So many parts of a text are left out before nothing of it counts as known."""

_CLOSING = {"[": "]", "{": "}"}
_SIGNS = re.compile(
    r"""(?<![^\s\[{,:])(?:'(?:[^']|'')*'?|"(?:[^"\\]|\\.)*"?)"""  # quoted
    r"|(?<!\S)\#.*"
    r"|(?P<value>(?:^|:\s|(?<!\S)-\s|&[^\s&]+\s)\s*[\[{])"  # where a value begins
    r"|[\[\]{}]"
)
_BLOCK_SCALAR = re.compile(r"(?<!\S)[|>][-+0-9]*\s*(?:#.*)?$")


@dataclass(frozen=True)
class Unfinished:
    """The plain values of a text and their places. ``anchors`` are the names of the anchors above the cursor
    where its word is an alias, else None."""

    source: Source
    anchors: tuple[str, ...] | None = None


def entries(value: Any) -> dict[str, Any]:
    """Return the entries of a mapping; none for any other value."""
    return value if isinstance(value, dict) else {}


class _TolerantComposer(Composer):
    """Takes an alias that no anchor above it has for a value that is not yet written."""

    anchors_above_cursor: tuple[str, ...] | None = None

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.next_event()
        if not isinstance(event, yaml.AliasEvent) or event.anchor in self.anchors:
            return super().compose_node(parent, index)
        self.get_event()  # type: ignore[no-untyped-call]
        if event.anchor == CURSOR:
            self.anchors_above_cursor = tuple(self.anchors)
        return yaml.ScalarNode(f"{PLAIN}null", "", event.start_mark, event.end_mark)  # type: ignore[arg-type]


def read_unfinished(text: str) -> Unfinished:
    """Return what ``text`` holds. Never raises; a text that is too large or makes no sense holds nothing."""
    text = yaml.reader.Reader.NON_PRINTABLE.sub("\ufffd", text.replace("\t", " "))
    for _ in range(MOST_REPAIRS):
        text = _closed(text)
        composer = _TolerantComposer(text, Mistakes())
        try:
            node = composer.get_single_node()
            source = Source(None) if node is None else values_of(node, Mistakes())
            return Unfinished(source, composer.anchors_above_cursor)
        except InvalidScenario:
            break
        except yaml.MarkedYAMLError as error:
            text = _without_part(text, error)
    return Unfinished(Source(None))


def _without_part(text: str, error: yaml.MarkedYAMLError) -> str:
    """Leave out what stands on the line from the word on that makes no sense where it is."""
    # A scanner's context is the part that it cannot end; a parser's is all that surrounds the problem.
    context = error.context_mark if isinstance(error, yaml.scanner.ScannerError) else None
    mark = context or error.problem_mark
    assert mark is not None  # whatever finds an error knows its place
    start = mark.index
    while start > 0 and text[start - 1] not in " \n,[]{}":
        start -= 1
    return text[:start] + "".join(text[mark.index :].partition("\n")[1:])


def _closed(text: str) -> str:
    """Close each bracket before the line that is indented no deeper than the one that it began in."""
    lines = text.split("\n")
    missing, began, last = "", 0, 0  # closing brackets; the indent where they are needed; the line before
    block_scalar = -1  # the indent of the line that begins one
    for number, line in enumerate(lines):
        content = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if not content or content.startswith("#") or 0 <= block_scalar < indent:
            continue
        if missing and (indent < began or (indent == began and content[0] not in missing)):
            lines[last] += f"\n{' ' * (began + 1)}{missing}"
            missing = ""
        if not missing:
            began = indent - (content[0] in _CLOSING)  # a bracket may close in its own column
        missing = _missing_after(line, missing)
        block_scalar = indent if not missing and _BLOCK_SCALAR.search(line) else -1
        last = number
    lines[last] += f"\n{missing}" if missing else ""
    return "\n".join(lines)


def _missing_after(line: str, missing: str) -> str:
    """Return the brackets that close what is open at the end of the line, given those at its beginning."""
    for match in _SIGNS.finditer(line):
        if match["value"] or (missing and match[0] in _CLOSING):
            missing = _CLOSING[match[0][-1]] + missing
        elif match[0] in _CLOSING.values():
            missing = missing[1:]
    return missing
