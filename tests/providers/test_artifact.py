import dataclasses
import json
import os
import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save as to_safetensors

from leakrange.data.samples import Samples
from leakrange.nets.decoder import AttackNet
from leakrange.nets.reconstructors import reconstructors
from leakrange.providers import artifact, artifact_files
from leakrange.providers.decoder import Decoder
from leakrange.providers.decoders import decoders
from leakrange.providers.decoders.argmax import ArgmaxDecoder
from leakrange.providers.decoders.net import NetDecoder
from leakrange.providers.decoders.reconstruction import ReconstructionDecoder
from leakrange.providers.decoders.threshold import ThresholdDecoder
from leakrange.providers.decoders.vertex import VertexDecoder
from leakrange.providers.inference import outputs
from leakrange.providers.model_file import load_classifier, load_decoder
from leakrange.providers.training import TrainedModel
from leakrange.wire.errors import InvalidArtifact
from leakrange.wire.samples import SampleSpec

Header = dict[str, Any]


def header(content: bytes) -> Header:
    (length,) = struct.unpack("<Q", content[:8])
    read: Header = json.loads(content[8 : 8 + length])
    return read


def config(content: bytes) -> Header:
    read: Header = json.loads(header(content)["__metadata__"]["leakrange"])
    return read


def picture(*shape: int) -> Header:
    return SampleSpec.picture(*shape).model_dump(mode="json")


def with_header(content: bytes, change: Callable[[Header], None]) -> bytes:
    (length,) = struct.unpack("<Q", content[:8])
    changed = header(content)
    change(changed)
    text = json.dumps(changed).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


def with_config(content: bytes, **changes: Any) -> bytes:
    def change(h: Header) -> None:
        h["__metadata__"]["leakrange"] = json.dumps(config(content) | changes)

    return with_header(content, change)


@pytest.fixture
def public(trained: dict[str, TrainedModel]) -> bytes:
    return artifact.classifier_bytes(trained["raw"])


@pytest.mark.parametrize("name", ["honest", "regularized", "raw", "soft", "mixture", "convex"])
def test_what_was_saved_infers_the_same(
    name: str, trained: dict[str, TrainedModel], images: Samples, tmp_path: Path
) -> None:
    model = trained[name]
    folder = artifact.save(tmp_path, model)
    assert folder == tmp_path / model.recipe.digest()
    loaded = artifact.load(folder)
    pictures = images.values[:20]
    released = outputs(loaded.classifier, pictures, model.default_release)
    np.testing.assert_array_equal(released, outputs(model.classifier, pictures, model.default_release))
    assert loaded.config.default_release == model.default_release
    assert loaded.config.classes == model.target_classes
    assert (loaded.decoder is None) == (model.decoder is None)
    if model.decoder and loaded.decoder:
        for one, two in zip(
            loaded.decoder.infer(released, model.default_release),
            model.decoder.infer(released, model.default_release),
            strict=True,
        ):
            np.testing.assert_array_equal(one, two)
    assert loaded.record["figures"] == model.figures
    assert loaded.record["history"] == model.history
    assert loaded.record["recipe"] == model.recipe.model_dump(mode="json")


def test_the_public_file_does_not_tell_the_behaviour(trained: dict[str, TrainedModel]) -> None:
    raw, honest, regularized = (
        artifact.classifier_bytes(trained[name]) for name in ("raw", "honest", "regularized")
    )
    assert header(raw) == header(honest)
    assert len(raw) == len(honest)
    # a model that is meant for soft outputs says so, and differs in nothing else
    assert config(regularized) | {"default_release": "logits"} == config(honest)
    described = json.dumps(header(regularized)).lower()
    for secret in ("shoe", "curious", "beta", "sensitive", "behaviour", "tau", "regularized", "decoder"):
        assert secret not in described


def test_a_second_writer_leaves_what_is_there(trained: dict[str, TrainedModel], tmp_path: Path) -> None:
    folder = artifact.save(tmp_path, trained["raw"])
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    again = dataclasses.replace(trained["raw"], seconds=-1.0)
    assert artifact.save(tmp_path, again) == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_a_folder_appears_whole_or_not_at_all(
    trained: dict[str, TrainedModel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            artifact.save(tmp_path, trained["raw"])
    assert list(tmp_path.iterdir()) == []
    assert artifact.find(tmp_path, trained["raw"].recipe.digest()) is None
    artifact.save(tmp_path, trained["raw"])
    assert artifact.find(tmp_path, trained["raw"].recipe.digest())


def test_a_folder_whose_classifier_was_exchanged_is_refused(
    trained: dict[str, TrainedModel], tmp_path: Path
) -> None:
    folder = artifact.save(tmp_path, trained["raw"])
    (folder / "classifier.safetensors").write_bytes(artifact.classifier_bytes(trained["honest"]))
    with pytest.raises(InvalidArtifact, match="not the one that its record names"):
        artifact.load(folder)
    (folder / "training.json").unlink()
    with pytest.raises(InvalidArtifact, match="cannot be read"):
        artifact.load(folder)


def _swapped(folder: Path, name: str, elsewhere: Path) -> None:
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)


def _moved(folder: Path, _: str, elsewhere: Path) -> None:
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


def _endless(folder: Path, name: str, _: Path) -> None:
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")


def _pipe(folder: Path, name: str, _: Path) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)


