"""ONNX files: what is kept equals what onnxruntime computes, and what does not fit is told in words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from leakrange.providers.foreign import apart, folder
from leakrange.providers.foreign.card import FileCard, read_card
from leakrange.providers.foreign.formats import format_of
from leakrange.providers.foreign.formats.onnx_graph import OnnxGraph
from leakrange.wire.errors import InvalidArtifact, InvalidInput
from tests.providers.foreign.graphs import CARD, WEIGHTS, card, graph, linear

Node = Callable[..., onnx.NodeProto]
node: Node = helper.make_node


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check files in this process: starting another takes a second."""
    monkeypatch.setattr(folder, "apart", lambda work, *args: work(*args))


def added(tmp_path: Path, model: onnx.ModelProto | bytes, described: FileCard) -> folder.Added:
    file = tmp_path / "given.bin"
    file.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return folder.add(tmp_path / "models", file, described)


def refusal(tmp_path: Path, model: onnx.ModelProto | bytes, described: FileCard) -> str:
    with pytest.raises(InvalidArtifact) as refused:
        added(tmp_path, model, described)
    assert not list((tmp_path / "models").iterdir())  # nothing is left half done
    assert refused.value.hint, refused.value.detail
    return f"{refused.value.detail} {refused.value.hint}"


def test_what_is_kept_computes_what_onnxruntime_does(tmp_path: Path) -> None:
    model = linear()
    kept = added(tmp_path, model, card())
    assert kept.numbers == "3 numbers that sum to 1: softmax"
    assert (kept.card.format, kept.card.width, kept.card.trusted) == ("onnx", 3, False)
    place = tmp_path / "models" / kept.digest
    assert sorted(each.name for each in place.iterdir()) == ["card.yaml", "model.onnx"]
    assert hashlib.sha256((place / "card.yaml").read_bytes()).hexdigest() == kept.digest
    samples = np.random.default_rng(1).normal(20, 30, (9, 2)).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    scaled = samples / np.array([40, 10], np.float32) + np.array([-1, 0.5], np.float32)
    [wanted] = session.run(None, {"x": scaled})
    np.testing.assert_array_equal(folder.load(place).outputs(samples, "softmax"), wanted)
    assert added(tmp_path, model, card()).digest == kept.digest  # a repetition changes nothing
    assert added(tmp_path, model, card(task="rich")).digest != kept.digest


@pytest.mark.usefixtures("here")
def test_logits_have_a_softmax_too(tmp_path: Path) -> None:
    kept = added(tmp_path, linear(softmax=False), card(release="logits"))
    model = folder.load(tmp_path / "models" / kept.digest)
    assert model.releases == ("logits", "softmax")
    samples = np.array([[10, 20], [80, -5]], np.float32)
    logits = (samples / [40, 10] + [-1, 0.5]) @ WEIGHTS
    np.testing.assert_allclose(model.outputs(samples, "logits"), logits, rtol=1e-5)
    soft = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.outputs(samples, "softmax"), soft, rtol=1e-4)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("layout", "takes"),
    [("channels-first", ("n", 3, 4, 5)), ("channels-last", ("n", 4, 5, 3)), ("flat", ("n", 60))],
)
def test_pictures_come_in_the_layout_of_the_card(tmp_path: Path, layout: str, takes: tuple[Any, ...]) -> None:
    model = graph([node("Flatten", ["x"], ["y"])], takes=takes)
    text = f"input: {{encoding: picture, shape: [4, 5, 3], scale: 255}}\nrelease: features\nlayout: {layout}"
    kept = added(tmp_path, model, card(text))
    picture = np.random.default_rng(2).integers(0, 256, (2, 4, 5, 3)).astype(np.uint8)
    values = folder.load(tmp_path / "models" / kept.digest).outputs(picture, "features")
    axes = (0, 3, 1, 2) if layout == "channels-first" else (0, 1, 2, 3)
    np.testing.assert_array_equal(values, picture.astype(np.float32).transpose(axes).reshape(2, -1) / 255)
    assert kept.card.width == 60


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("batch", [1, 4])
def test_a_graph_for_batches_of_one_size_takes_any_number(tmp_path: Path, batch: int) -> None:
    kept = added(tmp_path, linear(takes=(batch, 2)), card())
    samples = np.random.default_rng(3).normal(20, 30, (7, 2)).astype(np.float32)
    any_number = added(tmp_path, linear(), card())
    got, wanted = (
        folder.load(tmp_path / "models" / each.digest).outputs(samples, "softmax")
        for each in (kept, any_number)
    )
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.usefixtures("here")
def test_one_sample_without_numbers_takes_no_others_with_it(tmp_path: Path) -> None:
    described = card("input: {encoding: vector, shape: [2]}\nrelease: features")
    root = graph([node("Log", ["a"], ["y"]), node("Abs", ["x"], ["a"])][::-1])
    kept = added(tmp_path, root, described)
    values = folder.load(tmp_path / "models" / kept.digest).outputs(
        np.array([[1, 2], [0, 1], [3, 4]], np.float32), "features"
    )
    assert np.isfinite(values).tolist() == [[True, True], [False, True], [True, True]]
    tall = graph(  # an index beyond the weights is an error of the whole batch
        [node("Cast", ["x"], ["i"], to=TensorProto.INT64), node("Gather", ["w", "i"], ["y"])],
        weights={"w": np.arange(400, dtype=np.float32)},
    )
    kept = added(tmp_path, tall, card("input: {encoding: vector, shape: [2], offset: 9}\nrelease: features"))
    values = folder.load(tmp_path / "models" / kept.digest).outputs(
        np.array([[1, 2], [9999, 1], [3, 4]], np.float32), "features"
    )
    np.testing.assert_array_equal(values, [[10, 11], [np.nan, np.nan], [12, 13]])


