"""The registry: one file is one entry, whoever asks first, from whatever thread."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from leakrange.registry import Registry, Supply, UnknownName

ENTRY = """
import time
from {package} import things
time.sleep(0.02)  # an import that takes its time, so that another thread could look in between
@things.register("{name}")
class Thing: ...
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    name = f"registered_{abs(hash(request.node.name)):x}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(
        f"from leakrange.registry import Registry\nthings = Registry('thing', '{name}')\n"
    )
    for entry in ("one", "two", "three"):
        (folder / f"{entry}.py").write_text(ENTRY.format(package=name, name=entry))
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def _things(package: str) -> Registry[object]:
    module = __import__(package)
    things: Registry[object] = module.things
    return things


def test_a_new_file_is_a_new_entry(package: str) -> None:
    assert list(_things(package)) == ["one", "three", "two"]


def test_every_thread_sees_the_whole_list(package: str) -> None:
    things, at_once = _things(package), Barrier(8)

    def ask(_: int) -> int:
        at_once.wait()
        return len(list(things))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {3}


def test_an_unknown_name_tells_what_there_is(package: str) -> None:
    with pytest.raises(UnknownName, match=r"unknown thing 'thre' \(did you mean 'three'\?\)") as caught:
        _things(package)["thre"]
    assert caught.value.allowed == ("one", "three", "two")
    assert _things(package).get("four") is None
    assert "four" not in _things(package)


def test_a_name_is_taken_once(package: str) -> None:
    things = _things(package)
    assert "one" in things
    with pytest.raises(ValueError, match="registered twice"):
        things.register("one")(object())


BLOCKED = """
import sys
sys.modules["torch"] = None
from leakrange.attacks import attacks
from leakrange.data import datasets
from leakrange.defences.input import input_defences
from leakrange.defences.model import model_defences
from leakrange.defences.output import output_defences
from leakrange.providers.behaviours import behaviours
for registry in (attacks, datasets, input_defences, model_defences, output_defences, behaviours):
    assert len(registry) > 0, registry.kind
"""


def test_every_registry_of_the_house_lists_itself_without_a_deep_learning_framework() -> None:
    subprocess.run([sys.executable, "-c", BLOCKED], check=True, timeout=120)


def test_what_a_source_supplies_comes_and_goes(package: str) -> None:
    things, supplied = _things(package), {"four": object(), "two": object()}
    built_in = things["two"]

    @things.source
    def supply() -> Supply[object]:
        return Supply(dict(supplied), ("thing 'five' is broken",))

    assert list(things) == ["four", "one", "three", "two"]
    assert things["four"] is supplied["four"]
    assert things["two"] is built_in
    assert things.broken == ("thing 'five' is broken", "thing 'two': its name is taken")
    del supplied["four"]
    assert "four" not in things
    assert things.get("four") is None
    with pytest.raises(UnknownName, match="'five' is broken"):
        things["five"]
