"""The names of everything that the proxy keeps in Redis.

In a cluster what is changed in one step has to lie in one slot. The configuration has a slot of its own, each
key's account one, and each limit one. On one server they lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["PREFIX", "LedgerNames"]

PREFIX = "leakrange:proxy:"


class LedgerNames:
    """The names on one server, or ``clustered``: there each begins with, or has in it, what decides its
    slot."""

    def __init__(self, clustered: bool) -> None:
        self.clustered = clustered
        begin = PREFIX + "{configuration}:" if clustered else PREFIX
        self.version, self.changed = begin + "version", begin + "changed"
        self.policies, self.bindings = begin + "policies", begin + "bindings"
        self.shadows, self.routes = begin + "shadows", begin + "routes"
        self.limits, self.keys = begin + "limits", begin + "keys"
        self.acts = begin + "acts"
        self._begin = begin

    def auth(self, fingerprint: str) -> str:
        """The id of the API key with that fingerprint."""
        return f"{self._begin}auth:{fingerprint}"

    def record(self, id_: str) -> str:
        """What the operator gave a key. On one server that is its account too."""
        return f"{self._begin}key:{id_}"

    def shadow(self, state: str) -> str:
        """The figures of a shadow."""
        return f"{self._begin}shadow:{state}"

    def tagged(self, name: str) -> str:
        """The part of a name that stands for a key's id or a limit in the scripts."""
        return f"{{{name}}}" if self.clustered else name

    def account(self, id_: str) -> str:
        """The counts of a key."""
        return f"{PREFIX}key:{self.tagged(id_)}"

    def of_account(self, id_: str, idempotency: str = "") -> Sequence[str]:
        """Every name that a script on an account may need, which a cluster wants to know beforehand; none on
        one server."""
        if not self.clustered:
            return ()
        places = [f"{PREFIX}{kind}:{{{id_}}}" for kind in ("key", "open", "leases")]
        return [*places, f"{PREFIX}kept:{{{id_}}}:{idempotency}"] if idempotency else places

    def limit(self, name: str, further: Sequence[str] = ()) -> list[str]:
        """The counts under a limit, and the further names with those endings."""
        counts = f"{PREFIX}limit:{self.tagged(name)}"
        return [counts, *(f"{counts}:{part}" for part in further)]
