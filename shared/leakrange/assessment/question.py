"""What an assessment is to find out, and the scenario that finds it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from leakrange.assessment.document import Thresholds
from leakrange.data import POOL, datasets, load_labels
from leakrange.jobs.recipe import DataSpec, Subset
from leakrange.scenario.sizes import Sizes
from leakrange.strict import Strict, example
from leakrange.targets.target import RemoteTarget
from leakrange.wire.digests import digest
from leakrange.wire.errors import DataUnavailable, InvalidInput

__all__ = ["AUXILIARY", "BUDGET", "VALIDATION", "Counts", "EndpointQuestion", "counted", "scenario_of"]

BUDGET = 5_000
"""Samples that a target is asked unless somebody says otherwise."""
AUXILIARY, VALIDATION = 0.5, 0.02
"""Shares of the records that are not in the pool which attackers have; most others are asked by users."""
FEWEST = 20
KEPT = 0.5
"""The share of those who were not trained on that is kept out of the pool, where attributes are hidden."""
STEPS = (16, 8, 4, 2, 1)
"""Attackers of attributes get this fraction of their budget, for the price list."""
MOST_LESSONS, POPULATION = 2_000, 1_000
SCHEDULE = {"epochs": 30, "batch": 50, "lr": 0.003, "select": "last"}
"""Of the attackers' own models."""


class EndpointQuestion(Strict):
    """The ``target``, the ``data`` set whose records it is asked, and what is hidden in these: attributes
    (``hidden``), and the attribute that says on whom the model was trained (``members``).

    ``attribute`` is what the model answers for; "" is the first attribute that has the target's classes. The
    target is asked at most ``budget`` samples.
    """

    model_config = example(
        {
            "target": {
                "name": "risk",
                "owner": "ml-platform@example.com",
                "authorised": "ticket 4711, until 2027-01-31",
                "preset": "native",
                "url": "https://models.example.com",
                "model": "risk",
                "card": {
                    "classes": ["low", "high"],
                    "release": "softmax",
                    "input": {"encoding": "table", "shape": [2], "columns": ["age", "hours"]},
                },
            },
            "data": "customers",
            "hidden": ["smoker"],
            "members": "used",
            "budget": 5000,
        }
    )
    target: RemoteTarget
    data: str
    attribute: str = ""
    hidden: tuple[str, ...] = ()
    members: str | None = None
    budget: Annotated[int, Field(ge=FEWEST, le=10_000_000)] = BUDGET
    seed: Annotated[int, Field(ge=0)] = 0
    advise: bool = False
    """Whether policies are tried on the answers as well."""
    thresholds: Thresholds = Thresholds()

    def checked(self) -> EndpointQuestion:
        """The question with its ``attribute``. Raises `InvalidInput` or `DataUnavailable` where the data set
        is not there, or lacks what the question names."""
        if self.data not in datasets:
            raise InvalidInput(
                f"there is no data set {self.data!r}",
                hint="'leakrange data list' names all; imported ones lie in the folder of LEAKRANGE_DATA",
            )
        entry = datasets[self.data]
        if reason := entry.available():
            raise DataUnavailable(f"{self.data}: {reason}")
        classes = sorted(self.target.card.classes)
        same = [name for name, each in entry.attributes.items() if sorted(each.classes) == classes]
        attribute = self.attribute or next(iter(same or entry.attributes))
        for name in (attribute, *self.hidden, *filter(None, [self.members])):
            if name not in entry.attributes:
                raise InvalidInput(
                    f"{self.data!r} has no attribute {name!r}; it has {', '.join(entry.attributes)}",
                    hint=f"first: leakrange data remove {self.data}; then import it again with that column "
                    "by --target, --hidden or --member",
                )
        if self.members is not None and tuple(entry.attributes[self.members].classes) != ("no", "yes"):
            raise InvalidInput(
                f"{self.members!r} does not say who was trained on",
                hint="import the data with --member COLUMN, where the column is 0 or 1",
            )
        if not self.hidden and self.members is None:
            raise InvalidInput(
                "nothing is hidden: name an attribute, or the column of members",
                hint="--hidden ATTRIBUTE, --member ATTRIBUTE",
            )
        return self.model_copy(update={"attribute": attribute})


