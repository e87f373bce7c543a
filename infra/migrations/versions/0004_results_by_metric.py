"""results by metric: a trial's figures are a mapping from metric to estimate, its curves are views"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

RUNS = sa.table("runs", sa.column("id", sa.String), sa.column("plan", sa.JSON(none_as_null=True)))
TRIALS = sa.table(
    "trials", sa.column("id", sa.Integer), sa.column("run_id", sa.String), sa.column("result", sa.JSON)
)
FIGURES = ("honesty", "curiosity", "majority", "auc", "nag")
VIEWS = ("roc", "confusion")


def upgrade() -> None:
    connection = op.get_bind()
    kinds: dict[tuple[str, str], str] = {}
    for run in [row.id for row in connection.execute(sa.select(RUNS.c.id))]:
        plan = connection.execute(sa.select(RUNS.c.plan).where(RUNS.c.id == run)).scalar()
        if not plan:
            continue
        for trial in plan.get("trials", []):
            kinds[run, trial["result"]["id"]] = kind = _kind(trial)
            trial["result"] = _converted(trial["result"], kind)
        connection.execute(sa.update(RUNS).where(RUNS.c.id == run).values(plan=plan))
    for number, run in [tuple(row) for row in connection.execute(sa.select(TRIALS.c.id, TRIALS.c.run_id))]:
        result = connection.execute(sa.select(TRIALS.c.result).where(TRIALS.c.id == number)).scalar_one()
        kind = kinds.get((run, result.get("id", "")), _kind({"result": result}))
        own = _converted(result, kind)
        connection.execute(sa.update(TRIALS).where(TRIALS.c.id == number).values(result=own))


def downgrade() -> None:
    """Nothing: no table changes, and a version before this one cannot hold all that is in the results."""


def _kind(trial: dict[str, Any]) -> str:
    """The kind of attack of a planned trial."""
    if trial.get("people"):
        return "people"
    if trial.get("members") or trial["result"].get("sensitive") == "membership":
        return "membership"
    return "student" if trial.get("where") == "user" else "attribute"


def _converted(result: dict[str, Any], kind: str) -> dict[str, Any]:
    """A result with its figures as estimates."""
    if "metrics" in result:
        return result
    found = {name: {"value": result[name]} for name in FIGURES if result.get(name) is not None}
    members = result.get("membership") or {}
    found |= {
        name: {"value": value}
        for name, value in members.items()
        if name != "auc_interval" and value is not None
    }
    if members.get("auc_interval") and "auc" in found:
        found["auc"]["low"], found["auc"]["high"] = members["auc_interval"]
    rest = {name: value for name, value in result.items() if name not in (*FIGURES, *VIEWS, "membership")}
    views = {name: result[name] for name in VIEWS if result.get(name) is not None}
    return {**rest, "kind": kind, "metrics": found, "views": views}
