"""Reads a pasted curl command: the request that it sends. Nothing of it is run."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from leakrange.wire.errors import InvalidInput

__all__ = ["PastedRequest", "read_curl"]

MOST_CHARACTERS = 4_000_000
WITHOUT_VALUE = frozenset(
    {
        "-s",
        "-S",
        "-sS",
        "-Ss",
        "-i",
        "-v",
        "-f",
        "-L",
        "-g",
        "-N",
        "-#",
        "--silent",
        "--show-error",
        "--include",
    }
    | {"--verbose", "--fail", "--fail-with-body", "--location", "--compressed", "--globoff", "--no-buffer"}
    | {"--http1.1", "--http2", "--progress-bar", "--no-progress-meter"}
)
"""Options that change nothing of the request, or (``-L``) nothing that is done here."""
WITH_VALUE = frozenset(
    {"-o", "--output", "-w", "--write-out", "-m", "--max-time", "--connect-timeout", "--retry"}
    | {"-A", "--user-agent", "-e", "--referer"}
)
"""Options whose value tells nothing of the model."""
REFUSED = {
    "-k": "checks of certificates are not turned off: name the server's authority in 'authentication: {tls}'",
    "-x": "targets are asked without a proxy",
    "-E": "write the client's certificate into 'authentication: {tls}' of the file",
    "-K": "paste the command with its options, without a file of them",
    "-T": "uploads of files are not sent to a target",
}
LONG = {
    "--insecure": "-k",
    "--proxy": "-x",
    "--cert": "-E",
    "--config": "-K",
    "--upload-file": "-T",
    "--request": "-X",
    "--header": "-H",
    "--data": "-d",
    "--data-ascii": "-d",
    "--form": "-F",
    "--user": "-u",
    "--cookie": "-b",
}
"""Long options by their short ones."""


@dataclass
class PastedRequest:
    """What the command sends. ``form`` holds the fields of a multipart form: a text, or the path of a file
    behind an ``@``. ``user`` is ``name:password`` of basic authentication."""

    url: str = ""
    method: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    form: dict[str, str] = field(default_factory=dict)
    user: str | None = None


def read_curl(command: str, read_file: Callable[[Path], bytes]) -> PastedRequest:
    """The request of a curl command as a shell takes it, over several lines too. ``read_file`` reads a body
    that it names by ``@FILE``. Raises `InvalidInput` for what is no such command, or cannot be a target."""
    if len(command) > MOST_CHARACTERS:
        raise InvalidInput(f"the command is longer than {MOST_CHARACTERS} characters")
    try:
        words = shlex.split(command.replace("\\\r\n", " ").replace("\\\n", " ").replace("$'", "'").strip())
    except ValueError as error:
        raise InvalidInput(f"the command cannot be read: {error}", hint="paste all of it") from error
    while words and words[0] in ("$", "%", ">"):  # a prompt was pasted with it
        words = words[1:]
    if not words or words[0].rpartition("/")[2] != "curl":
        raise InvalidInput("this is no curl command: it begins with curl", hint="paste all of it")
    request = PastedRequest()
    rest = _separated(words[1:])
    while rest:
        _take(request, rest.pop(0), rest, read_file)
    if not request.url:
        raise InvalidInput("the command names no address")
    if "://" not in request.url:
        request.url = f"http://{request.url}"
    return request


def _separated(words: list[str]) -> list[str]:
    """The words with each option apart from its value: ``--data=1`` and ``-XPOST`` are two."""
    apart: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if (
            word.startswith("--")
            and equals
            and name in {*LONG, "--json", "--data-raw", "--data-binary", "--url"}
        ):
            apart += [name, value]
        elif len(word) > 2 and word[0] == "-" and word[1] in "XHdFub" and word not in WITHOUT_VALUE:
            apart += [word[:2], word[2:]]
        else:
            apart.append(word)
    return apart


def _take(request: PastedRequest, word: str, rest: list[str], read_file: Callable[[Path], bytes]) -> None:
    """Take one option with its value from ``rest``, or the address."""
    option = LONG.get(word, word)
    if option in REFUSED:
        raise InvalidInput(f"curl's option {word} is not taken: {REFUSED[option]}")
    if option in WITHOUT_VALUE:
        return
    if not option.startswith("-"):
        if request.url:
            raise InvalidInput(f"the command names two addresses: {request.url[:80]} and {word[:80]}")
        request.url = option
        return
    if not rest:
        raise InvalidInput(f"curl's option {word} lacks its value", hint="paste all of the command")
    value = rest.pop(0)
    if option in WITH_VALUE:
        return
    if option == "-X":
        request.method = value.upper()
    elif option == "-H":
        name, _, content = value.partition(":")
        request.headers[name.strip()] = content.strip()
    elif option == "-b":
        request.headers["Cookie"] = value
    elif option == "-u":
        request.user = value
    elif option == "--url":
        request.url = value
    elif option == "-F":
        name, _, content = value.partition("=")
        request.form[name] = content.partition(";")[0] if content.startswith("@") else content
    elif option in ("-d", "--json", "--data-raw", "--data-binary"):
        given = value.encode()
        if value.startswith("@") and option != "--data-raw":
            given = read_file(Path(value[1:]))
        request.body = given if request.body is None else request.body + b"&" + given
        if option == "--json":
            request.headers.setdefault("Content-Type", "application/json")
    else:
        raise InvalidInput(
            f"curl's option {word[:40]!r} is not known here", hint="leave it out if the request works without"
        )
