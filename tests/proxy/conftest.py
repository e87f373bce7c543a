"""A running proxy between a real Redis and a real small provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.wire.tensors import JSON, NPY, decode_npy, encode_npy, media_type
from tests.proxy.servers import SHAPE, StubProvider, obfuscators_in, serve

OPERATOR = "0123456789abcdef-operator-of-the-tests"


def settings(redis_url: str, **changes: Any) -> ProxySettings:
    given = {"operator_key": OPERATOR, "max_body": 2_000_000, **changes}
    return ProxySettings(redis_url=redis_url, **given)


def pictures(count: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, *SHAPE), dtype=np.uint8)


@dataclass
class Range:
    """The proxy as its operator and its clients see it."""

    url: str
    provider: StubProvider
    provider_url: str
    client: httpx.Client
    redis_url: str

    def admin(self, method: str, path: str, json: Any = None, status: int | None = None) -> Any:
        answer = self.client.request(
            method, f"{self.url}/admin{path}", json=json, headers={"Authorization": f"Bearer {OPERATOR}"}
        )
        assert status is None or answer.status_code == status, answer.text
        assert status is not None or answer.is_success, answer.text
        return answer.json() if answer.content else None

    def key(self, budget: int | None = None, **more: Any) -> str:
        """Make a key; without an id its id is the name ``key``."""
        made = self.admin(
            "POST", "/keys", {"name": "tester", "budget": budget, "id": "key", **more}, status=201
        )
        return str(made["key"])

    def policy(self, *chain: Any, name: str = "policy", bind: bool = True) -> None:
        """Put a policy and bind it as the default."""
        self.admin("PUT", f"/policies/{name}", {"chain": list(chain)})
        if bind:
            self.admin("PUT", "/bindings", {"policy": name})

    def account(self, id_: str = "key") -> dict[str, Any]:
        account: dict[str, Any] = self.admin("GET", f"/keys/{id_}")
        return account

    def post(
        self,
        key: str,
        endpoint: str,
        body: bytes | dict[str, Any],
        accept: str = NPY,
        model: str = "digits",
        **headers: str,
    ) -> httpx.Response:
        sent = {"Authorization": f"Bearer {key}", "Accept": accept, "Content-Type": NPY}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        url = f"{self.url}/v1/models/{model}/{endpoint}"
        if isinstance(body, dict):
            return self.client.post(url, json=body, headers=sent | {"Content-Type": JSON})
        return self.client.post(url, content=body, headers=sent)

    def query(
        self, key: str, images: NDArray[np.uint8], endpoint: str = "logits", **headers: str
    ) -> NDArray[np.float32]:
        answer = self.post(key, endpoint, encode_npy(images), **headers)
        assert answer.status_code == 200, answer.text
        return values(answer)


def values(answer: httpx.Response) -> NDArray[np.float32]:
    """The released values of either media type."""
    if media_type(answer.headers["content-type"]) == NPY:
        return decode_npy(answer.content)
    return np.array(answer.json()["values"], dtype=np.float32)


def problem(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """The answer must be that problem."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["type"].endswith(f"/{slug}"), body
    return body


@pytest.fixture(scope="session")
def _provider() -> Iterator[tuple[StubProvider, str]]:
    stub = StubProvider()
    with serve(stub) as url:
        yield stub, url


@pytest.fixture(scope="session")
def _proxy(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        obfuscators_in(tmp_path_factory.mktemp("models"), OPERATOR) as controller,
        serve(proxy(settings(redis_url, controller_url=controller))) as url,
    ):
        yield url


@pytest.fixture
def live(_proxy: str, _provider: tuple[StubProvider, str], empty_redis_url: str) -> Iterator[Range]:
    """One proxy with a route for the model ``digits``; no policy, no key."""
    stub, provider_url = _provider
    stub.reset()
    with httpx.Client(timeout=20) as client:
        made = Range(_proxy, stub, provider_url, client, empty_redis_url)
        made.admin("PUT", "/routes/digits", {"upstream": provider_url})
        yield made


@pytest.fixture
def another(live: Range) -> Iterator[Callable[..., Range]]:
    """Start more proxies on the same Redis, with other settings where wanted."""
    started = []

    def start(**changes: Any) -> Range:
        server = serve(proxy(settings(live.redis_url, **changes)))
        started.append(server)
        return Range(server.__enter__(), live.provider, live.provider_url, live.client, live.redis_url)

    yield start
    for server in started:
        server.__exit__(None, None, None)
