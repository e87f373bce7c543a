"""plans in a table of their own: a run's row is written with every event, and SQLite then writes all of it"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "plans",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_plans_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_plans")),
    )
    op.execute("INSERT INTO plans (run_id, plan) SELECT id, plan FROM runs WHERE plan IS NOT NULL")
    op.drop_column("runs", "plan")


def downgrade() -> None:
    op.add_column("runs", sa.Column("plan", sa.JSON(), nullable=True))
    op.execute("UPDATE runs SET plan = (SELECT plans.plan FROM plans WHERE plans.run_id = runs.id)")
    op.drop_table("plans")
