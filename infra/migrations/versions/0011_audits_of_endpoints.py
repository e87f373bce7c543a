"""audits of endpoints beside those of models, and what a list shows of either"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("audits", sa.Column("kind", sa.String(length=16), server_default="model", nullable=False))
    op.add_column("audits", sa.Column("subject", sa.String(length=256), server_default="", nullable=False))
    op.add_column("audits", sa.Column("conclusion", sa.String(length=16), nullable=True))
    op.add_column("audits", sa.Column("brief", sa.JSON(none_as_null=True), nullable=True))
    fields = ("id", "subject", "conclusion")
    audits = sa.table(
        "audits",
        *(sa.column(name) for name in fields),
        sa.column("request", sa.JSON),
        sa.column("verdict", sa.JSON),
    )
    bind = op.get_bind()
    for row in bind.execute(sa.select(audits.c.id, audits.c.request, audits.c.verdict)).all():
        bind.execute(
            audits.update()
            .where(audits.c.id == row.id)
            .values(subject=row.request["model"], conclusion=(row.verdict or {}).get("conclusion"))
        )


def downgrade() -> None:
    op.execute("DELETE FROM audits WHERE kind = 'endpoint'")
    for name in ("brief", "conclusion", "subject", "kind"):
        op.drop_column("audits", name)
