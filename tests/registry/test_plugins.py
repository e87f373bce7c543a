"""Plugins: packages of the user's own, found by their entry points; none of them can bring the range down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugins import Python, plugged_in

__all__ = ["plugged_in"]

ATTACK = """
from leakrange.attacks import Attack, attacks
from leakrange.attacks.attribute_inference import AttributeInference

@attacks.register("{name}")
class Mine(AttributeInference):
    summary = "an attack of a plugin"
"""
ROUNDED = """
from leakrange.defences.output import output_defences
from leakrange.defences.output.round import Round

@output_defences.register("floor")
class Floor(Round):
    summary = "a defence of a plugin"
"""
REPLACING = """
from leakrange.defences.output import output_defences

@output_defences.register("round")
class Mine: ...
"""
MEASURING = """
from leakrange.metrics.registry import metric

@metric("auc", measures=object, title="mine", unit="share", role="leakage")
def mine(_: object) -> float:
    return 1.0
"""
LISTED = """
import json, sys
from leakrange.attacks import attacks
from leakrange.defences.output import output_defences
print(json.dumps({"attacks": list(attacks), "defences": list(output_defences), "broken": attacks.broken
    + output_defences.broken, "round": output_defences["round"].__module__, "torch": "torch" in sys.modules}))
"""
BOTH = """
import sys
from leakrange.attacks import attacks
from leakrange.defences.output import output_defences
assert attacks["attribute-inference"] and "own_file" not in sys.modules
assert {first}
assert {second}
assert attacks.broken + output_defences.broken == ()
"""
GROUPS = {"own_attack": "leakrange.attacks", "own_defence": "leakrange.defences.output"}


def test_a_plugin_is_listed_beside_what_is_built_in(plugged_in: Python, tmp_path: Path) -> None:
    (tmp_path / "own_attack.py").write_text(ATTACK.format(name="mine"))
    (tmp_path / "own_defence.py").write_text(ROUNDED)
    done = plugged_in(LISTED, GROUPS)
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert {"mine", "attribute-inference"} <= set(listed["attacks"])
    assert {"floor", "round"} <= set(listed["defences"])
    assert (listed["broken"], listed["torch"]) == ([], False)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("first", "second"), [('"mine" in attacks', '"floor" in output_defences')[::step] for step in (1, -1)]
)
def test_one_file_of_several_entries_is_loaded_when_one_of_them_is_asked_for(
    plugged_in: Python, tmp_path: Path, first: str, second: str
) -> None:
    (tmp_path / "own_file.py").write_text(ATTACK.format(name="mine") + ROUNDED)
    groups = ["leakrange.attacks", "leakrange.defences.output"]
    done = plugged_in(BOTH.format(first=first, second=second), {"own_file": groups})
    assert done.returncode == 0, done.stderr


def test_a_plugin_replaces_nothing_that_is_built_in(plugged_in: Python, tmp_path: Path) -> None:
    (tmp_path / "own_defence.py").write_text(REPLACING)
    done = plugged_in(LISTED, {"own_defence": GROUPS["own_defence"]})
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert listed["round"] == "leakrange.defences.output.round"
    [told] = listed["broken"]
    assert told.startswith("plugin 'own_defence' (own_defence) of leakrange-own 1.2: ValueError")
    assert "'round' is registered twice" in told


@pytest.mark.parametrize("replacing", [REPLACING, MEASURING], ids=["class", "function"])
def test_nor_where_it_is_imported_first(plugged_in: Python, tmp_path: Path, replacing: str) -> None:
    (tmp_path / "own_defence.py").write_text(replacing)
    guarded = "try:\n    import own_defence\nexcept ValueError as error:\n    assert 'twice' in str(error)\n"
    listed = f"from leakrange.metrics.registry import metrics\nassert len(metrics)\n{LISTED}"
    done = plugged_in(f"{guarded}else:\n    raise AssertionError\n{listed}", GROUPS)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["round"] == "leakrange.defences.output.round"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import no_such_framework", "ModuleNotFoundError: No module named 'no_such_framework'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def f(:", "SyntaxError"),
        (ATTACK.format(name="half") + "\nraise RuntimeError('midway')", "RuntimeError: midway"),
    ],
)
def test_a_broken_plugin_is_named_and_stops_nothing(
    plugged_in: Python, tmp_path: Path, code: str, why: str
) -> None:
    (tmp_path / "own_attack.py").write_text(code)
    (tmp_path / "own_defence.py").write_text(ROUNDED)
    done = plugged_in(LISTED, GROUPS)
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert "attribute-inference" in listed["attacks"]
    assert "half" not in listed["attacks"]  # all of a plugin, or nothing
    assert "floor" in listed["defences"]
    assert "plugin 'own_attack' (own_attack) of leakrange-own 1.2" in done.stderr
    assert why in done.stderr
    assert "mend or uninstall that package" in done.stderr


@pytest.mark.parametrize(
    ("broken", "unknown"),
    [("own_attack", "unknown attack 'mine'"), ("own_kind", "attack 'mine' is of an unknown kind 'theirs'")],
)
def test_a_scenario_that_needs_a_broken_plugin_says_which(
    plugged_in: Python, tmp_path: Path, broken: str, unknown: str
) -> None:
    (tmp_path / "own_attack.py").write_text(ATTACK.format(name="mine") + '    kind = "theirs"\n')
    (tmp_path / f"{broken}.py").write_text("import no_such_framework")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        "name: needs-a-plugin\ndata: {name: synthfaces}\n"
        "providers: {honest: {behaviour: honest, target: smile}}\n"
        "clients: {phones: {kind: edge, count: 5, uploads: logits}}\n"
        "attacks: {own: {kind: mine, sensitive: hair}}\nbudgets: [10]\n"
    )
    command = f"import sys; sys.argv[1:] = ['scenario', 'check', {str(scenario)!r}]"
    groups = GROUPS | {"own_kind": "leakrange.attacks.kinds"}
    done = plugged_in(f"{command}; from leakrange.clients.cli.main import main; main()", groups)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert unknown in said
    assert f"plugin '{broken}' ({broken}) of leakrange-own 1.2: ModuleNotFoundError" in said
