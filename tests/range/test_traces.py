"""What a run's traces and logs tell, and whom: each step stands below the one that led to it, and who must
not know of runs is told of none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import orjson
import pytest

from tests.embedded import EmbeddedRange
from tests.range.conftest import Controller, Finished, scenario

pytestmark = pytest.mark.timeout(900)
Step = dict[str, Any]
OPERATED = ("controller", "edge", "attacker")
"""Parties that may know of runs."""


@pytest.fixture(scope="module")
def traced(controller: Controller) -> Finished:
    """A run with models of its own: logs of what parties did before they were killed are not kept."""
    defences = {"none": [], "label-only": ["argmax"]}
    return controller.run(scenario("traced", seeds=[3], schedule={"epochs": 2}, defences=defences))


@pytest.fixture(scope="module")
def tree(embedded_range: EmbeddedRange, traced: Finished) -> Step:
    """The run, as ``leakrange trace --json`` has it."""
    done = embedded_range("trace", traced.id, "--json")
    assert done.returncode == 0, done.stderr
    [run] = orjson.loads(done.stdout)
    assert run["name"] == "run"
    return dict(run)


def under(step: Step) -> Iterator[Step]:
    yield step
    for each in step["steps"]:
        yield from under(each)


def chain(step: Step, *wanted: tuple[str, str]) -> list[Step] | None:
    """Steps below ``step``, each directly within the one before, by party and name."""
    if not wanted:
        return []
    for each in step["steps"]:
        if (each["party"], each["name"]) == wanted[0] and (rest := chain(each, *wanted[1:])) is not None:
            return [each, *rest]
    return None


def uploads(tree: Step) -> list[Step]:
    return [step for step in under(tree) if (step["party"], step["name"]) == ("edge", "upload")]


def test_an_upload_is_one_trace_from_the_device_to_the_curious_inference(tree: Step) -> None:
    request = "POST /v1/models/{model}/outputs"
    inferred = [
        found
        for upload in uploads(tree)
        if (
            found := chain(
                upload,
                ("edge", request),
                ("proxy", request),
                ("proxy", request),
                ("provider-curious", request),
                ("provider-curious", "intake"),
                ("provider-curious", "decode"),
            )
        )
    ]
    assert len(inferred) == 2 * 6  # both defences, 192 users in uploads of 32
    for steps in inferred:
        assert len({step["trace"] for step in steps}) == 1
        assert [step["kind"] for step in steps] == [
            "client",
            "server",
            "client",
            "server",
            "internal",
            "internal",
        ]
        for above, below in pairwise(steps):
            assert below["parent"] == above["span"]
            assert below["at"] >= above["at"]


def test_a_probe_goes_from_the_run_through_the_queue_to_the_provider(tree: Step) -> None:
    request = "POST /v1/models/{model}/logits"
    jobs = [step for step in under(tree) if step["name"] == "probe job"]
    assert jobs
    for job in jobs:
        at_work = chain(job, ("attacker", "probe at work"))
        assert at_work is not None
        assert at_work[0]["trace"] == job["trace"] == tree["trace"]
        asked = chain(
            at_work[0],
            ("attacker", request),
            ("proxy", request),
            ("proxy", request),
            ("provider-honest", request),
            ("provider-honest", "inference"),
        )
        assert asked is not None
        assert asked[-1]["attributes"]["samples"] == 32
        # What leaves the fleet is a trace of its own: chunks of one attack cannot be told to belong together.
        assert len({step["trace"] for step in asked}) == 1
        assert asked[0]["trace"] != tree["trace"]


def test_proxies_and_providers_learn_neither_the_run_nor_what_belongs_together(tree: Step) -> None:
    told = [step for step in under(tree) if step["party"] not in OPERATED]
    assert {step["party"] for step in told} == {"proxy", "provider-honest", "provider-curious"}
    served = [step for step in told if step["kind"] == "server"]
    assert tree["trace"] not in {step["trace"] for step in told}
    for party in ("proxy", "provider-honest", "provider-curious"):
        data = [
            step["trace"]
            for step in served
            if step["party"] == party and step["name"].endswith(("/logits", "/outputs"))
        ]
        assert len(set(data)) == len(data) > 0
    run = tree["attributes"]["run"]
    assert not [step for step in told if run in orjson.dumps(step["attributes"]).decode()]


def log_lines(embedded_range: EmbeddedRange, party: str) -> list[dict[str, Any]]:
    text = embedded_range.folder.log(party).read_text()
    return [orjson.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_logs_have_the_run_where_it_may_be_known_and_else_the_trace(
    embedded_range: EmbeddedRange, traced: Finished, tree: Step
) -> None:
    logged = [line for line in log_lines(embedded_range, "edge") if line["event"] == "uploaded"]
    of_run = [line for line in logged if line["run"] == traced.id]
    assert {line["trace"] for line in of_run} == {upload["trace"] for upload in uploads(tree)}
    for party in ("proxy", "provider-honest", "provider-curious"):
        text = embedded_range.folder.log(party).read_text()
        assert traced.id not in text
    trained = [line for line in log_lines(embedded_range, "trainer") if line["event"] == "job ended"]
    assert {line["run"] for line in trained} >= {traced.id}


def test_the_command_prints_a_tree_for_people(embedded_range: EmbeddedRange, traced: Finished) -> None:
    done = embedded_range("trace", traced.id)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("controller: run ")
    assert any(line.strip().startswith("provider-curious: decode ") for line in lines)
    assert any("more of controller: stream job" in line for line in lines)
    every = embedded_range("trace", traced.id, "--all").stdout.splitlines()
    assert len(every) > len(lines)
    assert not any("more of" in line for line in every)


def test_what_is_not_traced_is_said(embedded_range: EmbeddedRange) -> None:
    done = embedded_range("trace", "20200101-000000-abcdef")
    assert done.returncode == 2
    assert "nothing in" in done.stderr
