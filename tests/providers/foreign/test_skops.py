"""Estimators of scikit-learn in skops files."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from leakrange.providers.foreign import folder, format
from leakrange.wire.errors import InvalidArtifact
from tests.providers.foreign.graphs import card

X = np.random.default_rng(0).normal([40, 30], [12, 9], (80, 2)).astype(np.float32)
CARD = "input: {encoding: table, columns: [age, hours]}\nclasses: [high, low, middle]\nrelease: softmax"


def labels(rows: NDArray[Any]) -> NDArray[Any]:
    return np.array(["low", "middle", "high"])[(rows[:, 0] > 35).astype(int) + (rows[:, 1] > 30)]


class Doubled:
    """A type that skops cannot know."""

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        return 2 * rows


def fitted(first: Any = None) -> Any:
    return make_pipeline(first or StandardScaler(), LogisticRegression(C=3.0)).fit(X, labels(X))


SAVED = skops.io.dumps(fitted())


def added(tmp_path: Path, content: bytes, text: str = CARD, *, trusted: bool = False) -> folder.Added:
    (tmp_path / "model.onnx").write_bytes(content)  # the name says nothing
    return folder.add(tmp_path / "models", tmp_path / "model.onnx", card(text), trusted=trusted)


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "apart", lambda work, *args: work(*args))


@pytest.mark.parametrize("release", ["softmax", "logits", "features"])
def test_a_pipeline_answers_as_it_does_in_scikit_learn(tmp_path: Path, release: str) -> None:
    model = fitted() if release != "features" else StandardScaler().fit(X)
    text = CARD.replace("softmax", release)
    if release == "features":
        text = text.replace("classes: [high, low, middle]\n", "")
    kept = added(tmp_path, skops.io.dumps(model), text)
    assert (kept.card.format, kept.card.trusted) == ("skops", False)
    method = {"softmax": "predict_proba", "logits": "decision_function", "features": "transform"}[release]
    got = folder.load(tmp_path / "models" / kept.digest).outputs(X, release)
    np.testing.assert_array_equal(got, getattr(model, method)(X).astype(np.float32))


def test_its_classes_are_those_of_the_card(tmp_path: Path) -> None:
    content = skops.io.dumps(fitted())
    with pytest.raises(
        InvalidArtifact, match="classes are high, low, middle; the card's are low, middle, high"
    ):
        added(tmp_path, content, CARD.replace("high, low, middle", "low, middle, high"))
    bayes = GaussianNB().fit(X, labels(X))
    with pytest.raises(InvalidArtifact, match="GaussianNB in the file has no decision_function"):
        added(tmp_path, skops.io.dumps(bayes), CARD.replace("softmax", "logits"))


def test_unknown_types_are_named_and_made_only_for_who_trusts_them(tmp_path: Path) -> None:
    model = fitted(FunctionTransformer(Doubled()))
    content = skops.io.dumps(model)
    with pytest.raises(InvalidArtifact, match=r"tests\.providers\.foreign\.test_skops\.Doubled") as refused:
        added(tmp_path, content)
    assert "--trust" in str(refused.value.hint)
    assert not list((tmp_path / "models").iterdir())
    kept = added(tmp_path, content, trusted=True)
    assert kept.card.trusted
    got = folder.load(tmp_path / "models" / kept.digest).outputs(X, "softmax")
    np.testing.assert_array_equal(got, model.predict_proba(X).astype(np.float32))


class Exploit:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def bomb(size: int) -> bytes:
    """A skops file that unpacks to more than may be unpacked."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "{}")
        archive.writestr("1.npy", b"\0" * size)
    return stream.getvalue()


def joblib_file(thing: Any, compress: int) -> bytes:
    stream = io.BytesIO()
    joblib.dump(thing, stream, compress=compress)
    return stream.getvalue()


def test_hostile_files_are_refused_and_run_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format, "MOST_BYTES", 10_000_000)
    sprung = tmp_path / "sprung"
    real = skops.io.dumps(fitted())
    for content, words in (
        (pickle.dumps(Exploit(sprung)), "is a pickle"),
        (joblib_file(Exploit(sprung), 0), "is a pickle"),
        (joblib_file(Exploit(sprung), 3), "compressed, as joblib"),
        (bomb(20_000_000), "unpacks to 20,000,002 bytes"),
        (real[:-30], "damaged or truncated archive"),
        (real[: len(real) // 2], "damaged or truncated archive"),
        (b"", "empty"),
        (b"PK\x03\x04", "damaged or truncated archive"),
        (schema({"__class__": "x"}), "damaged skops file"),
        (schema([]), "damaged skops file"),
        (b"model", "no format that is known here"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "Keras"),
        ((2).to_bytes(8, "little") + b"{}" + bytes(8), "safetensors"),
    ):
        with pytest.raises(InvalidArtifact, match=words) as refused:
            added(tmp_path, content)
        assert refused.value.hint
        assert not list((tmp_path / "models").iterdir())
    assert not sprung.exists()


def schema(content: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("schema.json", json.dumps(content))
    return stream.getvalue()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.integers(0, 50))
def test_any_damage_is_refused_or_harmless(tmp_path: Path, at: int, byte: int, cut: int) -> None:
    content = bytearray(SAVED)
    content[at % len(content)] = byte
    try:
        kept = added(tmp_path, bytes(content[: len(content) - cut]))
    except InvalidArtifact:
        return
    assert kept.card.format == "skops"
