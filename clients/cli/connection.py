"""Find a range and talk to it: an embedded one by its state folder, any other by its addresses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from clients.cli.embedded.state import StateFolder
from clients.cli.exits import CliError, Exit

__all__ = ["DEFAULT_STATE", "Connection", "Refused", "connect", "raise_problem", "state_folder"]

DEFAULT_STATE = Path(".leakrange")


@dataclass(frozen=True)
class Connection:
    """Where a range's controller and proxy are, and the operator key if it is known."""

    controller: str
    proxy: str | None
    operator_key: str | None
    hint: str
    local: bool = False
    """On this machine: no proxy of the environment stands in between."""

    def get(self, path: str, **parameters: Any) -> httpx.Response:
        """Ask the controller; raises `CliError` for no answer and for problem details."""
        return self._send("GET", self.controller + path, params=parameters)

    def operate(
        self, method: str, path: str, *, content: bytes | None = None, media_type: str = ""
    ) -> httpx.Response:
        """Ask the controller for what only the operator may have done."""
        headers = self._authorised() | ({"Content-Type": media_type} if media_type else {})
        return self._send(method, self.controller + path, content=content, headers=headers)

    def operate_proxy(self, method: str, path: str, json: Any) -> httpx.Response:
        """Ask the proxy for what only the operator may have done."""
        if self.proxy is None:
            raise CliError(
                "it is not known where the proxy is", code=Exit.USAGE, hint="set LEAKRANGE_PROXY_URL"
            )
        return self._send(method, self.proxy + path, json=json, headers=self._authorised())

    def _authorised(self) -> dict[str, str]:
        if self.operator_key is None:
            raise CliError(
                "this wants the operator key", code=Exit.REFUSED, hint="set LEAKRANGE_OPERATOR_KEY"
            )
        return {"Authorization": f"Bearer {self.operator_key}"}

    def _send(self, method: str, url: str, **options: Any) -> httpx.Response:
        try:
            answer = httpx.request(method, url, timeout=60.0, trust_env=not self.local, **options)
        except httpx.InvalidURL as error:
            raise CliError(f"{url} is no address: {error}", code=Exit.USAGE) from error
        except httpx.TransportError as error:
            raise CliError(f"no answer from {url}: {error}", code=Exit.UNREACHABLE, hint=self.hint) from error
        raise_problem(answer)
        return answer


def raise_problem(answer: httpx.Response) -> None:
    """Raise a `CliError` for any answer of 400 and above, with what its problem details say."""
    if answer.status_code < 400:
        return
    answer.read()
    try:
        problem = answer.json()
        message = str(problem.get("detail") or problem["title"])
    except (ValueError, KeyError, AttributeError):
        problem, message = {}, f"{answer.url} answered {answer.status_code}"
    code = _CODES.get(answer.status_code, Exit.REFUSED)
    raise Refused(message, code=code, hint=problem.get("hint"), problem=problem)


def _fields(problem: dict[str, Any]) -> tuple[str, ...]:
    """What is wrong with each field of what was sent, as a service tells it."""
    mistakes = problem.get("mistakes") or ()
    return tuple(f"{str(each['path']).removeprefix('body.')}: {each['message']}" for each in mistakes)


_CODES = {422: Exit.USAGE, 502: Exit.UNREACHABLE, 503: Exit.UNREACHABLE}


class Refused(CliError):
    """The range answered with a problem; ``problem`` holds all its members."""

    def __init__(self, message: str, *, code: Exit, hint: str | None, problem: dict[str, Any]) -> None:
        super().__init__(message, code=code, hint=hint, lines=_fields(problem))
        self.problem = problem


def state_folder(state: Path | None) -> StateFolder:
    """The folder that ``--state`` names, else LEAKRANGE_STATE, else ``.leakrange`` here. Raises `CliError`
    where that is a file."""
    path = state or Path(os.environ.get("LEAKRANGE_STATE") or DEFAULT_STATE)
    if path.exists() and not path.is_dir():
        raise CliError(
            f"{path} is no folder", code=Exit.USAGE, hint="give --state (or LEAKRANGE_STATE) a folder"
        )
    return StateFolder(path)


def _address(given: str, option: str) -> str:
    """``given`` without slashes at its end; raises `CliError` for what is no URL of a server."""
    try:
        url = httpx.URL(given)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise CliError(
            f"{option} {given}: this is no address of a server",
            code=Exit.USAGE,
            hint="write it in full, e.g. http://127.0.0.1:8700",
        )
    return given.rstrip("/")


def connect(state: Path | None, url: str | None) -> Connection:
    """The range at ``url`` (or LEAKRANGE_URL), else the embedded one of the state folder.

    Raises `CliError` where neither is there.
    """
    option = "--url" if url else "LEAKRANGE_URL"
    url = url or (None if state else os.environ.get("LEAKRANGE_URL"))
    if url:
        proxy = os.environ.get("LEAKRANGE_PROXY_URL")
        return Connection(
            controller=_address(url, option),
            proxy=_address(proxy, "LEAKRANGE_PROXY_URL") if proxy else None,
            operator_key=os.environ.get("LEAKRANGE_OPERATOR_KEY") or None,
            hint="is that where the controller is?",
        )
    folder = state_folder(state)
    record = folder.record()
    if record is None or not folder.held() or record.state == "failed":
        raise CliError(
            f"no range is running in {folder.root}",
            code=Exit.UNREACHABLE,
            hint="start one with 'leakrange up', or name one with --url or LEAKRANGE_URL",
        )
    return Connection(
        controller=record.controller,
        proxy=record.proxy,
        operator_key=record.operator_key,
        hint=f"'leakrange status' shows what runs, {folder.log('controller')} tells why",
        local=True,
    )
