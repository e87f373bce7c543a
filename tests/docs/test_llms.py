"""The page for agents says what the program does: its commands, exit statuses and forms."""

from __future__ import annotations

import re

import pytest

from leakrange.assessment.document import Assessment, Finding
from leakrange.assessment.exports import FORMS
from leakrange.clients.cli.commands.audit import audit
from leakrange.clients.cli.exits import Exit
from tests.docs.blocks import FENCE, ROOT
from tests.docs.checks import check
from tests.docs.shell import commands

TEXT = (ROOT / "docs" / "llms.txt").read_text()
COMMANDS = [words for fence in FENCE.finditer(TEXT) for words in commands(fence[3])]
THE_COMMAND_IS_THERE = any(each.name == "endpoint" for each in audit.registered_commands)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_command_would_be_taken(words: list[str]) -> None:
    if words[:3] != ["leakrange", "audit", "endpoint"] or THE_COMMAND_IS_THERE:
        check(words)


def test_each_exit_status_is_told() -> None:
    listed = {int(status) for status in re.findall(r"(?m)^- (\d+): ", TEXT)}
    assert listed == {int(each) for each in Exit} | {6}


def test_each_form_and_each_field_that_is_named_is_there() -> None:
    [endings] = re.findall(r"Endings: (.*)", TEXT)
    assert set(re.findall(r"\.[a-z.]+[a-z]", endings)) == set(FORMS)
    named = set(re.findall(r"`([a-z]+)(?:\[\])?`", TEXT.partition("## The document")[2].partition("## ")[0]))
    fields = {*Assessment.model_fields, *Finding.model_fields, "in_scope", "made", "quota", "command"}
    assert named <= fields
    assert {"conclusion", "grade", "findings", "why", "needed", "prices", "limits"} <= named


def test_it_is_short_and_its_pages_are_there() -> None:
    assert len(TEXT) < 8_000
    for page in re.findall(r"(?m)^- ([\w/-]+)\.html: ", TEXT):
        assert (ROOT / "docs" / f"{page}.md").exists(), page
