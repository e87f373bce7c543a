"""Requests to one server of a range: answers are returned unchanged, problems raised as errors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import orjson

from leakrange.wire.answers import Answer, raise_problem
from leakrange.wire.errors import InvalidInput, Unauthenticated, Unavailable, UpstreamFailed
from leakrange.wire.transport import ACCEPTED, Received

__all__ = ["SECONDS", "Http", "address"]

SECONDS = 60.0
"""How long a server may be silent in the middle of an answer."""
WHOLE_SECONDS = 600.0
"""How long an answer may take that is no stream."""
MAX_ANSWER = 2**30
"""Bytes of an answer: results of the largest runs are some hundred million."""
LONGEST_LINE = 2**24
"""Bytes of a line of a stream."""


def address(given: str) -> str:
    """Return ``given`` without slashes at its end; raises `InvalidInput` if it is no URL of a server."""
    try:
        url = httpx.URL(given)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidInput(
            f"{given}: this is no address of a server", hint="write it in full, e.g. http://127.0.0.1:8700"
        )
    return given.rstrip("/")


class Http:
    """The server at ``url``. Operations of its operator require the ``operator_key``.

    ``local``: the environment's proxies are not used. ``hint`` says what to do if nobody answers. All methods
    raise the error in the server's answer, and `Unavailable` without an answer.
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
        """Send a request that needs no operator key."""
        return self._send("GET", path, params=parameters)

    def operate(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        parameters: Mapping[str, Any] | None = None,
        quiet: float = SECONDS,
    ) -> Answer:
        """Send a request as the operator, with a body of JSON, or of YAML in ``content``. The server may be
        silent for ``quiet`` seconds.

        Raises `Unauthenticated` if no operator key is known.
        """
        self.key()
        headers = {}
        if json is not None:
            content, headers["Content-Type"] = orjson.dumps(json), "application/json"
        elif content is not None:
            headers["Content-Type"] = "application/yaml"
        timeout = httpx.Timeout(SECONDS, read=quiet)
        return self._send(method, path, params=parameters, content=content, headers=headers, timeout=timeout)

    def key(self) -> str:
        """The operator key; raises `Unauthenticated` if none is known."""
        if self.operator_key is None:
            raise Unauthenticated(
                "this wants the operator key",
                hint="set LEAKRANGE_OPERATOR_KEY, or give the range its operator_key",
            )
        return self.operator_key

    @contextmanager
    def lines(self, path: str, headers: dict[str, str], *, quiet: float) -> Iterator[Iterator[str]]:
        """Yield the lines of an answer as they come; raises `Unavailable` if ``quiet`` seconds pass without
        one."""
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

    def pieces(self, path: str, **parameters: Any) -> Iterator[bytes]:
        """Yield an answer of any length in pieces as they come; raises `UpstreamFailed` if it breaks off."""
        asked = {"Accept-Encoding": "identity"}
        with (
            self._answering(),
            self._client.stream("GET", self.url + path, params=parameters, headers=asked) as answer,
        ):
            if not answer.is_success:
                self._whole(answer)
            try:
                yield from answer.iter_raw()
            except httpx.RemoteProtocolError as error:
                raise UpstreamFailed(f"the answer from {self.url} broke off", hint="ask again") from error

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _send(self, method: str, path: str, **options: Any) -> Answer:
        with self._answering(), self._client.stream(method, self.url + path, **options) as answer:
            return self._whole(answer)

    def _whole(self, answer: httpx.Response) -> Answer:
        """Read the answer; raises its error if it is a problem."""
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
        """Yield the lines of a stream, with any line ending. Raises `UpstreamFailed` for a line that does not
        end."""
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
            reason = str(error) or type(error).__name__
            raise Unavailable(f"no answer from {self.url}: {reason}", hint=self.hint) from error
