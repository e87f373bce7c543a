"""models that runs have served"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "served",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("plays", sa.String(length=128), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_served_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_served")),
        sa.UniqueConstraint("run_id", "model", name=op.f("uq_served_run_id_model")),
    )
    op.create_index(op.f("ix_served_model"), "served", ["model"])


def downgrade() -> None:
    op.drop_index(op.f("ix_served_model"), table_name="served")
    op.drop_table("served")
