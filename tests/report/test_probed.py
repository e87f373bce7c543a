"""What was probed of attributes, and which classes substitutes are of."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from leakrange.report.findings import find
from leakrange.report.views import views
from leakrange.report.views.substitution import class_map
from leakrange.scenario.results import RunResults
from tests.report.build import run

JOINT = {"loop": [[0.3, 0.1], [0.5, 0.1]]}
GAINS = {"none": (1.0, 1.0), "argmax": (0.125, 0.875)}


def probed() -> RunResults:
    """A run whose trials hold both views; of the second attribute one seed has no gain."""
    made = run(classes={"digits": {"loop": ["open", "closed"]}})
    trials = []
    for each in made.trials:
        private, useful = GAINS.get(each.defence, (0.5, 0.25))
        rows = [
            {"attribute": "loop", "role": "private", "nag": private},
            {"attribute": "digit", "role": "useful", **({} if each.seed == 0 else {"nag": useful})},
        ]
        own = {"attributes": rows} | ({"substitution": JOINT} if each.defence == "argmax" else {})
        trials.append(each.model_copy(update={"views": own}))
    return made.model_copy(update={"trials": trials})


def told(svg: str) -> set[str]:
    return {str(text.text) for text in ET.fromstring(svg).iter("text")}


def test_every_attribute_has_its_gain_under_every_defence() -> None:
    findings = find(probed())
    drawn = views["attributes"].draw(findings, findings.subjects[0])
    assert drawn is not None
    assert "argmax, loop, private: NAG 0.125" in drawn.label
    assert "argmax, digit, useful: NAG 0.875" in drawn.label
    assert {"loop, private", "digit, useful", *findings.defences} <= told(drawn.svg)


def test_nothing_is_drawn_where_nothing_was_probed() -> None:
    findings = find(run())
    assert views["attributes"].draw(findings, findings.subjects[0]) is None
    assert views["substitution"].draw(findings, findings.subjects[0]) is None


def test_rows_of_a_class_map_add_up_to_one() -> None:
    drawn = class_map("loops", JOINT["loop"], ["open", "closed"])
    shares = {pair: float(share) for pair, share in re.findall(r"(\w+ becomes \w+): ([\d.]+)", drawn.svg)}
    assert shares == pytest.approx(
        {
            "open becomes open": 75,
            "open becomes closed": 25,
            "closed becomes open": 83,
            "closed becomes closed": 17,
        },
        abs=0.5,
    )
    assert "40" in drawn.label  # of all samples, .3 + .1 keep their class
    assert np.sum(JOINT["loop"]) == pytest.approx(1.0)


def test_the_map_of_a_run_names_classes_and_defence() -> None:
    findings = find(probed())
    subject = next(each for each in findings.subjects if each.sensitive == "loop")
    drawn = views["substitution"].draw(findings, subject)
    assert drawn is not None
    assert "argmax" in drawn.note
    assert {"open", "closed"} <= told(drawn.svg)
