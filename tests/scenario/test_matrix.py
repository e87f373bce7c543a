"""The plan: sensible cells only, each once, each with exactly what its threat model and its budget grant."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import UNKNOWN_SAMPLES, expand
from leakrange.scenario.plan import Plan
from leakrange.scenario.sizes import split_sizes
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidScenario
from leakrange.wire.names import PublicNames
from tests.scenario.planned import NAMES, asked, probed, trial

TEXT = """\
name: matrix
seeds: [0, 1]
data: {name: digits}
providers:
  honest: {target: parity, sensitive: large}
  soft: {behaviour: curious, method: parameterized, target: parity, sensitive: large, release: softmax}
clients: {phones: {count: 7, samples: 200}}
defences:
  none: []
  rounded: [round: {decimals: 1}]
  noisy: [noise: {scale: 0.5}]
attacks:
  inside: {kind: curious-decoder}
  outside: {kind: attribute-inference, providers: honest, auxiliary: 150, repeats: 4}
budgets: [100, 400]
"""


def sizes(spec: DataSpec) -> Mapping[str, int] | None:
    return {"train": 1000, "validation": 100, "auxiliary": 216, "test": 359}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(parse(TEXT), sizes)


def records(plan: Plan, probe: str) -> int:
    [found] = [each for each in plan.probes if each.id == probe]
    assert [span.start for span in found.spans] == [0, *(span.stop for span in found.spans[:-1])]
    assert {(span.split, span.data.name) for span in found.spans} == {("auxiliary", "digits")}
    return found.spans[-1].stop


def test_the_cells_are_the_sensible_ones(plan: Plan) -> None:
    cells = Counter(
        (t.result.provider, t.result.defence, t.result.attack, t.result.knowledge) for t in plan.trials
    )
    per_cell = 2 * 2  # budgets × seeds
    assert cells == {
        # Of no defence there is nothing to know: one attacker stands for all.
        ("honest", "none", "outside", "unaware"): per_cell,
        **{
            ("honest", defence, "outside", knowledge): per_cell
            for defence in ("rounded", "noisy")
            for knowledge in ("unaware", "aware", "averaging")
        },
        **{("soft", defence, "inside", "unaware"): per_cell for defence in ("none", "rounded", "noisy")},
    }
    assert max(Counter(t.result.id for t in plan.trials).values()) == 1
    assert all(t.result.state == "queued" for t in plan.trials)


def test_everything_that_a_trial_needs_is_planned_and_nothing_else(plan: Plan) -> None:
    models, policies = {m.id for m in plan.models}, {p.defence for p in plan.policies}
    assert {t.model for t in plan.trials} == models
    assert {t.result.defence for t in plan.trials} <= policies
    assert {name for t in plan.trials for name in t.needs.streams} == {s.id for s in plan.streams}
    assert {name for t in plan.trials for name in probed(t)} == {p.id for p in plan.probes}
    for each in (*plan.streams, *plan.probes):
        assert each.model in models
        assert each.defence in policies


def test_no_two_things_share_an_identity(plan: Plan) -> None:
    models, policies = {m.id: m for m in plan.models}, {p.defence: p for p in plan.policies}
    identities = [m.artifact for m in plan.models]
    for stream in plan.streams:
        model, policy = models[stream.model], policies[stream.defence]
        identities += [stream.identity(model, policy, span) for span in stream.spans]
    for probe in plan.probes:
        model, policy = models[probe.model], policies[probe.defence]
        identities += [
            probe.job(model, policy, span, url="u", account="k", name="m").identity() for span in probe.spans
        ]
    assert len(set(identities)) == len(identities)
    served = [model.served_as(NAMES) for model in plan.models]
    assert len(set(served)) == len(served)


def test_the_name_of_a_model_does_not_tell_its_behaviour(plan: Plan) -> None:
    for model in plan.models:
        name = model.served_as(NAMES)
        assert "soft-s" not in name
        assert not any(word in name for word in ("honest", "curious", "parameterized"))
        assert model.artifact[:8] not in name
        assert name != model.served_as(PublicNames("another operator's key")), "anybody could make the name"


def test_an_attacker_asks_for_what_its_budget_answers(plan: Plan) -> None:
    small, large = (f"honest-s0.noisy.outside.aware.b{budget}" for budget in (100, 400))
    assert asked(trial(plan, small)) == 100
    assert asked(trial(plan, large)) == 150  # all it has
    assert probed(trial(plan, small)) == probed(trial(plan, large)) == ["honest-s0.noisy.q0"]
    # The smaller budget is a prefix of the larger: nothing is asked twice.
    assert records(plan, "honest-s0.noisy.q0") == 150
    span = trial(plan, small).needs.asked["span"]
    assert (span["split"], span["start"], span["stop"]) == ("auxiliary", 0, 100)


def test_an_averaging_attacker_pays_for_its_repeats(plan: Plan) -> None:
    small, large = (trial(plan, f"honest-s0.noisy.outside.averaging.b{budget}") for budget in (100, 400))
    assert (asked(small), asked(large)) == (25, 100)
    assert len(probed(small)) == 4
    for found, budget in ((small, 100), (large, 400)):
        assert asked(found) * len(probed(found)) <= budget
    for probe in probed(large):
        assert records(plan, probe) == 100
    # It shares no answer with those who ask once.
    assert not set(probed(large)) & set(probed(trial(plan, "honest-s0.noisy.outside.aware.b400")))


def test_victims_are_observed_again_only_where_the_answer_differs(plan: Plan) -> None:
    streams = trial(plan, "honest-s0.noisy.outside.averaging.b400").needs.streams
    assert streams == [f"honest-s0.noisy.u{draw}" for draw in range(4)]
    assert trial(plan, "honest-s0.rounded.outside.averaging.b400").needs.streams == ["honest-s0.rounded.u0"]
    assert trial(plan, "soft-s0.noisy.inside.unaware.b400").needs.streams == ["soft-s0.noisy.u0"]
    sticky = parse(TEXT.replace("noise: {scale: 0.5}", "noise: {scale: 0.5, sticky: true}"))
    found = trial(expand(sticky, sizes), "honest-s0.noisy.outside.averaging.b400")
    assert len(found.needs.streams) == 1
    assert len(probed(found)) == 4


def test_unaware_attackers_learn_from_an_undefended_api(plan: Plan) -> None:
    found = trial(plan, "honest-s0.rounded.outside.unaware.b400")
    assert probed(found) == ["honest-s0.none.q0"]
    assert found.needs.streams == ["honest-s0.rounded.u0"]
    # Also where the scenario has no such defence.
    text = TEXT.replace("  none: []\n", "")
    without = expand(parse(text), sizes)
    assert probed(trial(without, "honest-s0.rounded.outside.unaware.b400")) == ["honest-s0.none.q0"]
    [policy] = [p for p in without.policies if p.defence == "none"]
    assert policy.chain.spec() == []
    assert not any(t.result.defence == "none" for t in without.trials)


def test_users_bring_their_samples_in_chunks(plan: Plan) -> None:
    for stream in plan.streams:
        assert [span.stop - span.start for span in stream.spans] == [64, 64, 64, 8]
        assert {span.split for span in stream.spans} == {"test"}
        assert stream.clients == 7
    chunked = expand(parse(TEXT + "chunk: 150\n"), sizes)
    assert [span.stop for span in chunked.streams[0].spans] == [150, 200]


def test_no_more_is_planned_than_the_data_holds() -> None:
    text = TEXT.replace("samples: 200", "samples: 5000").replace("auxiliary: 150", "auxiliary: 1000")
    found = expand(parse(text.replace("[100, 400]", "4000")), sizes)
    assert found.streams[0].spans[-1].stop == 359
    assert asked(trial(found, "honest-s0.noisy.outside.aware.b4000")) == 216


def test_where_the_size_is_not_known_the_scenario_is_believed() -> None:
    found = expand(parse(TEXT), lambda _spec: None)
    assert found.streams[0].spans[-1].stop == 200
    found = expand(parse(TEXT.replace(", samples: 200", "")), lambda _spec: None)
    assert found.streams[0].spans[-1].stop == UNKNOWN_SAMPLES


def test_budgets_that_buy_too_little_are_left_out_and_an_empty_plan_is_a_mistake() -> None:
    text = TEXT.replace("budgets: [100, 400]", "budgets: [30, 400]")
    knowledge = {
        budget: {t.result.knowledge for t in expand(parse(text), sizes).trials if t.result.budget == budget}
        for budget in (30, 400)
    }
    # 30 answers are 7 records asked 4 times: fewer than the attack can be fitted on.
    assert knowledge == {30: {"unaware", "aware"}, 400: {"unaware", "aware", "averaging"}}
    outside = TEXT.replace("  inside: {kind: curious-decoder}\n", "")
    tiny = {"train": 10, "validation": 1, "auxiliary": 3, "test": 5}
    with pytest.raises(InvalidScenario) as caught:
        expand(parse(outside), lambda _spec: tiny)
    assert "no trial is left" in caught.value.mistakes[0]["message"]


def test_defences_are_applied_only_to_releases_that_they_mean_something_on() -> None:
    text = TEXT.replace("sensitive: large}\n", "sensitive: large, release: features}\n", 1)
    found = expand(parse(text.replace("rounded: [round: {decimals: 1}]", "rounded: [argmax]")), sizes)
    assert {t.result.defence for t in found.trials if t.result.provider == "honest"} == {"none", "noisy"}
    assert {t.result.defence for t in found.trials if t.result.provider == "soft"} == {
        "none",
        "rounded",
        "noisy",
    }


def test_a_local_defence_goes_with_the_users() -> None:
    text = TEXT.replace("samples: 200}", "samples: 200, defence: [noise: 0.1]}")
    found = expand(parse(text), sizes)
    assert all(
        stream.local.spec()
        == [{"noise": {"kind": "gaussian", "scale": 0.1, "mode": "additive", "sticky": False}}]
        for stream in found.streams
    )
    # Their noise is fresh each time, so an averaging attacker watches them again.
    assert len(trial(found, "honest-s0.rounded.outside.averaging.b400").needs.streams) == 4


def test_users_who_audit_do_so_with_the_providers_data_and_share_no_session(plan: Plan) -> None:
    audited = expand(parse(TEXT.replace("samples: 200", "samples: 200, intake: audited")), sizes)
    for stream, before in zip(audited.streams, plan.streams, strict=True):
        assert before.audit is None
        assert stream.audit is not None
        assert stream.audit.data == stream.spans[0].data
        [model] = [each for each in plan.models if each.id == stream.model]
        [policy] = [each for each in plan.policies if each.defence == stream.defence]
        span = stream.spans[0]
        assert stream.identity(model, policy, span) != before.identity(model, policy, span)
    with pytest.raises(InvalidScenario, match="1 mistake"):
        parse(TEXT.replace("samples: 200", "samples: 200, intake: trusted"))


PRUNED = TEXT.replace(
    "  noisy: [noise: {scale: 0.5}]\n",
    "  half: [prune: {amount: 0.5}]\n  half-rounded: [prune: {amount: 0.5}, round: {decimals: 1}]\n",
)


def test_a_chain_is_split_into_what_devices_do_and_what_the_proxy_does() -> None:
    found = expand(parse(PRUNED), sizes)
    streams = {stream.id: stream for stream in found.streams}
    policies = {policy.defence: policy for policy in found.policies}
    prune, rounded = {"prune": {"amount": 0.5, "scope": "global"}}, {"round": {"decimals": 1}}
    for defence, local, chain in (
        ("none", [], []),
        ("rounded", [], [rounded]),
        ("half", [prune], []),
        ("half-rounded", [prune], [rounded]),
    ):
        assert streams[f"soft-s0.{defence}.u0"].local.spec() == local
        assert policies[defence].chain.spec() == chain
    test_no_two_things_share_an_identity(found)


def test_who_knows_that_users_prune_downloads_the_model_and_prunes_it_too() -> None:
    found = expand(parse(PRUNED), sizes)
    known = {
        (t.result.defence, t.result.knowledge): probed(t)[0]
        for t in found.trials
        if t.result.provider == "honest" and t.result.seed == 0
    }
    assert known == {
        ("none", "unaware"): "honest-s0.none.q0",
        ("rounded", "unaware"): "honest-s0.none.q0",
        ("rounded", "aware"): "honest-s0.rounded.q0",
        ("rounded", "averaging"): "honest-s0.rounded.q1",
        ("half", "unaware"): "honest-s0.none.q0",
        ("half-rounded", "unaware"): "honest-s0.none.q0",
        # What devices do to their model no query shows.
        ("half", "aware"): "honest-s0.half.device0",
        ("half", "averaging"): "honest-s0.half.device1",
        ("half-rounded", "aware"): "honest-s0.half-rounded.device0",
        ("half-rounded", "averaging"): "honest-s0.half-rounded.device1",
    }
    for probe in found.probes:
        does = [name for link in probe.local.spec() for name in link]
        assert (
            does
            == (probe.defence.replace("half", "prune").replace("rounded", "round").split("-"))[
                : 2 if ".device" in probe.id else 0
            ]
        )
        assert probe.downloads == (".device" in probe.id)


def test_users_may_prune_by_themselves_under_every_defence() -> None:
    text = PRUNED.replace("samples: 200}", "samples: 200, defence: [prune: 0.2, argmax]}")
    found = expand(parse(text), sizes)
    own = {"prune": {"amount": 0.2, "scope": "global"}}
    for stream in found.streams:
        half = [{"prune": {"amount": 0.5, "scope": "global"}}] if "half" in stream.defence else []
        assert stream.local.spec() == [own, *half, {"argmax": {}}]
    test_no_two_things_share_an_identity(found)


def test_streams_keep_the_names_that_they_had_before_models_could_be_changed(plan: Plan) -> None:
    """So that stored releases keep their meaning: what identifies a round, spelled out."""
    models, policies = {m.id: m for m in plan.models}, {p.defence: p for p in plan.policies}
    for stream in plan.streams:
        model, policy, span = models[stream.model], policies[stream.defence], stream.spans[0]
        told = [model.artifact, policy.digest, [], model.release, span.model_dump(mode="json"), stream.draw]
        assert stream.identity(model, policy, span) == digest(["stream", *told])


STUDENT = TEXT.replace("  inside:", "  student: {kind: distillation, auxiliary: 250}\n  inside:")


def test_a_student_learns_from_what_its_budget_buys_and_is_used_on_the_streams_samples() -> None:
    found = expand(parse(STUDENT), sizes)
    students = [t for t in found.trials if t.result.attack == "student"]
    assert {(t.result.provider, t.result.knowledge, t.attack) for t in students} == {
        ("soft", "aware", "distillation")
    }
    assert {t.result.defence for t in students} == {"none", "rounded", "noisy"}
    small, large = (trial(found, f"soft-s0.rounded.student.aware.b{budget}") for budget in (100, 400))
    assert (asked(small), asked(large)) == (100, 216)  # all records that there are
    assert probed(small) == probed(large) == ["soft-s0.rounded.q0"]
    assert records(found, "soft-s0.rounded.q0") == 216
    assert small.needs.streams == ["soft-s0.rounded.u0"]
    assert large.needs.streams == small.needs.streams


def test_a_student_asks_about_another_sets_samples_with_what_is_left_of_its_budget() -> None:
    more = STUDENT.replace("auxiliary: 250}", "more: synthfaces}")
    large = trial(found := expand(parse(more), sizes), "soft-s0.rounded.student.aware.b400")
    assert large.needs.probes["more"] == ["soft-s0.rounded.synthfaces-train0"]
    [probe] = [each for each in found.probes if each.id == "soft-s0.rounded.synthfaces-train0"]
    assert {(span.split, span.data.name) for span in probe.spans} == {("train", "synthfaces")}
    assert probe.spans[-1].stop == large.needs.asked["more"]["stop"] == 400 - 216


def test_who_trained_the_model_can_learn_from_its_training_records() -> None:
    text = TEXT.replace("  inside:", "  trainer: {kind: attribute-inference, records: train}\n  inside:")
    found = expand(parse(text), sizes)
    trials = [each for each in found.trials if each.result.attack == "trainer"]
    asked = {each.needs.asked["span"]["split"] for each in trials}
    names = {name for each in trials for name in each.needs.probes["auxiliary"]}
    assert asked == {"train"}
    spans = [span for each in found.probes if each.id in names for span in each.spans]
    assert {span.split for span in spans} == {"train"}
    assert max(span.stop for span in spans) == 400  # more than there are auxiliary records


def test_there_are_no_students_where_devices_change_or_defend_the_providers_model() -> None:
    found = expand(parse(STUDENT.replace("[noise: {scale: 0.5}]", "[prune: 0.5, noise: 1]")), sizes)
    assert {t.result.defence for t in found.trials if t.result.attack == "student"} == {"none", "rounded"}
    found = expand(parse(STUDENT.replace("samples: 200}", "samples: 200, defence: [argmax]}")), sizes)
    assert not [t for t in found.trials if t.result.attack == "student"]


def test_a_student_wants_soft_outputs_and_a_provider_that_reads_them() -> None:
    text = STUDENT.replace("kind: distillation,", "kind: distillation, providers: PROVIDER,")
    for provider, said in (("honest", "releases logits"), ("plain", "it decodes nothing")):
        named = text.replace("PROVIDER", provider).replace(
            "clients:", "  plain: {target: parity, sensitive: large, release: softmax}\nclients:"
        )
        with pytest.raises(InvalidScenario) as caught:
            parse(named)
        assert said in caught.value.mistakes[0]["message"]


def test_the_classes_to_score_by_are_in_the_plan(plan: Plan) -> None:
    assert plan.classes == {"digits": {"parity": ["even", "odd"], "large": ["0-4", "5-9"]}}


def test_a_plan_is_the_same_each_time_and_survives_storage(plan: Plan) -> None:
    written = plan.model_dump_json()
    assert expand(parse(TEXT), sizes).model_dump_json() == written
    assert Plan.model_validate_json(written).model_dump_json() == written


def test_a_seed_changes_the_training_and_nothing_of_the_data(plan: Plan) -> None:
    first, second = (m.recipe for m in plan.models if m.provider == "honest")
    assert (first.seed, second.seed) == (0, 1)
    assert first.model_copy(update={"seed": 1}) == second


def test_sizes_are_those_of_the_loaded_set(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = DataSpec(name="digits")
    found = split_sizes(spec)
    assert found == {
        name: len(load(spec).where(name))
        for name in ("train", "validation", "auxiliary", "test", "held-out", "pool")
    }
    monkeypatch.delenv("LEAKRANGE_DATA", raising=False)
    assert split_sizes(DataSpec(name="utkface")) is None
    monkeypatch.setenv("LEAKRANGE_CACHE", "/nowhere")
    assert split_sizes(DataSpec(name="hub-celeba")) is None  # nothing is downloaded to find out


@given(
    budgets=st.lists(st.integers(20, 3000), min_size=1, max_size=3, unique=True),
    repeats=st.lists(st.integers(2, 9), min_size=1, max_size=3),
    auxiliary=st.integers(20, 600),
    chunk=st.integers(1, 256),
    available=st.integers(20, 700),
)
@settings(max_examples=40, deadline=None)
def test_no_attacker_ever_gets_more_than_its_budget(
    budgets: list[int], repeats: list[int], auxiliary: int, chunk: int, available: int
) -> None:
    raw = {
        "name": "property",
        "seeds": [0],
        "data": "digits",
        "providers": {"p": {"target": "parity", "sensitive": "large"}},
        "clients": {"u": {"samples": 10}},
        "defences": {"none": [], "noisy": [{"noise": 1}]},
        "attacks": {
            f"a{number}": {"kind": "attribute-inference", "auxiliary": auxiliary, "repeats": repeat}
            for number, repeat in enumerate(repeats)
        },
        "budgets": budgets,
        "chunk": chunk,
    }
    held = {"train": 1, "validation": 1, "auxiliary": available, "test": 10}
    found = expand(parse(raw), lambda _spec: held)
    spans = {probe.id: probe.spans for probe in found.probes}
    for each in found.trials:
        assert 20 <= asked(each) <= min(auxiliary, available)
        assert asked(each) * len(probed(each)) <= each.result.budget
        # Every draw holds the same records, in the same chunks, so that they can be averaged.
        assert len({tuple(spans[probe]) for probe in probed(each)}) == 1
        assert asked(each) <= spans[probed(each)[0]][-1].stop
    # What is asked under one key is what its greediest trial may ask.
    for probe, parts in spans.items():
        users = [each for each in found.trials if probe in probed(each)]
        assert parts[-1].stop == max(asked(each) for each in users)
        assert parts[-1].stop * max(len(probed(each)) for each in users) <= max(
            e.result.budget for e in users
        )


def test_a_curious_provider_that_takes_samples_trains_on_its_own_release() -> None:
    plan = expand(parse(TEXT.replace("release: softmax", "release: sample")), sizes)
    [release] = {model.release for model in plan.models if model.provider == "soft"}
    assert release == "sample"
    [trained] = {model.recipe.parameters["release"] for model in plan.models if model.provider == "soft"}
    assert trained == "logits"


def test_what_a_defence_does_to_samples_is_done_by_devices_and_known_to_who_has_one() -> None:
    text = TEXT.replace("sensitive: large}\n  soft", "sensitive: large, release: sample}\n  soft")
    text = text.replace("noisy: [noise: {scale: 0.5}]", "grainy: [gaussian-input: 0.5, round: 0]")
    plan = expand(parse(text), sizes)
    streams = {stream.id: stream for stream in plan.streams}
    probes = {probe.id: probe for probe in plan.probes}
    assert streams["honest-s0.grainy.u0"].local.spec() == [{"gaussian-input": {"sigma": 0.5}}]
    assert streams["honest-s0.none.u0"].local.spec() == []
    [policy] = [each for each in plan.policies if each.defence == "grainy"]
    assert policy.chain.spec() == [{"round": {"decimals": 0}}]
    aware = trial(plan, "honest-s0.grainy.outside.aware.b400")
    assert probed(aware) == ["honest-s0.grainy.device0"]
    assert probes["honest-s0.grainy.device0"].local.spec() == [{"gaussian-input": {"sigma": 0.5}}]
    unaware = trial(plan, "honest-s0.grainy.outside.unaware.b400")
    assert probed(unaware) == ["honest-s0.none.q0"]
    assert probes["honest-s0.none.q0"].local.spec() == []
    averaging = trial(plan, "honest-s0.grainy.outside.averaging.b400")
    assert len(probed(averaging)) == len(averaging.needs.streams) == 4  # the noise is drawn anew each time
    job = probes["honest-s0.grainy.device0"].job(
        plan.models[0], policy, probes["honest-s0.grainy.device0"].spans[0], url="u", account="a", name="m"
    )
    assert (job.endpoint, job.defence) == ("sample", [{"gaussian-input": {"sigma": 0.5}}])
