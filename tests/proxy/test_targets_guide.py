"""The guide docs/guides/targets.md: its commands run as they stand there, and it leaves nothing out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from leakrange.targets.target import (
    PLACEHOLDERS,
    RemoteTarget,
    TargetCard,
    TargetLimits,
    TargetRead,
    presets,
    read_target,
)
from tests.docs.blocks import ROOT, blocks
from tests.embedded import clean
from tests.proxy.conftest import OPERATOR, Range
from tests.proxy.servers import serve

PAGE = "docs/guides/targets.md"
TEXT = (ROOT / PAGE).read_text()


def test_a_reader_gets_a_target_behind_the_proxy(
    live: Range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISK_KEY", "4af9c0")
    [model] = [block.text for block in blocks(PAGE) if block.language == "python"]
    namespace: dict[str, Any] = {}
    exec(compile(model, "my_model.py", "exec"), namespace)
    script = "".join(block.text for block in blocks(PAGE) if block.language == "sh")
    with serve(namespace["app"]) as mine:
        script = script.replace("http://127.0.0.1:8080", mine).replace("http://127.0.0.1:8701", live.url)
        done = subprocess.run(
            ["bash", "-c", "set -eu -o pipefail\n" + script],
            cwd=tmp_path,
            env=clean()
            | {
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "LEAKRANGE_URL": live.url,
                "LEAKRANGE_PROXY_URL": live.url,
                "LEAKRANGE_OPERATOR_KEY": OPERATOR,
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "two numbers that sum to 1: softmax" in done.stderr
    assert '"values":[[0.8,0.2],[0.0,1.0]]' in done.stdout
    assert "4af9c0" not in done.stderr
    assert re.search(r"asked so far +2 requests, 3 samples sent, 3 answered", done.stdout)
    assert "# CHECK: " not in (tmp_path / "risk.yaml").read_text()


def test_the_file_that_is_explained_can_be_read() -> None:
    [shown] = [block.text for block in blocks(PAGE) if block.language == "yaml"]
    target = read_target(shown)
    assert set(yaml.safe_load(shown)) == set(RemoteTarget.model_fields) - {
        "preset",
        "url",
        "model",
        "options",
    }
    assert set(yaml.safe_load(shown)["limits"]) == set(TargetLimits.model_fields)
    assert target.variables == {"RISK_ID", "RISK_SECRET", "RISK_KEY"}


def test_nothing_that_a_file_may_say_is_left_out() -> None:
    named = set(re.findall(r"`([^`\n]+)`", TEXT))
    words = {word for span in named for word in re.findall(r"\w+", span)}
    assert {f"${{{name}}}" for name in PLACEHOLDERS} <= named
    assert set(presets()) <= named
    for preset in presets().values():
        [line] = [line for line in TEXT.splitlines() if line.startswith(f"| `{preset.name}` |")]
        for option, usual in preset.options.items():
            assert f"{option}: {usual}" in line
        assert all(f"`{wanted}`" in line for wanted in preset.wants)
    for schema in (TargetRead, TargetLimits, TargetCard, RemoteTarget):
        assert set(schema.model_fields) <= words, schema
