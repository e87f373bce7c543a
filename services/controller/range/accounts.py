"""The API keys of a run, what was asked under each, and what the proxy's ledger says of that in the end."""

from __future__ import annotations

from collections import Counter

from leakrange.scenario.plan import PlannedModel
from leakrange.wire.parties import Proxy
from services.controller.range.journal import Journal

__all__ = ["Accounts"]


class Accounts:
    """One key for every stream of users, every probe and every student."""

    def __init__(self, proxy: Proxy, journal: Journal) -> None:
        self._proxy, self._journal = proxy, journal
        self._keys: dict[str, tuple[str, int]] = {}
        self._distinct: Counter[str] = Counter()

    async def key(
        self, name: str, *, policy: str, budget: int, model: PlannedModel, endpoints: list[str]
    ) -> str:
        """The key of that name, made if need be, for ``budget`` samples of ``model`` at ``endpoints``."""
        self._keys[name] = (policy, budget)
        return await self._proxy.put_key(
            name, budget=budget, policy=policy, model=model.served_as, endpoints=endpoints
        )

    def count(self, name: str, samples: int) -> None:
        """So many different samples were asked under the key."""
        self._distinct[name] += samples

    async def close(self) -> None:
        """Write down what each key was allowed, what it spent, and what was asked under it."""
        for name, (policy, budget) in sorted(self._keys.items()):
            account = await self._proxy.ledger(name)
            await self._journal.account(
                name,
                policy=policy,
                budget=budget,
                spent=int(account["spent"]) if account else 0,
                distinct=self._distinct[name],
            )
