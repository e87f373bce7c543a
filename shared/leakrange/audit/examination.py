"""The examination of a model file: draw the samples, make the tests, write the verdict."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from leakrange.audit.case import TEST_FROM, ExaminedModel, case_of, examined
from leakrange.audit.findings import FINDINGS
from leakrange.audit.wording import confidence, limits
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.verdict import AuditedModel, Conclusion, Finding, Material, Verdict
from leakrange.providers.model_file import load_classifier

__all__ = ["examine", "examine_loaded"]


def examine(
    content: bytes,
    plan: AuditPlan,
    *,
    name: str | None = None,
    url: str | None = None,
    disjoint: bool | None = None,
) -> Verdict:
    """Audit the model in a file. ``name`` and ``url`` say where it came from, ``disjoint`` whether the plan's
    samples were kept apart from its training, None where nobody knows.

    Raises `InvalidArtifact` for a file that is no model, and the errors of `case_of` and of the tests.
    """
    model = examined(*load_classifier(content))
    sha256 = hashlib.sha256(content).hexdigest()
    return examine_loaded(
        model, plan, sha256=sha256, size=len(content), name=name, url=url, disjoint=disjoint
    )


def examine_loaded(
    model: ExaminedModel,
    plan: AuditPlan,
    *,
    sha256: str,
    size: int,
    name: str | None = None,
    url: str | None = None,
    disjoint: bool | None = None,
) -> Verdict:
    """Audit, as `examine` does, a model that was loaded from a file of that digest and size. The model does
    not change."""
    case = case_of(model, plan)
    material = Material(
        data=plan.data,
        fingerprint=case.data.fingerprint,
        labelled=len(case.labelled),
        labelled_from=plan.labelled_from,
        test=len(case.test),
        test_from=TEST_FROM,
        disjoint=disjoint,
    )
    findings = tuple(FINDINGS[test](case) for test in dict.fromkeys(plan.tests))
    return Verdict(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        subject=AuditedModel(
            name=name,
            url=url,
            sha256=sha256,
            size=size,
            net=model.net,
            width=model.width,
            parameters=model.parameters,
            task=model.task,
            classes=model.classes,
            heads=model.heads if len(model.heads) > 1 else None,
            input=model.input,
        ),
        material=material,
        findings=findings,
        conclusion=_together(findings),
        confidence=confidence(findings),
        limits=limits(findings, material),
        seed=plan.seed,
        versions=_versions(),
    )


def _together(findings: Sequence[Finding]) -> Conclusion:
    """Suspicious where one test suspects the model, else undecided where one does not decide."""
    for conclusion in ("suspicious", "undecided"):
        if any(finding.conclusion == conclusion for finding in findings):
            return conclusion
    return "passes"


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in ("leakrange", "torch", "numpy"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that was never installed
            versions[package] = "unknown"
    return versions
