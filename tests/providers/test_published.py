from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from leakrange.nets import nets
from leakrange.nets.classifier import Classifier
from leakrange.providers.published import load_published
from leakrange.wire.errors import InvalidArtifact
from leakrange.wire.samples import SampleSpec

WIDTH = 0.1


@pytest.fixture
def net() -> Classifier:
    torch.manual_seed(0)
    built: Classifier = nets["inception-resnet-v1"].build(SampleSpec.picture(160, 160, 3), 5, WIDTH)
    return built.eval()


def published(net: Classifier) -> dict[str, torch.Tensor]:
    """As others name the weights: without the counters, which older files lack."""
    return {
        name.replace("body.", "").replace("head.", "logits."): tensor.contiguous()
        for name, tensor in net.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }


def test_the_published_names_fit(net: Classifier, tmp_path: Path) -> None:
    save_file(published(net), tmp_path / "teacher.safetensors")
    loaded = load_published(tmp_path / "teacher.safetensors", width=WIDTH)
    x = torch.rand(2, 3, 160, 160)
    with torch.inference_mode():
        torch.testing.assert_close(loaded.features(x), net.features(x))
        torch.testing.assert_close(loaded(x), net(x))
    assert "conv2d_1a.conv.weight" in published(net)
    assert "repeat_2.9.branch1.2.bn.running_mean" in published(net)
    assert "mixed_7a.branch2.1.conv.weight" in published(net)
    assert "last_linear.weight" in published(net)


def test_what_is_not_that_net_is_refused(net: Classifier, tmp_path: Path) -> None:
    path = tmp_path / "teacher.safetensors"
    path.write_bytes(b"\x80\x04pickle")
    with pytest.raises(InvalidArtifact, match="no safetensors file"):
        load_published(path)
    whole = published(net)
    for change, said in (
        ({"logits.weight": None}, "no logits.weight"),
        ({"last_bn.bias": None}, "last_bn.bias"),
        ({"last_bn.bias": torch.full_like(whole["last_bn.bias"], torch.nan)}, "not finite"),
        ({"last_linear.weight": whole["last_linear.weight"][:-1].clone()}, "last_linear.weight is"),
    ):
        save_file({n: t for n, t in (whole | change).items() if t is not None}, path)
        with pytest.raises(InvalidArtifact, match=said):
            load_published(path, width=WIDTH)
