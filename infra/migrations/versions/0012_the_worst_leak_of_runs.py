"""the worst leak of each run, for lists"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("leak", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "leak")
