"""Audits of model files that others made: by their outputs alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import skops.io
from click.testing import Result
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.main import app
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.verdict import Verdict
from leakrange.providers.foreign import folder

SMALL = ("--data", "digits", "--limit", "300", "--labelled", "60", "--test", "150", "--sensitive", "loop")
CARD = """
input: {encoding: picture, shape: [16, 16, 1], scale: 255}
layout: flat
classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
release: softmax
task: digit
"""


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("card") / "card.yaml"
    path.write_text(CARD)
    return path


@pytest.fixture(scope="module", params=[20.0, 1.0], ids=["sure", "unsure"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    """A model of digits, and whether it is as sure as its mistakes call for."""
    data = load(DataSpec(name="digits", limit=300))
    train = data.where("train")
    pixels = data.values[train].reshape(len(train), -1) / np.float32(255)
    model = LogisticRegression(max_iter=300).fit(pixels, data.labels["digit"][train])
    model.coef_, model.intercept_ = model.coef_ * request.param, model.intercept_ * request.param
    path = tmp_path_factory.mktemp("file") / "model.skops"
    path.write_bytes(skops.io.dumps(model))
    return path, request.param == 20.0


def audit(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(app, ["audit", "model", *map(str, arguments)])
    if isinstance(done.exception, CliError):
        raise done.exception
    return done


def test_a_file_is_audited_by_its_outputs(
    file: tuple[Path, bool], card: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "apart", lambda work, *args: work(*args))
    page = tmp_path / "verdict.html"
    done = audit("--file", file[0], "--card", card, *SMALL, "--report", page, "--json")
    verdict = Verdict.model_validate_json(done.stdout)
    assert [finding.test for finding in verdict.findings] == ["entropy", "curiosity"]
    assert (verdict.findings[0].conclusion == "suspicious") == (not file[1])
    assert (done.exit_code == Exit.OK) == (verdict.conclusion == "passes")
    assert "test of viciousness is left out" in done.stderr
    assert "a file (skops)" in page.read_text()


def test_options_that_belong_together_are_asked_for(card: Path) -> None:
    for options in (["MODEL", "--card", card], ["--file", card, "--trust"]):
        with pytest.raises(CliError, match="--card describes a --file"):
            audit(*options, *SMALL)
