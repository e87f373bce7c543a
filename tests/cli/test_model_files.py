"""``models add``: a model file from a user's folder to an answer through the proxy."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import numpy as np
import onnxruntime
import pytest

from tests.embedded import EmbeddedRange, leakrange
from tests.providers.foreign.graphs import CARD, linear


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A model file and its card."""
    model, card = tmp_path / "model.onnx", tmp_path / "card.yaml"
    model.write_bytes(linear().SerializeToString())
    card.write_text(CARD)
    return model, card


def test_a_file_is_kept_for_a_provider_elsewhere(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, card = map(str, files)
    models = tmp_path / "models"
    done = leakrange("models", "add", model, "--card", card, "--models", str(models))
    assert done.returncode == 0, done.stderr
    assert "onnx: 3 numbers that sum to 1: softmax" in done.stderr
    assert [each.name for each in models.iterdir()] == [done.stdout.strip()]
    again = leakrange("models", "add", model, "--card", card, "--models", str(models), "--json")
    told = json.loads(again.stdout)
    assert told["digest"] == done.stdout.strip()
    assert told["card"]["classes"] == ["low", "middle", "high"]
    in_state = leakrange("models", "add", model, "--card", card, "--state", str(tmp_path / "state"))
    assert (tmp_path / "state" / "models" / in_state.stdout.strip() / "model.onnx").is_file()


def test_what_does_not_fit_is_told_with_what_to_do(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, card = files
    add = ("models", "add", str(model), "--card", str(card), "--models", str(tmp_path / "models"))
    card.write_text(CARD.replace("softmax", "logits"))
    done = leakrange(*add)
    assert done.returncode == 2
    assert "the card says logits, and the file gives 3 numbers that sum to 1: softmax" in done.stderr
    assert "write 'release: softmax'" in done.stderr
    card.write_text(CARD.replace("softmax", "scores") + "clases: [a]\n")
    done = leakrange(*add)
    assert done.returncode == 2
    assert "release: Input should be 'logits', 'softmax' or 'features'" in done.stderr
    assert "clases: Extra inputs are not permitted" in done.stderr
    card.unlink()
    assert "No such file" in leakrange(*add).stderr
    card.write_text(CARD)
    model.unlink()
    done = leakrange(*add)
    assert (done.returncode, "model.onnx cannot be read: No such file" in done.stderr) == (2, True)
    assert not list((tmp_path / "models").iterdir())
    for more, words in (("a b", "is no name"), ("fine", "--models is for a provider elsewhere")):
        done = leakrange(*add, "--name", more)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    done = leakrange(*add[:5], "--name", "fine", "--state", str(tmp_path / "none"))
    assert done.returncode == 3
    assert "leakrange up" in done.stderr


def test_a_file_is_served_by_a_running_range(files: tuple[Path, Path], embedded_range: EmbeddedRange) -> None:
    done = embedded_range("models", "add", str(files[0]), "--card", str(files[1]), "--name", "incomes")
    assert done.returncode == 0, done.stderr
    key = embedded_range("keys", "create", "an app", "--budget", "2", "--models", "incomes").stdout.strip()
    url = f"{embedded_range.record.proxy}/v1/models/incomes/softmax"
    asked = {"headers": {"Authorization": f"Bearer {key}", "Content-Type": "text/csv"}}
    answer = httpx.post(url, content="age,hours\n30,10\n55,42\n", **asked)
    assert answer.status_code == 200, answer.text
    scaled = np.array([[30, 10], [55, 42]], np.float32) / np.float32([40, 10]) + np.float32([-1, 0.5])
    session = onnxruntime.InferenceSession(linear().SerializeToString())
    [wanted] = session.run(None, {"x": scaled})
    np.testing.assert_allclose(answer.json()["values"], wanted, rtol=1e-6)
    spent = httpx.post(url, content="age,hours\n30,10\n", **asked)
    assert spent.status_code == 429
    refused = httpx.get(url.replace("softmax", "artifact"), headers=asked["headers"])
    assert refused.status_code == 404, refused.text
