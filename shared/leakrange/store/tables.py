"""The SQL tables: runs and everything that belongs to them, and the models."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, get_args

from sqlalchemy import (
    JSON,
    CheckConstraint,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from leakrange.jobs.audits import AuditState
from leakrange.wire.runs import State

__all__ = [
    "ActRow",
    "AuditKind",
    "AuditRow",
    "Base",
    "EventRow",
    "Instant",
    "JobRow",
    "JobState",
    "LedgerRow",
    "LoadRow",
    "ModelRow",
    "PlanRow",
    "RunRow",
    "ServedRow",
    "TrialRow",
    "TruthRow",
    "now",
]

AuditKind = Literal["model", "endpoint"]
JobState = Literal["pending", "dispatched", "done", "failed", "cancelled"]


def now() -> datetime:
    """The present instant in UTC."""
    return datetime.now(UTC)


class Instant(TypeDecorator[datetime]):
    """A point in time: always UTC, always aware, whether or not the database keeps time zones (SQLite does
    not)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Convert a value for the database, to UTC; a naive time is refused as ambiguous."""
        if value is not None and value.tzinfo is None:
            raise ValueError("times are stored with their zone: use leakrange.store.tables.now()")
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Convert a value from the database to an aware time."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _one_of(column: str, literal: Any) -> CheckConstraint:
    allowed = ", ".join(f"'{value}'" for value in get_args(literal))
    return CheckConstraint(f"{column} IN ({allowed})", name=column)


class Base(DeclarativeBase):
    """Constraints carry names by rule, so that a later migration can name the one it changes."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    # JSON, not JSONB: a scenario keeps the order in which its author named the parties.
    type_annotation_map = {dict[str, Any]: JSON, list[int]: JSON, datetime: Instant}


class ActRow(Base):
    """One act of the operator (`leakrange.wire.acts.Act`, whose id is ``act``). ``digest`` covers it and all
    before it."""

    __tablename__ = "acts"
    __table_args__ = (UniqueConstraint("act"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    act: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime]
    party: Mapped[str] = mapped_column(String(16))
    by: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64))
    method: Mapped[str] = mapped_column(String(16))
    path: Mapped[str] = mapped_column(Text)
    status: Mapped[int] = mapped_column(Integer)
    change: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    made: Mapped[str | None] = mapped_column(Text)
    digest: Mapped[str] = mapped_column(String(64))


class RunRow(Base):
    """One execution of a scenario. ``events`` counts its events; the row is locked while one is
    numbered."""

    __tablename__ = "runs"
    __table_args__ = (
        _one_of("state", State),
        Index(None, "created", "id"),
        Index(None, "state"),
        Index(None, "origin"),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(String(128))
    scenario_yaml: Mapped[str] = mapped_column(Text)
    scenario: Mapped[dict[str, Any]]
    state: Mapped[State] = mapped_column(String(16), default="queued")
    created: Mapped[datetime] = mapped_column(default=now)
    started: Mapped[datetime | None]
    finished: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(Text)
    environment: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    seconds: Mapped[float | None] = mapped_column(Float)
    origin: Mapped[str | None] = mapped_column(String(64))
    """The run whose scenario was taken for this one, as it was or with changes."""
    events: Mapped[int] = mapped_column(Integer, default=0)
    leak: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """The worst of what it found (`leakrange.wire.runs.WorstLeak`), once it is over."""


class OfRun(Base):
    """A numbered row that belongs to a run, and goes with it."""

    __abstract__ = True

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))


class PlanRow(Base):
    """The plan of a run without its trials, kept so that a later version of the code goes on with what was
    begun. A run whose trials are not all planned has none. It is not in the run's row: that is written with
    every event, and SQLite then writes the whole row."""

    __tablename__ = "plans"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    plan: Mapped[dict[str, Any]]


class JobRow(OfRun):
    """One step of a run. ``identity`` is the same for the same work in any run, ``kind`` names the kind of
    step (`leakrange.jobs.step`)."""

    __tablename__ = "jobs"
    __table_args__ = (
        _one_of("state", JobState),
        UniqueConstraint("run_id", "identity"),
        Index(None, "identity"),
        Index(None, "run_id", "state"),
    )

    identity: Mapped[str] = mapped_column(String(128))
    kind: Mapped[str] = mapped_column(String(16))
    payload: Mapped[dict[str, Any]]
    state: Mapped[JobState] = mapped_column(String(16), default="pending")
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    created: Mapped[datetime] = mapped_column(default=now)
    finished: Mapped[datetime | None]
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    error: Mapped[str | None] = mapped_column(Text)


