"""columns, kinds of job and a table that nothing reads any more"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KINDS = ("train", "stream", "probe", "fit")
STATES = ("pending", "dispatched", "done", "failed", "cancelled")
KINDS_BEFORE = ("train", "deploy", "stream", "probe", "fit", "evaluate")
STATES_BEFORE = ("pending", "dispatched", "running", "done", "failed", "cancelled")


def _one_of(column: str, allowed: tuple[str, ...]) -> str:
    return f"{column} IN ({', '.join(repr(value) for value in allowed)})"


def upgrade() -> None:
    op.drop_table("cursors")
    with op.batch_alter_table("jobs") as jobs:
        for column in ("progress", "worker", "started", "heartbeat"):
            jobs.drop_column(column)
        for column, allowed in (("kind", KINDS), ("state", STATES)):
            jobs.drop_constraint(op.f(f"ck_jobs_{column}"), type_="check")
            jobs.create_check_constraint(op.f(f"ck_jobs_{column}"), _one_of(column, allowed))


def downgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        for column, allowed in (("kind", KINDS_BEFORE), ("state", STATES_BEFORE)):
            jobs.drop_constraint(op.f(f"ck_jobs_{column}"), type_="check")
            jobs.create_check_constraint(op.f(f"ck_jobs_{column}"), _one_of(column, allowed))
        jobs.add_column(sa.Column("progress", sa.Float(), nullable=False, server_default="0"))
        jobs.add_column(sa.Column("worker", sa.String(length=256), nullable=True))
        jobs.add_column(sa.Column("started", sa.DateTime(timezone=True), nullable=True))
        jobs.add_column(sa.Column("heartbeat", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "cursors",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("position", sa.String(length=128), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_cursors")),
    )