class Counts(Strict):
    """How many samples each part of the audit asks: the pool of records whose membership is inferred, the
    population that these are compared with, the records that attackers of attributes learn from, and the
    users'."""

    pool: int = 0
    population: int = 0
    auxiliary: int = 0
    users: int = 0


def counted(question: EndpointQuestion, sizes: Sizes) -> Counts:
    """Divide the budget. With members the pool is as large as data and budget allow, half of it members.

    Raises `InvalidInput` where there are too few records for any question.
    """
    pool, population, left = 0, 0, question.budget
    if question.members is not None:
        most = int(left * (0.5 if question.hidden else 0.7))
        pool = _largest_pool(question, most, sizes)
        population = min(POPULATION, int(left * (0.15 if question.hidden else 0.2)))
    known = _sizes(question, pool, sizes)
    population = min(population, known["auxiliary"])
    left -= pool + population
    users = min(known["test"], int(left * 0.6))
    auxiliary = min(known["auxiliary"], left - users, MOST_LESSONS) if question.hidden else 0
    return Counts(pool=pool, population=population, auxiliary=auxiliary, users=users)


def scenario_of(
    question: EndpointQuestion,
    attacks: Mapping[str, Mapping[str, Any]],
    counts: Counts,
    policies: Mapping[str, list[Any]],
) -> dict[str, Any]:
    """The scenario, as its language reads it, in which these attacks are made: parameters by name. The
    answers behind ``policies`` are replayed."""
    hidden = list(question.hidden)
    given: dict[str, Any] = {
        "seeds": [question.seed],
        "data": _data(question, counts.pool).model_dump(mode="json", exclude_defaults=True)
        | {"name": question.data},
        "schedule": SCHEDULE,
        "providers": {
            "endpoint": {
                "behaviour": "remote",
                "target": question.attribute,
                "endpoint": question.target.model_dump(mode="json", by_alias=True, exclude_defaults=True),
                **({"sensitive": hidden if len(hidden) > 1 else hidden[0]} if hidden else {}),
            }
        },
        "clients": {"users": {"kind": "edge", "count": 4, "samples": counts.users}},
        "defences": {"none": [], **policies},
        **({"replay": True} if policies else {}),
        "attacks": {name: dict(each) for name, each in attacks.items()},
        "budgets": _budgets(question, counts),
    }
    return {"name": f"audit-{question.target.name[:40]}-{digest(given)[:10]}", **given}


def _budgets(question: EndpointQuestion, counts: Counts) -> list[int]:
    """Small ones first, for the price list; the last one buys everything that the audit may ask."""
    fractions = STEPS[-2:] if question.advise else STEPS  # each is fitted behind each policy
    steps = [max(FEWEST, counts.auxiliary // each) for each in fractions] if question.hidden else []
    return sorted({*steps, question.budget})


def _data(question: EndpointQuestion, pool: int) -> DataSpec:
    subset = None
    if question.members is not None and pool:
        subset = Subset(pool=pool, share=0.5, members=question.members)
    return DataSpec(
        name=question.data, auxiliary=AUXILIARY, validation=VALIDATION, seed=question.seed, subset=subset
    )


def _sizes(question: EndpointQuestion, pool: int, sizes: Sizes) -> Mapping[str, int]:
    known = sizes(_data(question, pool))
    if known is None:
        raise DataUnavailable(
            f"the data set {question.data!r} is not on this machine", hint="set LEAKRANGE_DATA to its folder"
        )
    return known


def _largest_pool(question: EndpointQuestion, most: int, sizes: Sizes) -> int:
    """The largest pool, of at most so many samples, that the data have members and others for; 0 where there
    is none of `FEWEST`. Part of the others stay for users, and for attackers to learn from."""

    def fits(pool: int) -> bool:
        try:
            return _sizes(question, pool, sizes)[POOL] >= pool
        except InvalidInput:
            return False

    if most < FEWEST or not fits(FEWEST):
        return 0
    assert question.members is not None
    others = int((load_labels(DataSpec(name=question.data)).labels[question.members] == 0).sum())
    low, high = FEWEST, 1 + min(most, 2 * int(others * (1.0 - (KEPT if question.hidden else KEPT / 2))))
    while high - low > max(1, low // 50):  # `low` fits, `high` does not, or is too many
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low - low % 2
