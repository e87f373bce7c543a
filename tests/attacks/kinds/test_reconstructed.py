"""Pictures that were reconstructed are compared with those of the users they belong to, and of no others."""

from __future__ import annotations

import base64
import io
import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from leakrange.attacks.decoders import ViciousDecoder
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.reconstructed import Compared, compare
from leakrange.attacks.kinds.reconstruction import (
    Found,
    Learned,
    ReconstructionDecoderKind,
    ReconstructionKind,
)
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.attacks.reconstruction import Reconstruction, ReconstructionParameters
from leakrange.data import datasets, load
from leakrange.data.resembling import NEAR_COPIES
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import mean_interval
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput, NotFound
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by

SPEC = DataSpec(name="digits", size=16, auxiliary=0.3, limit=200)
DIGITS = load(SPEC)
TEST = DIGITS.values[DIGITS.where("test")]
SESSIONS = [
    Span(data=SPEC, split="test", start=start, stop=stop) for start, stop in ((0, 7), (7, 12), (12, 30))
]
JOB = FitJob(attack="vicious-decoder", evidence={})
names = itertools.count()


def stored(store: FolderStore, array: NDArray[np.generic]) -> str:
    identity = digest(["reconstructed", next(names)])
    put_array(store, f"{identity}.npy", array.astype(np.float32))
    return identity


def inside(
    store: FolderStore, releases: ReleaseStore, pictures: NDArray[np.generic], count: int
) -> dict[str, NDArray[np.generic]]:
    """What becomes of reconstructions of twelve users, in two sessions."""
    compared = Compared(users=SESSIONS[:2], count=count, trained=SPEC)
    chunks = [[stored(store, pictures[:7])], [stored(store, pictures[7:])]]
    return ReconstructionDecoderKind().infer(
        ViciousDecoder(), Found(compared=compared, reconstructed=chunks), JOB, releases
    )


def strip(file: NDArray[np.generic]) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(file.tobytes()), formats=("PNG",)) as picture:
        return np.asarray(picture)


def test_each_user_is_compared_with_what_was_made_of_its_own_upload(
    store: FolderStore, releases: ReleaseStore
) -> None:
    drawn = TEST[:12].astype(np.float32)
    drawn[8] = 255.0 - drawn[8]
    found = inside(store, releases, drawn, 9)
    assert found["psnr"].shape == (9,)
    assert np.flatnonzero(found["psnr"] < 58).tolist() == [8]
    assert found["ssim"][8] < 0.5 < found["ssim"][:8].min()
    pixels = DIGITS.values[np.concatenate([DIGITS.where("train"), DIGITS.where("validation")])] / 255.0
    mse = ((TEST[:9] / 255.0 - pixels.mean(axis=0)) ** 2).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(found["mean_psnr"], -10 * np.log10(mse), atol=0.01)

    original, reconstructed = strip(found["original"]), strip(found["reconstructed"])
    np.testing.assert_array_equal(original, np.concatenate(TEST[:9, :, :, 0], axis=1))
    np.testing.assert_array_equal(reconstructed, np.concatenate(drawn[:9, :, :, 0], axis=1))


def test_the_mean_picture_of_what_was_decided_is_no_better_than_the_decision(
    store: FolderStore, releases: ReleaseStore
) -> None:
    """Of training and validation pictures by their own labels, whatever class a user is of."""
    decided = (DIGITS.labels["digit"][DIGITS.where("test")][:12] + np.array([3, *[0] * 11])) % 10
    compared = Compared(users=SESSIONS[:2], count=12, trained=SPEC, target="digit", decided=decided.tolist())
    chunks = [[stored(store, TEST[:7])], [stored(store, TEST[7:12])]]
    found = ReconstructionDecoderKind().infer(
        ViciousDecoder(), Found(compared=compared, reconstructed=chunks), JOB, releases
    )
    own = np.concatenate([DIGITS.where("train"), DIGITS.where("validation")])
    labels = DIGITS.labels["digit"][own]
    means = np.stack([DIGITS.values[own[labels == each]].mean(axis=0) for each in range(10)])
    mse = ((TEST[:12] - means[decided]) ** 2 / 255.0**2).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(found["class_psnr"], -10 * np.log10(mse), atol=0.01)
    assert found["class_psnr"][1:].mean() > found["mean_psnr"][1:].mean() + 0.5
    assert "class_psnr" not in inside(store, releases, TEST[:12], 12)
    # The same decisions on another target are of other classes, also where means were made already.
    two = (decided % 2).tolist()
    of = {}
    for target in ("parity", "large"):
        asked = compared.model_copy(update={"target": target, "decided": two})
        of[target] = compare(asked, TEST[:12].astype(np.float32), releases)["class_psnr"]
    assert np.abs(of["parity"] - of["large"]).max() > 0.1


