"""Whole audits of models that scikit-learn trained, behind FastAPI, by the command."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import yaml
from fastapi import FastAPI
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from leakrange.assessment.document import Assessment
from leakrange.clients.cli.embedded.process import kill_group
from leakrange.clients.cli.exits import Exit
from leakrange.data.importing import ColumnUse, import_set
from tests.embedded import COMMAND, Done, EmbeddedRange, clean, wait_for
from tests.serving import serving

pytestmark = pytest.mark.timeout(900)
ROWS, BUDGET = 1400, 1000


class Model:
    """A model of half of the rows, and what it was asked, by its content."""

    def __init__(self, classifier: Any) -> None:
        rng = np.random.default_rng(4)
        self.rows = np.round(rng.normal((40, 8, 3), (9, 2, 1), size=(ROWS, 3)), 3)
        self.late = (self.rows[:, 0] - 40) / 9 + rng.normal(size=ROWS) > 0
        self.used = rng.random(ROWS) < 0.5
        classifier.fit(self.rows[self.used], self.late[self.used])
        self.asked: Counter[tuple[float, ...]] = Counter()
        self.app = FastAPI()

        @self.app.post("/late")
        async def late(asked: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
            rows = [(row["age"], row["hours"], row["tenure"]) for row in asked["rows"]]
            self.asked.update(rows)
            return {
                "predictions": [{"p": each} for each in classifier.predict_proba(np.array(rows)).tolist()]
            }

    def written(self, path: Path, members: int) -> Path:
        """The rows as CSV, with so many of its members at most."""
        left = members
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("age", "hours", "tenure", "late", "used"))
            for row, late, used in zip(self.rows.tolist(), self.late, self.used, strict=True):
                left -= int(used)
                if not used or left >= 0:
                    writer.writerow((*row, "late" if late else "in time", int(used)))
        return path


def forest() -> Model:
    return Model(RandomForestClassifier(20, bootstrap=False, max_features=1, random_state=0, n_jobs=1))


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRange]:
    """A range with two sets: ``many`` rows with all members, and ``few`` with 40 of them."""
    folder = tmp_path_factory.mktemp("audits")
    data = str(folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", data)
        for name, members in (("many", ROWS), ("few", 40)):
            path = Model(LogisticRegression()).written(folder / f"{name}.csv", members)
            import_set(path, name, ColumnUse("late", member="used"))
        embedded = EmbeddedRange(folder / "range")
        embedded.up(LEAKRANGE_DATA=data)
        yield embedded
        embedded.down()


def target(folder: Path, url: str, **limits: object) -> str:
    path = folder / "late.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "name": "late",
                "owner": "payments@example.com",
                "card": {
                    "input": {"encoding": "table", "columns": ["age", "hours", "tenure"]},
                    "classes": ["in time", "late"],
                },
                "steps": [
                    {
                        "post": f"{url}/late",
                        "json": {"rows": "${rows}"},
                        "read": {"each": "$.predictions[*]", "values": "$.p"},
                    }
                ],
                "limits": limits,
            }
        )
    )
    return str(path)


def back(standing: EmbeddedRange, name: str) -> bool:
    party = standing.record.party(name)
    return party.restarts > 0 and party.state == "ready"


def command(standing: EmbeddedRange, file: str, data: str, out: Path) -> list[str]:
    return [
        *("audit", "endpoint", file, "--data", data, "--member", "used", "--budget", str(BUDGET)),
        *("--out", str(out), "--state", str(standing.root)),
    ]


def audit(standing: EmbeddedRange, file: str, data: str, out: Path) -> tuple[Done, Assessment]:
    """The command in a process of its own, which sees the data."""
    ended = subprocess.run(
        [COMMAND, *command(standing, file, data, out)],
        capture_output=True,
        text=True,
        timeout=800,
        env=clean() | {"LEAKRANGE_DATA": os.environ["LEAKRANGE_DATA"]},
    )
    assert out.exists(), ended.stderr
    document = Assessment.model_validate_json(out.read_bytes())
    return Done(ended.returncode, ended.stdout, ended.stderr), document


def test_a_forest_that_learnt_by_heart_leaks_and_a_killed_audit_goes_on(
    standing: EmbeddedRange, tmp_path: Path
) -> None:
    model, out = forest(), tmp_path / "audit.json"
    with serving(model.app) as url:
        file = target(tmp_path, url, rate="100/s", batch=8)
        environment = clean() | {"LEAKRANGE_DATA": os.environ["LEAKRANGE_DATA"]}
        for party in ("attacker-1", "controller"):
            before = model.asked.total()
            asking = subprocess.Popen(
                [COMMAND, *command(standing, file, "many", out)], env=environment, stderr=subprocess.DEVNULL
            )
            wait_for(lambda before=before: model.asked.total() > before + 40, "some answers")  # type: ignore[misc]
            asking.send_signal(signal.SIGKILL)
            asking.wait()
            pid = standing.record.party(party).pid
            assert pid is not None
            kill_group(pid, signal.SIGKILL)
            wait_for(lambda party=party: back(standing, party), f"{party} to be back")  # type: ignore[misc]
        done, document = audit(standing, file, "many", out)
        total = model.asked.total()
        assert (done.returncode, document.conclusion) == (Exit.FAILED, "leaks")
        assert done.stdout.startswith("LEAKS (grade E)\n“late” gives away who was in the training set")
        # Of what was under way when a party was killed the proxy may have asked a chunk again.
        assert document.spent <= total <= document.spent + 2 * 4 * 8
        again, same = audit(standing, file, "many", out)
        assert "nothing is asked" in again.stderr
        assert model.asked.total() == total
        assert same == document
        listed = httpx.get(f"{standing.record.controller}/v1/assessments?target=late").json()["assessments"]
        assert [(each["run"], each["conclusion"]) for each in listed] == [(document.run, "leaks")]
    accounts = json.loads(standing("keys", "list", "--json").stdout)
    held = {each["name"]: (each["spent"], each["reserved"]) for each in accounts}
    asked = {name: spent for name, (spent, _) in held.items() if document.run in name}
    assert sum(asked.values()) == document.spent
    assert not any(reserved for _, reserved in held.values())


def test_a_well_trained_model_passes(standing: EmbeddedRange, tmp_path: Path) -> None:
    with serving(Model(LogisticRegression()).app) as url:
        done, document = audit(standing, target(tmp_path, url), "many", tmp_path / "audit.json")
    assert (done.returncode, document.conclusion) == (Exit.OK, "passes"), document.findings
    assert document.grade in ("A", "B")
    assert {each.attack for each in document.attacks} >= {"loss-threshold", "quantile", "lira", "rmia"}


def test_forty_members_tell_nothing_and_the_audit_says_what_would(
    standing: EmbeddedRange, tmp_path: Path
) -> None:
    with serving(Model(LogisticRegression()).app) as url:
        done, document = audit(standing, target(tmp_path, url), "few", tmp_path / "audit.json")
    assert (done.returncode, document.conclusion) == (Exit.CANNOT_TELL, "cannot tell")
    [power] = document.plan.power
    assert (power.cases, power.enough) == (40, False)
    assert "records of one side" in document.recommendation