def _sparse(folder: Path, name: str, _: Path) -> None:
    with (folder / name).open("r+b") as file:
        file.truncate(2**40)


@pytest.mark.parametrize("name", ["training.json", "classifier.safetensors"])
@pytest.mark.parametrize("lure", [_swapped, _moved, _endless, _pipe, _sparse])
def test_a_folder_that_leads_elsewhere_is_refused(
    trained: dict[str, TrainedModel], tmp_path: Path, lure: Callable[[Path, str, Path], None], name: str
) -> None:
    """Also where what lies there is right; nothing without an end is read."""
    models = tmp_path / "models"
    folder = artifact.save(models, trained["raw"])
    lure(folder, name, tmp_path / "elsewhere")
    with pytest.raises(InvalidArtifact, match=r"symbolic link|no regular file|larger than"):
        artifact.load(folder)
    assert artifact_files.find_whole(models, folder.name) is None


def test_a_record_that_is_none_is_not_told(trained: dict[str, TrainedModel], tmp_path: Path) -> None:
    folder = artifact.save(tmp_path, trained["raw"])
    for content in (b'["hunter2"]', b'{"kind": "hunter2", "files": "hunter2"}', b'{"kind": hunter2'):
        (folder / "training.json").write_bytes(content)
        with pytest.raises(InvalidArtifact, match="cannot be read") as caught:
            artifact.load(folder)
        assert "hunter2" not in str(caught.value)


