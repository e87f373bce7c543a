"""The API keys of a run at a real proxy, whose Redis loses its data."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from leakrange.services.controller.range.accounts import LedgerLost, RunAccounts
from leakrange.services.controller.range.journal import Journal
from leakrange.services.controller.range.news import News
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.store.engine import Database
from leakrange.store.migrate import upgrade
from leakrange.store.runs import RunStore
from leakrange.store.trials import Ledger
from leakrange.wire.errors import NotFound
from leakrange.wire.events import Purpose
from leakrange.wire.operator import Proxy
from leakrange.wire.transport import AiohttpTransport
from tests.conftest import start_redis
from tests.controller.conftest import OPERATOR
from tests.serving import serving


async def test_no_key_gets_its_budget_twice_when_the_ledger_has_lost_its_data(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.sqlite"
    await asyncio.to_thread(upgrade, url)
    database, transport = Database(url), AiohttpTransport(timeout=20.0)
    async with database.write() as session:
        run = (await RunStore(session).create("small", scenario_yaml="", scenario={})).id
    journal = Journal(run, database, News(database))
    server, port = start_redis(tmp_path)
    told = ProxySettings(redis_url=f"redis://127.0.0.1:{port}/0", operator_key=OPERATOR)
    with serving(proxy(told)) as at:
        ledger = Proxy(transport, at, OPERATOR, attempts=12)
        accounts = RunAccounts(ledger, journal)

        async def key(name: str) -> None:
            await accounts.key(
                name,
                holder="attacker",
                purpose=Purpose(),
                policy="none",
                budget=10,
                models=["digits"],
                endpoints=["logits"],
            )

        try:
            await ledger.put_policy("none", [])
            await accounts.begin()
            await key(f"{run}.asked")
            await journal.expect("probe", {"a" * 64: Purpose()})
            paid = {"key": f"{run}.asked", "samples": 4}
            await journal.job_done("a" * 64, "probe", paid, message="4 answers")
            await accounts.begin()  # as after a restart of the controller
            await accounts.check()
            await accounts.close()
            server.kill()
            server.wait()
            server, _ = await asyncio.to_thread(start_redis, tmp_path, port)
            for look in (accounts.begin, accounts.check, accounts.close):
                with pytest.raises(LedgerLost, match="Start the run again"):
                    await look()
            with pytest.raises(NotFound):
                await ledger.account(f"{run}.asked")
            await accounts.close(within=20.0)
            async with database.read() as session:
                [entry] = await Ledger(session).of_run(run)
            assert (entry.spent, entry.distinct) == (4, 4)  # no less than what the run has
        finally:
            server.kill()
            server.wait()
            await transport.close()
            await database.close()
