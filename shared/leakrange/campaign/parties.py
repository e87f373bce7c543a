"""The parties of a trial in one process: who trains, the users, the provider, its API, and the attacker."""

from __future__ import annotations

import asyncio
import hashlib
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kind_of
from leakrange.attacks.kinds.fitting import fit_attack
from leakrange.attacks.kinds.trial import Fitted, Shown, Uploaded
from leakrange.data.resembling import NEAR_COPIES
from leakrange.data.spans import span_of
from leakrange.defences.chain import DefenceChain
from leakrange.defences.output import Chain, ReleaseContext
from leakrange.defences.questions import questions
from leakrange.defences.trainables import shown_releases, train_stored
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.job import FitJob, ProbeJob, Span
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.verdict import Verdict
from leakrange.nets.classifier import Classifier
from leakrange.nets.folded import folded
from leakrange.providers import artifact as artifacts
from leakrange.providers.artifact_files import find_whole, read_files
from leakrange.providers.decoder import Inferred
from leakrange.providers.decoding import Read, decode
from leakrange.providers.inference import logits_from, outputs
from leakrange.scenario.plan import (
    Plan,
    PlannedModel,
    PlannedPolicy,
    PlannedTrial,
)
from leakrange.scenario.results import TrialResult
from leakrange.scenario.stored_trial import Stored, StoredTrial
from leakrange.store.files import FolderStore, get_arrays, get_record, put_array, put_arrays, whole
from leakrange.store.releases import StoredReleases
from leakrange.store.uploads import put_session, read_uploads, session_stored
from leakrange.wire.endpoints import RELEASES
from leakrange.wire.errors import InvalidInput, NotFound
from leakrange.wire.heads import answers
from leakrange.wire.releases import ReleaseKind

__all__ = ["Folders", "judge"]

SECRET = b"campaign"
"""Keys the noise of devices and of the API: no attacker of a campaign reads it."""
BATCH_CPU, BATCH_GPU = 64, 500
"""Samples that go through a net at once; on a CPU as many as on a user's device."""


class Folders:
    """The scratch folder of a campaign: models and releases under the names that they have in a range."""

    def __init__(self, root: Path) -> None:
        self.models = FolderStore(root / "models")
        self.releases = FolderStore(root / "releases")

    def find(self, digest: str) -> Path | None:
        """The artifact folder of a recipe's digest; a damaged one is set aside."""
        return find_whole(self.models.root, digest, self.models.damaged)

    def train(self, recipe: TrainingRecipe, device: str) -> float:
        """Train and store what the recipe names; the seconds that it took."""
        trained, _ = train_stored(recipe, self.models.root, self.find, device=device)
        return trained.seconds


def judge(plan: Plan, planned: PlannedTrial, folders: Folders, device: str) -> TrialResult:
    """The result of a trial whose models are trained. Raises `LeakrangeError` where it cannot be told."""
    parties, needs = _Parties(plan, folders, device), planned.needs
    stored = Stored(
        streams=[parties.stream(name) for name in needs.streams],
        probes={role: [parties.probe(name) for name in probes] for role, probes in needs.probes.items()},
        uploaded=parties.uploaded(needs.streams[0]) if needs.streams else None,
        undefended=[parties.stream(name) for name in needs.undefended],
    )
    trial = _LocalTrial(plan, planned, stored, folders, device)
    return planned.judged(asyncio.run(kind_of(attacks[planned.attack]).judge(trial)))


