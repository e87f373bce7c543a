"""Asks what any attacker would, each chunk with one of several keys that share the budget."""

from __future__ import annotations

from load.users.user import LoadUser

__all__ = ["Botnet"]


class Botnet(LoadUser):
    """Asks what any attacker would, each chunk with one of several keys that share the budget."""

    kind = "botnet"
