"""An assessment as SARIF 2.1.0, as the code scanning of GitHub shows it.

GitHub shows a result only where it has a place in a file of the repository: here the line of the target's
file. It follows an alert from one upload to the next by rule, file and ``primaryLocationLineHash``, and reads
its severity from the rule, as a string (GitHub, "SARIF support for code scanning"). So leaks, and what cannot
be told, have rules of their own. What passes is no result.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import leakrange
from leakrange.assessment.annex import identifiers_of
from leakrange.assessment.document import Assessment, Conclusion, Finding
from leakrange.wire.errors import InvalidInput

__all__ = ["to_sarif"]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: dict[Conclusion, str] = {"leaks": "error", "cannot tell": "warning"}
SEVERITIES: dict[Conclusion, str] = {"leaks": "8.0", "cannot tell": "4.0"}
"""Of 10: GitHub calls 7.0 to 8.9 high, and 4.0 to 6.9 medium."""
TITLES = {
    "membership": "who was in the training set",
    "attribute": "a hidden attribute of those whom it is asked about",
    "reconstruction": "what the samples looked like",
    "other": "what is hidden",
}
ADVICE: dict[Conclusion, str] = {
    "leaks": "Release less (fewer decimals, labels alone), bound how many samples a key may have answered,"
    " or train again with less overfitting. The assessment names the policy that was tried.",
    "cannot tell": "Give more records or a larger budget, as the message says, and do the audit again."
    " Nothing was cleared.",
}
UNMADE = "attack-not-made"


def to_sarif(assessment: Assessment, target_path: str, target_line: int = 1) -> str:
    """SARIF of one run: an error for each leak, a warning for what cannot be told, and for each attack in
    scope that was not made.

    ``target_path`` is the target's file as the repository knows it, relative to its root; GitHub shows no
    result in a file elsewhere, of which the path is absolute. ``target_line`` is counted from 1. Raises
    `InvalidInput` for a path or a line that is none.
    """
    if not target_path or target_line < 1:
        raise InvalidInput(
            f"{target_path!r}, line {target_line} is no place in a file",
            hint="give the target's file, relative to the root of the repository, and a line from 1",
        )
    place = {
        "physicalLocation": {
            "artifactLocation": _file(target_path),
            "region": {"startLine": target_line},
        }
    }
    open_findings = [each for each in assessment.findings if each.conclusion != "passes"]
    results = [*(_result(assessment, each) for each in open_findings), *_unmade(assessment)]
    rules = {_rule_id(each): _rule(each) for each in open_findings}
    if assessment.plan.unmade:
        rules[UNMADE] = _described(UNMADE, "An attack in scope was not made", "cannot tell", [])
    driver = {"name": "Leakrange", "version": leakrange.__version__, "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"leakrange/{assessment.subject.name}/"},
        "results": [result | {"locations": [place]} for result in results],
        "properties": {
            "conclusion": assessment.conclusion,
            "grade": assessment.grade,
            "headline": assessment.headline,
            "created": assessment.created,
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _file(path: str) -> dict[str, str]:
    if path.startswith("/"):
        return {"uri": PurePosixPath(path).as_uri()}
    return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def _result(assessment: Assessment, finding: Finding) -> dict[str, Any]:
    sentences = [finding.sentence, finding.why, finding.needed, assessment.recommendation]
    return {
        "ruleId": _rule_id(finding),
        "level": LEVELS[finding.conclusion],
        "message": {"text": " ".join(filter(None, sentences))},
        "partialFingerprints": _fingerprints(assessment, _rule_id(finding), finding.about),
    }


def _unmade(assessment: Assessment) -> list[dict[str, Any]]:
    return [
        {
            "ruleId": UNMADE,
            "level": "warning",
            "message": {"text": f"The attack {each.attack} was not made: {each.why}."},
            "partialFingerprints": _fingerprints(assessment, UNMADE, each.attack),
        }
        for each in assessment.plan.unmade
    ]


def _fingerprints(assessment: Assessment, *parts: str) -> dict[str, str]:
    """The same for the same thing in the next audit, whatever line it stands in: an alert is followed by it.

    The number behind the colon counts equal ones, as GitHub's own do.
    """
    text = "\0".join((assessment.subject.name, *parts))
    return {"primaryLocationLineHash": f"{sha256(text.encode()).hexdigest()[:16]}:1"}


def _rule_id(finding: Finding) -> str:
    return f"{finding.question}-{finding.conclusion}".replace(" ", "-")


def _rule(finding: Finding) -> dict[str, Any]:
    title = TITLES[finding.question]
    text = {
        "leaks": f"The model's answers tell {title}",
        "cannot tell": f"It cannot be told whether the model's answers tell {title}",
    }[finding.conclusion]
    return _described(_rule_id(finding), text, finding.conclusion, identifiers_of(finding.question))


def _described(rule: str, title: str, conclusion: Conclusion, identifiers: list[str]) -> dict[str, Any]:
    listed_as = f"In other lists: {', '.join(identifiers)}." if identifiers else ""
    advice = ADVICE[conclusion]
    return {
        "id": rule,
        "name": "".join(part.capitalize() for part in rule.split("-")),
        "shortDescription": {"text": title},
        "fullDescription": {"text": f"{title}. {advice}"},
        "help": {
            "text": f"{advice} {listed_as}".strip(),
            "markdown": f"**{title}.** {advice}\n\n{listed_as}".strip(),
        },
        "properties": {
            "security-severity": SEVERITIES[conclusion],
            "tags": ["security", "privacy", *identifiers],
        },
    }
