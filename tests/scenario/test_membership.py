"""What a scenario plans for attacks on membership: pool and shadows for all, and nobody told the members."""

from __future__ import annotations

import pytest

from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from leakrange.wire.errors import InvalidScenario
from tests.scenario.planned import trial

TEXT = """\
name: membership
seeds: [0, 1]
data: {name: digits, subset: {pool: 300}}
schedule: {select: last}
providers:
  overfitted: {target: digit}
defences: {none: [], noisy: [noise: {scale: 0.5}]}
attacks:
  loss: {kind: loss-threshold, repeats: 2}
  lira: {kind: lira, shadows: 4, repeats: 2}
  rmia: {kind: rmia, shadows: 2, population: 150, repeats: 2}
budgets: [300, 450, 900]
"""


def sizes(spec: DataSpec) -> dict[str, int]:
    return {"train": 150, "held-out": 150, "pool": 300, "validation": 100, "auxiliary": 100, "test": 359}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(parse(TEXT), sizes)


def test_a_budget_answers_for_the_pool_and_the_population_or_there_is_no_trial(plan: Plan) -> None:
    budgets: dict[tuple[str, str], set[int]] = {}
    for each in plan.trials:
        if each.result.defence == "noisy":
            budgets.setdefault((each.result.attack, each.result.knowledge), set()).add(each.result.budget)
    # RMIA has but 100 auxiliary records, so asks 400 times; who averages two answers asks twice.
    assert budgets == {
        **{(name, known): {300, 450, 900} for name in ("loss", "lira") for known in ("unaware", "aware")},
        **{(name, "averaging"): {900} for name in ("loss", "lira", "rmia")},
        **{("rmia", known): {450, 900} for known in ("unaware", "aware")},
    }
    assert {each.result.knowledge for each in plan.trials if each.result.defence == "none"} == {"unaware"}


def test_who_steals_the_model_first_asks_about_the_population_alone() -> None:
    text = TEXT.replace(
        "loss: {kind: loss-threshold, repeats: 2}", "stolen: {kind: stolen-model, repeats: 9}"
    )
    plan = expand(parse(text.replace("[300, 450, 900]", "[40, 60, 900]")), sizes)
    asked: dict[tuple[str, int], set[tuple[int, int]]] = {}
    for each in plan.trials:
        if each.result.attack == "stolen" and each.result.defence == "noisy":
            assert set(each.needs.probes) == {"population"}
            [span] = [span for span in each.needs.shows if span.split == "population"]
            assert each.needs.shadows == []
            key = (each.result.knowledge, each.result.budget)
            asked.setdefault(key, set()).add((span.stop, len(each.needs.probes["population"])))
    assert asked == {
        ("unaware", 60): {(60, 1)},
        ("unaware", 900): {(100, 1)},
        ("averaging", 900): {(100, 9)},
    }


def test_shadows_come_in_pairs_and_all_seeds_share_them(plan: Plan) -> None:
    assert [shadow.id for shadow in plan.shadows] == [f"overfitted-shadow{number}" for number in range(4)]
    assert len({model.artifact for model in (*plan.models, *plan.shadows)}) == 2 + 4
    subsets = [shadow.recipe.data.subset for shadow in plan.shadows]
    for one, other in (subsets[:2], subsets[2:]):
        assert one is not None
        assert one.model_copy(update={"rest": True}) == other
    for seed in (0, 1):
        found = trial(plan, f"overfitted-s{seed}.none.lira.unaware.b300")
        assert found.needs.shadows == [f"overfitted-shadow{number}" for number in range(4)]
    targets = {model.recipe.data.subset for model in plan.models}
    assert len(targets) == 2  # each seed's members are its own
    seeds = [model.recipe.seed for model in (*plan.models, *plan.shadows)]
    assert len(set(seeds)) == 2 + 4  # and no shadow begins with a target's weights
    assert not targets & {each and each.model_copy(update={"rest": False}) for each in subsets}
    assert {model.recipe.schedule.select for model in (*plan.models, *plan.shadows)} == {"last"}


