"""audits among the jobs of runs"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

KINDS_BEFORE = ("train", "stream", "probe", "fit")
KINDS = (*KINDS_BEFORE, "audit")


def _allow(kinds: tuple[str, ...]) -> None:
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_constraint(op.f("ck_jobs_kind"), type_="check")
        jobs.create_check_constraint(op.f("ck_jobs_kind"), f"kind IN ({', '.join(map(repr, kinds))})")


def upgrade() -> None:
    _allow(KINDS)


def downgrade() -> None:
    op.execute("DELETE FROM jobs WHERE kind = 'audit'")
    _allow(KINDS_BEFORE)
