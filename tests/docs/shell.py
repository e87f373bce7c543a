"""Shell commands of the documentation, taken apart."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

__all__ = ["commands"]


def commands(script: str) -> Iterator[list[str]]:
    """Each command as its words, those in pipes and `$(...)` too, without assignments and redirections."""
    script = re.sub(r"(?m)(^|\s)#[^\n]*", "", script.replace("\\\n", " "))
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words: list[str] = []
    skip = False
    for word in lexer:
        if set(word) <= set(";&|()\n"):
            yield from _command(words)
            words = []
        elif skip or set(word) <= set("<>"):
            skip = not skip
        else:
            words.append(word)
    yield from _command(words)


def _command(words: list[str]) -> Iterator[list[str]]:
    if words[:1] == ["do"]:
        words = words[1:]
    if words[:1] in (["for"], ["done"]):
        return
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    if words:
        yield words
