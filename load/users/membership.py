"""An attacker who asks whose records or pictures a model was trained on."""

from __future__ import annotations

from leakrange.load.users.user import LoadUser

__all__ = ["MembershipAttacker"]


class MembershipAttacker(LoadUser):
    """Asks whose records or pictures a model was trained on."""

    kind = "membership"
