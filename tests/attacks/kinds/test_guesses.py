"""A trial's figures, against a case worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import judge_guesses
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.trial import Judged, Uploaded
from leakrange.data.resembling import NEAR_COPIES
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.metrics import share_interval, wilson_interval
from leakrange.wire.errors import LeakrangeError, NotFound
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by

SPAN = Span(data=DataSpec(name="digits"), split="auxiliary", start=0, stop=50)


def of_users(target: np.ndarray, sensitive: np.ndarray, decisions: np.ndarray, **more: object) -> Uploaded:
    labels = {"y": target.tolist(), "s": sensitive.tolist()}
    return Uploaded([labels], decisions, **{"inferred": None, **more})  # type: ignore[arg-type]


def uploaded(inferred: Inference | None = None) -> Uploaded:
    return of_users(
        np.array([0, 1, 1, 0, 1, -1]),
        np.array([0, 0, 1, 1, 0, -1]),
        np.array([0, 1, 0, 0, 1, 1]),
        inferred=inferred,
    )


def inferred() -> Inference:
    predicted = np.array([0, 1, 1, 1, 1, 0])
    return Inference(predicted, np.eye(2, dtype=np.float32)[predicted])


def value(judged: Judged, metric: str) -> float:
    return judged.metrics[metric].value


def test_figures_of_all_users() -> None:
    judged = judge_guesses(MadeUp(), uploaded(), inferred(), spent=500)
    # Five users' s is known, three of them 0; guessed right: users 0, 2, 3. Of five known y four are right.
    assert judged.victims == 5
    assert judged.spent == 500
    assert judged.views["confusion"] == [[1, 2], [0, 2]]
    # Pairs (one, other class): six; the score is higher for class 1 in 2 of 6, equal in 4 of 6.
    figures = {name: estimate.value for name, estimate in judged.metrics.items()}
    assert figures.pop("beyond_imputation") == pytest.approx(figures["auc"] - figures.pop("imputation_auc"))
    assert figures == {
        "honesty": pytest.approx(4 / 5),
        "curiosity": pytest.approx(3 / 5),
        "majority": pytest.approx(3 / 5),
        "majority_target": pytest.approx(3 / 5),
        "auc": pytest.approx((2 + 4 / 2) / 6),
        "nag": 0.0,
        "advantage": pytest.approx(2 / 2 - 2 / 3),
    }
    curiosity = judged.metrics["curiosity"]
    assert (curiosity.low, curiosity.high) == pytest.approx(wilson_interval(3, 5))


@pytest.mark.parametrize(
    ("data", "hidden", "people"), [("lfw", "s", 6), ("lfw", "identity", 12), ("digits", "s", 12)]
)
def test_intervals_are_over_people_unless_people_are_what_is_told(
    data: str, hidden: str, people: int
) -> None:
    """Six people with ten samples each, five being copies of one another; digits are nobody's."""
    person = np.repeat(np.arange(6), 10)
    copies = np.arange(60) // 5
    s = person % 2
    labels = {"y": s, "s": s, "identity": s if hidden == "identity" else person, NEAR_COPIES: copies}
    right = person != 2  # of one person everything is told wrong
    users = Uploaded([{name: each.tolist() for name, each in labels.items()}], s, None)
    guessed = Inference(np.where(right, s, 1 - s), np.eye(2, dtype=np.float32)[np.where(right, s, 1 - s)])
    spec = DataSpec(name=data)
    trial = MadeUp(
        hidden=hidden, model=MadeUpModel(recipe=MadeUpModel().recipe.model_copy(update={"data": spec}))
    )
    curiosity = judge_guesses(trial, users, guessed).metrics["curiosity"]
    groups = person if people == 6 else copies
    assert curiosity.value == pytest.approx(5 / 6)
    assert (curiosity.low, curiosity.high) == pytest.approx(share_interval(right, groups))
    assert share_interval(right, person)[0] < share_interval(right, copies)[0] - 0.05


