"""A user who asks a verification service about pairs of samples."""

from __future__ import annotations

from leakrange.load.users.user import LoadUser

__all__ = ["VerificationProber"]


class VerificationProber(LoadUser):
    """Asks a verification service about pairs of samples."""

    kind = "verification"
