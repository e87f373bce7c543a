"""The tasks of the fleet; importing this registers them. Nothing here imports a deep learning framework
before the fork.
"""

from __future__ import annotations

from services.attacker.fit import fit
from services.attacker.probe import probe
from services.attacker.train import train

__all__ = ["fit", "probe", "train"]
