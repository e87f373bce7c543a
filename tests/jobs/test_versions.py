"""A recipe's digest and a fit's identity move with the versions of what they name, with nothing else."""

from typing import Any

import pytest

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kinds
from leakrange.data import datasets
from leakrange.jobs import versions
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.recipe import DataSpec, NetSpec, TrainingRecipe
from leakrange.jobs.steps.audit import AuditJob
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.versions import AttackVersion, VersionChange, attack_versions
from leakrange.metrics import metrics
from leakrange.nets import nets
from leakrange.providers import student
from leakrange.providers.behaviours import behaviours
from leakrange.providers.student import student_recipe
from leakrange.registry import Registry
from leakrange.wire.errors import Conflict


def recipe(behaviour: str = "honest") -> TrainingRecipe:
    return TrainingRecipe(data=DataSpec(name="digits"), behaviour=behaviour, parameters={"target": "parity"})


@pytest.mark.parametrize(
    "registry", [datasets, nets, behaviours, attacks, kinds, metrics], ids=lambda registry: registry.kind
)
def test_every_entry_declares_a_version(registry: Registry[Any]) -> None:
    assert all(entry.version >= 1 for entry in registry.values())


@pytest.mark.parametrize(
    ("registry", "raised", "moves"),
    [
        (datasets, "digits", True),
        (nets, "hbc", True),
        (behaviours, "honest", True),
        (datasets, "synthfaces", False),
        (nets, "linear", False),
        (behaviours, "curious/parameterized", False),
    ],
)
def test_a_model_is_named_anew_where_a_version_of_its_own_is_raised(
    registry: dict[str, type[object]], raised: str, moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = recipe()
    monkeypatch.setattr(registry[raised], "version", 2)
    assert (recipe().digest() != before.digest()) == moves
    assert TrainingRecipe.model_validate(before.model_dump(mode="json")).digest() == before.digest()


def test_a_version_of_the_loop_names_every_model_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe().digest(), recipe("curious/mixture").digest()
    monkeypatch.setattr(versions, "LOOP_VERSION", 2)
    assert not {recipe().digest(), recipe("curious/mixture").digest()} & {*before}


def test_a_version_of_the_student_names_students_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = student_recipe(recipe()).digest()
    monkeypatch.setattr(student, "VERSION", 2)
    assert student_recipe(recipe()).digest() != before


def test_what_is_left_at_its_default_says_nothing_and_all_else_does() -> None:
    assert recipe().model_copy(update={"net": NetSpec(name="hbc", width=1.0)}).digest() == recipe().digest()
    assert recipe().model_copy(update={"net": NetSpec(width=0.5)}).digest() != recipe().digest()
    assert recipe().model_copy(update={"seed": 1}).digest() != recipe().digest()


def test_a_recipe_of_other_versions_is_refused_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = recipe()
    planned.check_versions()
    monkeypatch.setattr(nets["hbc"], "version", 2)
    with pytest.raises(Conflict, match="bring all parties to one version, and run the scenario again"):
        planned.check_versions()


def fit(attack: str, **fields: Any) -> FitJob:
    return FitJob(attack=attack, evidence={"auxiliary": [["a" * 64]]}, seed=3, **fields)


def audit(**fields: Any) -> AuditJob:
    plan = AuditPlan(data=DataSpec(name="digits"))
    return AuditJob(url="http://range", model="digits", sha256="a" * 64, plan=plan, **fields)


def test_what_was_stored_before_attacks_had_versions_is_found_under_its_name() -> None:
    """Golden: the names that these had then. First versions say nothing."""
    assert fit("rmia", versions={}).identity().startswith("c997d08eff3cb4fb")
    assert audit(versions={}).identity().startswith("438ba5c5b44e5124")


@pytest.mark.parametrize(
    ("registry", "raised", "moves"),
    [
        (attacks, "rmia", {"rmia"}),
        (kinds, "membership", {"rmia", "lira"}),
        (attacks, "audit", {"audit"}),
        (kinds, "people", set[str]()),
    ],
)
def test_a_fit_is_named_anew_where_a_version_of_its_attack_or_kind_is_raised(
    registry: Registry[Any], raised: str, moves: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def named() -> dict[str, str]:
        fits = ("rmia", "lira", "attribute-inference", "probing")
        return {**{name: fit(name).identity() for name in fits}, "audit": audit().identity()}

    before, planned = named(), fit("rmia")
    monkeypatch.setattr(registry[raised], "version", registry[raised].version + 1)
    after = named()
    assert {name for name in before if before[name] != after[name]} == moves
    # who planned it under the version before does not get the result of this one for it
    assert FitJob.model_validate(planned.model_dump(mode="json")).identity() == before["rmia"]
    if "rmia" in moves:
        with pytest.raises(Conflict, match="bring all parties to one version, and run the scenario again"):
            planned.check_versions()


def test_the_versions_whose_figures_may_be_shown_end_at_a_change_that_is_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rmia = attacks["rmia"]
    monkeypatch.setattr(rmia, "version", 5)
    monkeypatch.setattr(rmia, "changes", {5: VersionChange("it asks twice"), 4: VersionChange("it waits")})
    assert attack_versions("rmia", {}) == [
        AttackVersion("rmia", 5),
        AttackVersion("rmia", 4, ("it asks twice",)),
        AttackVersion("rmia", 3, ("it waits", "it asks twice")),
    ]
    monkeypatch.setattr(rmia, "changes", {4: VersionChange("it waits")})
    assert attack_versions("rmia", {}) == [AttackVersion("rmia", 5)]
    assert attack_versions("nobody's", {}) == [AttackVersion("nobody's", 1)]


def test_a_change_leaves_the_version_of_trials_that_it_does_not_concern(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rmia = attacks["rmia"]
    soft = VersionChange("it reads more", {"release": ("softmax", None), "mode": ("online",)})
    monkeypatch.setattr(rmia, "version", 3)
    monkeypatch.setattr(rmia, "changes", {3: soft, 2: VersionChange("it asks twice")})
    unconcerned = [AttackVersion("rmia", 2), AttackVersion("rmia", 1, ("it asks twice",))]
    assert attack_versions("rmia", {"release": "logits", "mode": "online"}) == unconcerned
    assert attack_versions("rmia", {"release": "softmax"}) == unconcerned
    for given in ({"release": "softmax", "mode": "online"}, {"mode": "online", "shadows": 4}):
        assert [(each.number, each.since) for each in attack_versions("rmia", given)] == [
            (3, ()),
            (2, ("it reads more",)),
            (1, ("it asks twice", "it reads more")),
        ]


@pytest.mark.parametrize("attack", list(attacks.values()), ids=lambda attack: attack.name)
def test_changes_are_of_declared_versions_and_continue_a_sentence(attack: Any) -> None:
    for number, change in attack.changes.items():
        assert 1 < number <= attack.version
        assert change.text.startswith("it ")
        assert change.text.endswith(tuple("abcdefghijklmnopqrstuvwxyz"))
        assert {*change.where} <= {"release", *attack.Parameters.model_fields}
