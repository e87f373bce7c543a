"""Every block of README and documentation is executed, or held against the program that it is for.

`EXECUTED` lists the pages whose commands `test_examples.py` and `tests/range/test_tour.py` run as they stand.
All other commands must be taken by the program's own parser, scenarios by the validator, Python by the
interpreter. A block of no known language, or a command that nobody checks, fails.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from leakrange.assessment.document import Thresholds
from leakrange.providers.foreign.card import FileCard, read_card
from tests.docs.blocks import PAGES, ROOT, Block, blocks, spans
from tests.docs.checks import check, exists
from tests.docs.shell import commands
from tests.docs.test_examples import EXECUTED
from tests.embedded import leakrange as run_leakrange

EVERY = [block for page in PAGES for block in blocks(page)]
ONLY_COMPILED = {"docs/samples.md": "needs torchaudio, and recordings that nobody may pass on"}
"""Python that is not run, and why."""
TESTED_ELSEWHERE = {
    "docs/editor.md": "tests/controller/test_scenarios_api.py",
    "docs/extend/encoding.md": "tests/registry/test_own_encoding.py",
    "docs/extend/paper.md": "tests/papers/test_own_paper.py",
    "docs/extend/step.md": "tests/registry/test_own_step.py",
    "docs/guides/attacks-from-python.md": "tests/docs/test_attacks_from_python.py",
    "docs/guides/audit-endpoint-machines.md": "tests/infra/test_github_action.py",
    "docs/guides/own-model.md": "tests/docs/test_own_model.py",
    "docs/guides/attack-endpoint.md": "tests/docs/test_own_model.py",
    "docs/guides/protect-endpoint.md": "tests/docs/test_own_model.py",
    "docs/guides/targets.md": "tests/proxy/test_targets_guide.py",
    "docs/guides/own-data.md": "tests/docs/test_own_data.py",
    "docs/guides/recorded-answers.md": "tests/docs/test_recorded_answers.py",
    "docs/victim.md": "tests/range/test_victim.py",
} | {
    f"docs/extend/{page}.md": "tests/registry/test_own_package.py"
    for page in ("attack", "data-set", "defence", "view")
}
"""Pages of code whose tests lie in a file of their own, which reads the page."""


def _of(*languages: str) -> list[Any]:
    return [pytest.param(block, id=str(block)) for block in EVERY if block.language in languages]


def test_every_block_says_what_it_is() -> None:
    known = {"sh", "python", "yaml", "toml", "json", "text"}
    assert [str(block) for block in EVERY if block.language not in known] == []


def test_what_is_executed_elsewhere_is_there() -> None:
    for page, heading in EXECUTED:
        assert any(block.page == page and heading in (None, block.heading) for block in EVERY), (
            page,
            heading,
        )
    for page, test in TESTED_ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text(), page


def _executed(block: Block) -> bool:
    return (block.page, None) in EXECUTED or (block.page, block.heading) in EXECUTED


def _run_by_a_test(block: Block) -> bool:
    return _executed(block) or block.page in TESTED_ELSEWHERE


NOT_RUN = [each for each in _of("sh") if not _run_by_a_test(each.values[0])]


@pytest.mark.parametrize("block", NOT_RUN)
def test_commands_would_be_taken(block: Block, tmp_path: Path) -> None:
    said = list(commands(block.text))
    if not said:  # settings alone, for `.env`
        names = re.findall(r"(?m)^([A-Z_]+)=", block.text)
        compose = (ROOT / "docker-compose.yml").read_text()
        assert names
        assert [name for name in names if name not in compose] == []
    for words in said:
        check(words)
        if words[:2] == ["leakrange", "reproduce"] and "--show" in words:
            _show(words, tmp_path)


def _show(words: list[str], tmp_path: Path) -> None:
    """A reproduction that measures nothing prints the page of the cells in the repository."""
    done = run_leakrange(*words[1:], "--store", str(tmp_path), "--out", str(tmp_path / "page.md"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.md").read_text().startswith("# ")


@pytest.mark.parametrize(
    "command",
    [
        "leakrange up --detached",
        "leakrange run scenarios/nowhere.yaml",
        "make nothing",
        "python -m leakrange.load.bench.proxy --fast",
        "python load/nothing.py",
        "docker compose up postgresql",
        "kubectl apply -k infra/kubernetes/nowhere",
        "pip install leakrange[everything]",
        "curl http://127.0.0.1:8700/v1/nothing",
        "wget http://127.0.0.1:8700/",
    ],
)
def test_commands_that_nothing_takes_are_found_out(command: str) -> None:
    [words] = commands(command)
    with pytest.raises(AssertionError):
        check(words)


def test_commands_in_texts_exist() -> None:
    said = {span for page in PAGES if not page.startswith("docs/results/") for span in spans(page)}
    for span in said:
        words = span.split()
        if words[0] == "leakrange":
            exists(words[1:])
        if words[0] == "make" and len(words) == 2:
            check(words)


PARTS: dict[str, Any] = {
    "name": "shown-in-part",
    "seeds": [0],
    "data": {"name": "digits"},
    "providers": {"honest": {"behaviour": "honest", "target": "digit", "sensitive": "parity"}},
    "clients": {"phones": {"kind": "edge", "count": 4}},
    "attacks": {"outside": {"kind": "attribute-inference"}},
    "budgets": [200],
}
"""What a part of a scenario is put into."""
AROUND: dict[str, dict[str, Any]] = {
    "docs/load.md": {
        "data": {"name": "digits", "subset": {"pool": 200, "share": 0.5}},
        "attacks": {"outside": {"kind": "loss-threshold"}},
    },
    "docs/probing.md": {
        "data": {"name": "synthmotion", "count": 2000, "auxiliary": 0.3},
        "net": {"name": "conv-1d"},
        "providers": {
            "honest": {"behaviour": "honest", "target": "activity", "sensitive": "hand", "release": "sample"}
        },
        "defences": {"substitutes": [{"pass": {"private": "hand", "useful": "activity", "net": "conv-1d"}}]},
    },
    "docs/vicious.md": {"attacks": {"inside": {"kind": "vicious-decoder"}}},
}
"""What a page's parts need besides, by page."""


