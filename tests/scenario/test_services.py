"""What a scenario plans for student services: a teacher, its student, questions about people in rounds."""

from __future__ import annotations

import pytest

from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.wire.errors import InvalidScenario
from tests.scenario.planned import NAMES, trial

TEXT = """\
name: services
seeds: [0, 1]
data: {name: synthpeople, auxiliary: 0, crowd: {people: 20, images: 6, public: 20, students: 5}}
net: {name: residual, width: 0.25}
providers:
  vectors: {target: identity, service: features}
  raw: {target: identity, service: {kind: verification, normalised: false, distance: cosine}}
  names: {target: identity, service: recognition}
defences: {none: [], noisy: [noise: {scale: 0.5}]}
attacks:
  classes: {kind: class-based, known: 8, pairs: 10, repeats: 2}
budgets: [160, 240, 480]
chunk: 100
"""
PEOPLE = 40


def sizes(_: DataSpec) -> None:
    """This machine has none of the pictures: what is asked about people is planned without them."""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(parse(TEXT), sizes)


def questions(plan: Plan, name: str) -> int:
    return int(trial(plan, name).needs.asked["count"])


def jobs(plan: Plan, name: str) -> list[ProbeJob]:
    [probe] = [each for each in plan.probes if each.id == name]
    [model] = [each for each in plan.models if each.id == probe.model]
    [policy] = [each for each in plan.policies if each.defence == probe.defence]
    return [probe.job(model, policy, span, url="http://p", account="a", name="m") for span in probe.spans]


def test_features_and_verification_stand_before_one_teacher_and_recognition_on_it(plan: Plan) -> None:
    models = {model.id: model for model in plan.models}
    assert set(models) == {f"{name}-s{seed}" for name in ("vectors", "raw", "names") for seed in (0, 1)}
    teacher = models["vectors-s0"]
    assert models["raw-s0"].artifact == teacher.artifact
    student = models["names-s0"]
    assert student.teacher is not None
    assert student.teacher.artifact == teacher.artifact == student.recipe.parameters["teacher"]
    assert student.artifact != teacher.artifact
    assert student.plays == "honest"
    served_as = {model.served_as(NAMES) for model in plan.models}
    assert len(served_as) == 6
    assert not any("identity" in name or teacher.artifact[:8] in name for name in served_as)
    served = models["raw-s0"].deployment
    assert (served.service, served.normalised, served.distance) == ("verification", False, "cosine")
    casts = {models[f"vectors-s{seed}"].recipe.data.seed for seed in (0, 1)}
    assert len(casts) == 2  # each seed casts the people anew


def test_a_budget_buys_whole_rounds_of_questions(plan: Plan) -> None:
    assert questions(plan, "vectors-s0.none.classes.unaware.b160") == 4 * PEOPLE
    assert questions(plan, "vectors-s0.none.classes.unaware.b480") == 6 * PEOPLE  # all images of everybody
    assert questions(plan, "raw-s0.none.classes.unaware.b240") == 6 * PEOPLE
    assert questions(plan, "raw-s0.none.classes.unaware.b480") == 10 * PEOPLE
    cells = {each.result.id.partition("-s0.")[2] for each in plan.trials if each.result.provider == "raw"}
    assert "none.classes.unaware.b160" not in cells  # four pairs of each person are too few
    # Who is unaware of noise has asked without it, too; who averages asks twice: six pairs twice are 480.
    assert {cell for cell in cells if cell.startswith("noisy")} == {
        "noisy.classes.unaware.b480",
        "noisy.classes.aware.b240",
        "noisy.classes.aware.b480",
        "noisy.classes.averaging.b480",
    }
    assert trial(plan, "raw-s0.noisy.classes.unaware.b480").needs.probes == {
        "answers": ["raw-s0.noisy.pool0"],
        "undefended": ["raw-s0.none.pool0"],
        "users": ["raw-s0.noisy.users"],
    }
    assert trial(plan, "raw-s0.noisy.classes.averaging.b480").needs.probes["answers"] == [
        "raw-s0.noisy.pool1",
        "raw-s0.noisy.pool2",
    ]


