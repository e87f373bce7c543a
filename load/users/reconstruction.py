"""An attacker who collects releases to reconstruct samples from."""

from __future__ import annotations

from leakrange.load.users.user import LoadUser

__all__ = ["ReconstructionCollector"]


class ReconstructionCollector(LoadUser):
    """Collects releases to reconstruct samples from."""

    kind = "reconstruction"
