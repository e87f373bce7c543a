"""The API keys of a run, and what the proxy's ledger finally says about them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from leakrange.services.controller.range.record import StepRecord
from leakrange.wire.administration import Account, Counting
from leakrange.wire.errors import LeakrangeError, NotFound
from leakrange.wire.events import Holder, Purpose
from leakrange.wire.operator import Proxy

log = structlog.get_logger("leakrange.services.controller.accounts")
CHECK_WITHIN = 5.0
"""The longest wait, in seconds, of a failed trial for the proxy to say whether its ledger is the reason."""


class LedgerLost(LeakrangeError):
    """The proxy's ledger is not the one that the run began with: Redis was emptied."""

    slug, title = "ledger-lost", "The ledger has lost its data"

    def __init__(self) -> None:
        super().__init__(
            "Redis has lost its data since the run began: the proxy's keys, policies and budgets are gone,"
            " and nobody can tell any more what was spent. Start the run again: models that are trained and"
            " answers that are stored are used, and what is missing is asked with new keys"
        )


class RunAccounts:
    """One key for every stream of users, every probe and every student."""

    def __init__(self, proxy: Proxy, journal: StepRecord) -> None:
        self._proxy, self._journal = proxy, journal

    async def begin(self) -> None:
        """Register the run with the ledger, before the first key. Raises `LedgerLost` if keys were used
        before a restart and the ledger no longer knows the run: new keys would get the whole budget again."""
        run = self._journal.run
        if not await self._journal.accounts():
            await self._proxy.create_key(run, 0, models=[], endpoints=[], id=run)
        elif await self._account(run) is None:
            raise LedgerLost

    async def check(self) -> None:
        """Raise `LedgerLost` where the ledger no longer knows the run; do nothing if the proxy does not
        answer soon."""
        try:
            async with asyncio.timeout(CHECK_WITHIN):
                known = await self._account(self._journal.run)
        except (LeakrangeError, TimeoutError):
            return
        if known is None:
            raise LedgerLost

    async def key(
        self,
        name: str,
        *,
        holder: Holder,
        purpose: Purpose,
        policy: str | None,
        budget: int,
        models: list[str],
        endpoints: list[str],
        keys: Sequence[str] = (),
        limits: Sequence[str] = (),
        counting: Counting = "exact",
    ) -> str:
        """The key of that name for its ``holder``, created where needed, with ``budget`` samples of the
        models served as ``models``, at ``endpoints``. A digest among these models lets it fetch an
        obfuscator. It is the first of ``keys``, of
        which all are valid, or one derived from the controller's secret."""
        # First, so that the run's ledger has every key that was used, however the run ends.
        await self._journal.open_account(
            name, policy=policy or "", budget=budget, holder=holder, purpose=purpose
        )
        created = await self._proxy.create_key(
            name,
            budget,
            policy=policy,
            models=models,
            endpoints=endpoints,
            limits=limits,
            counting=counting,
            id=name,
            keys=keys,
        )
        return created.key

    async def close(self, *, within: float | None = None) -> None:
        """Store what each key of the run has spent, and how many samples the run received for it.

        Raises `LeakrangeError` where the proxy cannot tell, or `LedgerLost`. With a limit ``within``
        (seconds) it raises neither, and stores what the run itself knows.
        """
        spent: dict[str, int] = {}
        try:
            async with asyncio.timeout(within):
                for name in await self._journal.accounts():
                    account = await self._account(name)
                    spent[name] = account.spent if account else 0
                # Last: if the ledger was replaced meanwhile, these figures mean nothing.
                if spent and await self._account(self._journal.run) is None:
                    spent.clear()
                    raise LedgerLost
        except (LeakrangeError, TimeoutError) as error:
            if within is None:
                raise
            log.warning("the proxy does not tell what was spent", run=self._journal.run, error=str(error))
        await self._journal.settle_accounts(spent)

    async def _account(self, name: str) -> Account | None:
        try:
            return await self._proxy.account(name)
        except NotFound:
            return None