def test_values_out_of_range_are_cut_and_other_sizes_refused(
    store: FolderStore, releases: ReleaseStore
) -> None:
    bright = np.where(TEST[:12] > 0, TEST[:12] + 900.0, -40.0)
    white = np.where(TEST[:12] > 0, 255.0, 0.0)
    np.testing.assert_array_equal(
        inside(store, releases, bright, 12)["psnr"], inside(store, releases, white, 12)["psnr"]
    )
    with pytest.raises(InvalidInput, match=r"\(12, 8, 8, 1\) of pictures of shape \(12, 16"):
        inside(store, releases, np.zeros((12, 8, 8, 1)), 12)


def test_the_covariance_is_inverted_once(
    store: FolderStore, releases: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = inside(store, releases, np.zeros((12, 16, 16, 1)), 12)
    monkeypatch.setattr("leakrange.attacks.kinds.reconstructed._inverses", None)
    again = inside(store, releases, np.zeros((12, 16, 16, 1)), 12)
    np.testing.assert_array_equal(again["published_far"], first["published_far"])
    # A new version of the data set has a covariance of its own.
    monkeypatch.setattr(datasets["digits"], "version", datasets["digits"].version + 1)
    with pytest.raises(TypeError, match="not callable"):
        inside(store, releases, np.zeros((12, 16, 16, 1)), 12)


def test_an_outsider_is_judged_on_what_it_learned(store: FolderStore, releases: ReleaseStore) -> None:
    """Its releases are the parts of pictures; the users' pictures themselves do not reach it."""

    def parts(pictures: NDArray[np.generic]) -> NDArray[np.generic]:
        return pictures.reshape(len(pictures), 4, 4, 4, 4).mean(axis=(2, 4)).reshape(len(pictures), 16)

    own = DIGITS.values[DIGITS.where("auxiliary")]
    evidence = Learned(
        compared=Compared(users=SESSIONS, count=25, trained=SPEC),
        span=Span(data=SPEC, split="auxiliary", start=0, stop=80),
        auxiliary=[[stored(store, parts(own[:100]))]],
        observed=[[stored(store, parts(TEST[span.start : span.stop]))] for span in SESSIONS],
    )
    attack = Reconstruction(ReconstructionParameters.model_validate({"epochs": 8, "decoder": {"width": 0.5}}))
    found = ReconstructionKind().infer(attack, evidence, JOB, releases)
    assert found["psnr"].shape == (25,)
    assert found["psnr"].mean() > found["mean_psnr"].mean() + 1.5
    few = evidence.model_copy(update={"auxiliary": [[stored(store, parts(own[:79]))]]})
    with pytest.raises(InvalidInput, match="79 auxiliary releases of 80"):
        ReconstructionKind().infer(attack, few, JOB, releases)


@pytest.fixture
def trial(store: FolderStore, releases: ReleaseStore) -> MadeUp:
    """Thirty users in three sessions, whose answers are right but for the first's."""
    truth = np.arange(30) % 10
    decided = truth.copy()
    decided[0] = 9
    model = MadeUpModel(recipe=TrainingRecipe(data=SPEC, behaviour="honest"))
    uploaded = Uploaded(
        [{"y": truth[span.start : span.stop].tolist()} for span in SESSIONS],
        decided,
        None,
        soft=np.eye(10)[decided],
        heads=[10],
        reconstructed=["a", "b", "c"],
    )
    return MadeUp(
        budget=9,
        model=model,
        users=SESSIONS,
        uploaded=uploaded,
        observed=[["u0"], ["u1"], ["u2"]],
        probes={"auxiliary": [["q"], ["r"]]},
        needs=Needs(
            streams=["t"],
            probes={"auxiliary": ["p0", "p1"]},
            asked={"span": Span(data=SPEC, split="auxiliary", start=0, stop=80).model_dump(), "policy": []},
        ),
        found=inside(store, releases, TEST[:12] * 0.5, 9),
    )


def test_an_insider_sees_as_many_users_as_its_budget(trial: MadeUp) -> None:
    judged = judged_by(ReconstructionDecoderKind(), trial)
    assert isinstance(trial.evidence, Found)
    assert trial.evidence.reconstructed == [["a"], ["b"]]
    assert (trial.evidence.compared.count, trial.evidence.compared.users) == (9, SESSIONS[:2])
    assert (trial.evidence.compared.target, trial.evidence.compared.decided) == ("y", [9, *range(1, 9)])
    assert (judged.victims, judged.spent) == (9, 9)
    assert judged.metrics["honesty"].value == pytest.approx(8 / 9)
    assert judged.metrics["bits_capacity"].value == 320.0
    assert judged.metrics["psnr"].value == pytest.approx(trial.found["psnr"].mean())
    view = judged.views["reconstructions"]
    assert base64.b64decode(view["original"]) == trial.found["original"].tobytes()
    assert view["psnr"] == trial.found["psnr"].tolist()
    assert {len(view[name]) for name in ("psnr", "ssim", "risk")} == {9}

    trial.budget = 1000
    judged = judged_by(ReconstructionDecoderKind(), trial)
    assert trial.evidence.reconstructed == [["a"], ["b"], ["c"]]
    assert (trial.evidence.compared.count, judged.spent) == (30, 30)

    trial.uploaded = Uploaded(trial.uploaded.truths, trial.uploaded.decisions, None)
    with pytest.raises(NotFound, match="reconstructed nothing"):
        judged_by(ReconstructionDecoderKind(), trial)


def test_intervals_are_over_people_where_users_resemble_each_other(trial: MadeUp) -> None:
    copies = [0, 0, 0, 1, 1, 1, 2, 2, 2, *range(3, 24)]
    told = [
        {**labels, NEAR_COPIES: copies[span.start : span.stop]}
        for labels, span in zip(trial.uploaded.truths, SESSIONS, strict=True)
    ]
    alone = judged_by(ReconstructionDecoderKind(), trial).metrics
    trial.uploaded = replace(trial.uploaded, truths=told)
    together = judged_by(ReconstructionDecoderKind(), trial).metrics
    for name in ("psnr", "ssim"):
        values, group = trial.found[name], np.array(copies[:9])
        assert (alone[name].low, alone[name].high) == pytest.approx(mean_interval(values))
        assert (together[name].low, together[name].high) == pytest.approx(mean_interval(values, group))


def test_an_outsider_sees_all_users_and_pays_for_its_queries(trial: MadeUp) -> None:
    judged = judged_by(ReconstructionKind(), trial)
    assert isinstance(trial.evidence, Learned)
    assert trial.evidence.observed == [["u0"], ["u1"], ["u2"]]
    assert trial.evidence.auxiliary == [["q"], ["r"]]
    assert trial.evidence.compared.count == 30
    assert judged.spent == 2 * 80


@pytest.mark.parametrize(
    ("policy", "values", "streams", "bits"),
    [
        ([], 48, 1, 48 * 32),
        ([], None, 1, None),
        ([{"round": 1}], 48, 1, 48 * 32),
        ([{"noise": 0.5}], 48, 3, 3 * 48 * 32),
        ([{"clip": {"min": 0, "max": 1.5}}, {"round": 1}], 48, 1, 48 * np.log2(16)),
        (["normalise", {"round": 1}], 48, 2, 2 * 48 * np.log2(21)),
    ],
    ids=str,
)
def test_features_carry_no_more_than_floats_and_what_a_policy_leaves(
    policy: list[object], values: int | None, streams: int, bits: float | None, trial: MadeUp
) -> None:
    trial.model.release = "features"
    asked = {**trial.needs.asked, "policy": policy}
    trial.needs = trial.needs.model_copy(update={"asked": asked, "streams": ["t"] * streams})
    trial.uploaded = replace(trial.uploaded, soft=None, values=values)
    for kind in (ReconstructionDecoderKind(), ReconstructionKind()):
        judged = judged_by(kind, trial)
        assert "bits_recovered" in judged.metrics
        found = judged.metrics.get("bits_capacity")
        assert (found and found.value) == (bits and pytest.approx(bits))


def test_class_scores_carry_the_bits_of_each_attribute_in_each_release(trial: MadeUp) -> None:
    """Whatever of them a policy leaves out."""
    for policy, streams, bits in (
        (["argmax"], 1, 1 + 1 + np.log2(10)),
        ([], 4, 4 * 14 * 32),
        ([{"top-k": {"k": 2, "rest": "bare"}}], 1, 6 * 32),
    ):
        asked = {**trial.needs.asked, "policy": policy}
        trial.needs = trial.needs.model_copy(update={"asked": asked, "streams": ["t"] * streams})
        trial.uploaded = replace(trial.uploaded, soft=None, heads=(2, 2, 10), values=6)
        judged = judged_by(ReconstructionDecoderKind(), trial)
        assert judged.metrics["bits_capacity"].value == pytest.approx(bits)


def test_at_most_ten_thousand_users_are_judged(trial: MadeUp) -> None:
    def session(start: int) -> Span:
        return Span(data=SPEC, split="test", start=start, stop=start + 3000)

    trial.users = [session(start) for start in range(0, 24000, 3000)]
    compared = Compared.of(trial)  # type: ignore[arg-type]
    assert (len(compared.users), compared.count) == (4, 10_000)
