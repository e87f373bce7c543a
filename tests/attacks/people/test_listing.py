"""The science of people lies among the registered attacks, and is none: it lists without its libraries."""

from __future__ import annotations

import subprocess
import sys

BLOCKED = """
import sys
sys.modules["torch"] = sys.modules["sklearn"] = sys.modules["scipy"] = None
from leakrange.attacks import attacks
assert len(attacks) > 0
assert "leakrange.attacks.people.unsupervised" in sys.modules
assert not [entry for entry in attacks.values() if ".people." in entry.__module__]
"""


def test_attacks_are_listed_where_scikit_learn_and_torch_are_not() -> None:
    subprocess.run([sys.executable, "-c", BLOCKED], check=True, timeout=120)
