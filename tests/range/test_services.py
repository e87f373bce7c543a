"""A whole run against student services before a teacher: people are asked about over HTTP."""

from __future__ import annotations

import pytest

from tests.range.conftest import Controller, scenario, value

pytestmark = pytest.mark.timeout(900)
PEOPLE, ASKED, IMAGES, PAIRS = 2 * 30, 2 * 20, 8, 6
KNOWN, TARGETS, REFERENCES, FACES = 40, 120, 5, 20


def test_members_of_a_teacher_are_looked_for_through_its_students(controller: Controller) -> None:
    text = scenario(
        "services",
        data={
            "name": "synthpeople",
            "size": 32,
            "count": 4096,
            "auxiliary": 0,
            "crowd": {
                "people": 30, "images": IMAGES, "public": 20, "students": 6, "enrolled": 5, "held": 4
            },
        },
        net={"name": "residual", "width": 0.25},
        schedule={"epochs": 3, "batch": 64, "select": "last"},
        providers={
            kind: {"target": "identity", "service": kind}
            for kind in ("features", "verification", "recognition")
        },
        attacks={
            "single": {"kind": "first-cut", "known": 10, "pairs": PAIRS},
            "classes": {"kind": "class-based", "known": 10, "pairs": PAIRS},
            "close": {"kind": "closeness", "known": 10, "pairs": PAIRS, "references": REFERENCES},
            "faces": {"kind": "multilateration", "net": "provider", "targets": FACES, "knowledge": "unaware"},
            "glasses": {
                "kind": "people-attribute", "sensitive": "glasses", "auxiliary": KNOWN, "targets": TARGETS,
                "references": REFERENCES,
            },
        },
        defences={"none": [], "noisy": [{"noise": {"scale": 100.0}}]},
        budgets=[2 * PEOPLE * IMAGES],
    )  # fmt: skip
    run = controller.run(text)
    assert run.view["state"] == "done", run.view["error"]
    large = 2 * PEOPLE * IMAGES
    for name, trial in run.trials.items():
        assert trial["state"] == "done", (name, trial["error"])
        provider, defence, attack, knowledge, _ = name.split(".")
        assert 0.0 <= value(trial, "honesty") <= 1.0
        if attack == "glasses":
            each = REFERENCES if provider == "verification-s0" else 1
            assert trial["spent"] == (KNOWN + TARGETS) * each
            assert trial["victims"] == TARGETS // 2  # members are not judged
            assert trial["sensitive"] == "glasses"
            assert 0.0 <= value(trial, "auc") <= 1.0
            continue
        if attack == "faces":
            assert trial["spent"] == large  # 48 distances of each face
            assert trial["sensitive"] == "enrolled person"
            continue
        # Who is unaware of the noise has asked without it as well; who averages asks eight times.
        times = {"unaware": 1 + (defence == "noisy"), "aware": 1, "averaging": 8}[knowledge]
        rounds, left = divmod(trial["spent"], times * PEOPLE)
        assert left == 0
        others = REFERENCES if (provider, attack) == ("verification-s0", "close") else 0
        rounds -= others
        assert rounds <= (PAIRS if provider == "verification-s0" else IMAGES)
        assert value(trial, "records") == ASKED * (rounds if attack == "single" else 1), name
        assert trial["sensitive"] == "membership"
    assert run.trials[f"verification-s0.noisy.classes.unaware.b{large}"]["spent"] == 2 * PEOPLE * PAIRS
    cells = {name.removesuffix(f".b{large}"): trial for name, trial in run.trials.items()}
    # Noise that hides the members takes the service's worth with it.
    clean, noisy = (cells[f"verification-s0.{name}.classes.unaware"] for name in ("none", "noisy"))
    assert value(clean, "honesty") > 0.6 > value(noisy, "honesty")
    # Of the vectors' 64 values 48 distances leave few open; noise that hides the members hides the faces too.
    clean, noisy = (cells[f"verification-s0.{name}.faces.unaware"] for name in ("none", "noisy"))
    assert value(clean, "template_cosine") > 0.7 > 0.5 > value(noisy, "template_cosine")
    assert value(clean, "auc") > 0.8
    # Features and verification stand before one teacher, and an attacker has a copy of it; the recognition's
    # student is made on it.
    trained = run.view["jobs"]["train"]
    assert (trained["done"], trained["total"]) == (2, 2)
    ledger = {entry["name"].removeprefix(f"{run.id}."): entry for entry in run.results["ledger"]}
    for entry in ledger.values():
        assert entry["spent"] == entry["distinct"] == entry["budget"], entry
    assert ledger["attacker.verification-s0.none.pool0"]["spent"] == PEOPLE * PAIRS
    assert ledger["attacker.verification-s0.none.pool0.r5"]["spent"] == TARGETS * REFERENCES
    assert ledger["attacker.verification-s0.none.pool0.r48"]["spent"] == large
    assert ledger["users.recognition-s0.none.users"]["spent"] == 6 * 4
    again = controller.run(text)
    assert again.trials == run.trials
    assert not any(entry["spent"] for entry in again.results["ledger"])
