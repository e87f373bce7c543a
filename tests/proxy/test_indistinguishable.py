"""Whoever has no operator key cannot tell a curious or a vicious provider from an honest one, nor which
services are of one teacher: not by any route of the provider, nor by any of the proxy before it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
import redis
from fastapi import FastAPI

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.services.provider.main import create_provider
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.proxy.main import proxy
from leakrange.wire.schemas import Deployment
from leakrange.wire.tensors import JSON, NPY, encode_npy
from tests.provider.tiny import SHAPE, save_model
from tests.proxy.conftest import OPERATOR, settings
from tests.proxy.servers import serve

SERVED: dict[str, dict[str, Any]] = {
    "digits": {"release": "softmax"},
    "faces": {"service": "verification", "normalised": True, "threshold": 0.25},
    "people": {"service": "recognition"},
    "vectors": {"service": "features"},
    "twins": {"service": "features"},
}
KEYS = {name: f"lr_{name}-{'k' * 32}" for name in ("plain", "defended")}
IMAGES = np.random.default_rng(0).integers(0, 256, (3, *SHAPE), dtype=np.uint8)
OUTPUTS = np.array([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2]], np.float32)
BODIES: list[tuple[dict[str, str], bytes]] = [
    ({"Content-Type": NPY}, encode_npy(IMAGES)),
    ({"Content-Type": NPY, "Accept": NPY, "Idempotency-Key": "again"}, encode_npy(IMAGES)),
    ({"Content-Type": NPY}, encode_npy(np.stack([IMAGES[:2], IMAGES[1:]], axis=1))),
    ({"Content-Type": JSON}, orjson.dumps({"inputs": IMAGES.tolist()})),
    ({"Content-Type": JSON}, orjson.dumps({"release": "softmax", "values": OUTPUTS.tolist()})),
    ({"Content-Type": NPY, "X-Release": "logits", "Idempotency-Key": "once"}, encode_npy(OUTPUTS)),
    ({"Content-Type": NPY, "X-Release": "logits", "Idempotency-Key": "once"}, encode_npy(OUTPUTS[:1])),
    ({"Content-Type": NPY, "X-Release": "logits"}, encode_npy(OUTPUTS[:, :2])),
    ({"Content-Type": JSON}, b"{"),
    ({}, b""),
]
CHANGING = re.compile(rb"(_created\S* |_seconds_(?:sum|bucket)\S* )[-+.\de]+")
"""When something was counted first, and how long it took: all in which two equal servers may differ."""


@dataclass(frozen=True)
class Answer:
    """Of one request; ``body`` without what names the model that is served."""

    asked: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True)
class Provider:
    """All that a provider and the proxy before it answer, and the versions on its cards."""

    digest: str
    answers: list[Answer]
    versions: dict[str, str]


def routes(app: FastAPI) -> list[tuple[str, list[str]]]:
    """Each path of the application and its methods, with two that it does not expect."""
    found: dict[str, set[str]] = {}

    def look(router: Any) -> None:
        for route in router.routes:
            if hasattr(route, "original_router"):  # of `include_router`
                look(route.original_router)
            else:
                found.setdefault(route.path, set()).update(route.methods)

    look(app)
    for path, operations in app.openapi()["paths"].items():  # the proxy's data path is no route
        found.setdefault(path, set()).update(method.upper() for method in operations)
    return [(path, sorted(methods | {"OPTIONS", "PATCH"})) for path, methods in sorted(found.items())]


def requests(app: FastAPI, *, stranger: bool) -> Iterator[tuple[str, str, dict[str, str], bytes]]:
    """Method, path, headers and body of requests to every route: of every kind, but for a ``stranger``, who
    is sent away whatever the body is, and for models that are served like another."""
    for pattern, methods in routes(app):
        for model in (*SERVED, "nobody") if "{model}" in pattern else ("",):
            path = pattern.replace("{model}", model).replace("{upload:path}", "{upload}")
            path = re.sub(r"\{\w+\}", "ann", path)
            bodies = BODIES[:1] if stranger else BODIES if model in ("", "digits", "faces") else BODIES[:3]
            for method in methods:
                for headers, body in bodies if method in ("POST", "PUT") else [({}, b"")]:
                    yield method, path, headers, body
    yield "GET", "/nowhere", {}, b""
    yield "GET", "/metrics", {}, b""  # once more: what all of these have left there


@contextmanager
def standing(folder: Path, digest: str, redis_url: str) -> Iterator[tuple[FastAPI, str, FastAPI, str]]:
    """A provider that serves the artifact as everything that can be, and a proxy with routes to it, whose
    Redis is empty at first."""
    with redis.Redis.from_url(redis_url) as ledger:
        ledger.flushall()
    provider = create_provider(
        ProviderSettings(operator_key=OPERATOR, models_dir=folder, state_dir=folder / f"of-{digest}")
    )
    before = proxy(settings(redis_url))
    with (
        serve(provider) as upstream,
        serve(before) as url,
        httpx.Client(headers={"Authorization": f"Bearer {OPERATOR}"}, timeout=60) as operator,
    ):

        def put(where: str, body: dict[str, Any], method: str = "PUT") -> None:
            operator.request(method, where, json=body).raise_for_status()

        for name, options in SERVED.items():
            put(f"{upstream}/v1/operator/models/{name}", {"artifact": digest, **options})
            put(f"{url}/admin/routes/{name}", {"upstream": upstream})
        chain = [{"noise": {"scale": 0.1, "sticky": True}}, {"round": 2}]
        put(f"{url}/admin/policies/defended", {"chain": chain})
        for name, key in KEYS.items():
            policy = {"policy": "defended"} if name == "defended" else {}
            put(f"{url}/admin/keys", {"id": name, "name": name, "key": key, "budget": 9999, **policy}, "POST")
        yield provider.app, upstream, before.app, url


def everything(folder: Path, digest: str, redis_url: str) -> Provider:
    """What that artifact's provider and the proxy before it answer to all requests."""
    answers = []
    with standing(folder, digest, redis_url) as (provider, upstream, before, url), httpx.Client() as client:
        cards = client.get(f"{upstream}/v1/models").json()["models"]
        versions = {card["name"]: card["version"] for card in cards}
        for who, app, base, keys in (
            ("provider", provider, upstream, [None]),
            ("proxy", before, url, [None, *KEYS.values()]),
        ):
            for key in keys:
                allowed = {} if key is None else {"Authorization": f"Bearer {key}"}
                for method, path, headers, body in requests(app, stranger=app is before and not key):
                    told = client.request(method, base + path, headers=headers | allowed, content=body)
                    told.headers.pop("date", None)
                    shown = CHANGING.sub(rb"\1", told.content)
                    if shown != told.content:
                        assert int(told.headers.pop("content-length")) == len(told.content)
                    asked = f"{who}: {method} {path} {headers} {key}"
                    answers.append(Answer(asked, told.status_code, told.headers.multi_items(), shown))
    return Provider(digest, answers, versions)


