"""An assessment in the forms that programs read, and the file that it is written to."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from leakrange.assessment.cyclonedx import to_cyclonedx
from leakrange.assessment.document import Assessment, Conclusion
from leakrange.assessment.page import assessment_page
from leakrange.assessment.sarif import to_sarif
from leakrange.report.printing import printed
from leakrange.wire.disk import room_in
from leakrange.wire.errors import InvalidInput
from leakrange.wire.views import Column, Table

__all__ = ["FORMS", "TargetPlace", "form_of", "to_findings_csv", "to_junit", "write_assessment"]

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may hold, not even escaped."""
OF_FINDINGS = (
    *("about", "question", "conclusion", "attack", "metric", "value", "low", "high", "control", "most"),
    *("visible", "sentence", "why", "needed"),
)
OUTCOMES: dict[Conclusion, str] = {"leaks": "failure", "cannot tell": "error"}


class TargetPlace(NamedTuple):
    """Where the target is described: its file, relative to the repository, and the line, from 1."""

    path: str
    line: int = 1


def to_findings_csv(assessment: Assessment) -> str:
    """A row for each finding, with the target that it is about. Empty: there is no such figure."""
    subject = assessment.subject
    target = (subject.name, subject.version, subject.digest, assessment.created)
    rows = [(*target, *(getattr(each, name) for name in OF_FINDINGS)) for each in assessment.findings]
    names = ("target", "version", "digest", "created", *OF_FINDINGS)
    return Table([Column(name) for name in names], rows).csv()


def to_junit(assessment: Assessment) -> str:
    """JUnit's XML: a test case for each finding, and for each attack in scope that was not made.

    A leak is a failure, what cannot be told an error; an attack that was not made is skipped. Characters that
    XML cannot hold are shown as U+FFFD.
    """
    findings, unmade = assessment.findings, assessment.plan.unmade
    conclusions = [finding.conclusion for finding in findings]
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(f"leakrange audit of {assessment.subject.name}"),
        package="leakrange",
        id="0",
        hostname="leakrange",
        timestamp=_xml(assessment.created[:19]),
        time=f"{assessment.seconds or 0:.3f}",
        tests=str(len(findings) + len(unmade)),
        failures=str(conclusions.count("leaks")),
        errors=str(conclusions.count("cannot tell")),
        skipped=str(len(unmade)),
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name in ("conclusion", "grade", "headline", "recommendation", "run"):
        ElementTree.SubElement(properties, "property", name=name, value=_xml(getattr(assessment, name)))
    for finding in findings:
        case = _case(suite, finding.question, finding.about)
        if kind := OUTCOMES.get(finding.conclusion):
            outcome = ElementTree.SubElement(case, kind, type=finding.conclusion)
            outcome.set("message", _xml(finding.sentence))
            outcome.text = _xml("\n".join(filter(None, [finding.why, finding.needed])))
    for each in unmade:
        case = _case(suite, each.question, f"attack {each.attack}")
        ElementTree.SubElement(case, "skipped", message=_xml(each.why))
    ElementTree.SubElement(suite, "system-out").text = _xml("\n".join(each.sentence for each in findings))
    ElementTree.SubElement(suite, "system-err")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document.decode() + "\n"


def _case(suite: ElementTree.Element, question: str, name: str) -> ElementTree.Element:
    place = {"classname": f"leakrange.{question}", "name": _xml(name), "time": "0"}
    return ElementTree.SubElement(suite, "testcase", place)


def _xml(text: str) -> str:
    return NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


Export = Callable[[Assessment, TargetPlace], str | bytes]
FORMS: dict[str, Export] = {
    ".json": lambda assessment, _: assessment.model_dump_json(indent=2) + "\n",
    ".cdx.json": lambda assessment, _: to_cyclonedx(assessment),
    ".sarif": lambda assessment, place: to_sarif(assessment, *place),
    ".xml": lambda assessment, _: to_junit(assessment),
    ".csv": lambda assessment, _: to_findings_csv(assessment),
    ".html": lambda assessment, _: assessment_page(assessment),
    ".pdf": lambda assessment, _: printed(assessment_page(assessment)),
}
"""What makes a form, by the ending of its file."""


def form_of(path: Path) -> Export:
    """What makes the form that the file's ending names; of two that fit, the longer one. Raises
    `InvalidInput`, so that a command can refuse the file before it asks anything."""
    fitting = [ending for ending in FORMS if path.name.lower().endswith(ending)]
    if not fitting:
        raise InvalidInput(
            f"{path}: the ending says no form", hint=f"end the name in one of {', '.join(sorted(FORMS))}"
        )
    return FORMS[max(fitting, key=len)]


def write_assessment(assessment: Assessment, path: Path, target_path: str, target_line: int = 1) -> None:
    """Write the assessment in the form that the file's ending names, into a folder that is made if missing.

    ``target_path`` and ``target_line`` say where the target is described, for SARIF: the folder that the
    process works in stands for the repository's root. Raises `InvalidInput` for an ending of no form, and
    then nothing is written; `StorageFull`, or `OSError`.
    """
    form, place = form_of(path), Path(os.path.abspath(target_path))
    if place.is_relative_to(Path.cwd()):
        place = place.relative_to(Path.cwd())
    content = form(assessment, TargetPlace(place.as_posix(), target_line))
    with room_in(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode(errors="replace"))
