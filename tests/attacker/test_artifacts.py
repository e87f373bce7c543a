"""Trained models that are damaged on the disk: named, set aside, trained again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
import pytest

from leakrange.providers import artifact
from leakrange.providers.artifact_files import CLASSIFIER, DECODER, DEFENCE, RECORD, read_files, write_files
from leakrange.services.attacker.artifacts import find_whole
from leakrange.wire.errors import InvalidArtifact

DIGEST = "ab" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An artifact folder of a model with a decoder."""
    files = {CLASSIFIER: b"weights" * 1000, DECODER: b"attack net" * 100}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    record = {"kind": "provider", "files": digests, "seconds": 1.0}
    found = tmp_path / DIGEST
    found.mkdir()
    for name, content in {**files, RECORD: orjson.dumps(record)}.items():
        (found / name).write_bytes(content)
    return found


def test_a_whole_model_is_found(folder: Path) -> None:
    assert find_whole(folder.parent, DIGEST) == folder
    assert find_whole(folder.parent, "cd" * 32) is None


@pytest.mark.parametrize("name", [CLASSIFIER, DECODER, RECORD])
@pytest.mark.parametrize("damage", ["truncated", "garbage", "gone"])
def test_a_damaged_one_is_named_and_set_aside(folder: Path, name: str, damage: str) -> None:
    file = folder / name
    if damage == "gone":
        file.unlink()
    else:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"?" * len(content))
    with pytest.raises(InvalidArtifact, match=f"{file} is damaged"):
        read_files(folder)
    assert find_whole(folder.parent, DIGEST) is None
    if name != RECORD or damage != "gone":  # without a record it was never one
        assert not folder.exists()
        assert (folder.parent / f"{DIGEST}.damaged").is_dir()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "oracle"}, "kind"),
        ({"files": {DECODER: "0" * 64}}, "has a file classifier.safetensors"),
        ({"files": {"../classifier.safetensors": "0" * 64}}, "files"),
    ],
)
def test_a_record_that_names_no_artifact_is_refused(
    folder: Path, change: dict[str, object], said: str
) -> None:
    record = orjson.loads((folder / RECORD).read_bytes())
    (folder / RECORD).write_bytes(orjson.dumps(record | change))
    with pytest.raises(InvalidArtifact, match=f"(?s){RECORD} is damaged.*{said}"):
        read_files(folder)


def test_a_trained_defence_is_kept_and_is_no_provider(tmp_path: Path) -> None:
    folder = write_files(tmp_path, DIGEST, "defence", {DEFENCE: b"obfuscator"}, {"seconds": 1.0})
    assert find_whole(tmp_path, DIGEST) == folder
    found = read_files(folder, "defence")
    assert (found.kind, found.main, found.decoder) == ("defence", b"obfuscator", None)
    assert found.sha256 == hashlib.sha256(b"obfuscator").hexdigest()
    assert found.record["seconds"] == 1.0
    with pytest.raises(InvalidArtifact, match="holds a trained defence, and not a provider"):
        artifact.load(folder)
