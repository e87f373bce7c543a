"""``answers listen``: record what a model that others serve is asked and answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr, ValidationError

from leakrange.clients.cli.console import note, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import State, state_folder
from leakrange.wire.keys import first_key
from leakrange.wire.names import is_name

__all__ = ["listen"]


def listen(
    model: Annotated[str, typer.Option("--model", help="the model whose answers are recorded")],
    out: Annotated[Path, typer.Option("--out", help="the CSV to write to; an existing file is continued")],
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="the port to listen on")] = 8790,
    wait: Annotated[
        float, typer.Option(min=1.0, max=3600.0, help="seconds for which a request waits for its response")
    ] = 60.0,
    most: Annotated[
        int, typer.Option("--waiting", min=1, max=1_000_000, help="requests that may wait at once")
    ] = 10_000,
    state: State = None,
) -> None:
    """Record the answers of a model that KServe serves, for 'answers audit', until it is stopped.

    Prints the address to give KServe's request logger. The key in it follows from the range's operator key.
    """
    if not is_name(model):
        raise CliError(f"--model {model!r} is no name", code=Exit.USAGE, hint="use letters, digits, '._-'")
    from leakrange.clients.cli.answer_file import AnswerFile
    from leakrange.clients.cli.answer_listener import listener, listener_key
    from leakrange.clients.cli.answer_log import AnswerLog
    from leakrange.service.logs import configure_logs
    from leakrange.service.serving import serve
    from leakrange.service.settings import ServiceSettings

    operator = _operator_key(state)
    try:
        settings = ServiceSettings(host=host, port=port, operator_key=SecretStr(operator))
    except ValidationError as error:
        raise CliError(error.errors()[0]["msg"], code=Exit.USAGE) from error
    key = listener_key(operator, model)
    file = AnswerFile(out)
    try:
        log = AnswerLog(file, wait=wait, most=most)
        configure_logs("answers", settings.log_level)
        note(f"answers of {model!r} go into {out}; give this address to KServe's logger:")
        say(f"http://logger:{key}@{host}:{port}/v1/models/{model}/events")
        serve(lambda: listener(log, key, model, settings.max_body), settings)
    finally:
        file.close()


def _operator_key(state: Path | None) -> str:
    """The operator key of the environment, else of the embedded range. Raises `CliError` where there is
    none."""
    given = first_key(os.environ.get("LEAKRANGE_OPERATOR_KEY", ""))
    record = None if given else state_folder(state).record()
    key = given or (record and record.operator_key)
    if not key:
        raise CliError(
            "there is no range whose key a logger could show",
            code=Exit.USAGE,
            hint="start one with 'leakrange up', or set LEAKRANGE_OPERATOR_KEY, such as to the output of"
            " 'openssl rand -hex 24'",
        )
    return key
