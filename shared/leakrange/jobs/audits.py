"""Audits, as the controller is asked for them and tells of them (``/v1/audits``)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.verdict import Conclusion, Verdict
from leakrange.strict import Strict, example
from leakrange.wire.schemas import Name

__all__ = ["AuditAccepted", "AuditEntry", "AuditList", "AuditRequest", "AuditState", "AuditView"]

AuditState = Literal["running", "done", "failed"]


class AuditRequest(Strict):
    """``POST /v1/audits``: the model, and the plan of the audit.

    The model is one that this range's proxy serves, or with ``url`` one of a server elsewhere with the native
    API, which may want an API ``key``. The key is kept until the audit is over.
    """

    model_config = example(
        {
            "model": "digits",
            "plan": {
                "data": {"name": "digits"},
                "labelled": 200,
                "test": 300,
                "tests": ["viciousness", "entropy"],
            },
        }
    )
    model: Name
    url: Annotated[str | None, Field(max_length=1000, pattern=r"^https?://[^\s/]+")] = None
    key: Annotated[str | None, Field(min_length=1, max_length=1000, pattern=r"^[!-~]+$", repr=False)] = None
    plan: AuditPlan

    @model_validator(mode="after")
    def _key_of_a_server(self) -> Self:
        if self.key is not None and self.url is None:
            raise ValueError("a key is for the server at a url; the range audits its own models without one")
        return self


class AuditAccepted(BaseModel):
    """The answer to ``POST /v1/audits``."""

    id: str
    url: str


class AuditEntry(BaseModel):
    """One audit as a listing shows it. Times are ISO 8601 in UTC; ``conclusion`` is None where there is no
    verdict."""

    id: str
    state: AuditState
    model: str
    server: str | None
    created: str
    finished: str | None
    conclusion: Conclusion | None


class AuditView(AuditEntry):
    """One audit with its plan, and what came of it: the verdict, or the problem (RFC 9457) for which there is
    none."""

    plan: AuditPlan
    verdict: Verdict | None
    problem: dict[str, Any] | None


class AuditList(BaseModel):
    """A page of audits, newest first; ``next`` is the ``after`` of the following page."""

    audits: list[AuditEntry]
    next: str | None
