"""An assessment as the model card of a bill of materials, in CycloneDX 1.7.

The model that was asked is the bill's one component. Figures of attacks are its performance metrics, whose
values are strings there; what was found is an ethical consideration, what was not tried a limitation.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import leakrange
from leakrange.assessment.annex import CLAIM, annex
from leakrange.assessment.document import Assessment, Finding, MadeAttack
from leakrange.metrics.estimate import Estimate

__all__ = ["to_cyclonedx"]


def to_cyclonedx(assessment: Assessment) -> str:
    """The bill of materials as JSON. The same assessment has the same serial number."""
    subject = assessment.subject
    number = uuid5(NAMESPACE_URL, f"leakrange:{subject.digest}:{assessment.created}")
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {
            "timestamp": assessment.created,
            "tools": {
                "components": [{"type": "application", "name": "leakrange", "version": leakrange.__version__}]
            },
        },
        "components": [
            {
                "type": "machine-learning-model",
                "bom-ref": f"model-{subject.digest}",
                "name": subject.name,
                "version": subject.version or subject.digest,
                "publisher": subject.owner,
                "description": assessment.headline,
                "modelCard": _card(assessment),
                "properties": _properties(assessment),
            }
        ],
    }
    return json.dumps(bill, indent=2, ensure_ascii=False)


def _card(assessment: Assessment) -> dict[str, Any]:
    limitations = [*assessment.limits, *(f"{each.attack}: {each.why}" for each in assessment.plan.unmade)]
    return {
        "modelParameters": {"outputs": [{"format": assessment.subject.release}]},
        "quantitativeAnalysis": {
            "performanceMetrics": [
                _metric(name, estimate, attack)
                for attack in assessment.attacks
                for name, estimate in attack.metrics.items()
            ]
        },
        "considerations": {
            "technicalLimitations": limitations,
            "ethicalConsiderations": [_risk(finding, assessment) for finding in assessment.findings],
        },
    }


def _metric(name: str, estimate: Estimate, attack: MadeAttack) -> dict[str, Any]:
    bounds = {"lowerBound": estimate.low, "upperBound": estimate.high}
    interval = {side: repr(bound) for side, bound in bounds.items() if bound is not None}
    return {
        "type": name,
        "value": repr(estimate.value),
        "slice": f"{attack.attack} on {attack.about}, {attack.samples} samples",
        **({"confidenceInterval": interval} if interval else {}),
    }


def _risk(finding: Finding, assessment: Assessment) -> dict[str, str]:
    advised = [each.sentence for each in assessment.advice if finding.about in each.about]
    return {
        "name": f"{finding.about}: {finding.conclusion}. {finding.sentence}",
        "mitigationStrategy": " ".join(advised or filter(None, [finding.needed]))
        or assessment.recommendation,
    }


def _properties(assessment: Assessment) -> list[dict[str, str]]:
    rows = [(f"{row.framework} {row.identifier}", f"{row.state}: {row.because}") for row in annex(assessment)]
    named = {
        "conclusion": assessment.conclusion,
        "grade": assessment.grade,
        "run": assessment.run,
        "annex": CLAIM,
        **{f"annex:{identifier}": text for identifier, text in rows},
    }
    return [{"name": f"leakrange:{name}", "value": value} for name, value in named.items()]
