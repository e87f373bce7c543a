"""A provider that was restarted or killed goes on where it was, and loses nothing."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from leakrange.nets.decoder import AttackNet
from leakrange.providers import artifact
from leakrange.providers.decoders.net import NetDecoder
from leakrange.services.provider.database import SQLite
from leakrange.services.provider.decoding import DecodingProcess
from leakrange.services.provider.main import create_provider
from leakrange.services.provider.store import Store, StoredUpload
from leakrange.wire.errors import InvalidArtifact
from tests.patience import patience, until
from tests.provider.conftest import KEY, OPERATOR, Provider, settings_for
from tests.provider.test_intake import OUTPUTS, intake, upload
from tests.provider.test_native import problem
from tests.provider.tiny import save_model
from tests.serving import serving


def test_a_restarted_provider_goes_on_where_it_was(
    models_dir: Path, digests: dict[str, str], tmp_path: Path, decoding: DecodingProcess
) -> None:
    with (
        serving(create_provider(settings_for(models_dir, tmp_path), decoding)) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        made = Provider(url, client, models_dir)
        made.deploy("kept", digests["net"], release="softmax").raise_for_status()
        made.deploy("dropped", digests["honest"]).raise_for_status()
        first = upload(client, "kept", OUTPUTS, "before")
        client.delete("/v1/operator/models/dropped", headers=OPERATOR).raise_for_status()
        card = client.get("/v1/models/kept").json()
        record = intake(client, "kept", "before")
    with (
        serving(create_provider(settings_for(models_dir, tmp_path), decoding)) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        assert client.get("/v1/models").json() == {"models": [card]}
        assert intake(client, "kept", "before") == record
        assert upload(client, "kept", OUTPUTS, "before").content == first.content


def test_what_was_read_of_several_hidden_attributes_is_kept(
    tmp_path: Path, decoding: DecodingProcess
) -> None:
    net, uploaded = AttackNet(5, 5).eval(), np.eye(5, dtype=np.float32)[[4, 1, 2]]
    decoder = NetDecoder(net, "logits", heads=(2, 3), hidden=(2, 3))
    digest = save_model(tmp_path / "models", decoder=decoder, heads=(2, 3))
    app = create_provider(settings_for(tmp_path / "models", tmp_path), decoding)
    with serving(app) as url, httpx.Client(base_url=url, timeout=120) as client:
        Provider(url, client, tmp_path / "models").deploy("two", digest).raise_for_status()
        card = client.get("/v1/models/two").json()
        answers = [upload(client, "two", uploaded, "u") for _ in range(2)]
        first, again = (intake(client, "two", "u") for _ in range(2))
    assert (card["heads"], len(card["classes"])) == ([2, 3], 5)
    assert [answer.json()["decisions"] for answer in answers] == [[[0, 2], [1, 0], [0, 0]]] * 2
    assert first["decisions"] == [[0, 2], [1, 0], [0, 0]]
    assert first == again  # decoded once, then as it was stored
    scores = np.asarray(first["scores"])
    assert scores.shape == (3, 5)
    both = np.stack([scores[:, :2].argmax(axis=1), scores[:, 2:].argmax(axis=1)], axis=1)
    assert first["inferred"] == both.tolist()


async def test_uploads_of_any_shape_are_kept_and_an_earlier_version_s_are_found(
    tmp_path: Path,
) -> None:
    connection = sqlite3.connect(tmp_path / "provider.sqlite")
    connection.execute(
        "create table uploads (number integer primary key, model text not null, upload text not null,"
        " artifact text not null, release text not null, samples integer not null, given blob not null,"
        " decisions blob not null, inferred blob, scores blob, unique (model, upload))"
    )
    earlier = np.arange(6, dtype=np.float32).reshape(3, 2)
    row = ("m", "old", "a" * 64, "logits", 3, earlier.tobytes(), np.zeros(3, np.int64).tobytes())
    columns = "model, upload, artifact, release, samples, given, decisions"
    connection.execute(f"insert into uploads ({columns}) values (?, ?, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    for _ in range(2):  # a file that is up to date stays as it is
        store = Store(SQLite(tmp_path / "provider.sqlite"))
        await store.database.open()
        for shape in ((2, 3), (2, 4, 4, 1), (1, 5, 2)):
            values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
            decisions = np.zeros(len(values), np.int64)
            await store.take_in(StoredUpload(str(shape), "m", "a" * 64, "logits", values, decisions))
            kept = await store.upload("m", str(shape))
            assert kept is not None
            np.testing.assert_array_equal(kept.values, values)
        old = await store.upload("m", "old")
        assert old is not None
        np.testing.assert_array_equal(old.values, earlier)
        await store.database.close()


def test_what_was_taken_in_is_decoded_by_the_version_that_took_it_in(
    provider: Provider, digests: dict[str, str], models_dir: Path
) -> None:
    """Even if the model was replaced or withdrawn before anybody read it."""
    curious = save_model(models_dir, seed=7, decoder="net")
    decoder = artifact.load(models_dir / curious).decoder
    assert decoder is not None
    provider.deploy("moved", curious).raise_for_status()
    upload(provider.client, "moved", OUTPUTS, "early").raise_for_status()
    upload(provider.client, "moved", OUTPUTS, "before").raise_for_status()
    provider.deploy("moved", digests["honest"]).raise_for_status()
    upload(provider.client, "moved", OUTPUTS, "late").raise_for_status()
    provider.deploy("moved", digests["threshold"]).raise_for_status()
    upload(provider.client, "moved", OUTPUTS, "last").raise_for_status()
    expected = decoder.infer(OUTPUTS, "logits")[1].tolist()
    assert intake(provider.client, "moved", "early")["scores"] == expected
    assert intake(provider.client, "moved", "late")["inferred"] is None
    provider.client.delete("/v1/operator/models/moved", headers=OPERATOR).raise_for_status()
    assert intake(provider.client, "moved", "before")["scores"] == expected
    assert intake(provider.client, "moved", "last")["scores"] not in (None, expected)


def test_a_repeat_is_answered_for_the_version_that_took_it_in(
    provider: Provider, digests: dict[str, str]
) -> None:
    provider.deploy("changed", digests["honest"]).raise_for_status()
    first = upload(provider.client, "changed", OUTPUTS, "sent-again")
    provider.deploy("changed", digests["other"]).raise_for_status()
    assert upload(provider.client, "changed", OUTPUTS, "sent-again").json() == first.json()
    assert upload(provider.client, "changed", OUTPUTS, "new").json()["version"] != first.json()["version"]


async def test_nothing_is_decoded_before_the_operator_reads_it(
    models_dir: Path, digests: dict[str, str], tmp_path: Path, decoding: DecodingProcess
) -> None:
    """Or an upload would cost a curious provider more than an honest one, and the next request would tell."""
    with (
        serving(create_provider(settings_for(models_dir, tmp_path), decoding)) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        Provider(url, client, models_dir).deploy("m", digests["net"]).raise_for_status()
        for key in ("read", "unread"):
            upload(client, "m", OUTPUTS, key).raise_for_status()
        assert intake(client, "m", "read")["inferred"] is not None
    store = Store(SQLite(tmp_path / "provider.sqlite"))
    await store.database.open()
    kept = {each.upload: each.inferred is not None for each in await store.uploads("m", None, 9)}
    await store.database.close()
    assert kept == {"read": True, "unread": False}


def test_an_artifact_that_vanished_does_not_stop_a_restart(
    models_dir: Path, digests: dict[str, str], tmp_path: Path
) -> None:
    lost = save_model(models_dir, seed=9)
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url) as client,
    ):
        made = Provider(url, client, models_dir)
        made.deploy("kept", digests["honest"]).raise_for_status()
        made.deploy("lost", lost).raise_for_status()
    shutil.rmtree(models_dir / lost)
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url) as client,
    ):
        assert [card["name"] for card in client.get("/v1/models").json()["models"]] == ["kept"]


async def test_what_was_not_decoded_when_the_provider_died_is_decoded_when_it_is_read(
    models_dir: Path, digests: dict[str, str], tmp_path: Path, decoding: DecodingProcess
) -> None:
    store = Store(SQLite(tmp_path / "provider.sqlite"))
    await store.database.open()
    await store.take_in(
        StoredUpload("u", "m", digests["threshold"], "logits", OUTPUTS, np.array([1, 0, 2], np.int64))
    )
    await store.database.close()
    decoder = artifact.load(models_dir / digests["threshold"]).decoder
    assert decoder is not None
    with (
        serving(create_provider(settings_for(models_dir, tmp_path), decoding)) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        assert intake(client, "m", "u")["inferred"] == decoder.infer(OUTPUTS, "logits")[0].tolist()


def test_what_decodes_is_replaced_when_it_dies(provider: Provider) -> None:
    for key in ("first", "second"):
        upload(provider.client, "curious", OUTPUTS, key).raise_for_status()
    first = intake(provider.client, "curious", "first")
    [victim] = decoding_for(os.getpid())
    os.kill(victim, signal.SIGKILL)
    wait_for_end(victim)
    second = intake(provider.client, "curious", "second")
    assert first["scores"] is not None
    assert second["scores"] == first["scores"]
    [successor] = decoding_for(os.getpid())
    assert successor != victim


def test_the_operator_is_told_of_a_decoder_that_was_damaged_while_it_was_served(
    provider: Provider, models_dir: Path
) -> None:
    digest = save_model(models_dir, seed=8, decoder="net")
    provider.deploy("damaged", digest).raise_for_status()
    upload(provider.client, "damaged", OUTPUTS, "u").raise_for_status()
    file = models_dir / digest / artifact.DECODER
    file.write_bytes(file.read_bytes()[:-1])
    answer = provider.client.get("/v1/operator/models/damaged/intake/u", headers=OPERATOR)
    told = problem(answer, 422, "invalid-artifact")
    assert str(file) in told["detail"]
    assert "trained again" in told["hint"]


def test_a_killed_provider_loses_nothing_and_leaves_nothing_behind(
    models_dir: Path, digests: dict[str, str], tmp_path: Path, decoding: DecodingProcess
) -> None:
    """The real process, killed by the kernel right after its last answer. What decodes for it is a process of
    the lowest priority, which is there once it is needed, and dies with it."""
    values = {f"u{number}": OUTPUTS + number for number in range(20)}
    with process(models_dir, tmp_path) as (url, victim), httpx.Client(base_url=url, timeout=120) as client:
        Provider(url, client, models_dir).deploy("m", digests["net"]).raise_for_status()
        for key, given in values.items():
            upload(client, "m", given, key).raise_for_status()
        assert not decoding_for(victim.pid)
        intake(client, "m", "u0")
        [(decoder, nice)] = decoding_for(victim.pid).items()
        assert nice == 19
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        wait_for_end(decoder)
    with (
        serving(create_provider(settings_for(models_dir, tmp_path), decoding)) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        for key, given in values.items():
            record = intake(client, "m", key)
            assert record["values"] == given.tolist()
            assert record["inferred"] is not None


def decoding_for(parent: int) -> dict[int, int]:
    """The processes that decode for a provider: by process id, how nice they are."""
    return {
        pid: nice
        for pid, (above, nice, command) in processes().items()
        if above == parent and "spawn_main" in command
    }


def processes() -> dict[int, tuple[int, int, str]]:
    """Parent, niceness and command of every process by its id; zombies are left out."""
    fields = "pid=,ppid=,nice=,stat=,args="
    listing = subprocess.run(["ps", "-ww", "-e", "-o", fields], capture_output=True, text=True, check=True)
    found = {}
    for line in listing.stdout.splitlines():
        pid, above, nice, state, command = line.split(maxsplit=4)
        if not state.startswith("Z"):
            found[int(pid)] = int(above), int(nice) if nice != "-" else 0, command
    return found


def wait_for_end(pid: int) -> None:
    until(lambda: pid not in processes(), 60, f"process {pid} goes on")


@contextmanager
def process(models_dir: Path, state_dir: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """``python -m leakrange.services.provider``, ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "LEAKRANGE_OPERATOR_KEY": KEY,
        "LEAKRANGE_PORT": str(port),
        "LEAKRANGE_MODELS_DIR": str(models_dir),
        "LEAKRANGE_STATE_DIR": str(state_dir),
    }
    child = subprocess.Popen(
        [sys.executable, "-m", "leakrange.services.provider"],
        env=os.environ | settings,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + patience(120)
        while True:
            try:
                httpx.get(f"{url}/readyz").raise_for_status()
                break
            except httpx.TransportError:
                assert child.poll() is None, "the provider did not start"
                assert time.monotonic() < deadline
                time.sleep(0.05)  # not listening yet
        yield url, child
    finally:
        child.kill()
        child.wait()


def test_an_older_version_s_models_are_left_out_with_a_reason_and_its_uploads_kept(
    tmp_path: Path, decoding: DecodingProcess, capfd: pytest.CaptureFixture[str]
) -> None:
    older = Path(__file__).parents[1] / "older"
    connection = sqlite3.connect(tmp_path / "provider.sqlite")
    connection.executescript((older / "provider.sql").read_text(encoding="utf-8"))
    [(model, upload_id, deployed)] = connection.execute(
        "select uploads.model, upload, deployments.artifact from uploads join deployments using (model)"
    )
    connection.close()
    with pytest.raises(InvalidArtifact, match="an older Leakrange wrote this model file; train or download"):
        artifact.load(older / "models" / deployed)
    with (
        serving(create_provider(settings_for(older / "models", tmp_path), decoding)) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        assert client.get("/v1/models").json() == {"models": []}
        told = capfd.readouterr()
        assert "an older Leakrange wrote this model file; train or download" in told.out + told.err
        record = intake(client, model, upload_id)
        assert record["upload"] == upload_id
        assert len(record["values"]) == 32