def test_nothing_that_an_attacker_is_sent_tells_the_targets_members(plan: Plan) -> None:
    secret = {model.recipe.data.subset for model in plan.models}
    spans = [span for probe in plan.probes for span in probe.spans]
    for each in plan.trials:
        asked = each.needs.asked
        named = [asked["records"], *([asked["population"]] if asked["population"] else [])]
        spans += [Span.model_validate(span) for span in named]
    assert spans
    assert not {span.data.subset for span in spans} & secret


def test_the_target_is_asked_under_the_policy_in_force_and_who_knows_it_defends_its_shadows(
    plan: Plan,
) -> None:
    for knowledge, defended in (("unaware", False), ("aware", True), ("averaging", True)):
        found = trial(plan, f"overfitted-s0.noisy.rmia.{knowledge}.b900")
        draws = (1, 2) if knowledge == "averaging" else (0,)
        assert found.needs.probes["records"] == [f"overfitted-s0.noisy.pool{draw}" for draw in draws]
        assert found.needs.probes["population"] == [f"overfitted-s0.noisy.population{draw}" for draw in draws]
        assert bool(found.needs.asked["defence"]) is defended
        assert found.needs.asked["population"]["stop"] == 100
    probes = {probe.id: probe for probe in plan.probes}
    assert {(s.split, s.data.subset is None) for s in probes["overfitted-s0.noisy.pool1"].spans} == {
        ("pool", False)
    }
    assert probes["overfitted-s0.noisy.pool1"].spans[-1].stop == 300
    assert plan.classes["digits"]["membership"] == ["not trained on", "trained on"]


def test_each_query_of_a_record_is_a_variant_of_it_and_is_paid_for() -> None:
    plan = expand(parse(TEXT.replace("shadows: 4", "shadows: 4, queries: 3")), sizes)
    found = trial(plan, "overfitted-s1.none.lira.unaware.b900")
    assert found.needs.probes["records.2"] == ["overfitted-s1.none.pool0.v2"]
    probes = {probe.id: probe for probe in plan.probes}
    asked = {role: probes[names[0]].spans for role, names in found.needs.probes.items()}
    assert {role: {span.variant for span in spans} for role, spans in asked.items()} == {
        "records": {0},
        "records.1": {1},
        "records.2": {2},
    }
    assert sum(span.stop - span.start for spans in asked.values() for span in spans) == 900
    assert [span.variant for span in found.needs.shows] == [0, 1, 2]
    assert {each.result.budget for each in plan.trials if each.result.attack == "lira"} == {900}


def test_listed_queries_are_an_attack_each_and_nothing_is_asked_twice() -> None:
    parsed = parse(TEXT.replace("shadows: 4", "shadows: 4, queries: [1, 3]"))
    assert list(parsed.attacks) == ["loss", "lira-1", "lira-3", "rmia"]
    assert parse(parsed.model_dump(mode="json")) == parsed
    plan = expand(parsed, sizes)
    once, thrice = (trial(plan, f"overfitted-s0.none.lira-{number}.unaware.b900").needs for number in (1, 3))
    assert once.probes.items() < thrice.probes.items()
    assert once.shadows == thrice.shadows
    assert [span.variant for span in once.shows] == [0]
    assert len({probe.id for probe in plan.probes}) == len(plan.probes)


LISTED = "attacks.lira.queries"


@pytest.mark.parametrize(
    ("written", "mistakes"),
    [
        ("queries: []", {LISTED: "at least 1"}),
        ("queries: [2, 2]", {LISTED: "every number once"}),
        ("queries: [1, 300, x]", {f"{LISTED}[1]": "256, not 300", f"{LISTED}[2]": "valid integer"}),
        ("queries: [1, 2], shadow: 4", {"attacks.lira.shadow": "unknown field"}),
        ("queries: [1, 2]}\n  lira-2: {kind: lira", {LISTED: "another attack has that name"}),
        (f"queries: [1, 2]}}\n  {'l' * 31}: {{kind: lira, queries: [1, 2]", {"l" * 31: "too long"}),
    ],
)
def test_lists_of_queries_that_cannot_be_are_told(written: str, mistakes: dict[str, str]) -> None:
    with pytest.raises(InvalidScenario) as refused:
        parse(TEXT.replace("shadows: 4", f"shadows: 4, {written}"))
    assert len(refused.value.mistakes) == len(mistakes)
    for mistake, (path, message) in zip(refused.value.mistakes, mistakes.items(), strict=True):
        assert path in mistake["path"]
        assert message in mistake["message"]
        assert mistake["line"] is not None


