"""An attacker who asks for releases of its own records, to learn what they tell of a hidden attribute."""

from __future__ import annotations

from leakrange.load.users.user import LoadUser

__all__ = ["AttributeAttacker"]


class AttributeAttacker(LoadUser):
    """Asks for releases of its own records, to learn what they tell of a hidden attribute."""

    kind = "attribute"
