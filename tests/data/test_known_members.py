"""A pool of members whom the owner of a model names, and of others; who is in neither."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakrange.data import POOL, POPULATION, load, load_labels
from leakrange.data.importing import ColumnUse, import_set
from leakrange.jobs.recipe import DataSpec, Subset
from leakrange.wire.errors import InvalidInput
from tests.data.tables import customers, write_rows

YES = 1


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An imported set of 300 rows, of which every third was trained on."""
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    rows = [{**row, "used": int(place % 3 == 0)} for place, row in enumerate(customers(300))]
    import_set(write_rows(tmp_path / "a.csv", rows), "mine", ColumnUse("exited", ("gender",), member="used"))


def of(auxiliary: float = 0.25, **subset: object) -> DataSpec:
    given = {"pool": 120, "members": "used", **subset}
    return DataSpec(name="mine", auxiliary=auxiliary, subset=Subset.model_validate(given))


def test_members_are_those_that_the_owner_names_and_all_others_are_of_the_rest() -> None:
    data = load(of(share=0.4))
    used = data.labels["used"]
    pool = data.where(POOL)
    np.testing.assert_array_equal(data.members(), used[pool] == YES)
    assert (len(pool), data.members().sum()) == (120, 48)
    parts = [data.where(part) for part in ("validation", "auxiliary", "test")]
    assert [len(part) for part in parts] == [13, 32, 82]  # of 127 others that are not in the pool
    assert not any((used[part] == YES).any() for part in parts)
    assert len(data) == 120 + 127  # members beyond the pool are in no split
    np.testing.assert_array_equal(np.sort(data.where(POPULATION)), data.where("auxiliary"))
    np.testing.assert_array_equal(load_labels(of(share=0.4)).split, data.split)


def test_an_attackers_own_models_are_drawn_from_that_pool_whoever_the_members_are() -> None:
    known = load(of())
    subset = Subset(pool=120, members="used")
    shadows = [subset.redrawn("shadow", 7, rest=rest) for rest in (False, True)]
    one, other = (load(of().model_copy(update={"subset": shadow})) for shadow in shadows)
    for drawn in (one, other):
        np.testing.assert_array_equal(drawn.values[drawn.where(POOL)], known.values[known.where(POOL)])
        np.testing.assert_array_equal(drawn.where("test"), known.where("test"))
    np.testing.assert_array_equal(one.members(), ~other.members())
    agreement = (one.members() == known.members()).mean()
    assert 0.3 < agreement < 0.7


def test_everyones_view_of_the_pool_does_not_tell_the_members() -> None:
    spec = of(seed=3)
    everyone = spec.of_everyone()
    assert everyone.subset is not None
    assert everyone.subset.drawn
    assert everyone == everyone.of_everyone()
    assert (load(everyone).members() != load(spec).members()).any()


@pytest.mark.parametrize(
    ("subset", "words"),
    [
        ({"members": "nobody"}, "no attribute 'nobody'"),
        ({"members": "gender"}, "'gender' has the classes female, male, and not no and yes"),
        ({"share": 0.9}, "wants 108 members, of whom there are 100"),
        ({"pool": 250, "share": 0.1}, "wants 225 others, of whom there are 199"),
        ({"pool": 249, "share": 0.2}, "leaves nobody to use the model"),
    ],
)
def test_what_cannot_be_a_pool_is_told(subset: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        load_labels(of(**subset))


def test_names_of_other_pools_stay_as_they_were() -> None:
    plain = Subset(pool=60, seed=2)
    assert plain.model_dump(mode="json") == {"pool": 60, "share": 0.5, "seed": 2, "rest": False}
    assert Subset.model_validate_json(of().model_dump_json(include={"subset"})[10:-1]) == of().subset
