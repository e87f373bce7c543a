"""Migrations give exactly the tables that the code uses, on both databases, from wherever they are run."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import JSON, Connection, column, inspect, select, table, text

from leakrange.metrics import Estimate
from leakrange.scenario.results import TrialResult
from leakrange.store.engine import create_engine
from leakrange.store.migrate import admit_providers, configuration, head, locate, main, upgrade
from leakrange.store.tables import AuditRow, Base, PlanRow, TrialRow
from tests.databases import Databases


async def _inspected(url: str, ask: Any) -> Any:
    engine = create_engine(url)
    async with engine.connect() as connection:
        found = await connection.run_sync(ask)
    await engine.dispose()
    return found


def _differences(connection: Connection) -> list[Any]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return compare_metadata(context, Base.metadata)


async def test_migrated_tables_are_those_of_the_code(empty_url: str) -> None:
    await asyncio.to_thread(upgrade, empty_url)
    assert await _inspected(empty_url, _differences) == []
    names = await _inspected(empty_url, lambda c: inspect(c).get_table_names())
    assert set(names) == {*Base.metadata.tables, "alembic_version"}


async def test_states_are_guarded_by_the_database_itself(empty_url: str) -> None:
    await asyncio.to_thread(upgrade, empty_url)
    checks = await _inspected(
        empty_url,
        lambda c: {k["name"] for t in ("runs", "jobs") for k in inspect(c).get_check_constraints(t)},
    )
    assert checks >= {"ck_runs_state", "ck_jobs_state"}


async def test_upgrading_again_or_all_at_once_is_harmless(empty_url: str) -> None:
    await asyncio.gather(*(asyncio.to_thread(upgrade, empty_url) for _ in range(4)))
    upgrade_again = await asyncio.to_thread(upgrade, empty_url)
    assert upgrade_again is None
    version = await _inspected(empty_url, lambda c: MigrationContext.configure(c).get_current_revision())
    assert version == head()


async def test_downgrade_removes_everything(empty_url: str) -> None:
    await asyncio.to_thread(upgrade, empty_url)
    engine = create_engine(empty_url)
    async with engine.begin() as connection:
        await connection.run_sync(lambda sync: command.downgrade(configuration(sync), "base"))
    await engine.dispose()
    assert await _inspected(empty_url, lambda c: inspect(c).get_table_names()) == ["alembic_version"]


@pytest.mark.parametrize("back", [1, 2], ids=["newest", "before"])
async def test_a_controller_of_the_version_before_can_still_write(empty_url: str, back: int) -> None:
    """The two newest migrations only add: every column is as it was, and a row without the new ones is
    taken. So the database is migrated while the controller before goes on."""
    newest = [each.revision for each in ScriptDirectory.from_config(configuration()).walk_revisions()]

    def columns(connection: Connection) -> dict[tuple[str, str], tuple[str, bool]]:
        tables = inspect(connection)
        return {
            (table, each["name"]): (str(each["type"]), each["nullable"] or each["default"] is not None)
            for table in tables.get_table_names()
            for each in tables.get_columns(table)
        }

    await asyncio.to_thread(upgrade, empty_url, newest[back])
    before = await _inspected(empty_url, columns)
    await asyncio.to_thread(upgrade, empty_url, newest[back - 1])
    after = await _inspected(empty_url, columns)
    assert {name: after.get(name) for name in before} == before
    known = {table for table, _ in before}
    assert [name for name in after.keys() - before.keys() if name[0] in known and not after[name][1]] == []


def test_command_line_from_another_folder_with_named_migrations(tmp_path: Path) -> None:
    shutil.copytree(locate(), tmp_path / "copied")
    environment = {
        **os.environ,
        "LEAKRANGE_MIGRATIONS": str(tmp_path / "copied"),
        "LEAKRANGE_DATABASE_URL": f"sqlite:///{tmp_path}/range.sqlite",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "leakrange.store.migrate"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "range.sqlite").stat().st_size > 0


def test_missing_migrations_say_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LEAKRANGE_MIGRATIONS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="LEAKRANGE_MIGRATIONS"):
        locate()


def test_other_databases_are_refused() -> None:
    with pytest.raises(ValueError, match="use sqlite or postgresql"):
        create_engine("mysql://localhost/leakrange")


async def test_jobs_of_the_version_before_are_kept(empty_url: str) -> None:
    engine = create_engine(empty_url)
    async with engine.begin() as connection:
        await connection.run_sync(lambda sync: command.upgrade(configuration(sync), "0002"))
        await connection.execute(
            text(
                "insert into runs (id, name, scenario_yaml, scenario, state, created, environment, events)"
                " values ('r', 'demo', '', '{}', 'running', current_timestamp, '{}', 0)"
            )
        )
        await connection.execute(
            text(
                "insert into jobs (run_id, identity, kind, payload, state, attempts, progress, created)"
                " values ('r', 'a', 'train', '{}', 'dispatched', 2, 0.5, current_timestamp)"
            )
        )
    await asyncio.to_thread(upgrade, empty_url)
    async with engine.connect() as connection:
        kept = await connection.execute(text("select run_id, identity, kind, state, attempts from jobs"))
        assert [tuple(row) for row in kept] == [("r", "a", "train", "dispatched", 2)]
    await engine.dispose()


async def test_results_of_the_version_before_are_read_by_metric(empty_url: str) -> None:
    """What stood in fields of its own is a metric or a view; the plan tells the kind of an attack."""
    await asyncio.to_thread(upgrade, empty_url, "0002")
    engine = create_engine(empty_url)
    common = {
        "provider": "p", "data": "digits", "behaviour": "honest", "release": "logits", "target": "parity",
        "defence": "none", "knowledge": "unaware", "budget": 10, "seed": 0, "error": None,
    }  # fmt: skip
    blank = {"honesty": None, "curiosity": None, "nag": None, "roc": None, "confusion": None}
    curve, figures = {"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]}, {"records": 8, "tpr_at_001": 0.25}
    old = {
        "inside": {
            "sensitive": "loop", "attack": "inside", "state": "done", "victims": 10, "spent": 10,
            "honesty": 0.9, "curiosity": 0.8, "majority": 0.5, "nag": 0.6, "auc": 0.7, "roc": curve,
            "confusion": [[4, 1], [1, 4]], "membership": None,
        },
        "lira": {
            "sensitive": "membership", "attack": "lira", "state": "done", "victims": 4, "spent": 8,
            "honesty": None, "curiosity": 0.5, "majority": 0.5, "nag": 0.0, "auc": 0.5, "roc": curve,
            "confusion": None, "membership": {"auc_interval": [0.25, 0.75], **figures},
        },
        "waiting": {"sensitive": "membership", "attack": "people", "state": "queued", **blank},
    }  # fmt: skip
    old = {name: {"id": name, **common, **result} for name, result in old.items()}
    wheres = {"inside": {"where": "provider"}, "lira": {"members": {}}, "waiting": {"people": {"count": 1}}}
    plan = {"trials": [{"result": result, **wheres[name]} for name, result in old.items()]}
    async with engine.begin() as connection:
        await connection.execute(
            text(
                "INSERT INTO runs (id, name, scenario_yaml, scenario, plan, state, created, environment,"
                " events) VALUES ('r', 'n', '', '{}', :plan, 'done', '2026-01-01 00:00:00', '{}', 0)"
            ),
            {"plan": json.dumps(plan)},
        )
        for name, result in old.items():
            await connection.execute(
                text("INSERT INTO trials (run_id, trial, result) VALUES ('r', :name, :result)"),
                {"name": name, "result": json.dumps(result)},
            )
    await asyncio.to_thread(upgrade, empty_url)
    async with engine.connect() as connection:
        rows = (await connection.execute(select(TrialRow.result).order_by(TrialRow.id))).scalars().all()
        short = TrialRow.state, TrialRow.provider, TrialRow.attack, TrialRow.planned
        kept = (await connection.execute(select(*short).order_by(TrialRow.id))).all()
        assert (await connection.execute(select(PlanRow.plan))).scalar_one() == {}
    await engine.dispose()
    assert [tuple(each) for each in kept] == [
        ("done", "p", "inside", wheres["inside"]),
        ("done", "p", "lira", wheres["lira"]),
        ("queued", "p", "people", wheres["waiting"]),
    ]
    inside, lira, waiting = stored = [TrialResult.model_validate(row) for row in rows]
    assert [each.kind for each in stored] == ["attribute", "membership", "people"]
    assert {name: each.value for name, each in inside.metrics.items()} == {
        "honesty": 0.9, "curiosity": 0.8, "majority": 0.5, "nag": 0.6, "auc": 0.7
    }  # fmt: skip
    assert inside.views == {"roc": curve, "confusion": [[4, 1], [1, 4]]}
    assert lira.metrics["auc"] == Estimate(value=0.5, low=0.25, high=0.75)
    assert {name: lira.value(name) for name in figures} == figures
    assert (waiting.state, waiting.metrics, waiting.views) == ("queued", {}, {})


async def test_a_plan_goes_into_a_table_of_its_own_and_back(empty_url: str) -> None:
    await asyncio.to_thread(upgrade, empty_url, "0009")
    engine = create_engine(empty_url)
    insert = (
        "INSERT INTO runs (id, name, scenario_yaml, scenario, plan, state, created, environment, events)"
        " VALUES (:id, 'n', '', '{}', :plan, 'done', '2026-01-01 00:00:00', '{}', 0)"
    )
    plans = {"a": {"trials": [1]}, "b": {"trials": [2]}, "none": None}
    async with engine.begin() as connection:
        for run, plan in plans.items():
            stored = None if plan is None else json.dumps(plan)
            await connection.execute(text(insert), {"id": run, "plan": stored})
        await connection.run_sync(lambda sync: command.upgrade(configuration(sync), "0010"))
    async with engine.begin() as connection:
        moved = {
            row.run_id: row.plan for row in await connection.execute(select(PlanRow.run_id, PlanRow.plan))
        }
        assert moved == {"a": plans["a"], "b": plans["b"]}
        await connection.run_sync(lambda sync: command.downgrade(configuration(sync), "0009"))
    runs = table("runs", column("id"), column("plan", JSON(none_as_null=True)))
    async with engine.connect() as connection:
        assert {row.id: row.plan for row in await connection.execute(select(runs))} == plans
    await engine.dispose()


async def test_audits_of_models_keep_their_name_and_conclusion_in_a_list(empty_url: str) -> None:
    await asyncio.to_thread(upgrade, empty_url, "0010")
    engine = create_engine(empty_url)
    insert = (
        "INSERT INTO audits (id, state, created, request, verdict)"
        " VALUES (:id, 'done', '2026-01-01 00:00:00', :request, :verdict)"
    )
    verdicts = {"risk": {"conclusion": "suspicious"}, "lost": None}
    async with engine.begin() as connection:
        for name, verdict in verdicts.items():
            stored = None if verdict is None else json.dumps(verdict)
            values = {"id": name, "request": json.dumps({"model": name}), "verdict": stored}
            await connection.execute(text(insert), values)
    await asyncio.to_thread(upgrade, empty_url)
    async with engine.connect() as connection:
        rows = (await connection.execute(select(AuditRow.kind, AuditRow.subject, AuditRow.conclusion))).all()
    await engine.dispose()
    assert set(map(tuple, rows)) == {("model", "risk", "suspicious"), ("model", "lost", None)}


def test_each_provider_gets_a_user_who_reaches_its_own_schema_and_nothing_else(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = databases.empty("postgresql")
    admit_providers(url, {"honest": "before"})
    monkeypatch.setenv("LEAKRANGE_PROVIDER_PASSWORDS", json.dumps({"honest": "%s'\\:x", "nosy": "b"}))
    main(["--url", url])
    with psycopg.connect(url.replace("postgres:@", "provider_honest:x@"), autocommit=True) as honest:
        honest.execute('create table "provider_honest".uploads (given bytea)')
        with psycopg.connect(url.replace("postgres:@", "provider_nosy:x@"), autocommit=True) as nosy:
            for statement in (
                "select * from runs",
                "select * from alembic_version",
                "select * from provider_honest.uploads",
                "create table public.mine (x int)",
                "create schema mine",
                "create role mine",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    nosy.execute(statement)
            nosy.execute("create table provider_nosy.uploads (given bytea)")


@pytest.mark.parametrize("given", ["honest", '["a"]', '{"honest": ""}', '{"a\\"b": "x"}', '{"honest": 3}'])
def test_passwords_that_cannot_be_read_are_refused_without_being_quoted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    monkeypatch.setenv("LEAKRANGE_PROVIDER_PASSWORDS", given)
    with pytest.raises(SystemExit):
        main(["--url", "sqlite:///never"])
    [*_, told] = capsys.readouterr().err.splitlines()
    assert told.endswith('LEAKRANGE_PROVIDER_PASSWORDS must be JSON such as {"honest": "a password"}')
