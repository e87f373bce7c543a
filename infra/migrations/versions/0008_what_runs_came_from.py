"""which run the scenario of another was taken from"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("origin", sa.String(length=64), nullable=True))
    op.create_index(op.f("ix_runs_origin"), "runs", ["origin"])


def downgrade() -> None:
    op.drop_index(op.f("ix_runs_origin"), "runs")
    op.drop_column("runs", "origin")
