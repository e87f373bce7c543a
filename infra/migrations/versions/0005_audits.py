"""audits of models"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audits",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("verdict", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("problem", sa.JSON(none_as_null=True), nullable=True),
        sa.CheckConstraint("state IN ('running', 'done', 'failed')", name=op.f("ck_audits_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audits")),
    )
    op.create_index(op.f("ix_audits_created_id"), "audits", ["created", "id"])
    op.create_index(op.f("ix_audits_state"), "audits", ["state"])


def downgrade() -> None:
    op.drop_table("audits")
