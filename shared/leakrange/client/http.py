"""Requests to one server of a range: answers as they are, problems as errors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
import orjson
from pydantic import BaseModel, ValidationError

from leakrange.wire.answers import Answer, raise_problem
from leakrange.wire.errors import InvalidInput, Unauthenticated, Unavailable, UpstreamFailed
from leakrange.wire.received import ACCEPTED, Received

__all__ = ["Http", "address", "read"]

Schema = TypeVar("Schema", bound=BaseModel)
SECONDS = 60.0
"""How long a server may be silent in the middle of an answer."""
WHOLE_SECONDS = 600.0
"""How long an answer may take that is no stream."""
MAX_ANSWER = 2**30
"""Bytes of an answer: results of the largest runs are some hundred million."""
LONGEST_LINE = 2**24
"""Bytes of a line of a stream."""


def address(given: str) -> str:
    """``given`` without slashes at its end; raises `InvalidInput` for what is no URL of a server."""
    try:
        url = httpx.URL(given)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidInput(
            f"{given}: this is no address of a server", hint="write it in full, e.g. http://127.0.0.1:8700"
        )
    return given.rstrip("/")


def read(schema: type[Schema], answer: Answer) -> Schema:
    """The body of an answer; raises `UpstreamFailed` where it is something else."""
    try:
        return schema.model_validate_json(answer.body)
    except ValidationError as error:
        raise UpstreamFailed(
            f"the answer is no {schema.__name__}", hint="is this a range of the same version?"
        ) from error


class Http:
    """The server at ``url``. What only its operator may do wants the ``operator_key``.

    ``local``: no proxy of the environment stands in between. ``hint`` says what to do where nobody answers.
    All methods raise the error that the server tells, and `Unavailable` where it does not answer.
    """

    def __init__(
        self,
        url: str,
        *,
        operator_key: str | None = None,
        local: bool = False,
        hint: str = "is the range there, and up?",
    ) -> None:
        self.url, self.operator_key, self.local, self.hint = address(url), operator_key, local, hint
        # uvicorn closes idle connections after 5 s: none is used that it may be closing.
        limits = httpx.Limits(keepalive_expiry=4.0)
        self._client = httpx.Client(
            timeout=SECONDS, limits=limits, trust_env=not local, headers={"Accept-Encoding": ACCEPTED}
        )
        if operator_key is not None:  # readers may need a key as well
            self._client.headers["Authorization"] = f"Bearer {operator_key}"

    def get(self, path: str, **parameters: Any) -> Answer:
        """Ask for what viewers may see."""
        return self._send("GET", path, params=parameters)

    def operate(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Ask for what only the operator may have done, with a body of JSON, or of YAML in ``content``.

        Raises `Unauthenticated` where no operator key is known.
        """
        if self.operator_key is None:
            raise Unauthenticated(
                "this wants the operator key",
                hint="set LEAKRANGE_OPERATOR_KEY, or give the range its operator_key",
            )
        headers = {}
        if json is not None:
            content, headers["Content-Type"] = orjson.dumps(json), "application/json"
        elif content is not None:
            headers["Content-Type"] = "application/yaml"
        return self._send(method, path, params=parameters, content=content, headers=headers)

    @contextmanager
    def lines(self, path: str, headers: dict[str, str], *, quiet: float) -> Iterator[Iterator[str]]:
        """The lines of an answer as they come; `Unavailable` where ``quiet`` seconds pass without one."""
        timeout = httpx.Timeout(10.0, read=quiet)
        asked = {**headers, "Accept-Encoding": "identity"}
        with (
            self._answering(),
            self._client.stream("GET", self.url + path, headers=asked, timeout=timeout) as answer,
        ):
            if not answer.is_success:
                self._whole(answer)
            if "content-encoding" in answer.headers:
                raise UpstreamFailed(f"{self.url} packs a stream, which is not read")
            yield self._lines(answer.iter_raw())

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _send(self, method: str, path: str, **options: Any) -> Answer:
        with self._answering(), self._client.stream(method, self.url + path, **options) as answer:
            return self._whole(answer)

    def _whole(self, answer: httpx.Response) -> Answer:
        """The answer; raises the problem that it is."""
        received = Received(answer.headers.get("content-encoding"), MAX_ANSWER, self.url)
        until = time.monotonic() + WHOLE_SECONDS
        for piece in answer.iter_raw():
            received.add(piece)
            if time.monotonic() > until:
                raise Unavailable(f"the answer from {self.url} takes longer than {WHOLE_SECONDS:.0f} s")
        names = {name.lower(): value for name, value in answer.headers.items()}
        whole = Answer(answer.status_code, names, received.whole())
        raise_problem(whole)
        return whole

    def _lines(self, pieces: Iterator[bytes]) -> Iterator[str]:
        """The lines of a stream, whichever way they end. Raises `UpstreamFailed` for one that does not."""
        begun = b""
        for piece in pieces:
            *whole, begun = (begun + piece).split(b"\n")
            for line in whole:
                yield line.removesuffix(b"\r").decode(errors="replace")
            if len(begun) > LONGEST_LINE:
                raise UpstreamFailed(f"a line of a stream from {self.url} does not end")

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except httpx.RequestError as error:
            said = str(error) or type(error).__name__
            raise Unavailable(f"no answer from {self.url}: {said}", hint=self.hint) from error
