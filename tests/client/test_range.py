"""The client against a standing range: a run from start to rows, refusals as errors, keys and models."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from leakrange.client import AuditFailed, Range, RunFailed
from leakrange.scenario.results import RunResults
from leakrange.wire.errors import (
    BudgetExhausted,
    Conflict,
    InvalidInput,
    InvalidScenario,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from leakrange.wire.events import JobDone, TrialEnded
from leakrange.wire.runs import RunView
from tests.embedded import EmbeddedRange
from tests.proxy.servers import SHAPE, StubProvider, clean, serve

SCENARIO = {
    "name": "asked-from-python",
    "seeds": [0],
    "data": {"name": "digits", "size": 16},
    "schedule": {"epochs": 1},
    "providers": {"honest": {"behaviour": "honest", "target": "parity", "sensitive": "large"}},
    "clients": {"phones": {"kind": "edge", "count": 4, "samples": 64}},
    "defences": {"none": [], "label-only": ["argmax"]},
    "attacks": {"outside": {"kind": "attribute-inference", "auxiliary": 50, "knowledge": "aware"}},
    "budgets": [50],
}


@pytest.fixture(scope="module")
def here(embedded_range: EmbeddedRange) -> Iterator[Range]:
    with Range.embedded(embedded_range.root) as found:
        yield found


@pytest.fixture(scope="module")
def done(here: Range) -> RunView:
    return here.runs.wait(here.runs.start(SCENARIO))


def test_a_run_is_followed_with_typed_events(here: Range, done: RunView) -> None:
    events = list(here.runs.follow(done))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert (events[0].kind, events[-1].kind) == ("run.queued", "run.finished")
    ended = [event.what for event in events if isinstance(event.what, TrialEnded)]
    assert {trial.defence for trial in ended} == {"none", "label-only"}
    assert sum(event.what.samples for event in events if isinstance(event.what, JobDone)) > 0
    assert events == sorted(events, key=lambda event: event.at)


def test_results_are_typed_and_the_rows_are_those_of_the_csv(here: Range, done: RunView) -> None:
    results = here.runs.results(done)
    assert isinstance(results, RunResults)
    rows = here.runs.table(done)
    assert [row["id"] for row in rows] == [trial.id for trial in results.trials]
    for row, trial in zip(rows, results.trials, strict=True):
        assert (row["defence"], row["auc"]) == (trial.defence, trial.value("auc"))
        assert row["auc_low"] <= row["auc"] <= row["auc_high"]
    text = here.controller.get(f"/v1/runs/{done.id}/results", format="csv").body.decode()
    table = csv.DictReader(io.StringIO(text))
    assert table.fieldnames == list(rows[0])
    assert [line["auc"] for line in table] == [repr(row["auc"]) for row in rows]
    assert here.runs.report(done).lstrip().lower().startswith("<!doctype html>")


def test_a_run_is_downloaded_in_pieces_whole_or_in_part(
    here: Range, done: RunView, embedded_range: EmbeddedRange, tmp_path: Path
) -> None:
    text = b"".join(here.runs.download(done, "csv")).decode()
    assert [line["id"] for line in csv.DictReader(io.StringIO(text))] == [
        row["id"] for row in here.runs.table(done)
    ]
    file = tmp_path / "in" / "part.arrow"
    said = embedded_range("report", done.id, "--only", "defence=none", "--out", str(file)).stdout
    assert file.as_uri() in said
    table = pyarrow.ipc.open_stream(file.read_bytes()).read_all()
    assert set(table.column("defence").to_pylist()) == {"none"}
    wrong = embedded_range("report", done.id, "--only", "defense=none", "--out", str(file))
    assert wrong.returncode == 2
    assert "write provider=NAME, defence=NAME or attack=NAME" in wrong.stderr
    assert embedded_range("report", "no-such-run", "--out", str(tmp_path / "a.csv")).returncode == 4
    assert [each.name for each in tmp_path.rglob("*")] == ["in", "part.arrow"]
    assert {each.defence for each in here.runs.overview(done).worst} == {"none", "label-only"}


def test_views_are_typed_and_can_be_narrowed(here: Range, done: RunView) -> None:
    shown = here.runs.views(done, defence=["none"])
    assert shown.run == done.id
    assert shown.sentences
    names = [each.name for section in shown.sections for group in section.groups for each in group.pictures]
    picture = here.runs.picture(done, names[0])
    assert picture.table is not None
    assert len(picture.table.rows) == picture.rows > 0


def test_the_listings_know_what_was_run_and_trained(here: Range, done: RunView) -> None:
    assert done.id in [view.id for view in here.runs.latest(1000)]
    assert len(here.runs.latest(1)) == 1
    assert here.runs.cancel(done.id).state == "done"
    assert ("digits", "honest") in [(model.data, model.behaviour) for model in here.models()]
    assert {"digits", "synthfaces"} <= {entry.name for entry in here.data()}
    assert "attribute-inference" in [entry.name for entry in here.attacks()]
    assert {"round", "argmax"} <= {entry.name for entry in here.defences()}
    assert "honest" in [entry.name for entry in here.behaviours()]
    assert "attacks" in here.scenario_schema()["properties"]


@pytest.mark.parametrize("form", ["mapping", "text", "path", "name"])
def test_a_scenario_is_a_mapping_a_text_or_a_file_and_its_mistakes_are_told(
    here: Range, tmp_path: Path, form: str
) -> None:
    file = tmp_path / "mistaken.yaml"
    file.write_text("name: mistaken\nseeds: [-1]\ndata: {name: digitz}\n")
    mapping = {"name": "mistaken", "seeds": [-1], "data": {"name": "digitz"}}
    given = {"mapping": mapping, "text": file.read_text(), "path": file, "name": str(file)}[form]
    with pytest.raises(InvalidScenario) as caught:
        here.runs.start(given)
    said = "\n".join(caught.value.__notes__)
    assert "did you mean 'digits'?" in said
    assert ("line 3: " in said) == (form != "mapping")


def test_what_is_refused_is_raised_as_what_it_is(here: Range, embedded_range: EmbeddedRange) -> None:
    with pytest.raises(NotFound, match="no-such-run"):
        here.runs.view("no-such-run")
    with pytest.raises(NotFound):
        list(here.runs.follow("no-such-run"))
    stranger = Range(embedded_range.record.controller, local=True)
    with stranger, pytest.raises(Unauthenticated) as caught:
        stranger.runs.start(SCENARIO)
    assert "LEAKRANGE_OPERATOR_KEY" in "".join(caught.value.__notes__)
    with stranger, pytest.raises(InvalidInput, match="where the proxy is"):
        _ = stranger.keys
    stranger = Range("http://127.0.0.1:9", proxy="http://127.0.0.1:9", local=True)
    with stranger, pytest.raises(Unauthenticated, match="operator key"):
        stranger.keys.all()
    away = Range("http://127.0.0.1:9", proxy="http://127.0.0.1:9", operator_key="key", local=True, hint="go")
    with away, pytest.raises(Unavailable, match="no answer") as unreachable:
        away.keys.all()
    assert unreachable.value.hint == "go"
    with Range("http://127.0.0.1:9", local=True) as nowhere, pytest.raises(Unavailable, match="no answer"):
        nowhere.data()
    with pytest.raises(InvalidInput, match="no address of a server"):
        Range("range.example")


def test_a_range_that_is_not_there_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no range is running") as caught:
        Range.embedded(tmp_path)
    assert "leakrange up" in str(caught.value.hint)


def test_a_run_that_does_not_end_well_is_an_error_with_its_view(here: Range) -> None:
    begun = here.runs.start(SCENARIO | {"name": "stopped", "schedule": {"epochs": 400}})
    here.runs.cancel(begun)
    with pytest.raises(RunFailed, match="cancelled") as caught:
        here.runs.wait(begun)
    assert caught.value.view.state == "cancelled"


def test_keys_limits_and_policies_are_kept_by_the_proxy(here: Range) -> None:
    limit = here.limits.put("few", "window", samples=5, seconds=60)
    assert (limit.name, limit.model_extra) == ("few", {"samples": 5, "seconds": 60.0})
    made = here.keys.create("a notebook", 9, models=["digits"], limits=["few"])
    assert (made.budget, made.remaining, made.models) == (9, 9, ["digits"])
    with pytest.raises(Conflict):
        here.limits.delete("few")
    assert here.keys.change(made.id, budget=12, limits=[]).remaining == 12
    here.limits.delete("few")
    assert "few" not in [limit.name for limit in here.limits.all().limits]
    assert here.policies.put("coarse", [{"round": {"decimals": 1}}]).deterministic
    here.policies.bind("coarse", key=made.id)
    assert ("coarse", made.id) in [(each.policy, each.key) for each in here.policies.bindings()]
    here.policies.unbind(key=made.id)
    here.policies.delete("coarse")
    assert here.keys.revoke(made.id).revoked
    assert [key.revoked for key in here.keys.all() if key.id == made.id] == [True]
    with pytest.raises(InvalidInput, match="no name"):
        here.routes.put("../keys", "http://127.0.0.1:9")


def test_a_model_behind_the_proxy_answers_arrays_until_the_budget_is_spent(here: Range) -> None:
    provider = StubProvider()
    images = np.random.default_rng(3).integers(0, 256, (258, *SHAPE), dtype=np.uint8)
    with serve(provider) as url:
        here.routes.put("own-model", url)
        key = here.keys.create("a reader", 300, models=["own-model"])
        with here.model("own-model", key.key) as model:
            assert (model.card.name, model.card.classes) == ("own-model", ["0", "1", "2", "3", "4"])
            found = model.softmax(images)
            assert np.array_equal(found, clean("softmax", images))
            assert len(provider.data_requests()) == 2  # in batches as large as the model takes
            assert model.upload("logits", clean("logits", images[:3])) == found[:3].argmax(axis=1).tolist()
            pairs = np.stack([images[:4], images[4:8]], axis=1)
            assert np.array_equal(model.verification(pairs), clean("verification", pairs))
            assert len(model.logits(images[:0])) == 0
            with pytest.raises(BudgetExhausted) as caught:
                model.logits(images[:100])
            assert "raise the key's budget" in str(caught.value.hint)
        assert (here.keys.get(key.id).spent, here.keys.get(key.id).refused) == (258 + 3 + 4, 1)
        here.routes.delete("own-model")


def test_an_audit_without_a_verdict_says_why(here: Range) -> None:
    begun = here.audits.start("nobody-serves-this", {"data": {"name": "digits", "size": 16}})
    with pytest.raises(AuditFailed) as caught:
        here.audits.verdict(begun)
    assert caught.value.view.id == begun.id
    assert begun.id in [entry.id for entry in here.audits.latest()]


def test_it_needs_neither_torch_nor_what_draws_reports() -> None:
    code = "import leakrange.client, sys; print({'torch', 'altair', 'scipy', 'fastapi'} & sys.modules.keys())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "set()\n"