def test_a_provider_that_trains_on_everything_has_no_others() -> None:
    with pytest.raises(InvalidScenario) as refused:
        parse(TEXT.replace(", subset: {pool: 300}", ""))
    assert any("no 'subset'" in mistake["message"] for mistake in refused.value.mistakes)


@pytest.mark.parametrize("wrong", ["shadows: 3", "shadows: 0", "mode: inline", "sensitive: large"])
def test_parameters_that_cannot_be_are_told(wrong: str) -> None:
    with pytest.raises(InvalidScenario):
        parse(TEXT.replace("shadows: 4", wrong))


def test_crafted_questions_are_planned_once_for_all_seeds_and_asked_in_the_place_of_the_pool() -> None:
    text = TEXT.replace(
        "  rmia: {kind: rmia, shadows: 2,", "  oslo: {kind: oslo}\n  rmia: {kind: rmia, shadows: 2,"
    )
    plan = expand(parse(text.replace("kind: oslo", "kind: oslo, shadows: 4")), sizes)
    [craft] = plan.crafts
    shadows = {shadow.id: shadow for shadow in plan.shadows}
    asked = [trial(plan, f"overfitted-s{seed}.none.oslo.unaware.b300") for seed in (0, 1)]
    assert craft.recipes == [shadows[name].recipe for name in asked[0].needs.shadows]
    assert (craft.span.split, craft.span.stop, craft.target, craft.span.crafted) == ("pool", 300, "digit", "")
    probes = {probe.id: probe for probe in plan.probes}
    for each in asked:
        [name] = each.needs.probes["records"]
        assert {span.crafted for span in probes[name].spans} == {craft.identity()}
        assert probes[name].crafted == craft.identity()
        assert not probes[name].offered  # load users have no store of the fleet
        assert [span.crafted for span in each.needs.shows] == [craft.identity()]
        assert len(each.needs.shadows) == 4
    plain = probes[trial(plan, "overfitted-s0.none.lira.unaware.b300").needs.probes["records"][0]]
    assert plain.offered
    assert (plain.crafted, plan.steps()["craft"]) == ("", 1)
    assert "crafted" not in plain.spans[0].model_dump()
    secret = {model.recipe.data.subset for model in plan.models}
    assert not secret & {recipe.data.subset for recipe in craft.recipes}


PRIVATE = """\
name: private
seeds: [0, 1]
data: {name: digits, subset: {pool: 300, canaries: 40}}
net: {name: NET}
providers:
  told: {behaviour: honest, method: private, epsilon: 2, target: digit}
  plain: {target: digit}
attacks:
  loss: {kind: loss-threshold}
budgets: [300]
"""


def test_a_private_provider_wants_a_net_that_takes_samples_apart() -> None:
    with pytest.raises(InvalidScenario) as refused:
        parse(PRIVATE.replace("NET", "hbc"))
    (mistake,) = refused.value.mistakes
    assert "net 'hbc' has batch norm" in mistake["message"]
    assert "conv-2d-groups" in mistake["allowed"]
    assert (mistake["path"], mistake["line"]) == ("net.name", 6)
    plan = expand(parse(PRIVATE.replace("NET", "conv-2d-groups")), sizes)
    promised = [each.recipe for each in plan.models if each.recipe.behaviour == "honest/private"]
    assert [recipe.parameters["epsilon"] for recipe in promised] == [2.0, 2.0]
    drawn = [recipe.data.subset for recipe in promised]
    assert [subset and subset.canaries for subset in drawn] == [40, 40]
    assert len({subset and subset.seed for subset in drawn}) == 2  # each seed tosses its own coins
    both = [each.recipe.data for each in plan.models if each.seed == 1]
    assert both[0] == both[1]  # and those of one seed are the same for all providers
