"""Attacks on the substitutes of a defence: which records of real people leave devices in place of users'
own samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Attack
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.kind import Chunks, ReleaseStore, SomeChunks
from leakrange.attacks.kinds.membership import judge_members
from leakrange.attacks.kinds.silent import SilentKind
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import ATTACK, Fit, Judged, Trial
from leakrange.attacks.kinds.users import decisions_of
from leakrange.attacks.substitutes import SubstituteEvidence, nearest_records
from leakrange.data import Samples, load, names
from leakrange.data.resembling import groups_of
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.steps.fit import FitJob
from leakrange.metrics import measured
from leakrange.metrics.substitutes import Uses
from leakrange.strict import Strict
from leakrange.wire.errors import LeakrangeError

__all__ = ["SubstitutesKind"]

SUBSTITUTES = "substitutes"
"""The name of what such attacks infer."""
CLASSES = ("no substitute", "substitute")
OUTSIDE = ("validation", "auxiliary")
"""Splits of the same population from which no substitute is taken."""


class Observed(Strict):
    """The first ``count`` of users' ``uploads``, and the first ``drawn`` samples that the attacker's ``own``
    device sent.

    The records that are judged are of ``data``: training samples that are ``labelled`` with all these
    attributes, of which some are substitutes, and those of `OUTSIDE`.
    """

    data: DataSpec
    labelled: list[str]
    uploads: SomeChunks
    count: Annotated[int, Field(ge=1)]
    own: Chunks = []
    drawn: Annotated[int, Field(ge=0)] = 0


@kinds.register("substitutes")
class SubstitutesKind(SilentKind):
    """The attacker reads as many uploads as its budget allows. One who knows of the defence has a device too,
    which draws as many substitutes for auxiliary records.

    Cells are left out whose defence puts nobody's records in place of samples: nobody is a member there.
    """

    name: ClassVar[str] = "substitutes"
    leakage: ClassVar[str] = "auc"
    hides: ClassVar[str] = "whom substitutes stand for"
    asks = "membership"
    on_device: ClassVar[bool] = True
    Evidence: ClassVar[type[BaseModel]] = Observed

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """The substitutes among the training samples."""
        if reason := provider.no_uploads:
            return reason
        return Target(attack, SUBSTITUTES, CLASSES, attack.Parameters.model_validate(given))

    def plan(self, cell: Cell) -> Needs | None:
        """Ask for one stream of uploads, and for an attacker who knows of the defence also for the draws of a
        device."""
        if not cell.substitutes:
            return None
        available = cell.available()
        count = cell.budget if available is None else min(cell.budget, available)
        device_samples = count if cell.knowledge != "unaware" else 0
        return Needs(
            streams=cell.uploads(),
            probes={"own": cell.ask("auxiliary", device_samples, by="device")} if device_samples else {},
            asked={"own": device_samples},
        )

    def infer(
        self,
        attack: Any,
        evidence: Observed,
        job: FitJob,  # noqa: ARG002
        releases: ReleaseStore,
    ) -> dict[str, NDArray[Any]]:
        """``scores`` float32 (N,) of N different records, those of equal values being one, and which of them
        resemble each other, ``group`` (N,); ``place`` (T,), the record that each labelled training sample is;
        ``shown`` (V,), the record nearest to each upload."""
        data = load(evidence.data)
        rows = [data.known("train", evidence.labelled), *(data.where(split) for split in OUTSIDE)]
        records = _comparable(data.values[np.concatenate(rows)], data)
        whole = np.ascontiguousarray(records).view(f"V{records.dtype.itemsize * records.shape[1]}").ravel()
        _, first, record = np.unique(whole, return_index=True, return_inverse=True)
        different = records[first]
        uploads = _comparable(releases(evidence.uploads)[: evidence.count], data)
        seen = uploads
        if evidence.drawn:
            seen = np.concatenate([uploads, _comparable(releases(evidence.own)[: evidence.drawn], data)])
        scores = attack.score(SubstituteEvidence(np.unique(seen, axis=0), different))
        return {
            "scores": scores.astype(np.float32),
            "group": groups_of(data)[np.concatenate(rows)][first],
            "place": record[: len(rows[0])].astype(np.int64),
            "shown": nearest_records(SubstituteEvidence(uploads, different))[0],
        }

    def fits(self, trial: Trial) -> Mapping[str, Fit]:
        """The attack, on uploads and on what its own device sent."""
        parameters, (count, drawn) = _record(trial)["recipe"]["parameters"], _seen(trial)
        evidence = Observed(
            data=trial.model.recipe.data.of_everyone(),
            labelled=[*names(parameters["private"]), *names(parameters.get("useful"))],
            uploads=trial.observed,
            count=count,
            own=trial.answered("own"),
            drawn=drawn,
        )
        return {ATTACK: Fit(evidence)}

    def judge(self, trial: Trial) -> Judged:
        """Compares the scores with the record of which training samples became substitutes."""
        record, fitted, (count, drawn) = _record(trial), trial.fitted(), _seen(trial)
        members = np.zeros(len(fitted.arrays["scores"]), dtype=bool)
        members[fitted.arrays["place"][record["substitutes"]]] = True
        if min(members.sum(), (~members).sum()) < 2:
            raise LeakrangeError(
                f"{members.sum()} of {len(members)} records are substitutes: there is nothing to tell apart",
                hint="raise 'validation' or 'auxiliary' of the data, or take fewer substitutes",
            )
        served = decisions_of(trial, trial.uploaded, count)
        return judge_members(
            trial,
            fitted.arrays["scores"],
            members,
            utility=measured(served, Uses(fitted.arrays["shown"])),
            spent=count + drawn,
            group=fitted.arrays.get("group"),
        )


def _record(trial: Trial) -> Mapping[str, Any]:
    """The record of the last defence that puts records in place of samples."""
    records: list[Mapping[str, Any]] = [each for each in trial.obfuscators() if "substitutes" in each]
    if not records:
        raise LeakrangeError("no record of a defence tells which samples became substitutes")
    return records[-1]


def _seen(trial: Trial) -> tuple[int, int]:
    """The numbers of uploads that are read, and of samples that the attacker's own device sent."""
    return min(trial.budget, len(trial.uploaded.decisions)), int(trial.needs.asked["own"])


def _comparable(values: NDArray[Any], data: Samples) -> NDArray[np.float32]:
    """Samples (B, *shape) as rows (B, D) in the units of a net, in which noise has one deviation."""
    scaled: NDArray[np.float32] = (values / np.asarray(data.spec.scale)).astype(np.float32)
    scaled[scaled == 0] = 0.0  # −0 has other bytes
    return scaled.reshape(len(values), -1)
