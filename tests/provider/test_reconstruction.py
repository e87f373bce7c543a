"""A decoder from a package of the user's own, which reads whole samples where others read classes."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from leakrange.providers import artifact
from leakrange.providers.decoders import decoders
from leakrange.providers.model_file import load_decoder
from leakrange.services.provider.decoding import DecodingProcess
from leakrange.services.provider.main import create_provider
from leakrange.wire.schemas import IntakeRecord
from tests.provider.conftest import Provider, settings_for
from tests.provider.test_intake import OPERATOR, OUTPUTS, intake, upload
from tests.provider.tiny import save_model
from tests.serving import serving

PLUGIN = '''
from typing import Literal

import numpy as np

from leakrange.providers.decoder import Decoder, DecoderConfig, checked
from leakrange.providers.decoders import decoders


class PlaneConfig(DecoderConfig):
    kind: Literal["plane"] = "plane"
    inputs: int
    side: int


@decoders.register("plane")
class Plane(Decoder):
    """A linear net from outputs to square pictures."""

    Config = PlaneConfig
    release = "logits"

    def __init__(self, config):
        from torch import nn

        self._config = config
        self.net = nn.Linear(config.inputs, config.side**2)

    @property
    def config(self):
        return self._config

    @classmethod
    def build(cls, config):
        return cls(config)

    def module(self):
        return self.net

    def infer(self, releases, kind):
        import torch

        with torch.inference_mode():
            values = self.net(torch.from_numpy(checked(releases, self._config.inputs).astype(np.float32)))
        return values.numpy().reshape(-1, self._config.side, self._config.side)
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of an installed package: what it registers is found by every process that starts now."""
    (tmp_path / "own_plane.py").write_text(PLUGIN)
    info = tmp_path / "own_plane-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-plane\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[leakrange.providers.decoders]\nplane = own_plane\n")
    before = dict(decoders)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_plane")
    del sys.modules["own_plane"]
    decoders._entries = before


def test_samples_that_a_plugins_decoder_reads_reach_the_operator(plugin: Any, tmp_path: Path) -> None:
    decoder = plugin.Plane(plugin.PlaneConfig(inputs=3, side=2))
    kept = load_decoder(artifact.decoder_bytes(decoder))
    assert kept.config == decoder.config
    expected = decoder.infer(OUTPUTS, "logits")
    np.testing.assert_array_equal(kept.infer(OUTPUTS, "logits"), expected)

    digest = save_model(tmp_path / "models", decoder=decoder)
    others = multiprocessing.active_children()
    app = create_provider(settings_for(tmp_path / "models", tmp_path / "state"), DecodingProcess())
    with serving(app) as url, httpx.Client(base_url=url, timeout=120) as client:
        Provider(url, client, tmp_path / "models").deploy("vicious", digest).raise_for_status()
        upload(client, "vicious", OUTPUTS, "u").raise_for_status()
        record = intake(client, "vicious", "u")
        paged = client.get("/v1/operator/models/vicious/intake", headers=OPERATOR).json()["records"]
    for child in set(multiprocessing.active_children()) - set(others):
        child.kill()  # it knows the plugin, and is of no use to other tests
        child.join()
    assert (record["inferred"], record["scores"]) == (None, None)
    samples = IntakeRecord.model_validate(record).samples()
    assert samples is not None
    np.testing.assert_array_equal(samples, expected)
    assert paged == [record | {"reconstructed": None}]
