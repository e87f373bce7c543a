"""planned trials in rows of their own, with what lists and sums ask for: a run may have a million"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

NAMES = ("provider", "defence", "attack")
trials = sa.table(
    "trials",
    sa.column("run_id", sa.String),
    sa.column("trial", sa.String),
    sa.column("result", sa.JSON),
    sa.column("planned", sa.JSON),
    sa.column("state", sa.String),
    *(sa.column(name, sa.String) for name in NAMES),
)
plans = sa.table("plans", sa.column("run_id", sa.String), sa.column("plan", sa.JSON))
key = trials.c.run_id == sa.bindparam("run"), trials.c.trial == sa.bindparam("name")


def upgrade() -> None:
    op.add_column("trials", sa.Column("planned", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("trials", sa.Column("state", sa.String(16), nullable=False, server_default="queued"))
    for name in NAMES:
        op.add_column("trials", sa.Column(name, sa.String(256), nullable=False, server_default=""))
    op.add_column("trials", sa.Column("cell", sa.String(256), nullable=False, server_default=""))
    op.add_column("trials", sa.Column("leakage", sa.Float(), nullable=True))
    members = {name: trials.c.result[name].as_string() for name in ("state", *NAMES)}
    op.execute(trials.update().where(members["provider"].is_not(None)).values(members))
    op.create_index(op.f("ix_trials_run_id_state"), "trials", ["run_id", "state"])
    op.create_index(op.f("ix_trials_run_id_id"), "trials", ["run_id", "id"])
    op.create_index("ix_trials_cells", "trials", ["run_id", *NAMES, "cell", "state", "leakage"])
    connection = op.get_bind()
    for run in connection.scalars(sa.select(plans.c.run_id)).all():
        plan = connection.scalar(sa.select(plans.c.plan).where(plans.c.run_id == run))
        planned = [
            {"run": run, "name": each.pop("result")["id"], "given": each} for each in plan.pop("trials", ())
        ]
        if planned:
            connection.execute(trials.update().where(*key).values(planned=sa.bindparam("given")), planned)
        connection.execute(plans.update().where(plans.c.run_id == run).values(plan=plan))


def downgrade() -> None:
    connection = op.get_bind()
    for run in connection.scalars(sa.select(plans.c.run_id)).all():
        plan = connection.scalar(sa.select(plans.c.plan).where(plans.c.run_id == run))
        rows = connection.execute(sa.select(trials.c.result, trials.c.planned).where(trials.c.run_id == run))
        plan["trials"] = [(planned or {}) | {"result": result} for result, planned in rows]
        connection.execute(plans.update().where(plans.c.run_id == run).values(plan=plan))
    op.drop_index("ix_trials_cells", "trials")
    op.drop_index(op.f("ix_trials_run_id_id"), "trials")
    op.drop_index(op.f("ix_trials_run_id_state"), "trials")
    for name in ("leakage", "cell", *reversed(NAMES), "state", "planned"):
        op.drop_column("trials", name)
