"""``leakrange init``: four answers become a file that is run, or audited, as it is."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

import pytest

from leakrange.data import datasets
from leakrange.scenario.language import parse
from tests.cli.test_target_new import Server
from tests.data.tables import customers, write_rows
from tests.embedded import Done, leakrange
from tests.proxy.servers import serve

SAID = ["--data", "synthtable", "--target", "passes", "--hidden", "home", "--defence", "argmax"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    return tmp_path


def init(monkeypatch: pytest.MonkeyPatch, *words: str, typed: str | None = None) -> Done:
    """The command with these ``words``; what is ``typed`` comes from a terminal."""
    stream = io.StringIO(typed or "")
    monkeypatch.setattr("sys.stdin", stream)
    monkeypatch.setattr(stream, "isatty", lambda: typed is not None)
    return leakrange("init", *words, LEAKRANGE_DATA=os.environ["LEAKRANGE_DATA"])


def test_options_answer_without_a_terminal(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    done = init(monkeypatch, "who.yaml", *SAID)
    assert (done.returncode, done.stdout) == (0, "who.yaml\n"), done.stderr
    assert "next: leakrange up --detach && leakrange run who.yaml" in done.stderr
    scenario = parse((folder / "who.yaml").read_bytes())
    assert (scenario.name, list(scenario.defences)) == ("who", ["none", "argmax"])
    assert scenario.providers["honest"].target == "passes"
    assert leakrange("scenario", "check", "who.yaml").returncode == 0


def test_questions_are_asked_with_their_choices_and_defaults(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    done = init(monkeypatch, typed="synthtable\nnothing\npasses\n\n\n")
    assert done.returncode == 0, done.stderr
    questions = re.findall(r"(\S+\?)(?: \(([^)]*)\))?(?: \[([^]]*)\])?:", done.stderr)
    assert questions[:3] == [
        ("model?", "", "digits"),
        ("learn?", "passes, group, home", "passes"),
        ("learn?", "passes, group, home", "passes"),
    ]
    assert "'nothing' is none of passes, group, home" in done.stderr
    honest = parse((folder / "my-scenario.yaml").read_bytes()).providers["honest"]
    assert (honest.target, honest.sensitive) == ("passes", "group")


def test_yes_takes_the_defaults(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    assert init(monkeypatch, "--yes").returncode == 0
    honest = parse((folder / "my-scenario.yaml").read_bytes()).providers["honest"]
    assert (honest.target, honest.sensitive) == ("parity", "slant")


@pytest.mark.parametrize("option", range(0, len(SAID), 2))
def test_without_a_terminal_the_option_that_lacks_is_named(
    option: int, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    done = init(monkeypatch, *SAID[:option], *SAID[option + 2 :])
    assert done.returncode == 2
    assert "this is no terminal to answer on" in done.stderr
    assert f"answer by {SAID[option]}, or --yes" in done.stderr
    assert not (folder / "my-scenario.yaml").exists()


def test_a_file_that_is_there_stays_unless_forced(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    file = folder / "mine.yaml"
    file.write_text("mine")
    done = init(monkeypatch, "mine.yaml", *SAID)
    assert done.returncode == 2
    assert "mine.yaml is there already" in done.stderr
    assert "--force" in done.stderr
    assert file.read_text() == "mine"
    assert init(monkeypatch, "mine.yaml", *SAID, "--force").returncode == 0
    assert parse(file.read_bytes()).name == "mine"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--data", "synthtabel"], "(did you mean 'synthtable'?)"),
        (["--hidden", "passes"], "'passes' is what the provider is asked for"),
        (["--defence", "argmex"], "unknown defence 'argmex' (did you mean 'argmax'?)"),
        (["two words.yaml"], "named after its file"),
        (["--endpoint", "http://"], "write it in full"),
    ],
)
def test_answers_that_do_not_fit_leave_nothing(
    words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    done = init(monkeypatch, *SAID, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not list(folder.glob("*.yaml"))


def test_a_table_of_ones_own_is_imported(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    write_rows(folder / "My customers.csv", customers(200))
    named = ["--data", "My customers.csv", "--target", "exited", "--defence", "none"]
    refused = init(monkeypatch, *named, "--hidden", "gender", "--behaviour", "no-such")
    assert refused.returncode == 2
    assert "my-customers" not in datasets
    done = init(monkeypatch, "churn.yaml", *named, "--hidden", "gender")
    assert done.returncode == 0, done.stderr
    here = os.environ["LEAKRANGE_DATA"]
    assert leakrange("scenario", "check", "churn.yaml", LEAKRANGE_DATA=here).returncode == 0
    assert [each.name for each in parse((folder / "churn.yaml").read_bytes()).data.values()] == [
        "my-customers"
    ]
    again = init(monkeypatch, "again.yaml", *named, "--hidden", "gender")
    assert "there is an imported data set 'my-customers' already" in again.stderr


class Pointed(Server):
    """The model of two numbers and two classes that it is asked about by the Open Inference Protocol."""

    def answer(self, path: str, asked: Any) -> Any:
        if path == "/v2/models/sides":
            tensor = {"name": "x", "shape": [-1, 2], "datatype": "FP32"}
            return {"name": "sides", "inputs": [tensor], "outputs": [{**tensor, "name": "probs"}]}
        rows = asked["inputs"][0]["shape"][0]
        return {
            "outputs": [
                {"name": "probs", "shape": [rows, 2], "datatype": "FP32", "data": [0.25, 0.75] * rows}
            ]
        }


def test_an_address_becomes_a_file_that_an_audit_takes(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    asked = ["--data", "quadrants", "--target", "y", "--hidden", "s", "--yes"]
    with serve(Pointed()) as url:
        done = init(monkeypatch, "sides.yaml", "--endpoint", f"{url}/v2/models/sides", *asked)
        unclear = init(monkeypatch, "none.yaml", "--endpoint", f"{url}/v2/models", *asked)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "sides.yaml"), done.stderr
    planned = ["audit", "endpoint", "sides.yaml", "--data", "quadrants", "--hidden", "s"]
    assert f"leakrange {' '.join(planned)}" in done.stderr
    assert leakrange(*planned, "--plan").returncode == 0
    assert unclear.returncode != 0
    assert "'leakrange target new' takes more than an address" in unclear.stderr
    assert not (folder / "none.yaml").exists()