class TrialRow(OfRun):
    """One cell of a run's matrix: ``result`` is a `leakrange.scenario.results.TrialResult`, ``planned`` what
    else its `leakrange.scenario.plan.PlannedTrial` has. ``leakage`` is the value of the main metric of its
    kind. ``cell`` says what else than the seed tells it from others with its provider, defence and attack.
    Lists and sums read the short columns alone."""

    __tablename__ = "trials"
    __table_args__ = (
        UniqueConstraint("run_id", "trial"),
        Index(None, "run_id", "state"),
        Index(None, "run_id", "id"),  # else a page of them would be found by sorting all
        Index("ix_trials_cells", "run_id", "provider", "defence", "attack", "cell", "state", "leakage"),
    )

    trial: Mapped[str] = mapped_column(String(256))
    result: Mapped[dict[str, Any]]
    planned: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True), deferred=True)
    state: Mapped[str] = mapped_column(String(16), default="queued", server_default="queued")
    provider: Mapped[str] = mapped_column(String(256), default="", server_default="")
    defence: Mapped[str] = mapped_column(String(256), default="", server_default="")
    attack: Mapped[str] = mapped_column(String(256), default="", server_default="")
    cell: Mapped[str] = mapped_column(String(256), default="", server_default="")
    leakage: Mapped[float | None] = mapped_column(Float)


class TruthRow(OfRun):
    """What edge clients registered for one upload: labels per attribute (-1 where unknown) and the decisions
    they got."""

    __tablename__ = "truths"
    __table_args__ = (UniqueConstraint("run_id", "upload"),)

    upload: Mapped[str] = mapped_column(String(128))
    labels: Mapped[dict[str, Any]]
    decisions: Mapped[list[int]]
    input_bytes: Mapped[int] = mapped_column(Integer, default=0)
    sent_bytes: Mapped[int] = mapped_column(Integer, default=0)


class EventRow(OfRun):
    """One event of a run's stream; ``seq`` counts from 1 without a gap."""

    __tablename__ = "events"
    __table_args__ = (UniqueConstraint("run_id", "seq"),)

    seq: Mapped[int] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(String(64))
    data: Mapped[dict[str, Any]]
    at: Mapped[datetime] = mapped_column(default=now)


class ModelRow(Base):
    """A trained model that any run may use again: ``digest`` names its artifact, ``figures`` are what
    training reached."""

    __tablename__ = "models"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    data: Mapped[str] = mapped_column(String(128))
    behaviour: Mapped[str] = mapped_column(String(128))
    seed: Mapped[int] = mapped_column(Integer)
    recipe: Mapped[dict[str, Any]]
    figures: Mapped[dict[str, Any]]
    created: Mapped[datetime] = mapped_column(default=now)


class ServedRow(OfRun):
    """Record that a provider serves ``model`` under this name for a run; ``plays`` is the behaviour of that
    provider. Gone as soon as the model is withdrawn."""

    __tablename__ = "served"
    __table_args__ = (UniqueConstraint("run_id", "model"), Index(None, "model"))

    model: Mapped[str] = mapped_column(String(128))
    plays: Mapped[str] = mapped_column(String(128))


class LedgerRow(OfRun):
    """The proxy's account of one API key of a run, as last seen: samples allowed, answered, and distinct
    ones among them."""

    __tablename__ = "ledger"
    __table_args__ = (UniqueConstraint("run_id", "name"),)

    name: Mapped[str] = mapped_column(String(128))
    policy: Mapped[str] = mapped_column(String(128))
    budget: Mapped[int] = mapped_column(Integer)
    spent: Mapped[int] = mapped_column(Integer)
    distinct: Mapped[int] = mapped_column(Integer)
    seen: Mapped[datetime] = mapped_column(default=now)


class LoadRow(OfRun):
    """Results of one load test in a run: the last `leakrange.scenario.under_load.LoadPart`."""

    __tablename__ = "loads"
    __table_args__ = (UniqueConstraint("run_id", "part"),)

    part: Mapped[str] = mapped_column(String(64))
    seen: Mapped[dict[str, Any]]


class AuditRow(Base):
    """One audit of the model or the endpoint ``subject``: the ``request`` as it came, without its API key
    once it is over, and how it ended: a ``verdict`` (`leakrange.jobs.verdict.Verdict`, or
    `leakrange.assessment.document.Assessment`) with its ``conclusion``, or the ``problem`` for which there is
    none. ``brief`` is what a list shows beside that (`leakrange.assessment.requests.Brief`)."""

    __tablename__ = "audits"
    __table_args__ = (_one_of("state", AuditState), Index(None, "created", "id"), Index(None, "state"))

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    state: Mapped[AuditState] = mapped_column(String(16), default="running")
    created: Mapped[datetime] = mapped_column(default=now)
    finished: Mapped[datetime | None]
    kind: Mapped[AuditKind] = mapped_column(String(16), server_default="model")
    subject: Mapped[str] = mapped_column(String(256), server_default="")
    conclusion: Mapped[str | None] = mapped_column(String(16))
    request: Mapped[dict[str, Any]]
    brief: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    verdict: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    problem: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
