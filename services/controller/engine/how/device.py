"""The work of users' devices for a run: sessions with an app, and uploads of a student's outputs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.attack import Inference
from leakrange.attacks.kinds.trial import Fitted, Uploaded
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.hand_in import HAND_IN, hand_in_identity
from leakrange.jobs.steps.stream import STREAM, Session, SessionReply
from leakrange.scenario.plan import PlannedModel, PlannedPolicy, PlannedStream
from leakrange.scenario.stored_trial import StoredTrial
from leakrange.services.controller.engine.engine import Begin, Ended, Engine, Work, purpose_of
from leakrange.services.controller.range.together import in_turn
from leakrange.store.files import get_arrays, put_arrays, whole
from leakrange.store.uploads import put_session, session_stored
from leakrange.wire.endpoints import ARTIFACT, UPLOADS
from leakrange.wire.errors import LeakrangeError, NotFound
from leakrange.wire.events import Purpose
from leakrange.wire.names import upload_name
from leakrange.wire.tensors import from_text

__all__ = ["DEVICE", "handed_in", "streamed"]

DEVICE = [ARTIFACT, UPLOADS]
"""The endpoints that a user's device asks: the model once, then decisions on its outputs."""


async def streamed(
    engine: Engine,
    stream: PlannedStream,
    model: PlannedModel,
    policy: PlannedPolicy,
    files: Mapping[str, str],
) -> list[str]:
    """Have every session of a stream carried out; return the identities of its stored releases, in order.
    ``files`` are the hashes of obfuscators by their digests."""
    account = f"{engine.run}.users.{stream.id}"
    purpose = purpose_of(model, defence=stream.defence, stream=stream.id, key=account)
    key = await engine.accounts.key(
        account,
        holder="users",
        purpose=purpose,
        policy=policy.name,
        budget=sum(span.stop - span.start for span in stream.spans),
        models=[engine.name(model), *files],
        endpoints=DEVICE if model.remote is None else [model.endpoint],
    )

    def order(span: Span) -> Session:
        return Session(
            url=engine.parties.proxy_for_clients,
            api_key=key,
            model=engine.name(model),
            release=model.release,
            span=span,
            upload=engine.upload(stream.identity(model, policy, span)),
            defence=stream.local.spec(),
            obfuscators=dict(files),
            audit=stream.audit,
            asks=model.remote is not None,
        )

    works = [
        _session_work(engine, stream, stream.identity(model, policy, span), purpose, order(span), model)
        for span in stream.spans
    ]
    await engine.expect(works)
    # Each of the users does one thing at a time.
    await in_turn((partial(engine.carry_out, work) for work in works), stream.clients)
    return [work.identity for work in works]


def _session_work(
    engine: Engine,
    stream: PlannedStream,
    identity: str,
    purpose: Purpose,
    order: Session,
    model: PlannedModel,
) -> Work[None]:
    account, releases = purpose.key, engine.parties.releases

    def ended(_: bool, reply: SessionReply) -> Ended:
        return Ended(
            f"{reply.samples} users' outputs of {model.provider} under {stream.defence}, seed {model.seed}",
            {"key": account, "samples": reply.samples},
            {"truth": reply, "samples": reply.samples, "requests": 1, "sent": reply.sent_bytes},
        )

    return Work(
        step=STREAM,
        identity=identity,
        purpose=purpose,
        failing=stream.id,
        # the truth about its users is in the record of the run that asked them
        stored=lambda: identity in engine.done and session_stored(releases, identity),
        do=partial(_session, engine, identity, order, model.recipe.behaviour, account),
        ended=ended,
        read=lambda: None,
    )


async def _session(
    engine: Engine, identity: str, order: Session, behaviour: str, account: str, begin: Begin
) -> SessionReply:
    """Carry out one session; store it with the data that the provider kept of it."""
    await begin()
    reply = await engine.parties.edge.session(order, engine.run)
    if reply.values is not None:
        values = from_text(reply.values)
        await asyncio.to_thread(put_session, engine.parties.releases, identity, values, reply.decisions)
        return reply
    record = await engine.parties.providers.intake(behaviour, order.model, upload_name(account, order.upload))
    if len(record.values) != reply.samples or record.decisions != reply.decisions:
        raise LeakrangeError(f"provider and edge client disagree about upload {order.upload}")
    inferred = None
    if record.inferred is not None and record.scores is not None:
        inferred = record.inferred, record.scores
    await asyncio.to_thread(
        put_session,
        engine.parties.releases,
        identity,
        np.asarray(record.values),
        record.decisions,
        inferred,
        record.samples(),
    )
    return reply