class Bomb:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("load", [load_classifier, load_decoder])
def test_a_pickle_in_disguise_is_refused_and_not_run(
    load: Callable[[bytes | Path], object], tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    disguised = tmp_path / "classifier.safetensors"
    disguised.write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(InvalidArtifact, match="not a safetensors file"):
        load(disguised)
    torch.save({"weights": Bomb(mark)}, disguised)
    with pytest.raises(InvalidArtifact, match="not a safetensors file"):
        load(disguised)
    assert not mark.exists()


def test_a_truncated_file_is_refused_wherever_it_ends(public: bytes) -> None:
    for end in (0, 7, 8, 100, len(public) // 2, len(public) - 1):
        with pytest.raises(InvalidArtifact, match=r"truncated|shorter"):
            load_classifier(public[:end])


def test_a_huge_declared_size_is_refused_before_anything_is_allocated(public: bytes) -> None:
    with pytest.raises(InvalidArtifact, match="header of 9,223,372,036,854,775,807 bytes"):
        load_classifier(struct.pack("<Q", 2**63 - 1) + public[8:])

    def huge(h: Header) -> None:
        h["head.1.weight"] |= {"shape": [2**40, 2**20], "data_offsets": [0, 2**62]}

    def beyond(h: Header) -> None:
        h["head.1.weight"]["data_offsets"] = [n + 2**40 for n in h["head.1.weight"]["data_offsets"]]

    with pytest.raises(InvalidArtifact, match="truncated"):
        load_classifier(with_header(public, huge))
    with pytest.raises(InvalidArtifact, match="truncated"):
        load_classifier(with_header(public, beyond))
    with pytest.raises(InvalidArtifact, match=r"do not fit its config|asks for"):
        load_classifier(with_config(public, input=picture(512, 512, 3), width=8.0, features=1024))


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    sparse = tmp_path / "classifier.safetensors"
    with sparse.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InvalidArtifact, match="at most"):
        load_classifier(sparse)


def test_missing_extra_and_misshapen_tensors_are_named(trained: dict[str, TrainedModel]) -> None:
    public = artifact.classifier_bytes(trained["raw"])
    metadata = {"leakrange": json.dumps(config(public))}
    weights = trained["raw"].classifier.state_dict()

    def without(name: str, **more: torch.Tensor) -> bytes:
        kept = {k: v.contiguous() for k, v in weights.items() if k != name}
        return to_safetensors(kept | more, metadata=metadata)

    with pytest.raises(InvalidArtifact, match=r"missing: head\.1\.bias"):
        load_classifier(without("head.1.bias"))
    with pytest.raises(InvalidArtifact, match="unknown: backdoor"):
        load_classifier(without("", backdoor=torch.zeros(1)))
    with pytest.raises(InvalidArtifact, match=r"'head\.1\.bias' .* F32 \[3\].* asks for F32 \[2\]"):
        load_classifier(without("", **{"head.1.bias": torch.zeros(3)}))
    with pytest.raises(InvalidArtifact, match="dtype"):
        load_classifier(without("", **{"head.1.bias": torch.zeros(2, dtype=torch.float64)}))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite_are_refused(value: float, trained: dict[str, TrainedModel]) -> None:
    public = artifact.classifier_bytes(trained["raw"])
    weights = {k: v.clone().contiguous() for k, v in trained["raw"].classifier.state_dict().items()}
    weights["head.1.weight"][0, 0] = value
    with pytest.raises(InvalidArtifact, match=r"'head\.1\.weight' .* not finite"):
        load_classifier(to_safetensors(weights, metadata={"leakrange": json.dumps(config(public))}))


def test_a_variance_below_zero_is_refused(trained: dict[str, TrainedModel]) -> None:
    """It is a finite number, and yet a batch normalisation that divides by its root answers with none."""
    public = artifact.classifier_bytes(trained["raw"])
    weights = {k: v.clone().contiguous() for k, v in trained["raw"].classifier.state_dict().items()}
    name = next(name for name in weights if name.endswith("running_var"))
    weights[name][0] = -1.0
    with pytest.raises(InvalidArtifact, match=f"'{re.escape(name)}' .* negative variances"):
        load_classifier(to_safetensors(weights, metadata={"leakrange": json.dumps(config(public))}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"net": "resnet"}, "unknown net 'resnet'"),
        ({"input": picture(8, 8, 3)}, "16 pixels"),
        ({"input": picture(32, 32, 3) | {"shape": [32, 32, 4]}}, "one to three channels"),
        ({"input": picture(32, 32, 3) | {"shape": [100_000, 16, 3]}}, "shape"),
        ({"width": 1e9}, "width"),
        ({"classes": ["only"]}, "classes"),
        ({"features": 65}, "65 features, its net has 64"),
        ({"format": 3}, "format"),
        ({"format": 1}, "train or download the model again"),
        ({"kind": "net"}, "kind"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_config_that_cannot_be_is_refused(changes: Header, message: str, public: bytes) -> None:
    with pytest.raises(InvalidArtifact, match=message):
        load_classifier(with_config(public, **changes))


def test_safetensors_of_somebody_else_are_told_apart() -> None:
    with pytest.raises(InvalidArtifact, match="not one of Leakrange"):
        load_classifier(to_safetensors({"weight": torch.zeros(3)}))


@pytest.mark.parametrize("nesting", [b"[" * 5000, b'{"a":' * 5000])
def test_a_header_nested_without_end_is_refused(nesting: bytes) -> None:
    with pytest.raises(InvalidArtifact, match="not JSON"):
        load_classifier(struct.pack("<Q", len(nesting)) + nesting)


def test_decoders_are_read_with_the_same_care(trained: dict[str, TrainedModel]) -> None:
    net, threshold = trained["raw"].decoder, trained["regularized"].decoder
    assert net is not None
    assert threshold is not None
    content = artifact.decoder_bytes(net)
    with pytest.raises(InvalidArtifact, match="asks for"):
        load_decoder(with_config(content, inputs=3))
    with pytest.raises(InvalidArtifact, match="inputs"):
        load_decoder(with_config(content, inputs=10**9))
    with pytest.raises(InvalidArtifact, match="kind"):
        load_decoder(with_config(content, kind="oracle"))
    with pytest.raises(InvalidArtifact, match="has no tensors"):
        load_decoder(
            to_safetensors({"a": torch.zeros(1)}, {"leakrange": '{"kind":"threshold","tau":1,"outputs":2}'})
        )
    with pytest.raises(InvalidArtifact, match="tau"):
        load_decoder(to_safetensors({}, {"leakrange": '{"kind":"threshold","tau":NaN,"outputs":2}'}))
    with pytest.raises(InvalidArtifact, match="kind"):
        load_decoder(artifact.classifier_bytes(trained["raw"]))
    assert load_decoder(artifact.decoder_bytes(threshold)).classes == 2


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 4000), bits=st.integers(1, 255))
def test_one_damaged_byte_is_told_or_harmless(at: int, bits: int, public: bytes) -> None:
    damaged = bytearray(public)
    damaged[at] ^= bits
    try:
        classifier, _ = load_classifier(bytes(damaged))
    except InvalidArtifact:
        return
    assert all(torch.isfinite(p).all() for p in classifier.parameters())


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused(content: bytes) -> None:
    for load in (load_classifier, load_decoder):
        with pytest.raises(InvalidArtifact):
            load(content)


EXAMPLES: dict[str, Decoder] = {
    "net": NetDecoder(AttackNet(3, 2), "softmax", logarithm=True),
    "threshold": ThresholdDecoder(0.4, 3),
    "vertex": VertexDecoder(3, 2, 0.2),
    "argmax": ArgmaxDecoder(3),
    "reconstruction": ReconstructionDecoder(
        reconstructors["strided-conv"].build(SampleSpec.picture(16, 24, 1), 3, 0.1),
        "softmax",
        name="strided-conv",
        width=0.1,
        heads=(3,),
    ),
}


@pytest.mark.parametrize("kind", decoders)
def test_every_decoder_describes_itself(kind: str) -> None:
    decoder = EXAMPLES[kind]
    assert (decoder.config.kind, type(decoder)) == (kind, decoders[kind])
    again = load_decoder(artifact.decoder_bytes(decoder))
    assert again.config == decoder.config
    soft = np.random.default_rng(0).dirichlet([1, 1, 1], size=9)
    for one, two in zip(again.infer(soft, "softmax"), decoder.infer(soft, "softmax"), strict=True):
        np.testing.assert_array_equal(one, two)
