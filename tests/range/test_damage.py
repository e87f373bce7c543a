"""Files that are damaged between two runs: what the second one needs is made again, and paid for once."""

from __future__ import annotations

import pytest

from tests.embedded import EmbeddedRange
from tests.range.conftest import FIRST, Controller, Finished

pytestmark = pytest.mark.timeout(900)


def test_models_and_releases_that_are_damaged_are_made_again(
    first: Finished, controller: Controller, embedded_range: EmbeddedRange
) -> None:
    folder = embedded_range.folder
    artifacts = [model["artifact"] for model in first.results["models"]]
    models = [folder.models / name / "classifier.safetensors" for name in artifacts]
    releases = [path for path in folder.releases.iterdir() if path.suffix in (".npy", ".npz")]
    for path in [*models, *releases]:
        path.write_bytes(path.read_bytes()[:-100])

    again = controller.run(FIRST)

    again.check(4)
    for name, trial in first.trials.items():
        assert again.trials[name] == trial
    # The new run has keys of its own: it pays once for what it asks again, and for nothing else.
    for who, what in (
        ("attacker", "honest-s0.none.q0"),
        ("attacker", "honest-s0.label-only.q0"),
        ("users", "curious-s0.none.u0"),
    ):
        account = again.account(who, what)
        assert (account["spent"], account["distinct"]) == (192, 192)
    for path in models:
        assert path.exists()
        assert (folder.models / f"{path.parent.name}.damaged").is_dir()
    assert {path.name for path in folder.releases.glob("*.damaged")}

    # And nothing is made a third time.
    third = controller.run(FIRST)
    third.check(4)
    assert third.account("attacker", "honest-s0.none.q0")["spent"] == 0
