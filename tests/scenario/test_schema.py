"""The JSON schema for editors accepts what the language accepts and refuses what they can see is wrong."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.schema import scenario_schema
from tests.scenario.test_language import SHORT
from tests.scenario.test_matrix import TEXT
from tests.scenario.test_membership import TEXT as MEMBERS
from tests.scenario.test_mistakes import FIVE
from tests.scenario.test_several import TEXT as SEVERAL

QUERIES = MEMBERS.replace("kind: lira", "kind: lira, queries: [1, 3]")
SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = scenario_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def core(text: str) -> Any:
    """As an editor reads it (YAML 1.2: 1e-3 is a number)."""
    return yaml.safe_load(re.sub(r"(?<![\d.])(\d+)e-(\d+)\b", r"\1.0e-\2", text))


def test_there_are_ready_scenarios() -> None:
    assert {path.stem for path in SCENARIOS} >= {
        "demo",
        "what-a-curious-classifier-learns",
        "hbc-utkface",
        "mixture",
    }


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_ready_scenarios_are_sound_for_language_schema_and_plan(
    path: Path, validator: Draft202012Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEAKRANGE_DATA", raising=False)
    text = path.read_text()
    validator.validate(core(text))
    scenario = parse(text)
    assert scenario.name == path.stem
    assert expand(scenario, lambda _spec: None).trials
    validator.validate(scenario.model_dump(mode="json", exclude_none=True))


@pytest.mark.parametrize(
    "text", [SHORT, TEXT, SEVERAL, QUERIES, SHORT + "x-parts: {a: [1]}\nseeds: 3\nclients: {u: {count: 2}}\n"]
)
def test_what_the_language_takes_the_schema_takes(text: str, validator: Draft202012Validator) -> None:
    parse(text)
    validator.validate(core(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("digits", "digit"),
        ("name: short\n", ""),
        ("parameterized", "parametrised"),
        ("sensitive: large", "sensitve: large"),
        ("curious-decoder", "decoder"),
        ("attacks:", "attack:"),
        ("kind: curious-decoder", "kind: loss-threshold, queries: [0, 2]"),
        ("data: digits", "data: digits\nseeds: [-1]"),
        ("data: digits", "data: digits\nchunk: 257"),
        ("data: digits", "data: digits\ndefences: {a: [argmaxx]}"),
        ("data: digits", "data: digits\ndefences: {a: [round: {decimal: 1}]}"),
        ("data: digits", "data: digits\nclients: {a: {kind: node}}"),
    ],
)
def test_what_an_editor_can_see_is_wrong_it_is_told(
    old: str, new: str, validator: Draft202012Validator
) -> None:
    assert old in SHORT
    assert list(validator.iter_errors(core(SHORT.replace(old, new))))


def test_five_mistakes_are_seen_by_the_schema_too(validator: Draft202012Validator) -> None:
    places = {error.absolute_path[0] for error in validator.iter_errors(core(FIVE))}
    assert places >= {"defences", "budgets"}


def test_it_is_printed_for_editors_without_any_deep_learning_framework() -> None:
    code = (
        "import runpy, sys; sys.modules['torch'] = None; "
        "runpy.run_module('leakrange.scenario.schema', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == scenario_schema()
