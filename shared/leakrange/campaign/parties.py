"""The parties of a trial in one process: the trainer, the users, the provider, its API, and the attacker."""

from __future__ import annotations

import hashlib
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.kinds import fit_attack
from leakrange.attacks.kinds.trial import Fitted, Uploaded
from leakrange.data.resembling import NEAR_COPIES
from leakrange.data.spans import samples_of, span_of
from leakrange.defences.chain import DefenceChain, questions
from leakrange.defences.output import Chain, ReleaseContext
from leakrange.defences.trainables import shown_releases, train_stored
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.fit import FitJob
from leakrange.jobs.steps.probe import ProbeJob
from leakrange.jobs.steps.show import SHOW
from leakrange.nets.classifier import Classifier
from leakrange.nets.folded import folded
from leakrange.providers import artifact as artifacts
from leakrange.providers.artifact_files import find_whole, read_files
from leakrange.providers.decoder import Inferred
from leakrange.providers.decoding import Decoded, decode
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
"""The key of the noise of devices and of the API: no attacker of a campaign reads it."""
BATCH_CPU, BATCH_GPU = 64, 500
"""The number of samples that go through a net at once; on a CPU as many as on a user's device."""


class Folders:
    """The scratch folder of a campaign: models and releases under the names that they have in a range."""

    def __init__(self, root: Path) -> None:
        self.models = FolderStore(root / "models")
        self.releases = FolderStore(root / "releases")

    def find(self, digest: str) -> Path | None:
        """The artifact folder of a recipe's digest; a damaged one is set aside."""
        return find_whole(self.models.root, digest, self.models.damaged)

    def train(self, recipe: TrainingRecipe, device: str) -> float:
        """Train and store the model of the recipe; return the seconds that it took."""
        trained, _ = train_stored(recipe, self.models.root, self.find, device=device)
        return trained.seconds


def judge(plan: Plan, planned: PlannedTrial, folders: Folders, device: str) -> TrialResult:
    """The result of a trial whose models are trained. Raises `LeakrangeError` if it cannot be judged."""
    parties, needs = _Parties(plan, folders, device), planned.needs
    stored = Stored(
        streams=[parties.stream(name) for name in needs.streams],
        probes={role: [parties.probe(name) for name in probes] for role, probes in needs.probes.items()},
        uploaded=parties.uploaded(needs.streams[0]) if needs.streams else None,
        undefended=[parties.stream(name) for name in needs.undefended],
    )
    if needs.steps:
        asked = ", ".join(sorted({each.step for each in needs.steps.values()}))
        raise InvalidInput(f"a campaign has nobody to take steps of these kinds: {asked}")
    if needs.hands_in:
        raise InvalidInput("a campaign hands in no student's outputs")
    record = partial(get_record, folders.models)
    trial = StoredTrial(plan, planned, stored, StoredReleases(folders.releases), record)
    for shadow, span in product(trial.shadows, needs.shows):
        _show(shadow, span, folders, device)
    trial.results = {role: _fitted(job, folders.releases) for role, job in trial.jobs().items()}
    return trial.judged()


def _show(shadow: PlannedModel, span: Span, folders: Folders, device: str) -> None:
    job = shadow.shows(span)
    file = SHOW.file(job.identity())
    if not whole(folders.releases, file):
        folder = _trained(folders, shadow.artifact)
        put_array(folders.releases, file, shown_releases(folder, job.release, job.span, device))


def _fitted(job: FitJob, releases: FolderStore) -> Fitted:
    identity = job.identity()
    if not whole(releases, f"{identity}.npz"):
        put_arrays(releases, f"{identity}.npz", fit_attack(job, StoredReleases(releases)))
    return Fitted(identity, get_arrays(releases, f"{identity}.npz"))


class _Parties:
    """Users, the provider and its API: their releases are stored as a range stores them."""

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
        chain = self._bound(stream.local)
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
        values = served.defended(policy.chain, release, values, identity, values)
        decisions = answers(served.logits(release, values), served.heads)
        read = served.decoded(release, values)
        inferred = read if isinstance(read, Inferred) else None
        samples = None if isinstance(read, Inferred) else read
        put_session(self._folders.releases, identity, values, decisions, inferred, samples)

    def uploaded(self, name: str) -> Uploaded:
        """The data of a stream."""
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
        chain = self._bound(probe.local)
        jobs = [probe.job(served.model, policy, span, url="", account="", name="") for span in probe.spans]
        for job in jobs:
            if not whole(self._folders.releases, f"{job.identity()}.npy"):
                answer = _answer(served, policy, chain, job).astype(np.float32)
                put_array(self._folders.releases, f"{job.identity()}.npy", answer)
        return [job.identity() for job in jobs]

    def _bound(self, chain: DefenceChain) -> DefenceChain:
        def content(digest: str) -> bytes:
            return read_files(_trained(self._folders, digest), "defence").main

        return chain.bound(content, SECRET) if chain.artifacts else chain


def _answer(
    served: _Served, policy: PlannedPolicy, chain: DefenceChain, job: ProbeJob
) -> NDArray[np.float32]:
    """The release that an attacker gets for one request: the API's answer, or the release of a device with
    the model."""
    release = RELEASES[job.endpoint]
    if chain.changes_model:
        return served.on_device(chain, samples_of(job.span), release, job.identity())
    asked = questions(job, chain)
    return served.defended(policy.chain, release, served.answer(release, asked), job.identity(), asked)


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
        """The numbers of classes of a model that answers for several attributes; empty for a single
        attribute."""
        return tuple(self._artifact.config.heads or ())

    def answer(self, release: ReleaseKind, samples: NDArray[Any]) -> NDArray[np.float32]:
        """The provider's answers for samples (B, *shape)."""
        if release == "sample":
            return samples.astype(np.float32)
        return outputs(self._net, samples, release, batch=self._batch)

    def logits(self, release: ReleaseKind, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The logits that decide on an upload: the model's for samples and features, else the upload
        itself."""
        if release == "features":
            return logits_from(self._net, values)
        if release == "sample":
            return self.answer("logits", self._artifact.config.input.nearest(values))
        return values

    def decoded(self, release: ReleaseKind, values: NDArray[np.float32]) -> Decoded | None:
        """The provider's decoding of an upload; None without a decoder, or if it does not read such
        uploads."""
        if self._artifact.decoder is None:
            return None
        try:
            return decode(self._artifact.folder, values, release, self._device)
        except InvalidInput:
            return None

    def on_device(
        self, chain: DefenceChain, samples: NDArray[Any], release: ReleaseKind, name: str
    ) -> NDArray[np.float32]:
        """The release of a device for samples (B, *shape), as `leakrange.devices.device.Device.released` has
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
        """The ``values`` after a chain of output defences. Sticky noise depends on the ``queries``."""
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
