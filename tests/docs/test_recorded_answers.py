"""The guide docs/guides/recorded-answers.md, done as it says: from a file, or a logger, to a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from leakrange.wire.inference_logs import REQUEST, RESPONSE
from tests.data.answered import CLASSES, scored
from tests.data.tables import write_rows
from tests.docs.blocks import blocks
from tests.docs.shell import commands
from tests.embedded import leakrange
from tests.listening import listening
from tests.serving import free_port

PAGE = "docs/guides/recorded-answers.md"
AUDITS, JOINED, LISTENER = slice(0, 2), 2, 3
"""The commands of the guide."""


def asked() -> list[list[str]]:
    page = [block for block in blocks(PAGE) if block.language == "sh"]
    return [words[1:] for block in page for words in commands(block.text)]


def people(count: int, **how: Any) -> list[dict[str, Any]]:
    columns = {name: values.tolist() for name, values in scored(count, **how).items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_a_file_of_answers_leads_to_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "scores.csv", people(600))
    members, attribute = (leakrange(*words) for words in asked()[AUDITS])
    assert members.returncode == 1, members.stderr
    [shown] = [block.text.strip() for block in blocks(PAGE) if "The recorded provider" in block.text]
    assert members.stdout.startswith(shown)
    assert "report.html" in members.stderr
    assert (tmp_path / "report.html").exists()
    assert attribute.returncode in (0, 1), attribute.stderr
    assert "attribute-inference  gender" in attribute.stdout


def test_what_kserve_logs_leads_to_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = people(90)
    words = ["127.0.0.1" if word == "0.0.0.0" else word for word in asked()[LISTENER]]
    words[words.index("8790")] = str(free_port())
    with listening(tmp_path, words) as listener, httpx.Client() as logger:
        for number in range(0, 90, 3):
            send(logger, listener.address, f"request-{number}", rows[number : number + 3])
    assert '"recorded": 90' in listener.told
    known = [
        {"request": f"request-{number - number % 3}", "sample": number % 3, "in_training": row["in_training"]}
        for number, row in enumerate(rows)
    ]
    write_rows(tmp_path / "people.csv", known)
    done = leakrange(*asked()[JOINED])
    assert done.returncode == 1, done.stderr
    assert "loss-threshold  membership" in done.stdout
    assert "90 recorded answers of 3 values (softmax)" in done.stderr


def send(logger: httpx.Client, address: str, id: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """The two events of a request, as KServe's logger sends them."""
    instances = [{"region": row["region"]} for row in rows]
    predictions = [{name: row[f"p_{name}"] for name in CLASSES} for row in rows]
    for kind, body in ((REQUEST, {"instances": instances}), (RESPONSE, {"predictions": predictions})):
        headers = {"ce-specversion": "1.0", "ce-id": id, "ce-type": kind, "ce-source": "http://kserve"}
        assert logger.post(address, json=body, headers=headers).status_code == 202