def one(operator: str, *, to: int | None = None, **more: Any) -> onnx.ModelProto:
    """A graph of one operator."""
    return graph([node(operator, ["x"], ["y"], **({} if to is None else {"to": to}))], **more)


def external(location: str, **place: int) -> onnx.ModelProto:
    model = linear()
    weights = model.graph.initializer[0]
    weights.raw_data = WEIGHTS.tobytes()
    set_external_data(weights, location, **place)
    weights.ClearField("raw_data")
    return model


@pytest.mark.usefixtures("here")
def test_weights_beside_the_graph_are_kept_with_it(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\0" * 8 + WEIGHTS.tobytes())
    kept = added(tmp_path, external("weights.bin", offset=8, length=WEIGHTS.nbytes), card())
    (tmp_path / "weights.bin").unlink()
    samples = np.array([[10, 20]], np.float32)
    wanted = added(tmp_path, linear(), card())
    got, expected = (
        folder.load(tmp_path / "models" / each.digest).outputs(samples, "softmax") for each in (kept, wanted)
    )
    np.testing.assert_array_equal(got, expected)


@pytest.mark.usefixtures("here")
def test_weights_elsewhere_are_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_bytes(WEIGHTS.tobytes())
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link").symlink_to(outside)
    for location, words in (
        ("../secret", "leads out of its folder"),
        (str(outside), "leads out of its folder"),
        ("a/../../secret", "leads out of its folder"),
        ("", "leads out of its folder"),
        ("link", "symbolic link"),
        ("missing", "No such file"),
    ):
        assert words in refusal(inner, external(location or "x") if location else no_place(), card())


def no_place() -> onnx.ModelProto:
    model = external("x")
    del model.graph.initializer[0].external_data[:]
    return model


def test_weights_end_within_their_file(tmp_path: Path, here: None) -> None:
    (tmp_path / "weights.bin").write_bytes(WEIGHTS.tobytes())
    with pytest.raises(InvalidArtifact, match=r"beyond the end of 'weights.bin'"):
        added(tmp_path, external("weights.bin", offset=8, length=24), card())


def custom() -> onnx.ModelProto:
    return graph([node("Steal", ["x"], ["y"], domain="evil.ops")], domains=("evil.ops",))


def hidden_custom() -> onnx.ModelProto:
    """An operator of its own in a branch."""
    body = custom().graph
    del body.input[:]
    picked = node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    model = graph([picked], weights={"c": np.array(True), "w": WEIGHTS}, domains=("evil.ops",))
    return model


def sequence() -> onnx.ModelProto:
    made = node("SequenceConstruct", ["x", "x"], ["y"])
    model = graph([made])
    model.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, ["n", 2]))
    return model


