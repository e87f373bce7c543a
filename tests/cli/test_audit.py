"""``audit model`` and ``audit population`` on model files, without a range."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import joblib
import pytest
import torch
from click.testing import Result
from safetensors.torch import save as safetensors
from typer.testing import CliRunner

from leakrange.audit.members import ModelPopulation
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.main import app
from leakrange.jobs.verdict import Verdict
from leakrange.nets.module_file import packed
from tests.audit.digits import HIDES, MOVING, STILL, model_file, save_digits

SMALL = ("--data", "digits", "--size", "16", "--limit", "300", "--labelled", "60", "--test", "100")
MOVED = [part for setting in MOVING for part in ("--set", setting)]
UNMOVED = [part for setting in STILL for part in ("--set", setting)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def file(models: Path) -> Path:
    return model_file(models)


def audit(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(app, ["audit", *map(str, arguments)])
    if isinstance(done.exception, CliError):
        raise done.exception
    return done


def test_the_exit_code_tells_whether_it_passes(file: Path, tmp_path: Path) -> None:
    page, record = tmp_path / "new" / "verdict.html", tmp_path / "verdict.json"
    passed = audit("model", "--file", file, *SMALL, *UNMOVED, "--report", page)
    assert passed.exit_code == Exit.OK, passed.output
    assert "viciousness: passes" in passed.stdout
    assert "This model passes" in page.read_text()
    failed = audit("model", "--file", file, *SMALL, *MOVED, "--json", "--report", record)
    assert failed.exit_code == Exit.FAILED
    verdict = Verdict.model_validate_json(failed.stdout)
    assert verdict.conclusion == "suspicious"
    assert len(verdict.findings[0].rounds) == 2
    assert Verdict.model_validate_json(record.read_text()) == verdict


def test_a_population_is_made_gone_on_with_and_used(models: Path, file: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    first = audit("population", models, *SMALL, *MOVED, "--out", known)
    assert first.exit_code == Exit.OK
    assert len(ModelPopulation.model_validate_json(known.read_bytes()).members) == 1
    save_digits(models, "curious/parameterized", HIDES)
    (models / "rest" / "of").mkdir(parents=True)
    again = audit("population", models, *SMALL, *MOVED, "--out", known)
    population = ModelPopulation.model_validate_json(known.read_bytes())
    assert [member.dishonest for member in population.members] == [False, True]
    assert again.stderr.count("curious") == 1  # what was audited before is not audited again
    assert "1 of 1" in again.stdout
    with pytest.raises(CliError, match="another plan"):
        audit("population", models, *SMALL, "--set", "rounds=1", "--out", known)
    told = audit("model", "--file", file, *SMALL, *MOVED, "--population", known)
    assert "1 honest and 1 other models on digits" in told.stderr


def test_what_cannot_be_audited_is_said(file: Path, tmp_path: Path) -> None:
    rubbish = tmp_path / "model.safetensors"
    rubbish.write_bytes(b"\x80\x04cos\nsystem\n")
    for arguments, said in (
        (["model", "--file", rubbish, *SMALL], "is a pickle"),
        (["model", "--file", tmp_path / "none", *SMALL], "No such file"),
        (["model", "--file", file, "some", *SMALL], "a MODEL that is served, or a --file"),
        (["model", "--file", file, "--data", "mnists"], "mnists"),
        (["model", "--file", file, *SMALL, "--set", "lr=-1"], "viciousness.lr"),
        (["model", "--file", file, *SMALL, "--set", "lr"], "NAME=VALUE"),
        (["model", "--file", file, *SMALL, "--population", rubbish], "no population"),
        (["population", tmp_path, *SMALL, "--out", tmp_path / "x.json"], "holds no model"),
    ):
        with pytest.raises(CliError, match=said) as raised:
            audit(*arguments)
        assert raised.value.code == Exit.USAGE, said


def saved(value: Any, save: Any) -> bytes:
    written = io.BytesIO()
    save(value, written)
    return written.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "what", "instead"),
    [
        ("rows.csv", b"age,income\n30,1\n", "a table", "leakrange data import"),
        ("rows.npz", b"", "a table", "leakrange answers audit"),
        ("target.yaml", b"name: risk", "a text of settings", "leakrange audit endpoint FILE"),
        ("net.pt", saved({"w": torch.ones(2)}, torch.save), "a pickle", "torch.onnx.export"),
        ("tree.joblib", saved({"w": 1}, joblib.dump), "a pickle", "skops.io.dump"),
        ("model", b"\x08\x0a\x3a\x00", "made (ONNX)", "--card CARD.yaml"),
        ("net.safetensors", safetensors({"w": torch.ones(2)}), "a file of weights", "torch.onnx.export"),
        (
            "d.safetensors",
            packed({}, '{"kind": "threshold"}'),
            "a decoder (threshold)",
            "classifier.safetensors",
        ),
        ("o.safetensors", packed({}, '{"kind": "defence"}'), "a trained defence", "classifier.safetensors"),
        ("damaged.safetensors", b"nothing of the kind", "not a safetensors file", "as a provider sent it"),
    ],
)
def test_a_file_that_is_no_model_is_named_with_what_to_give_instead(
    name: str, content: bytes, what: str, instead: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CliError) as raised:
        audit("model", "--file", path, *SMALL)
    assert what in raised.value.message
    assert instead in (raised.value.hint or "")
    assert raised.value.code == Exit.USAGE


def test_curiosity_is_looked_for_where_asked(file: Path) -> None:
    done = audit("model", "--file", file, *SMALL, *UNMOVED, "--sensitive", "parity", "--json")
    found = json.loads(done.stdout)["findings"][2]
    assert (found["test"], found["settings"]) == ("curiosity", {"sensitive": "parity"})