def test_who_deduces_who_is_shown_trains_a_recogniser_on_the_public(plan: Plan) -> None:
    text = TEXT.replace("known: 8, pairs: 10", "known: 8, each: 4, labels: deduced, providers: vectors")
    found = expand(parse(text), sizes)
    assert {each.id for each in found.shadows} == {f"vectors-recogniser-s{seed}" for seed in (0, 1)}
    [own] = [each for each in found.shadows if each.id.endswith("s1")]
    [teacher] = [each for each in found.models if each.id == "vectors-s1"]
    assert own.recipe.parameters["target"] == "person"
    assert own.recipe.data.crowd is not None
    assert (own.recipe.data.crowd.learners, own.recipe.data.seed) == ("public", teacher.recipe.data.seed)
    assert own.release == "features"
    needs = trial(found, "vectors-s1.none.classes.unaware.b240").needs
    assert needs.shadows == [own.id]
    assert {span.data.seed for span in needs.shows} == {teacher.recipe.data.seed}  # the people of its cast
    assert not plan.shadows


def test_who_compares_people_with_others_pays_for_it_and_a_shadow_is_shown_both() -> None:
    text = TEXT.replace("class-based, known: 8, pairs: 10", "closeness, known: 8, references: 3")
    found = expand(parse(text.replace("[160, 240, 480]", "[300, 360, 720]")), sizes)
    cells = {each.result.id.partition("-s0.")[2] for each in found.trials if each.result.provider == "raw"}
    assert cells >= {"none.classes.unaware.b360", "noisy.classes.unaware.b720", "noisy.classes.aware.b360"}
    assert not any(cell.endswith("b300") for cell in cells)  # six pairs and three others are 9 of 40 people
    needs = trial(found, "raw-s0.noisy.classes.unaware.b720").needs
    assert needs.asked == {"count": 6 * PEOPLE, "references": 3}
    assert needs.probes == {
        "answers": ["raw-s0.noisy.pool0"],
        "undefended": ["raw-s0.none.pool0"],
        "across": ["raw-s0.noisy.pool0.r3"],
        "across_undefended": ["raw-s0.none.pool0.r3"],
        "users": ["raw-s0.noisy.users"],
    }
    [probe] = [each for each in found.probes if each.id == "raw-s0.noisy.pool0.r3"]
    assert probe.spans[-1].stop == 3 * PEOPLE
    vectors = trial(found, "vectors-s0.none.classes.unaware.b300").needs
    assert (vectors.asked, vectors.shows) == ({"count": 6 * PEOPLE}, [])
    learnt = TEXT.replace("class-based, known: 8, pairs: 10", "closeness, learns: shadow, providers: vectors")
    needs = trial(expand(parse(learnt), sizes), "vectors-s1.noisy.classes.unaware.b240").needs
    assert set(needs.probes) == {
        "answers",
        "users",
    }  # it learns from no answers, and asks for none to learn from
    assert [(span.split, span.stop) for span in needs.shows] == [("public", 80), ("pool", 4 * PEOPLE)]
    assert needs.shadows == ["vectors-recogniser-s1"]


def test_a_mean_of_distances_is_read_of_a_single_pair() -> None:
    """So that a curve can begin with a budget of one pair of each person."""
    text = TEXT.replace("known: 8, pairs: 10", "known: 8, pairs: 1, providers: raw, statistic: mean")
    found = expand(parse(text), sizes)
    assert questions(found, "raw-s0.none.classes.unaware.b160") == PEOPLE


def test_what_a_device_does_to_its_model_defends_no_service() -> None:
    """Nobody downloads a teacher: a pruned service would be told of as one that was measured."""
    noisy = "noisy: [noise: {scale: 0.5}]"
    pruned = "pruned: [prune: 0.5], both: [prune: 0.5, noise: {scale: 0.5}]"
    found = expand(parse(TEXT.replace(noisy, f"{noisy}, {pruned}")), sizes)
    assert {each.result.defence for each in found.trials} == {"none", "noisy"}
    assert {policy.defence for policy in found.policies} == {"none", "noisy"}


