"""The text of a target's file, with comments: what was guessed, and what its owner has to confirm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

__all__ = ["MARK", "doubtful_lines", "written"]

MARK = "CHECK: "
"""How the comment of a line begins that is to be confirmed or corrected."""
HEAD = """\
# A model that somebody else serves: who it belongs to, how it is asked, and what its answers mean.
"""
DOUBTS = """\
# Lines with CHECK could not be known: confirm or correct them, then run 'leakrange target check'.
"""
LIMITS = "how much it may be asked; 'rate: 20/s', 'samples: 20000' and 'price: 0.01 EUR' bound it, too"


def written(given: Mapping[str, Any], remarks: Mapping[str, str], doubts: Mapping[str, str]) -> str:
    """The YAML of a target, as `leakrange.targets.target.target_of` takes it. ``remarks`` and ``doubts`` are
    comments by the field that they stand beside: doubts are marked."""
    comments = {"limits": LIMITS, **remarks, **{name: MARK + doubt for name, doubt in doubts.items()}}

    def line(name: str, value: Any, indent: str = "") -> str:
        comment = comments.get(name)
        text = f"{indent}{name}: {_flow(value)}"
        return text if comment is None else f"{text}  # {_one_line(comment)}"

    lines = [line(name, given[name]) for name in ("name", "owner", "authorised") if name in given]
    lines += ["card:", *(line(name, value, "  ") for name, value in given["card"].items())]
    lines += [
        line(name, given[name]) for name in ("probe", "preset", "url", "model", "options") if name in given
    ]
    for place, step in enumerate(given.get("steps", ())):
        lines += ["steps:"] if place == 0 else []
        fields = [line(name, value, "    ") for name, value in step.items()]
        lines += [f"  - {fields[0].strip()}", *fields[1:]]
    lines.append(line("limits", given["limits"]))
    text = "\n".join(lines) + "\n"
    return HEAD + (DOUBTS if MARK in text else "") + text


def doubtful_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """The lines of a target's file that are marked: the number of each, its field, and what is asked."""
    for number, line in enumerate(text.splitlines(), start=1):
        content, mark, doubt = line.partition(f"  # {MARK}")
        if mark:
            yield number, re.sub(r"^[\s-]*", "", content).partition(":")[0], doubt


def _one_line(comment: str) -> str:
    """A comment without ends of lines, and characters that YAML does not allow."""
    return "".join(each for each in " ".join(comment.split()) if each.isprintable())


def _flow(value: Any) -> str:
    """A value on one line; characters that are not printed are written by their numbers."""
    for as_they_are, style in ((True, None), (False, None), (False, '"')):  # quoted, an end of line is "\\n"
        text = yaml.safe_dump(
            value,
            default_flow_style=True,
            default_style=style,
            sort_keys=False,
            width=float("inf"),
            allow_unicode=as_they_are,
        )
        line = text.removesuffix("\n").removesuffix("\n...")
        if line.isprintable():
            break
    return line
