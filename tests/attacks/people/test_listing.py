"""Attacks on people are listed without the libraries of their science."""

from __future__ import annotations

import subprocess
import sys

BLOCKED = """
import sys
sys.modules["torch"] = sys.modules["sklearn"] = sys.modules["scipy"] = None
from leakrange.attacks import attacks
from leakrange.attacks.kinds import kind_of
assert {"first-cut", "class-based", "multilateration"} <= set(attacks)
kinds = {kind_of(attack).name for attack in attacks.values()}
assert {"attribute", "membership", "people", "student", "template"} <= kinds
assert "leakrange.attacks.people.class_scores" in sys.modules
"""


def test_attacks_are_listed_where_scikit_learn_and_torch_are_not() -> None:
    subprocess.run([sys.executable, "-c", BLOCKED], check=True, timeout=120)
