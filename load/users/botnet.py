"""An attacker who asks any questions, each chunk with one of several keys that share the budget."""

from __future__ import annotations

from leakrange.load.users.user import LoadUser

__all__ = ["Botnet"]


class Botnet(LoadUser):
    """Asks the questions of any attacker, each chunk with one of several keys that share the budget."""

    kind = "botnet"
