"""How requests to targets prove who asks: secrets of the environment, tokens, signatures, certificates."""

from __future__ import annotations

import asyncio
import base64
import importlib
import ssl
import time
from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson

from leakrange.targets.dialogue import TargetCall, with_secrets
from leakrange.targets.target import Certificate, OAuth2, RemoteTarget, SigV4
from leakrange.wire.errors import InvalidInput, UpstreamFailed

__all__ = ["Credentials", "whole_body"]

RESERVED = ("LEAKRANGE_", "AWS_", "PATH", "HOME")
"""Beginnings of names of variables that no file may have sent to somebody else."""
EARLY = 30.0
"""Seconds before its end at which a token is replaced."""


MOST_OF_A_TOKEN = 65_536
"""Bytes of the answer that holds a token."""


async def whole_body(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The whole body of an answer, in however many pieces it comes. Raises `UpstreamFailed` where it has more
    than ``most`` bytes."""
    body = bytearray()
    while piece := await response.content.read(most + 1 - len(body)):
        body += piece
        if len(body) > most:
            raise UpstreamFailed(f"{response.url} answers with more than {most} bytes")
    return bytes(body)


class Credentials:
    """The credentials of all targets. All methods raise `InvalidInput` for what is missing or refused."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._tokens: dict[OAuth2, tuple[str, float]] = {}
        self._lock = asyncio.Lock()
        self._contexts: dict[Certificate, ssl.SSLContext] = {}

    async def headers(
        self, session: aiohttp.ClientSession, target: RemoteTarget, call: TargetCall
    ) -> dict[str, str]:
        """The headers of a request, with all that proves who asks."""
        if reserved := sorted(name for name in target.variables if name.startswith(RESERVED)):
            raise InvalidInput(f"the variable {reserved[0]} is sent to nobody")
        headers = with_secrets(call.headers, self._environment)
        how = target.authentication
        if how.oauth2 is not None:
            headers["Authorization"] = f"Bearer {await self._token(session, target, how.oauth2)}"
        if how.sigv4 is not None:
            headers = self._signed(how.sigv4, call, headers)
        return headers

    def forget(self, target: RemoteTarget) -> bool:
        """Forget the token of a target that refused it; whether there was one."""
        oauth2 = target.authentication.oauth2
        return oauth2 is not None and self._tokens.pop(oauth2, None) is not None

    def hidden(self, target: RemoteTarget, text: str) -> str:
        """The text of an answer with names in the place of secrets that it repeats."""
        names = {self._environment.get(name, ""): f"${{{name}}}" for name in target.variables}
        oauth2 = target.authentication.oauth2
        if oauth2 is not None and oauth2 in self._tokens:
            names[self._tokens[oauth2][0]] = "(the token)"
        for secret in sorted(filter(None, names), key=len, reverse=True):
            text = text.replace(secret, names[secret])
        return text

    def tls(self, target: RemoteTarget) -> ssl.SSLContext | bool:
        """The TLS context of a target's connections; True for that of everybody."""
        files = target.authentication.tls
        if files is None:
            return True
        if files not in self._contexts:
            password = None if files.password is None else self._value(files.password)
            try:
                context = ssl.create_default_context(cafile=files.authority)
                context.load_cert_chain(files.certificate, files.key, password)
            except (OSError, ValueError) as error:
                raise InvalidInput(f"the certificate of the target cannot be read: {error}") from error
            self._contexts[files] = context
        return self._contexts[files]

    def _value(self, secret: str) -> str:
        return with_secrets({"": secret}, self._environment)[""]

    async def _token(self, session: aiohttp.ClientSession, target: RemoteTarget, oauth2: OAuth2) -> str:
        async with self._lock:
            token, until = self._tokens.get(oauth2, ("", 0.0))
            if time.monotonic() < until - EARLY:
                return token
            form = {"grant_type": "client_credentials"}
            form |= {} if oauth2.scope is None else {"scope": oauth2.scope}
            client = f"{self._value(oauth2.client_id)}:{self._value(oauth2.client_secret)}"
            basic = {"Authorization": f"Basic {base64.b64encode(client.encode()).decode()}"}
            asked = session.post(
                oauth2.token_url,
                data=form,
                headers=basic,
                allow_redirects=False,
                ssl=self.tls(target),
                timeout=aiohttp.ClientTimeout(total=target.limits.timeout),
            )
            async with asked as response:
                body = await whole_body(response, MOST_OF_A_TOKEN)
                if response.status != 200:
                    raise InvalidInput(f"{oauth2.token_url} gives no token: it answered {response.status}")
            try:
                given = orjson.loads(body)
                token, seconds = str(given["access_token"]), float(given.get("expires_in", 300))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InvalidInput(f"{oauth2.token_url} gives no token: {error!r}") from error
            self._tokens[oauth2] = token, time.monotonic() + seconds
            return token

    def _signed(self, how: SigV4, call: TargetCall, headers: dict[str, str]) -> dict[str, str]:
        try:
            auth, request = (importlib.import_module(f"botocore.{name}") for name in ("auth", "awsrequest"))
            credentials = importlib.import_module("botocore.credentials")
        except ImportError as error:
            raise InvalidInput(
                "requests to AWS are signed by botocore, which is not installed where the proxy runs",
                hint="pip install botocore",
            ) from error
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        if missing := [name for name in names if name not in self._environment]:
            raise InvalidInput(f"the environment variable {missing[0]} is not set where the proxy runs")
        keys = credentials.Credentials(
            *(self._environment[name] for name in names), self._environment.get("AWS_SESSION_TOKEN")
        )
        signed: Any = request.AWSRequest(call.method, call.url, headers, call.body or b"")
        auth.SigV4Auth(keys, how.service, how.region).add_auth(signed)
        return dict(signed.headers.items())
