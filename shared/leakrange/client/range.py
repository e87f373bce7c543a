"""A range: its controller, its proxy, and the requests to both."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import orjson
from pydantic import TypeAdapter, ValidationError

from leakrange.client.administration import Keys, Limits, PolicyTable, RouteTable
from leakrange.client.audits import Audits
from leakrange.client.embedded import RangeFolder, state_path
from leakrange.client.http import SECONDS, Http, address
from leakrange.client.model import Model
from leakrange.client.runs import Runs
from leakrange.client.waiting import wait
from leakrange.wire.answers import Answer
from leakrange.wire.catalogue import DataEntry, Entry, ModelEntry
from leakrange.wire.errors import InvalidInput, Unavailable, UpstreamFailed
from leakrange.wire.keys import first_key
from leakrange.wire.operator import Proxy
from leakrange.wire.transport import HttpxTransport

__all__ = ["Range"]

Entries = TypeVar("Entries")

_DATA = TypeAdapter(dict[str, list[DataEntry]])
_ENTRIES = TypeAdapter(dict[str, list[Entry]])
_MODELS = TypeAdapter(dict[str, list[ModelEntry]])


class Range:
    """The range whose controller is at ``url`` and whose defence proxy is at ``proxy``.

    Reading needs no ``operator_key``; starting, cancelling and administering do. Close it, or use it in a
    ``with`` statement.
    """

    runs: Runs
    """Start scenarios, follow them, read results and reports."""
    audits: Audits
    """Have the fleet examine models."""

    def __init__(
        self,
        url: str,
        *,
        operator_key: str | None = None,
        proxy: str | None = None,
        local: bool = False,
        hint: str = "is that where the controller is?",
    ) -> None:
        self.controller = Http(url, operator_key=operator_key, local=local, hint=hint)
        self._proxy = address(proxy) if proxy else None
        self._transport = HttpxTransport(timeout=SECONDS, trust_env=not local, hint=hint)
        self.runs, self.audits = Runs(self.controller), Audits(self.controller)

    @classmethod
    def embedded(cls, state: str | Path | None = None) -> Self:
        """Connect as the operator to the range that ``leakrange up`` keeps running in a folder.

        The folder is ``state``, else the environment's ``LEAKRANGE_STATE``, else ``.leakrange``. Raises
        `Unavailable` if none is running there, `InvalidInput` if that is a file.
        """
        folder = RangeFolder(state_path(state))
        record = folder.record()
        if record is None or not folder.held() or record.state == "failed":
            raise Unavailable(
                f"no range is running in {folder.root}",
                hint="start one with 'leakrange up', or name one by its address (LEAKRANGE_URL)",
            )
        return cls(
            record.controller,
            operator_key=record.operator_key,
            proxy=record.proxy,
            local=True,
            hint=f"'leakrange status' shows what runs, {folder.log('controller')} tells why",
        )

    @classmethod
    def at(cls, url: str) -> Self:
        """Connect to the range at ``url``; its proxy and the operator key come from the environment, in
        ``LEAKRANGE_PROXY_URL`` and ``LEAKRANGE_OPERATOR_KEY``."""
        return cls(
            url,
            operator_key=first_key(os.environ.get("LEAKRANGE_OPERATOR_KEY", "")) or None,
            proxy=os.environ.get("LEAKRANGE_PROXY_URL") or None,
        )

    @classmethod
    def find(cls) -> Self:
        """Connect to the range of ``LEAKRANGE_URL`` if that is set, else the embedded one, as the
        ``leakrange`` command finds it."""
        url = os.environ.get("LEAKRANGE_URL")
        return cls.at(url) if url else cls.embedded()

    @property
    def proxy(self) -> str:
        """The address of the defence proxy; raises `InvalidInput` if it is not known."""
        if self._proxy is None:
            raise InvalidInput(
                "it is not known where the proxy is",
                hint="set LEAKRANGE_PROXY_URL, or give the range its proxy",
            )
        return self._proxy

    @property
    def keys(self) -> Keys:
        """API keys of the proxy and their budgets."""
        return Keys(self._administration())

    @property
    def limits(self) -> Limits:
        """Limits of keys beside their budgets."""
        return Limits(self._administration())

    @property
    def policies(self) -> PolicyTable:
        """The output defences, and for whom each holds."""
        return PolicyTable(self._administration())

    @property
    def routes(self) -> RouteTable:
        """The models that the proxy serves, and their upstreams."""
        return RouteTable(self._administration())

    def model(self, name: str, key: str) -> Model:
        """A model that the proxy serves, for the user of an API key."""
        return Model(self.proxy, name, key, local=self.controller.local)

    def models(self, count: int = 500) -> list[ModelEntry]:
        """The last models that the range has trained, newest first."""
        return _listed(_MODELS, self._get("/v1/models", limit=count), "models")

    def data(self) -> list[DataEntry]:
        """Data sets that scenarios can name, and why one cannot be loaded."""
        return _listed(_DATA, self._get("/v1/data"), "data")

    def attacks(self) -> list[Entry]:
        """Attacks that scenarios can name, each with its paper, equation and parameters."""
        return self._entries("attacks")

    def behaviours(self) -> list[Entry]:
        """Behaviours that a provider can be given."""
        return self._entries("behaviours")

    def defences(self) -> list[Entry]:
        """The links of a defence's chain, stage by stage in their order."""
        return self._entries("defences")

    def login_link(self, page: str = "/") -> str:
        """The address of a ``page`` for a browser: it logs in whoever opens it first, within ten minutes.

        Raises `Unauthenticated` if no operator key is known.
        """
        link: dict[str, Any] = orjson.loads(self.controller.operate("POST", "/v1/logins").body)
        return f"{self.controller.url}{link['path']}?after={quote(page, safe='')}"

    def scenario_schema(self) -> dict[str, Any]:
        """The JSON schema of scenarios."""
        schema: dict[str, Any] = orjson.loads(self._get("/v1/scenario/schema").body)
        return schema

    def close(self) -> None:
        """Close all connections."""
        self.controller.close()
        wait(self._transport.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _administration(self) -> Proxy:
        return Proxy(self._transport, self.proxy, self.controller.key(), attempts=1)

    def _get(self, path: str, **parameters: Any) -> Answer:
        return self.controller.get(path, **parameters)

    def _entries(self, name: str) -> list[Entry]:
        return _listed(_ENTRIES, self._get(f"/v1/{name}"), name)


def _listed(schema: TypeAdapter[dict[str, list[Entries]]], answer: Answer, name: str) -> list[Entries]:
    """Read the list under a name of an answer; raises `UpstreamFailed` if there is none."""
    try:
        return schema.validate_json(answer.body)[name]
    except (ValidationError, KeyError) as error:
        raise UpstreamFailed(
            f"the answer lists no {name}", hint="is this a range of the same version?"
        ) from error
