"""The names of all that a plan makes, category by category: what a stored result is found again by.

``python -m tests.scenario.identities`` writes down those of every ready scenario anew.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import yaml

from leakrange.attacks.kinds.trial import Uploaded
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan, PlannedTrial
from leakrange.scenario.shipped import shipped
from leakrange.scenario.stored_trial import Stored, StoredTrial
from leakrange.wire.digests import digest
from leakrange.wire.errors import NotFound

__all__ = ["WRITTEN", "identities", "planned", "short"]

WRITTEN = Path(__file__).with_suffix(".yaml")


def planned(scenario: str) -> Plan:
    """The plan of a scenario's text, where every split holds 5,000 samples, whether its data set is here or
    not."""
    return expand(parse(scenario), _same_size)


def short(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """By category how many different names there are, and a digest of them."""
    different = {category: sorted(set(those)) for category, those in names.items()}
    return {category: f"{len(those)} {digest(those)[:16]}" for category, those in different.items() if those}


def _same_size(data: DataSpec) -> Mapping[str, int]:
    """The sizes of an attacker's own set are known before anybody asks for one."""
    own = not data.validation and not data.auxiliary
    return defaultdict(lambda: 5_000, {"train": 5_000} if own else {})


class _Same(dict[str, list[int]]):
    """The classes of users who are alike in every attribute."""

    def __init__(self, users: int) -> None:
        self._users = users

    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, _: str) -> list[int]:
        return [0] * self._users


def _nothing(_: list[list[str]]) -> NoReturn:
    raise NotImplementedError


def _record(_: str) -> dict[str, Any]:
    return {"members": [], "figures": {}, "files": {}}


def identities(plan: Plan) -> dict[str, list[str]]:
    """Of each category (recipes, streams, probes, shows, fits) the identities, in the order of the plan."""
    models = {each.id: each for each in plan.models}
    policies = {each.defence: each for each in plan.policies}
    streams = {
        each.id: [each.identity(models[each.model], policies[each.defence], span) for span in each.spans]
        for each in plan.streams
    }
    probes = {
        each.id: [
            each.job(
                models[each.model], policies[each.defence], span, url="http://x", account="a", name="m"
            ).identity()
            for span in each.spans
        ]
        for each in plan.probes
    }
    found: dict[str, list[str]] = {
        "recipes": [each.artifact for each in plan.trained],
        "streams": [name for names in streams.values() for name in names],
        "probes": [name for names in probes.values() for name in names],
        "shows": [],
        "fits": [],
        "audits": [],
    }
    for planned in plan.trials:
        trial = StoredTrial(plan, planned, _stored(plan, planned, streams, probes), _nothing, _record)  # type: ignore[arg-type]
        # Trials of large runs are judged in other processes: each has to survive the way there.
        trial = pickle.loads(pickle.dumps(trial)).reading(_nothing, _record)
        found["shows"] += [
            shadow.shows(span).identity() for shadow in trial.shadows for span in planned.needs.shows
        ]
        found["audits"] += [digest(asked.parameters) for asked in planned.needs.steps.values()]
        with suppress(NotFound):  # what its provider reconstructs is known when it has
            found["fits"] += [job.identity() for job in trial.jobs().values()]
    return found


def _stored(
    plan: Plan, trial: PlannedTrial, streams: dict[str, list[str]], probes: dict[str, list[str]]
) -> Stored:
    needs = trial.needs
    uploaded = None
    if needs.streams:
        stream = next(each for each in plan.streams if each.id == needs.streams[0])
        users = sum(span.stop - span.start for span in stream.spans)
        uploaded = Uploaded([_Same(users)], np.zeros(users, np.int64), None)
    return Stored(
        [streams[name] for name in needs.streams],
        {role: [probes[name] for name in names] for role, names in needs.probes.items()},
        uploaded,
        [streams[name] for name in needs.undefended],
    )


if __name__ == "__main__":
    every = {name: short(identities(planned(one.text))) for name, one in shipped().items()}
    WRITTEN.write_text(yaml.safe_dump(every))
