"""A scenario in which nobody asks a provider's own decoder says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leakrange.clients.cli.main import app
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.unread import unread_decoders

SCENARIO = """\
name: unread
data: {name: synthfaces}
providers:
  honest: {behaviour: honest, target: glasses}
  curious: {behaviour: curious, method: parameterized, target: glasses, sensitive: facial-hair}
  nosy: {behaviour: curious, method: parameterized, target: smile, sensitive: facial-hair}
  vicious: {behaviour: vicious, target: glasses}
clients:
  phones: {kind: edge, count: 20, uploads: logits}
attacks:
  outside: {kind: attribute-inference, sensitive: facial-hair, auxiliary: 100}
"""
INSIDE, DRAWN = "  inside: {kind: curious-decoder}\n", "  drawn: {kind: vicious-decoder}\n"
BUDGETS = "budgets: [100]\n"
CURIOUS = (
    "What the curious providers “curious”, “nosy” read of their users is not measured: no attack on them is "
    "a curious-decoder."
)
VICIOUS = (
    "What the vicious provider “vicious” reads of its users is not measured: no attack on it is a "
    "vicious-decoder."
)


@pytest.mark.parametrize(
    ("attacks", "expected"),
    [("", [CURIOUS, VICIOUS]), (INSIDE, [VICIOUS]), (DRAWN, [CURIOUS]), (INSIDE + DRAWN, [])],
)
def test_a_decoder_that_nobody_asks_is_told(attacks: str, expected: list[str], tmp_path: Path) -> None:
    text = SCENARIO + attacks + BUDGETS
    assert unread_decoders(trial.result for trial in expand(parse(text)).trials) == expected
    file = tmp_path / "scenario.yaml"
    file.write_text(text)
    asked = CliRunner().invoke(app, ["scenario", "check", str(file), "--json"])
    assert json.loads(asked.stdout)["warnings"] == expected