def two_inputs() -> onnx.ModelProto:
    model = graph([node("Add", ["x", "z"], ["y"])])
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 2]))
    return model


def of_text() -> onnx.ModelProto:
    return one("Identity", gives={"y": TensorProto.STRING}, of=TensorProto.STRING)


BAD: list[tuple[str, Any, dict[str, Any], str]] = [
    ("truncated", lambda: linear().SerializeToString()[:-40], {}, "damaged or truncated ONNX graph"),
    ("no text", lambda: linear().SerializeToString().replace(b"\x01x", b"\x01\x80"), {}, "names are no text"),
    ("empty graph", lambda: graph([]), {}, "computes nothing"),
    ("custom operator", custom, {}, "evil.ops.Steal"),
    ("custom operator in a branch", hidden_custom, {}, "evil.ops.Steal"),
    ("sequence", sequence, {}, "seq(tensor(float))"),
    ("text", of_text, {}, "takes tensor(string)"),
    ("two inputs", two_inputs, {}, "takes 2 inputs (x, z)"),
    ("wrong shape", lambda: one("Abs", takes=("n", 3)), {}, "takes samples of shape (3)"),
    ("wrong weights", lambda: linear(weights={"w": WEIGHTS.T}), {}, "onnxruntime cannot load"),
    ("labels", lambda: one("ArgMax", gives={"y": 7}), {}, "tensor(int64)"),
    ("text as output", lambda: one("Cast", to=8, gives={"y": 8}), {}, "is tensor(string)"),
    (
        "several outputs",
        lambda: linear(gives={"y": 1, "logits": 1}),
        {},
        "2 outputs write one of these as 'output' into the card: y, logits",
    ),
    ("no such output", linear, {"output": "probs"}, "no output 'probs'"),
    ("logits for softmax", lambda: linear(softmax=False), {}, "do not sum to 1: logits"),
    ("softmax for logits", linear, {"release": "logits"}, "3 numbers that sum to 1: softmax"),
    ("classes", linear, {"classes": ("low", "high")}, "gives 3 numbers for a sample, and the card names 2"),
    ("one number in all", lambda: one("ReduceSum"), {}, "for 5 samples"),
    ("one score", lambda: linear(weights={"w": WEIGHTS[:, :1]}), {}, "have the model give one number"),
    ("not finite", lambda: one("Log"), {"release": "logits"}, "not finite"),
    (
        "of the batch",
        lambda: graph(
            [node("ReduceSum", ["x"], ["s"], keepdims=1), node("Add", ["x", "s"], ["a"]),
             node("MatMul", ["a", "w"], ["y"])]
        ),
        {"release": "logits"},
        "other numbers alone than among others",
    ),
    ("whole numbers", lambda: one("Cast", to=1, of=TensorProto.INT64), {}, "the card scales them"),
]  # fmt: skip


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("make", "changes", "words"), [each[1:] for each in BAD], ids=[each[0] for each in BAD]
)
def test_what_does_not_fit_is_told(
    tmp_path: Path, make: Callable[[], Any], changes: dict[str, Any], words: str
) -> None:
    assert words in refusal(tmp_path, make(), card(**changes))