def test_the_entropy_is_that_of_outputs_to_users_whose_target_is_known() -> None:
    soft = np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    judged = judge_guesses(MadeUp(), replace(uploaded(), soft=soft), inferred())
    assert (value(judged, "entropy"), value(judged, "entropy_median")) == (pytest.approx(0.6), 1.0)
    defended = judge_guesses(MadeUp(), replace(uploaded(), soft=soft.round() * 2), inferred())
    assert not {"entropy", "entropy_median"} & set(defended.metrics)


def test_an_inside_attack_sees_no_more_users_than_its_budget() -> None:
    judged = judged_by(kinds["decoder"](), MadeUp(uploaded=uploaded(inferred()), budget=2))
    assert (judged.victims, judged.spent) == (2, 2)
    assert (value(judged, "curiosity"), value(judged, "honesty")) == (0.5, 1.0)
    # Both of them are of class 0, whatever the others are: nobody can do better than to say so.
    assert (value(judged, "majority"), value(judged, "nag")) == (1.0, 0.0)
    assert judged.views["confusion"] == [[1, 1], [0, 0]]


def test_an_attack_that_skips_users_is_refused() -> None:
    short = Inference(np.zeros(5, dtype=np.int64), np.zeros((5, 2), dtype=np.float32))
    with pytest.raises(LeakrangeError, match="answered for 5 users"):
        judge_guesses(MadeUp(), uploaded(), short)


def test_the_curve_of_many_classes_has_the_area_that_is_told_beside_it() -> None:
    sensitive = np.repeat([0, 1, 2], [70, 20, 10])
    told = of_users(np.zeros(100, int), sensitive, np.zeros(100, int))
    # It knows how frequent the classes are, and nothing of anyone.
    prior = np.tile(np.array([0.7, 0.2, 0.1], dtype=np.float32), (100, 1))
    # It knows the rarest class, too.
    knows = prior + np.float32(0.5) * (sensitive == 2)[:, np.newaxis] * np.eye(3, dtype=np.float32)[2]
    for scores, area in ((prior, 0.5), (knows, 2 / 3)):
        judged = judge_guesses(MadeUp(classes=3), told, Inference(np.zeros(100, int), scores))
        assert value(judged, "auc") == pytest.approx(area)
        assert np.trapezoid(judged.views["roc"]["tpr"], judged.views["roc"]["fpr"]) == pytest.approx(area)


def test_users_of_one_class_have_no_curve() -> None:
    alike = of_users(np.zeros(4, int), np.ones(4, int), np.zeros(4, int))
    for classes in (2, 3):
        guessed = Inference(np.ones(4, int), np.zeros((4, classes), np.float32))
        judged = judge_guesses(MadeUp(classes=classes), alike, guessed)
        assert "auc" not in judged.metrics
        assert "roc" not in judged.views


def test_labels_of_all_sessions_are_joined_in_order() -> None:
    sessions = [{"y": [0, 1], "s": [1, 1]}, {"y": [-1], "s": [0]}]
    assert Uploaded(sessions, np.zeros(3, int), None).truth("y").tolist() == [0, 1, -1]
    assert Uploaded(sessions, np.zeros(3, int), None).truth("s").tolist() == [1, 1, 0]


@pytest.mark.parametrize("sessions", [[{"y": [0]}, {"s": [1]}], [{"s": [1]}], [{}]], ids=str)
def test_a_label_that_an_older_edge_client_did_not_register_is_missed_by_name(
    sessions: list[dict[str, list[int]]],
) -> None:
    with pytest.raises(LeakrangeError, match="registered no 'y' of its users") as caught:
        Uploaded(sessions, np.zeros(1, int), None).truth("y")
    assert "version" in str(caught.value.hint)


def test_users_of_unknown_class_cannot_be_judged() -> None:
    unknown = of_users(np.zeros(2, int), np.full(2, -1), np.zeros(2, int))
    with pytest.raises(LeakrangeError, match="nothing to judge by"):
        judge_guesses(MadeUp(), unknown, Inference(np.zeros(2, int), np.zeros((2, 2), np.float32)))


