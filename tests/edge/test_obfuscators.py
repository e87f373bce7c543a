"""What is trained for a device's defence: fetched through the proxy, checked, kept, and applied before
anything leaves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from pydantic import SecretStr

from leakrange.data import Samples, load
from leakrange.defences.artifact import load as load_artifact
from leakrange.defences.artifact import save
from leakrange.defences.chain import DefenceChain
from leakrange.defences.training import train_defence
from leakrange.services.proxy.main import proxy as create_proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.wire.names import upload_name
from leakrange.wire.tensors import NPY, decode_npy, encode_npy
from tests.edge.conftest import KEY, OPERATOR, edge_app
from tests.edge.recording import Tap, tapping
from tests.edge.test_edge import DATA, order, play, problem
from tests.proxy.servers import obfuscators_in
from tests.serving import serving

USER = "lr_user" + "0" * 32
LINK = {"private": "large", "useful": "parity", "width": 0.1, "epochs": 1, "batch": 64}
LINK |= {"substitutes": 24, "embedding": 8, "temperature": 0.5}
UNKNOWN = "f" * 64


@dataclass(frozen=True)
class Trained:
    """A PASS for digits, trained for a moment: its chain, its files, and the substitutes that it draws."""

    chain: list[dict[str, Any]]
    folder: Path
    sha256: str
    substitutes: set[bytes]

    @property
    def digest(self) -> str:
        return self.folder.name

    @property
    def files(self) -> dict[str, str]:
        return {self.digest: self.sha256}


@pytest.fixture(scope="module")
def samples() -> Samples:
    return load(DATA)


@pytest.fixture(scope="module")
def trained(samples: Samples, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    planned, (recipe,) = DefenceChain.parse([{"pass": LINK}]).planned(DATA, seed=5)
    folder = save(tmp_path_factory.mktemp("models"), train_defence(recipe, samples))
    found = load_artifact(folder)
    substitutes = found.module.get_buffer("substitutes").numpy()
    return Trained(planned.spec(), folder, found.sha256, {each.tobytes() for each in substitutes})


@contextmanager
def proxy_to(provider: httpx.Client, redis_url: str, controller_url: str, models: list[str]) -> Iterator[Tap]:
    """A tapped proxy before the provider, with the key ``user`` for these ``models``."""
    settings = ProxySettings(
        redis_url=redis_url, operator_key=SecretStr(KEY), controller_url=controller_url, upstream_timeout=5
    )
    with (
        serving(create_proxy(settings)) as url,
        httpx.Client(base_url=url, headers=OPERATOR, timeout=120) as admin,
        tapping(url) as tap,
    ):
        upstream = str(provider.base_url).rstrip("/")
        admin.put("/admin/routes/model", json={"upstream": upstream}).raise_for_status()
        made = {"name": "user", "id": "user", "key": USER, "budget": None, "models": models}
        made["endpoints"] = ["artifact", "outputs"]
        admin.post("/admin/keys", json=made).raise_for_status()
        yield tap


@pytest.fixture
def tap(provider: httpx.Client, empty_redis_url: str, trained: Trained) -> Iterator[Tap]:
    with (
        obfuscators_in(trained.folder.parent, KEY) as url,
        proxy_to(provider, empty_redis_url, url, ["model", trained.digest, UNKNOWN]) as tap,
    ):
        yield tap


@pytest.fixture
def edge() -> Iterator[httpx.Client]:
    """A device that has fetched nothing yet."""
    with serving(edge_app()) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


def fetched(tap: Tap) -> list[str]:
    return [each.target for each in tap.requests() if "/obfuscators/" in each.target]


def uploads(tap: Tap) -> list[bytes]:
    return [each.body for each in tap.requests() if each.method == "POST"]


def sends(tap: Tap, trained: Trained, upload: str, **more: Any) -> dict[str, Any]:
    given = {"api_key": USER, "release": "sample", "defence": trained.chain, "obfuscators": trained.files}
    return order(tap.url, upload, **(given | more))


def bytes_of(values: Any) -> list[bytes]:
    return [each.tobytes() for each in np.asarray(values, np.float32).astype(np.uint8)]


def test_substitutes_leave_and_the_file_is_fetched_once(
    edge: httpx.Client, tap: Tap, trained: Trained, provider: httpx.Client, samples: Samples
) -> None:
    own = {each.tobytes() for each in samples.values[samples.where("test")[:40]]}
    for upload in ("first", "second"):
        play(edge, sends(tap, trained, upload, samples=(0, 40))).raise_for_status()
        place = f"/v1/operator/models/model/intake/{upload_name('user', upload)}"
        values = bytes_of(provider.get(place, headers=OPERATOR).raise_for_status().json()["values"])
        assert set(values) <= trained.substitutes
        assert not set(values) & own
        assert len(set(values)) > 5
    assert fetched(tap) == [f"/v1/obfuscators/{trained.digest}"]


@pytest.mark.parametrize(("files", "fetches"), [(2.0, 2), (1.9, 3), (0.1, 3)])
def test_obfuscators_are_kept_as_far_as_their_bytes_allow(
    tap: Tap, trained: Trained, files: float, fetches: int
) -> None:
    room = int(files * len((trained.folder / "defence.safetensors").read_bytes()))
    sticky = [{"pass": trained.chain[0]["pass"] | {"sticky": True}}]
    with (
        serving(edge_app(obfuscator_bytes=room)) as url,
        httpx.Client(base_url=url, timeout=120) as edge,
    ):
        for number, chain in enumerate((trained.chain, sticky, sticky, trained.chain, trained.chain)):
            play(edge, sends(tap, trained, f"upload-{number}", defence=chain)).raise_for_status()
    assert len(fetched(tap)) == fetches


def test_a_changed_file_is_refused_and_leaves_nothing_behind(
    edge: httpx.Client, tap: Tap, trained: Trained
) -> None:
    other = {trained.digest: hashlib.sha256(b"another file").hexdigest()}
    told = problem(play(edge, sends(tap, trained, "one", obfuscators=other)), 422, "invalid-artifact")
    assert f"SHA-256 {trained.sha256}, not {other[trained.digest]}" in told["detail"]
    told = problem(play(edge, sends(tap, trained, "two", obfuscators={})), 422, "invalid-input")
    assert f"the SHA-256 of the obfuscator {trained.digest[:12]} is not given" in told["detail"]
    assert uploads(tap) == []
    play(edge, sends(tap, trained, "one")).raise_for_status()
    assert (len(uploads(tap)), len(fetched(tap))) == (1, 2)


def test_a_damaged_file_is_not_given_out(edge: httpx.Client, tap: Tap, trained: Trained) -> None:
    file = trained.folder / "defence.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    try:
        told = problem(play(edge, sends(tap, trained, "damaged")), 422, "invalid-artifact")
    finally:
        file.write_bytes(whole)
    assert told["detail"] == f"the file of the obfuscator {trained.digest[:12]} is damaged"
    assert "run the scenario again" in told["hint"]
    play(edge, sends(tap, trained, "damaged")).raise_for_status()


def test_an_unknown_obfuscator_is_told(edge: httpx.Client, tap: Tap, trained: Trained) -> None:
    chain = [{"pass": trained.chain[0]["pass"] | {"artifact": UNKNOWN}}]
    asked = sends(tap, trained, "unknown", defence=chain, obfuscators={UNKNOWN: trained.sha256})
    told = problem(play(edge, asked), 404, "not-found")
    assert told["detail"] == f"the range has no obfuscator {UNKNOWN[:12]}"


def test_a_controller_that_is_away_is_told_and_nothing_is_sent(
    edge: httpx.Client, provider: httpx.Client, empty_redis_url: str, trained: Trained
) -> None:
    away = "http://127.0.0.1:9"
    with proxy_to(provider, empty_redis_url, away, ["model", trained.digest]) as tap:
        told = problem(play(edge, sends(tap, trained, "away")), 503, "unavailable")
        assert "the controller, which has the obfuscators, does not answer now" in told["detail"]
        assert uploads(tap) == []


def test_a_key_gets_the_obfuscators_among_its_models_alone(
    edge: httpx.Client, provider: httpx.Client, empty_redis_url: str, trained: Trained
) -> None:
    with (
        obfuscators_in(trained.folder.parent, KEY) as url,
        proxy_to(provider, empty_redis_url, url, ["model"]) as tap,
    ):
        told = problem(play(edge, sends(tap, trained, "forbidden")), 403, "forbidden")
        assert told["detail"] == f"this key may not have the obfuscator {trained.digest[:12]}"
        path = f"/v1/obfuscators/{trained.digest}"
        user = {"Authorization": f"Bearer {USER}"}
        problem(httpx.get(tap.url + path), 401, "unauthenticated")
        problem(httpx.get(url + path, headers=user), 403, "forbidden")
        assert (
            httpx.get(url + path, headers=OPERATOR).content
            == (trained.folder / "defence.safetensors").read_bytes()
        )
        assert httpx.post(tap.url + path, headers=user).status_code == 405
        for nonsense in ("/v1/obfuscators", "/v1/obfuscators/..%2fmodels", path + "/x", path[:-1]):
            assert httpx.get(tap.url + nonsense, headers=user).status_code == 404


def test_a_device_answers_its_own_user_under_a_budget_of_its_own(
    edge: httpx.Client, tap: Tap, trained: Trained, samples: Samples
) -> None:
    users = samples.values[samples.where("test")[:4]]
    body = {"url": tap.url, "api_key": USER, "model": "model", "release": "softmax", "budget": 10}
    sticky = [{"pass": trained.chain[0]["pass"] | {"sticky": True}}, {"round": {"decimals": 1}}]
    body |= {"defence": sticky, "obfuscators": trained.files}
    edge.post("/v1/enrolments", json=body, headers=OPERATOR).raise_for_status()

    def ask(accept: str, key: str = USER) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": NPY, "Accept": accept}
        return edge.post("/v1/models/model/sample", content=encode_npy(users), headers=headers)

    problem(ask(NPY, key=KEY), 403, "forbidden")
    first = ask(NPY).raise_for_status()
    assert (first.headers["RateLimit-Limit"], first.headers["RateLimit-Remaining"]) == ("10", "6")
    values = decode_npy(first.content)
    assert values.shape == users.shape
    assert set(bytes_of(values)) <= trained.substitutes
    told = ask("application/json").raise_for_status().json()
    assert told["release"] == "sample"
    np.testing.assert_array_equal(np.array(told["values"], np.float32), values)  # sticky
    edge.post("/v1/enrolments", json=body, headers=OPERATOR).raise_for_status()  # changes nothing
    refused = ask(NPY)
    assert problem(refused, 429, "budget-exhausted")["remaining"] == 2
    assert refused.headers["RateLimit-Remaining"] == "2"
    assert uploads(tap) == []
    # The user's samples go out as the same substitutes: the model's outputs on them, rounded.
    sent = {"Authorization": f"Bearer {USER}", "Content-Type": NPY}
    edge.post("/v1/models/model/decisions", content=encode_npy(users), headers=sent).raise_for_status()
    [left] = uploads(tap)
    assert decode_npy(left).shape == (4, 3)
    edge.post("/v1/enrolments", json=body | {"defence": []}, headers=OPERATOR).raise_for_status()
    assert "changes no samples" in problem(ask(NPY), 422, "invalid-input")["detail"]