def anonymous(provider: Provider) -> list[Answer]:
    """Its answers, without the versions of its models."""

    def without(text: str) -> str:
        for version in provider.versions.values():
            text = text.replace(version, "VERSION")
        return text

    return [
        replace(
            answer,
            headers=[(name, without(value)) for name, value in answer.headers],
            body=without(answer.body.decode("latin-1")).encode("latin-1"),
        )
        for answer in provider.answers
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def honest(folder: Path, redis_url: str) -> Provider:
    return everything(folder, save_model(folder), redis_url)


@pytest.mark.parametrize("decoder", ["net", "reconstruction"])
def test_all_routes_answer_as_those_of_an_honest_provider(
    folder: Path, honest: Provider, redis_url: str, decoder: str
) -> None:
    """The same weights served by both: status, headers, bodies and counters agree in every byte."""
    hiding = everything(folder, save_model(folder, decoder=decoder, release="softmax"), redis_url)
    assert len(honest.answers) == len(hiding.answers) > 500
    assert len({answer.status for answer in honest.answers}) > 7  # they were not all refused
    for one, other in zip(anonymous(honest), anonymous(hiding), strict=True):
        assert one == other
    for name in SERVED:
        assert re.fullmatch("[0-9a-f]{12}", hiding.versions[name])
    assert set(honest.versions.values()).isdisjoint(hiding.versions.values())


def test_no_answer_holds_a_digest_that_somebody_could_recompute(folder: Path, honest: Provider) -> None:
    record = orjson.loads((folder / honest.digest / "training.json").read_bytes())
    recipe = TrainingRecipe.model_validate(record["recipe"])
    told = "\n".join(f"{answer.headers} {answer.body.decode('latin-1')}" for answer in honest.answers)
    assert all(version in told for version in honest.versions.values())
    for options in SERVED.values():
        answers = Deployment(artifact=recipe.digest(), **options).answers()
        for guess in (answers, hashlib.sha256(answers.encode()).hexdigest()):
            assert guess[:8] not in told


def test_services_of_one_artifact_do_not_share_a_version(honest: Provider) -> None:
    """Not even two that are served alike."""
    assert len(set(honest.versions.values())) == len(honest.versions) == len(SERVED)