@pytest.mark.parametrize("words", ["needs more than 1 GiB", "did not compute a few samples in 3 seconds"])
def test_a_graph_without_bounds_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """One asks for more than it may have, one computes for ever."""
    if words.startswith("needs"):
        monkeypatch.setattr(apart, "MEMORY", 2**30)
        size = numpy_helper.from_array(np.array([3, 2**27], np.int64), "shape")
        nodes = [
            node("ConstantOfShape", ["shape"], ["many"]),
            node("ReduceMax", ["many"], ["m"], keepdims=0),
            node("Add", ["x", "m"], ["y"]),
        ]
        model = graph(nodes)
        model.graph.initializer.append(size)
    else:
        monkeypatch.setattr(apart, "SECONDS", 3.0)
        body = helper.make_graph(
            [node("Identity", ["go"], ["more"]), node("Add", ["v", "v"], ["next"])],
            "body",
            [
                helper.make_tensor_value_info("i", TensorProto.INT64, []),
                helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                helper.make_tensor_value_info("v", TensorProto.FLOAT, None),
            ],
            [
                helper.make_tensor_value_info("more", TensorProto.BOOL, []),
                helper.make_tensor_value_info("next", TensorProto.FLOAT, None),
            ],
        )
        model = graph(
            [node("Loop", ["count", "yes", "x"], ["y"], body=body)],
            weights={"count": np.array(2**62, np.int64), "yes": np.array(True)},
        )
    assert words in refusal(tmp_path, model, card())


@pytest.mark.usefixtures("here")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.integers(0, 200))
def test_any_damage_is_refused_or_harmless(tmp_path: Path, at: int, byte: int, cut: int) -> None:
    content = bytearray(linear().SerializeToString())
    content[at % len(content)] = byte
    try:
        entry = format_of(bytes(content[: len(content) - cut]))
        assert entry is OnnxGraph
        sealed = entry.sealed(bytes(content[: len(content) - cut]), tmp_path)
        entry.net(sealed, card(), trusted=False, threads=1)
    except InvalidArtifact:
        pass


@pytest.mark.usefixtures("here")
def test_a_folder_that_was_changed_is_not_opened(tmp_path: Path) -> None:
    kept = added(tmp_path, linear(), card())
    place = tmp_path / "models" / kept.digest
    for name in ("model.onnx", "card.yaml"):
        content = (place / name).read_bytes()
        (place / name).write_bytes(content.replace(b"small", b"smile").replace(b"income", b"insane"))
        with pytest.raises(InvalidArtifact, match="does not hold what its name stands for"):
            folder.load(place)
        (place / name).unlink()
        with pytest.raises(InvalidArtifact, match="No such file"):
            folder.load(place)
        (place / name).write_bytes(content)
    folder.load(place)


@pytest.mark.usefixtures("here")
def test_a_folder_that_others_have_put_there_is_checked_again(tmp_path: Path) -> None:
    kept = added(tmp_path, linear(), card()).card
    for model, words in ((external("weights.bin"), "needs others beside it"), (custom(), "evil.ops.Steal")):
        content = model.SerializeToString()
        described = kept.model_copy(update={"sha256": hashlib.sha256(content).hexdigest()}).written()
        place = tmp_path / hashlib.sha256(described).hexdigest()
        place.mkdir()
        (place / "weights.bin").write_bytes(WEIGHTS.tobytes())
        (place / "model.onnx").write_bytes(content)
        (place / "card.yaml").write_bytes(described)
        with pytest.raises(InvalidArtifact, match=words):
            folder.load(place)


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("classes: [no, yes]", "classes", "in quotes"),
        ("classes: [a, a]", "card", "same name"),
        ("classes: []", "card", "two classes or more"),
        ("release: score", "release", "'logits', 'softmax' or 'features'"),
        ("trusted: true", "trusted", "not permitted"),
        ("input: {encoding: table}", "input.shape", "required"),
        ("input: {encoding: picture, shape: [4, 4, 9]}", "input", "one to three channels"),
    ],
)
def test_mistakes_in_a_card_are_named(text: str, path: str, words: str) -> None:
    key = text.partition(":")[0]
    kept = [line for line in CARD.strip().splitlines() if not line.startswith(key)]
    with pytest.raises(InvalidInput) as refused:
        read_card("\n".join([*kept, text]).encode(), FileCard)
    [mistake] = refused.value.extra["mistakes"]
    assert mistake["path"] == path
    assert words in mistake["message"]


@pytest.mark.parametrize(
    "text", [b"[a", b"- a", b"", b"\xff\xfe\x00", b"[" * 5_000, b"a" * 70_000, b"x: " + b"9" * 5000]
)
def test_what_is_no_card_is_said_to_be_none(text: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"(the|in the) card"):
        read_card(text, FileCard)