def test_pairs_are_of_one_person_each_and_no_question_is_asked_twice(plan: Plan) -> None:
    asked = jobs(plan, "raw-s0.none.pool0")
    pairs = [pair for job in asked for pair in job.pairs or []]
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) == 10 * PEOPLE
    assert {first % PEOPLE == second % PEOPLE for first, second in pairs} == {True}
    for turn in range(10):  # a round has one pair of everybody
        assert len({first % PEOPLE for first, _ in pairs[turn * PEOPLE : (turn + 1) * PEOPLE]}) == PEOPLE
    assert {(job.span.split, job.span.start, job.span.stop) for job in asked} == {("pool", 0, 6 * PEOPLE)}
    assert {job.endpoint for job in asked} == {"verification"}
    assert sum(job.samples for job in asked) == 400


def test_users_ask_what_shows_how_well_they_are_served(plan: Plan) -> None:
    compared = jobs(plan, "raw-s0.noisy.users")
    same = [first % 20 == second % 20 for job in compared for first, second in job.pairs or []]
    assert (sum(same), len(same)) == (20 * 6, 2 * 20 * 6)
    assert {job.span.split for job in compared} == {"public"}
    known = jobs(plan, "names-s0.none.users")
    assert {(job.span.split, job.endpoint) for job in known} == {("held", "recognition")}
    assert sum(job.samples for job in known) == 5 * 5
    assert sum(job.samples for job in jobs(plan, "vectors-s0.none.users")) == 4 * 20
    assert {probe.by for probe in plan.probes if probe.id.endswith(".users")} == {"users"}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (", crowd: {people: 20, images: 6, public: 20, students: 5}", "", "no 'crowd'"),
        ("name: synthpeople", "name: digits", "no cast people"),
        ("service: features", "service: faces", "features"),
        ("service: features", "service: features, release: logits", "answers with features"),
        ("service: features", "behaviour: curious, method: parameterized, sensitive: role, service: features",
         "nothing to decode"),
        ("known: 8", "known: 19", "leaves nobody"),
        ("kind: class-based, known: 8, pairs: 10, repeats: 2", "kind: loss-threshold", "nobody uploads"),
        ("[160, 240, 480]", "[100]", "buys this attack enough"),
        ("people: 20, images: 6", "people: 20, images: 3", "too few"),
        ("known: 8", "known: 4", "at least 5"),
        ("known: 8", "known: 12, folds: 5", "5 folds of 8 members"),
        ("known: 8", "folds_by: person", "folds_by"),
        ("kind: class-based, known: 8", "kind: first-cut, folds_by: record", "with 'folds' only"),
        ("known: 8", "method: qda, statistic: mean", "takes no 'statistic'"),
        ("known: 8", "components: 5", "takes no 'components'"),
        ("known: 8", "statistic: mean, providers: vectors", "a verification's distances"),
        ("known: 8", "labels: deduced, providers: vectors", "needs 'each'"),
        ("known: 8", "each: 4, labels: deduced, providers: raw", "not of pairs"),
        ("known: 8", "known: 8, each: 7, providers: vectors", "too few for it"),
        ("known: 8", "logarithm: true, providers: vectors", "a recognition's confidences"),
        ("class-based, known: 8", "closeness, learns: shadow, providers: names", "no model of a recognition"),
        ("known: 8", "method: qda, components: 5, providers: raw", "no principal components"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(before: str, after: str, said: str) -> None:
    assert before in TEXT
    with pytest.raises(InvalidScenario) as refused:
        parse(TEXT.replace(before, after))
    assert any(said in mistake["message"] for mistake in refused.value.mistakes), refused.value.mistakes


def test_what_is_parsed_is_a_scenario_again() -> None:
    once = parse(TEXT)
    assert parse(once.model_dump(mode="json")) == once
