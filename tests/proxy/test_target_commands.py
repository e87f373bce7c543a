"""Targets by the command line: files are checked without a range, and served, shown, withdrawn with one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.embedded import leakrange
from tests.proxy.conftest import Range
from tests.proxy.servers import SHAPE, clean, serve
from tests.proxy.test_limit_commands import command
from tests.proxy.test_targets import Foreign, target

ZEROS = clean("softmax", np.zeros((1, *SHAPE), np.uint8))[0].tolist()


@pytest.fixture
def foreign() -> Iterator[tuple[Foreign, str]]:
    server = Foreign()
    with serve(server) as url:
        yield server, url


def written(folder: Path, address: str, **changes: Any) -> str:
    path = folder / "risk.yaml"
    path.write_text(yaml.safe_dump(target(address, **changes)))
    return str(path)


def test_a_file_is_checked_without_a_range(tmp_path: Path, foreign: tuple[Foreign, str]) -> None:
    server, url = foreign
    done = leakrange("target", "check", written(tmp_path, url))
    assert done.returncode == 0, done.stderr
    assert f"POST {url}/score: " in done.stderr
    assert '{"rows":[{"p":[' in done.stderr
    assert [line.split() for line in done.stdout.splitlines()[1:]] == [
        [str(place), f"{value:.6g}"] for place, value in enumerate(ZEROS)
    ]
    as_json = json.loads(leakrange("target", "check", written(tmp_path, url), "--json").stdout)
    assert as_json == {"target": "risk", "release": "softmax", "values": pytest.approx(ZEROS)}
    assert len(server.bodies) == 2


def test_no_secret_is_printed_and_none_is_missing(tmp_path: Path, foreign: tuple[Foreign, str]) -> None:
    server, url = foreign
    path = written(tmp_path, url, headers={"Authorization": "Bearer ${RISK_KEY}"})
    unset = leakrange("target", "check", path)
    assert (unset.returncode, server.bodies) == (2, [])
    assert "RISK_KEY is not set" in unset.stderr
    assert "export RISK_KEY=" in unset.stderr
    server.echoes = "authorization"
    done = leakrange("target", "check", path, RISK_KEY="s3cret-key")
    assert done.returncode == 0, done.stderr
    assert server.headers[-1]["authorization"] == "Bearer s3cret-key"
    assert "Bearer ${RISK_KEY}" in done.stderr
    assert "s3cret" not in done.stderr + done.stdout
    step = target(url)["steps"][0] | {"read": {"labels": "$.echo"}}  # whose refusal quotes the label
    headers = {"Authorization": "Bearer ${RISK_KEY}"}
    refused = leakrange(
        "target", "check", written(tmp_path, url, headers=headers, steps=[step]), RISK_KEY="s3cret-key"
    )
    assert refused.returncode == 2
    assert "'Bearer ${RISK_KEY}' is none of the card's classes" in refused.stderr
    assert "s3cret" not in refused.stderr


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ((307, {"location": "http://elsewhere.example/score"}), 1, "elsewhere.example/score, which is not"),
        ((401, {}), 1, "it does not know who asks"),
    ],
)
def test_what_a_target_does_instead_is_told(
    tmp_path: Path, foreign: tuple[Foreign, str], fault: Any, code: int, words: str
) -> None:
    server, url = foreign
    server.faults = iter([fault])
    done = leakrange("target", "check", written(tmp_path, url))
    assert done.returncode == code, done.stderr
    assert words in done.stderr


def test_a_server_that_is_away_is_told(tmp_path: Path) -> None:
    done = leakrange("target", "check", written(tmp_path, "http://127.0.0.1:9"))
    assert done.returncode == 3
    assert "no answer from http://127.0.0.1:9/score" in done.stderr


def test_a_mistaken_file_is_not_asked(tmp_path: Path, foreign: tuple[Foreign, str]) -> None:
    server, url = foreign
    for changes, words in [
        ({"owner": ""}, "owner: "),
        ({"steps": []}, "'steps' or a 'preset'"),
        ({"headers": {"X-Api-Key": "abc"}}, "holds a secret"),
    ]:
        done = leakrange("target", "check", written(tmp_path, url, **changes))
        assert (done.returncode, server.bodies) == (2, [])
        assert words in done.stderr
    (tmp_path / "bytes.yaml").write_bytes(b"name: \xff")
    assert (
        "is no text, and so no target's file"
        in leakrange("target", "check", str(tmp_path / "bytes.yaml")).stderr
    )
    wrong = leakrange(
        "target", "check", written(tmp_path, url, card={**target(url)["card"], "classes": ["a", "b"]})
    )
    assert wrong.returncode == 2
    assert "have shape (1, 5), and not (1, 2)" in wrong.stderr


def test_a_target_is_served_shown_and_withdrawn(
    live: Range, tmp_path: Path, foreign: tuple[Foreign, str]
) -> None:
    server, url = foreign
    path = written(tmp_path, url, limits={"samples": 500, "rate": "9/s"})
    assert "no targets yet" in command(live, "targets", "list").stderr
    done = command(live, "targets", "put", path)
    assert done.returncode == 0, done.stderr
    assert f"{ZEROS[3]:.6g}" in done.stdout
    assert [route["model"] for route in live.admin("GET", "/routes")["routes"]] == ["digits", "risk"]
    listed = command(live, "targets", "list").stdout
    assert f"{url}/score" in listed
    assert live.provider_url not in listed  # a provider of the range is no target
    shown = command(live, "targets", "show", "risk").stdout
    assert "1 requests, 1 samples sent, 1 answered" in shown
    assert "500 samples" in shown
    assert "9/s" in shown
    assert json.loads(command(live, "targets", "show", "risk", "--json").stdout)["asked"]["sent"] == 1
    server.faults = iter([(400, {})])
    assert "answered at 20" in shown
    assert command(live, "targets", "put", path, "--as", "other").returncode == 2
    assert "answered 400: " in command(live, "targets", "show", "risk").stdout
    live.admin("GET", "/routes/other", status=404)
    done = command(live, "targets", "put", path, "--as", "other", "--no-probe", "--json")
    assert json.loads(done.stdout)["tried"] is None
    refused = command(live, "targets", "delete", "digits")
    assert refused.returncode == 4
    assert f"{live.provider_url} answers for it" in refused.stderr
    assert command(live, "targets", "delete", "risk").returncode == 0
    assert command(live, "targets", "show", "risk").returncode == 4
    assert "is no target's name" in command(live, "targets", "show", "a/b").stderr
