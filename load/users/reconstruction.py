"""Collects releases from which samples are to be drawn again."""

from __future__ import annotations

from load.users.user import LoadUser

__all__ = ["ReconstructionCollector"]


class ReconstructionCollector(LoadUser):
    """Collects releases from which samples are to be drawn again."""

    kind = "reconstruction"