async def handed_in(engine: Engine, trial: StoredTrial, policy: PlannedPolicy, student: Fitted) -> Uploaded:
    """The decisions on a student's soft outputs for the users' samples, and what the provider inferred from
    them; behind these come those on outputs for the provider's own records, if the student was run on
    some."""
    outputs: NDArray[np.float32] = student.arrays["scores"]
    parts = _uploads(outputs, trial.users)
    identity = hand_in_identity(student.identity, policy.digest)
    account = f"{engine.run}.student.{trial.model.id}.{identity[:12]}"
    about = purpose_of(trial.model, defence=policy.defence, trial=trial.planned.result.id)
    key = await engine.accounts.key(
        account,
        holder="student",
        purpose=about,
        policy=policy.name,
        budget=len(outputs),
        models=[engine.name(trial.model)],
        endpoints=[UPLOADS],
    )
    file, releases = HAND_IN.file(identity), engine.parties.releases

    def ended(known: bool, _: Any) -> Ended:
        return Ended(
            f"{len(outputs)} outputs of the student of {trial.planned.result.id}",
            # stored already: another run has paid for it
            {"key": None if known else account, "samples": len(outputs)},
            {
                "samples": 0 if known else len(outputs),
                "requests": 0 if known else len(parts),
                "already": known,
            },
        )

    read = await engine.carry_out(
        Work(
            step=HAND_IN,
            identity=identity,
            purpose=about.model_copy(update={"key": account}),
            failing=trial.planned.result.id,
            stored=partial(whole, releases, file),
            do=partial(_hand_in, engine, file, parts, trial.model, account, key, engine.upload(identity)),
            ended=ended,
            read=partial(get_arrays, releases, file),
        )
    )
    return Uploaded(trial.uploaded.truths, read["decisions"], Inference(read["inferred"], read["scores"]))


def _uploads(outputs: NDArray[np.float32], users: list[Span]) -> list[NDArray[np.float32]]:
    """A student's outputs, upload by upload."""
    sizes = [span.stop - span.start for span in users]
    ends = np.cumsum(sizes).tolist()
    # Beyond the users' are outputs for the provider's own records.
    ends += range(ends[-1] + max(sizes), len(outputs), max(sizes))
    return [part for part in np.split(outputs, ends) if len(part)]


async def _hand_in(
    engine: Engine,
    file: str,
    parts: list[NDArray[np.float32]],
    model: PlannedModel,
    account: str,
    key: str,
    upload: str,
    begin: Begin,
) -> None:
    """Upload a student's soft outputs (V, Y) in ``parts`` with the ``key`` of the user's ``account``, as an
    edge client uploads those of the provider's model, named ``{upload}.0``, ``{upload}.1``, …. Then ask the
    provider what it inferred from them.

    Stores ``decisions`` (V,), ``inferred`` (V,), of several attributes (V, A), and ``scores`` (V, S). A
    repetition under the same names costs nothing and gives the same. Raises `NotFound` where the provider has
    no decoder.
    """
    await begin()
    parties, served_as = engine.parties, engine.name(model)
    user = parties.proxy.as_user(key)
    decisions: list[Any] = []
    inferred: list[Any] = []
    scores: list[list[float]] = []
    for number, values in enumerate(parts):
        name = f"{upload}.{number}"
        decided = await user.upload(served_as, "softmax", values, idempotency_key=name)
        record = await parties.providers.intake(model.recipe.behaviour, served_as, upload_name(account, name))
        if record.decisions != decided:
            raise LeakrangeError(f"provider and user disagree about upload {name}")
        if record.inferred is None or record.scores is None:
            raise NotFound(f"the provider of {model.id} has no decoder: it inferred nothing")
        decisions += decided
        inferred += record.inferred
        scores += record.scores
    arrays: dict[str, NDArray[np.generic]] = {
        "decisions": np.asarray(decisions, dtype=np.int64),
        "inferred": np.asarray(inferred, dtype=np.int64),
        "scores": np.asarray(scores, dtype=np.float32),
    }
    put_arrays(parties.releases, file, arrays)