def test_an_outsider_pays_for_every_draw_and_is_judged_by_all_users() -> None:
    found = {"predicted": inferred().predicted, "scores": inferred().scores}
    needs = Needs(probes={"auxiliary": ["q1", "q2"]}, asked={"span": SPAN.model_dump(mode="json")})
    trial = MadeUp(
        uploaded=uploaded(), needs=needs, probes={"auxiliary": [["a", "b"]]}, observed=[["c"]], found=found
    )
    judged = judged_by(kinds["attribute"](), trial)
    assert (judged.spent, judged.victims) == (100, 5)
    assert trial.evidence is not None
    assert trial.evidence.model_dump(include={"sensitive", "auxiliary", "observed"}) == {
        "sensitive": "s",
        "auxiliary": [["a", "b"]],
        "observed": [["c"]],
    }


def test_a_student_is_judged_by_what_became_of_its_own_outputs() -> None:
    """The teacher's users were all decided for rightly; the student's were not."""
    users = [Span(data=SPAN.data, split="test", start=0, stop=6)]
    more = Span(data=DataSpec(name="synthfaces"), split="train", start=0, stop=30)
    of_teacher = of_users(np.zeros(6, int), uploaded().truth("s"), np.zeros(6, int), inferred=inferred())
    trial = MadeUp(
        uploaded=of_teacher,
        student=uploaded(inferred()),
        needs=Needs(
            probes={"auxiliary": ["q0"], "more": ["q1"]},
            asked={
                "auxiliary": SPAN.model_dump(mode="json"),
                "more": more.model_dump(mode="json"),
                "own": 12,
            },
        ),
        parameters={"threshold": "teacher"},
        probes={"auxiliary": [["a"]], "more": [["b"]]},
        users=users,
        found={"scores": np.zeros((6, 2), np.float32)},
    )
    judged = judged_by(kinds["student"](), trial)
    assert (judged.spent, value(judged, "honesty"), value(judged, "curiosity")) == (80, 0.8, 0.6)
    assert trial.evidence is not None
    told = trial.evidence.model_dump()
    assert told["teacher"] == trial.model.recipe.net.model_dump()
    assert [(part["span"]["stop"], part["answers"]) for part in told["answered"]] == [
        (50, [["a"]]),
        (30, [["b"]]),
    ]
    assert told["victims"] == [span.model_dump() for span in users]
    assert (told["own"]["split"], told["own"]["stop"], told["hidden"]) == ("train", 12, "s")


def test_a_provider_without_a_decoder_has_inferred_nothing() -> None:
    with pytest.raises(NotFound, match="no decoder"):
        judged_by(kinds["decoder"](), MadeUp(uploaded=uploaded()))


def test_decisions_on_several_attributes_are_right_or_wrong_one_by_one() -> None:
    sessions = [{"y": [0, 1, -1], "z": [2, 1, -1], "s": [0, 1, 1]}]
    soft = np.array([[1, 0, 0, 0, 1], [0.5, 0.5, 0, 0.5, 0.5], [0.5, 0.5, 0, 0, 1]])
    told = Uploaded(sessions, np.array([[0, 2], [0, 0], [0, 0]]), None, soft, (2, 3))
    assert told.truth(("y", "z")).tolist() == [[0, 2], [1, 1], [-1, -1]]
    guessed = Inference(np.zeros(3, int), np.zeros((3, 2), np.float32))
    judged = judge_guesses(MadeUp(model=MadeUpModel(target=("y", "z"))), told, guessed)
    honesty = judged.metrics["honesty"]
    assert honesty.value == 2 / 4
    assert (honesty.low, honesty.high) == pytest.approx(wilson_interval(1, 2))  # two users, two answers each
    assert value(judged, "entropy") == pytest.approx((0 + 2) / 2)
