"""Programs of torch, which are opened only for who trusts them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from leakrange.providers.foreign import folder
from leakrange.wire.errors import InvalidArtifact
from tests.providers.foreign.graphs import card

CARD = """
input: {encoding: picture, shape: [4, 5, 3], scale: 127.5, offset: -1}
classes: [cat, dog]
release: logits
"""
PICTURES = np.random.default_rng(0).integers(0, 256, (6, 4, 5, 3)).astype(np.uint8)

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.conv, self.head = nn.Conv2d(3, 4, 3), nn.Linear(24, 2)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.conv(x).flatten(1))
        return out


class Pair(Small):
    def forward(self, x: Tensor) -> Any:
        out = self.head(self.conv(x).flatten(1))
        return out, out


def exported(net: nn.Module) -> bytes:
    stream, batch = io.BytesIO(), torch.export.Dim("batch")
    program = torch.export.export(net.eval(), (torch.zeros(2, 3, 4, 5),), dynamic_shapes=({0: batch},))
    torch.export.save(program, stream)
    return stream.getvalue()


def scripted(net: nn.Module) -> bytes:
    stream = io.BytesIO()
    torch.jit.save(torch.jit.script(net.eval()), stream)
    return stream.getvalue()


def added(tmp_path: Path, content: bytes, *, trusted: bool = True, text: str = CARD) -> folder.Added:
    (tmp_path / "net.pkl").write_bytes(content)
    return folder.add(tmp_path / "models", tmp_path / "net.pkl", card(text), trusted=trusted)


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "apart", lambda work, *args: work(*args))


@pytest.mark.parametrize(("write", "name"), [(exported, "torch-export"), (scripted, "torchscript")])
def test_a_trusted_program_answers_as_its_net(
    tmp_path: Path, write: Callable[[nn.Module], bytes], name: str
) -> None:
    net = Small()
    content = write(net)
    with pytest.raises(InvalidArtifact, match="It was not opened") as refused:
        added(tmp_path, content, trusted=False)
    assert "--trust" in str(refused.value.hint)
    assert not list((tmp_path / "models").iterdir())
    kept = added(tmp_path, content)
    assert (kept.card.format, kept.card.trusted, kept.card.width) == (name, True, 2)
    with torch.inference_mode():
        wanted = net(torch.from_numpy(PICTURES.transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1)).numpy()
    got = folder.load(tmp_path / "models" / kept.digest).outputs(PICTURES, "logits")
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_what_does_not_fit_is_told(tmp_path: Path) -> None:
    good = scripted(Small())
    weights = io.BytesIO()
    torch.save(Small().state_dict(), weights)
    for content, text, words in (
        (scripted(Pair()), CARD, "gives a tuple, and not one tensor"),
        (good, CARD + "output: y", "outputs without names"),
        (good, CARD.replace("[4, 5, 3]", "[9, 9, 3]"), "cannot compute a sample of the card's shape"),
        (good[: len(good) // 2], CARD, "damaged or truncated archive"),
        (weights.getvalue(), CARD, "is a pickle"),
    ):
        with pytest.raises(InvalidArtifact, match=words) as refused:
            added(tmp_path, content, text=text)
        assert refused.value.hint, words
        assert not list((tmp_path / "models").iterdir())
