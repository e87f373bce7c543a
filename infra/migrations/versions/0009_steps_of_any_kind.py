"""steps of any kind: the code says which there are, and plugins may add some"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

KINDS_BEFORE = "'train', 'stream', 'probe', 'fit', 'audit'"


def upgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_constraint(op.f("ck_jobs_kind"), type_="check")


def downgrade() -> None:
    op.execute("UPDATE jobs SET kind = 'train' WHERE kind = 'show'")
    op.execute("UPDATE jobs SET kind = 'stream' WHERE kind = 'hand-in'")
    op.execute(f"DELETE FROM jobs WHERE kind NOT IN ({KINDS_BEFORE})")
    with op.batch_alter_table("jobs") as jobs:
        jobs.create_check_constraint(op.f("ck_jobs_kind"), f"kind IN ({KINDS_BEFORE})")