class _LocalTrial(StoredTrial):
    """A trial whose attacker works in this process."""

    def __init__(
        self, plan: Plan, planned: PlannedTrial, stored: Stored, folders: Folders, device: str
    ) -> None:
        record = partial(get_record, folders.models)
        super().__init__(plan, planned, stored, StoredReleases(folders.releases), record)
        self._folders, self._device = folders, device

    async def shown(self, span: Span) -> list[Shown]:
        """The shadow models' releases for a span."""
        shown, releases = [], self._folders.releases
        for shadow in (each for name in self.needs.shadows for each in self._plan.shadows if each.id == name):
            job = shadow.shows(span)
            assert job.shown is not None
            if not whole(releases, f"{job.identity()}.npy"):
                folder = _trained(self._folders, shadow.artifact)
                put_array(releases, f"{job.identity()}.npy", shown_releases(folder, job.shown, self._device))
            shown.append(Shown(shadow.recipe.data, job.identity()))
        return shown

    async def carried_out(self, job: FitJob, what: str) -> Fitted:  # noqa: ARG002
        """The result of that job; stored results are used again."""
        identity, releases = job.identity(), self._folders.releases
        if not whole(releases, f"{identity}.npz"):
            put_arrays(releases, f"{identity}.npz", fit_attack(job, StoredReleases(releases)))
        return Fitted(identity, get_arrays(releases, f"{identity}.npz"))

    async def audited(self, plan: AuditPlan) -> Verdict:  # noqa: ARG002
        """Refused."""
        raise InvalidInput("a campaign has no auditor, who downloads the model over HTTP")

    async def handed_in(self, student: Fitted) -> Uploaded:  # noqa: ARG002
        """Refused."""
        raise InvalidInput("a campaign hands in no student's outputs")


class _Parties:
    """Users, the provider and its API: what they release is stored as a range stores it."""

    def __init__(self, plan: Plan, folders: Folders, device: str) -> None:
        self._plan, self._folders, self._device = plan, folders, device
        self._models = {model.id: _Served(model, folders, device) for model in plan.models}
        self._policies = {policy.defence: policy for policy in plan.policies}
        self._streams = {stream.id: stream for stream in plan.streams}
        self._probes = {probe.id: probe for probe in plan.probes}

    def stream(self, name: str) -> list[str]:
        """The identities of the sessions of a stream, in order, once all are stored."""
        stream = self._streams[name]
        served, policy = self._models[stream.model], self._policies[stream.defence]
        chain = self._bound(stream.local, DefenceChain.parse(stream.local, outputs_at="device"))
        identities = [stream.identity(served.model, policy, span) for span in stream.spans]
        for span, identity in zip(stream.spans, identities, strict=True):
            if not session_stored(self._folders.releases, identity):
                self._session(served, policy, chain, span, identity)
        return identities

    def _session(
        self, served: _Served, policy: PlannedPolicy, chain: DefenceChain, span: Span, identity: str
    ) -> None:
        data, chosen = span_of(span)
        release = served.model.release
        values = served.on_device(chain, data.values[chosen], release, identity)
        values = served.defended(Chain.parse(policy.chain), release, values, identity, values)
        decisions = answers(served.logits(release, values), served.heads)
        read = served.decoded(release, values)
        inferred = read if isinstance(read, Inferred) else None
        samples = None if isinstance(read, Inferred) else read
        put_session(self._folders.releases, identity, values, decisions, inferred, samples)

    def uploaded(self, name: str) -> Uploaded:
        """Everything that is known of a stream."""
        stream = self._streams[name]
        model, truths = self._models[stream.model].model, []
        for span in stream.spans:
            data, chosen = span_of(span)
            columns = {**data.labels, NEAR_COPIES: data.group}
            truths.append({attribute: labels[chosen].tolist() for attribute, labels in columns.items()})
        released = stream.released(model, self._policies[stream.defence])
        identities = self.stream(name)
        return read_uploads(identities, truths, released, self._plan.heads(model), self._folders.releases)

    def probe(self, name: str) -> list[str]:
        """The identities of the answers to a probe, request by request, once all are stored."""
        probe = self._probes[name]
        served, policy = self._models[probe.model], self._policies[probe.defence]
        chain = self._bound(probe.local, DefenceChain.parse(probe.local))
        jobs = [probe.job(served.model, policy, span, url="", account="", name="") for span in probe.spans]
        for job in jobs:
            if not whole(self._folders.releases, f"{job.identity()}.npy"):
                answer = _answer(served, policy, chain, job).astype(np.float32)
                put_array(self._folders.releases, f"{job.identity()}.npy", answer)
        return [job.identity() for job in jobs]

    def _bound(self, local: list[Any], chain: DefenceChain) -> DefenceChain:
        def content(digest: str) -> bytes:
            return read_files(_trained(self._folders, digest), "defence").main

        return chain.bound(content, SECRET) if DefenceChain.parse(local).artifacts else chain