@pytest.mark.parametrize("block", _of("yaml"))
def test_scenarios_are_valid(block: Block, tmp_path: Path) -> None:
    given = yaml.safe_load(block.text)
    if "name" in given and block.page in TESTED_ELSEWHERE:
        return
    if given.keys() >= {"input", "release"}:  # the card of a model file
        read_card(block.text.encode(), FileCard)
        return
    if "apiVersion" in given:
        kubernetes_validate.validate(given, kubernetes_validate.latest_version(), strict=True)
        return
    whole = given if "name" in given else PARTS | AROUND.get(block.page, {}) | given
    path = tmp_path / "shown.yaml"
    path.write_text(block.text if "name" in given else yaml.safe_dump(whole, sort_keys=False))
    done = run_leakrange("scenario", "check", "--elsewhere", str(path))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("block", _of("python"))
def test_code_runs(block: Block, tmp_path: Path) -> None:
    compiled = compile(block.text, str(block), "exec")
    if _executed(block) or block.page in TESTED_ELSEWHERE or block.page in ONLY_COMPILED:
        return
    assert compiled
    done = subprocess.run([sys.executable, "-c", block.text], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", _of("toml", "json"))
def test_documents_can_be_read(block: Block) -> None:
    if block.language == "json":
        json.loads(block.text)
        return
    given = tomllib.loads(block.text)
    if "thresholds" in given:
        Thresholds.model_validate(given["thresholds"])
        return
    for group in given["project"]["entry-points"]:
        package, _, _ = group.rpartition(".")
        assert package, group


def test_files_that_are_named_exist() -> None:
    """Paths between backticks, from the root of the repository or from where the library lies."""
    shown = {"shared/leakrange/defences/output/quantise.py"}  # which readers are to add
    named = re.compile(
        r"(?:shared|infra|scenarios|docs|services|clients|load|tests|leakrange)/[\w./-]*\.(?:py|yaml|yml|md|conf|json|svg)"
    )
    for page in PAGES:
        if page.startswith("docs/results/"):
            continue
        for span in spans(page):
            if named.fullmatch(span) and span not in shown:
                root = ROOT / "shared" if span.startswith("leakrange/") else ROOT
                assert (root / span).exists(), f"{page} names {span}"
