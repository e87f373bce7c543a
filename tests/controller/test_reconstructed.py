"""Samples that a provider has reconstructed from uploads are stored beside the sessions' releases."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakrange.store.files import get_array
from leakrange.wire.tensors import to_text
from services.controller.range.journal import Journal
from services.controller.range.news import News
from services.controller.range.uploaded import read_uploads, reconstructed_as, session_stored
from services.controller.settings import ControllerSettings
from tests.controller.parties import StoodIn, stood_in
from tests.controller.test_driver import planned, told

__all__ = ["told"]

SCENARIO = """\
name: reconstructed
seeds: [0, 1]
data: {name: digits, size: 16}
providers:
  curious: {behaviour: curious, method: parameterized, target: parity, sensitive: large, release: logits}
clients:
  phones: {kind: edge, count: 2, samples: 8}
attacks:
  inside: {kind: curious-decoder}
budgets: [8]
chunk: 5
"""


def sessions(run: StoodIn, seed: int) -> list[str]:
    """The identities of the uploads to the model of that seed."""
    (stream,) = (each for each in run.plan.streams if each.model == f"curious-s{seed}")
    (model,) = (each for each in run.plan.models if each.id == stream.model)
    return [stream.identity(model, run.plan.policies[0], span) for span in stream.spans]


async def test_they_are_stored_where_they_are_arrays(told: ControllerSettings) -> None:
    """A provider of two models, one of which reconstructs what is no number, fails the trials of that one."""
    sound: set[str] = set()

    def remembers(record: dict[str, Any]) -> None:
        if not sound:
            sound.add(record["model"])
        samples = 100 * np.asarray(record["values"], np.float32)
        record["reconstructed"] = to_text(
            samples if record["model"] in sound else np.full_like(samples, np.nan)
        )

    async with stood_in(planned(SCENARIO), told) as run:
        run.providers["curious"].misremembers = remembers
        results = await run.execute()
        seeds = {each.state: each.seed for each in results.values()}
        assert sorted(seeds) == ["done", "failed"]
        (failed,) = (each for each in results.values() if each.state == "failed")
        assert "must be finite" in str(failed.error)

        releases = run.parties.releases
        names = sessions(run, seeds["done"])
        assert len(names) == 2
        for name in names:
            given = get_array(releases, f"{name}.npy")
            np.testing.assert_array_equal(get_array(releases, f"{reconstructed_as(name)}.npy"), 100 * given)
            assert session_stored(releases, name)
        journal = Journal(run.run, run.database, News(run.database))
        uploads = await read_uploads(names, "logits", [2], journal, releases)
        assert uploads.reconstructed == [reconstructed_as(name) for name in names]

        releases.path(f"{reconstructed_as(names[1])}.npy").write_bytes(b"damaged")
        assert session_stored(releases, names[0])
        assert not session_stored(releases, names[1])