def _answer(
    served: _Served, policy: PlannedPolicy, chain: DefenceChain, job: ProbeJob
) -> NDArray[np.float32]:
    """What an attacker has for one request: the API's answer, or what a device with the model lets out."""
    release = RELEASES[job.endpoint]
    if chain.changes_model:
        data, chosen = span_of(job.span)
        return served.on_device(chain, data.values[chosen], release, job.identity())
    asked = questions(job, chain)
    return served.defended(
        Chain.parse(policy.chain), release, served.answer(release, asked), job.identity(), asked
    )


class _Served:
    """A trained model, as its provider serves it and as devices run it."""

    def __init__(self, model: PlannedModel, folders: Folders, device: str) -> None:
        self.model, self._folders, self._device = model, folders, device
        self._batch = BATCH_CPU if device == "cpu" else BATCH_GPU
        self._changed: dict[str, Classifier] = {}

    @cached_property
    def _artifact(self) -> artifacts.Artifact:
        return artifacts.load(_trained(self._folders, self.model.artifact))

    @cached_property
    def _net(self) -> Classifier:
        return folded(self._artifact.classifier).to(self._device)

    @property
    def heads(self) -> tuple[int, ...]:
        """The numbers of classes of a model that answers for several attributes; empty of one."""
        return tuple(self._artifact.config.heads or ())

    def answer(self, release: ReleaseKind, samples: NDArray[Any]) -> NDArray[np.float32]:
        """What the provider answers for samples (B, *shape)."""
        if release == "sample":
            return samples.astype(np.float32)
        return outputs(self._net, samples, release, batch=self._batch)

    def logits(self, release: ReleaseKind, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """What decides on an upload: of samples and features the model's logits, else the upload itself."""
        if release == "features":
            return logits_from(self._net, values)
        if release == "sample":
            return self.answer("logits", self._artifact.config.input.nearest(values))
        return values

    def decoded(self, release: ReleaseKind, values: NDArray[np.float32]) -> Read | None:
        """What the provider's decoder reads from an upload; None without one, or where it reads no such."""
        if self._artifact.decoder is None:
            return None
        try:
            return decode(self._artifact.folder, values, release, self._device)
        except InvalidInput:
            return None

    def on_device(
        self, chain: DefenceChain, samples: NDArray[Any], release: ReleaseKind, name: str
    ) -> NDArray[np.float32]:
        """What leaves a device for samples (B, *shape), as `leakrange.devices.device.Device.released` has
        it. The request of that ``name`` always draws the same noise."""
        shown = chain.obfuscate(samples, self._artifact.config.input, _draw(name, "device"))
        if release == "sample":
            values = shown.astype(np.float32)
        else:
            key = str(chain.model_spec())
            if key not in self._changed:
                self._changed[key] = chain.harden(self._artifact.classifier).to(self._device)
            values = outputs(self._changed[key], shown, release, batch=self._batch)
        return self.defended(chain.outputs, release, values, name, samples)

    def defended(
        self,
        chain: Chain,
        release: ReleaseKind,
        values: NDArray[np.float32],
        name: str,
        queries: NDArray[Any],
    ) -> NDArray[np.float32]:
        """The ``values`` behind a chain of output defences. Sticky noise is that of the ``queries``."""
        if not chain.stages:
            return values
        query_of = f"{self.model.artifact}\0{release}\0".encode()
        digests = [hashlib.sha256(query_of + query.tobytes()).digest() for query in queries]
        draw = _draw(name, chain.digest())
        return chain.apply(values, ReleaseContext(release, draw, SECRET, digests, heads=self.heads))


def _draw(*names: str) -> np.random.Generator:
    seed = hashlib.sha256(SECRET + "\0".join(names).encode()).digest()
    return np.random.default_rng(int.from_bytes(seed, "little"))


def _trained(folders: Folders, digest: str) -> Path:
    folder = folders.find(digest)
    if folder is None:
        raise NotFound(f"the model {digest[:12]} is not trained", hint="run the campaign again")
    return folder
