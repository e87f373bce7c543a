"""The action for GitHub and the workflow of the guide: valid, and made of commands that `leakrange` takes."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from leakrange.clients.cli.commands.audit import audit
from tests.docs.blocks import ROOT, blocks
from tests.docs.checks import check
from tests.docs.shell import commands

ACTION = ROOT / "infra" / "github" / "audit-endpoint" / "action.yml"
GUIDE = "docs/guides/audit-endpoint-machines.md"
STUB = """#!/bin/bash
printf '%s\\n' "$@" __end__ >> "$CALLS"
case "$1 $2" in "audit endpoint") exit "$ENDS_WITH" ;; esac
"""
"""Writes down how it was called, and ends the audit as it is told."""
THE_COMMAND_IS_THERE = any(each.name == "endpoint" for each in audit.registered_commands)


def _schema(name: str) -> Any:
    return json.loads((files("check_jsonschema.builtin_schemas.vendor") / f"{name}.json").read_text())


def _action() -> dict[str, Any]:
    action: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    return action


def _run(tmp_path: Path, ends_with: int = 0, **inputs: str) -> tuple[int, list[list[str]], str]:
    """Carry the step out as GitHub does: its status, the calls of `leakrange`, and what the step puts out."""
    program = tmp_path / "leakrange"
    program.write_text(STUB)
    program.chmod(0o700)
    given = {name: each.get("default", "") for name, each in _action()["inputs"].items()} | inputs
    [step] = [each for each in _action()["runs"]["steps"] if each.get("id") == "audit"]
    named = {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in step["env"].items()
    }
    around = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(tmp_path / "calls")}
    github = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output")}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env=around | github | named | {"ENDS_WITH": str(ends_with)},
        capture_output=True,
        text=True,
    )
    calls = [each.splitlines() for each in (tmp_path / "calls").read_text().split("__end__\n") if each]
    output = tmp_path / "output"
    return done.returncode, calls, output.read_text() if output.exists() else ""


def test_the_action_is_valid_and_its_inputs_are_all_used() -> None:
    action = _action()
    jsonschema.Draft7Validator(_schema("github-actions")).validate(action)
    for step in action["runs"]["steps"]:
        assert "uses" in step or step["shell"] == "bash"
        assert "${{" not in step.get("run", "")
    used = {value for step in action["runs"]["steps"] for value in step.get("env", {}).values()}
    assert {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]} <= used


def test_the_audit_is_asked_for_what_the_inputs_say(tmp_path: Path) -> None:
    status, calls, output = _run(
        tmp_path,
        target="targets/my risk.yaml",
        data="customers",
        records="customers.csv",
        label="risk",
        hidden="smoker region",
        member="used",
        out="a.sarif b.cdx.json",
    )
    asked = ["--hidden", "smoker", "--hidden", "region", "--member", "used"]
    options = ["--budget", "5000", "--fail-on", "cannot-tell", "--out", "a.sarif", "--out", "b.cdx.json"]
    assert calls == [
        ["data", "import", "customers.csv", "--name", "customers", "--target", "risk", *asked],
        ["up", "--detach"],
        ["audit", "endpoint", "targets/my risk.yaml", "--data", "customers", *asked, *options],
        ["down"],
    ]
    assert (status, output) == (0, "status=0\n")
    for call in calls:
        if call[:2] != ["audit", "endpoint"] or THE_COMMAND_IS_THERE:
            check(["leakrange", *call])


@pytest.mark.parametrize("ends_with", [1, 6, 2])
def test_the_step_ends_as_the_audit_does_and_stops_the_range(tmp_path: Path, ends_with: int) -> None:
    status, calls, output = _run(tmp_path, ends_with, target="risk.yaml", data="customers", member="used")
    assert (status, output) == (ends_with, f"status={ends_with}\n")
    assert [call[0] for call in calls] == ["up", "audit", "down"]


def test_a_name_that_holds_commands_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    _, calls, _ = _run(tmp_path, target="$(touch harm).yaml", data="`touch harm`", hidden="* ;touch")
    assert not (tmp_path / "harm").exists()
    assert calls[1][2:8] == ["$(touch harm).yaml", "--data", "`touch harm`", "--hidden", "*", "--hidden"]


def test_the_workflow_of_the_guide_is_valid_and_uploads_what_the_action_writes() -> None:
    [shown] = [each for each in blocks(GUIDE) if each.language == "yaml"]
    workflow = yaml.safe_load(shown.text.replace("\non:", "\n'on':"))
    jsonschema.Draft7Validator(_schema("github-workflows")).validate(workflow)
    [job] = workflow["jobs"].values()
    assert job["permissions"]["security-events"] == "write"
    [step] = [each for each in job["steps"] if "infra/github/audit-endpoint" in each.get("uses", "")]
    action = _action()
    assert set(step["with"]) <= set(action["inputs"])
    assert {name for name, each in action["inputs"].items() if each.get("required")} <= set(step["with"])
    [upload] = [each for each in job["steps"] if "upload-sarif" in each.get("uses", "")]
    assert upload["with"]["sarif_file"] in step["with"].get("out", action["inputs"]["out"]["default"]).split()
    assert "!cancelled()" in upload["if"]


def test_commands_of_the_guide_would_be_taken() -> None:
    lines = [words for each in blocks(GUIDE) if each.language == "sh" for words in commands(each.text)]
    assert any(words[:3] == ["leakrange", "audit", "endpoint"] for words in lines)
    for words in lines:
        if words[:3] != ["leakrange", "audit", "endpoint"] or THE_COMMAND_IS_THERE:
            check(words)
