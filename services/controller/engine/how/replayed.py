"""Answers behind a defence, made from stored answers that had none: the controller does the proxy's part."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.defences.output import ReleaseContext
from leakrange.jobs.samples import Span
from leakrange.jobs.steps.probe import PROBE
from leakrange.jobs.steps.replay import REPLAY, replay_identity
from leakrange.jobs.steps.stream import SessionReply
from leakrange.scenario.plan import PlannedModel, PlannedPolicy, PlannedProbe, PlannedStream
from leakrange.services.controller.engine.engine import Begin, Ended, Engine, Work, purpose_of
from leakrange.services.controller.engine.how.fleet import released
from leakrange.services.controller.range.answers import Answers
from leakrange.services.controller.range.together import together
from leakrange.store.files import get_array, put_array
from leakrange.store.uploads import put_session, session_stored
from leakrange.wire.events import Purpose
from leakrange.wire.heads import answers

__all__ = ["replayed", "replayed_sessions"]


async def replayed(
    engine: Engine,
    probe: PlannedProbe,
    model: PlannedModel,
    policy: PlannedPolicy,
    undefended: Answers,
    heads: Sequence[int],
) -> Answers:
    """The answers to a probe, chunk by chunk, from the ``undefended`` ones to the same samples. ``heads`` are
    the numbers of classes of what the model is asked for."""
    purpose = purpose_of(model, defence=probe.defence, probe=probe.id)
    identities, works = [], []
    for identity, span in zip(undefended.identities, probe.spans, strict=True):
        name = replay_identity(identity, policy.digest, probe.draw)
        context = partial(_context, model, name, span, heads)
        do = partial(_replay_chunk, engine, PROBE.file(identity), name, policy, context)
        identities.append(name)
        works.append(_work(name, probe.id, purpose, released(engine, REPLAY, name), do))
    await engine.expect(works)
    await together(map(engine.carry_out, works))
    await engine.pack(identities)
    return Answers(identities, [span.stop for span in probe.spans])


async def replayed_sessions(
    engine: Engine,
    stream: PlannedStream,
    model: PlannedModel,
    policy: PlannedPolicy,
    undefended: Sequence[str],
    truth: Callable[[str], Awaitable[Any]],
    heads: Sequence[int],
) -> list[str]:
    """The identities of the sessions of users, from the ``undefended`` ones. ``truth`` returns the labels
    that these registered, and their decisions."""
    purpose = purpose_of(model, defence=stream.defence, stream=stream.id)
    identities, works = [], []
    for identity, span in zip(undefended, stream.spans, strict=True):
        name = replay_identity(identity, policy.digest, stream.draw)
        labels, _ = await truth(identity)
        context = partial(_context, model, name, span, heads)
        do = partial(_replay_session, engine, identity, name, policy, context, labels)
        identities.append(name)
        # As of sessions, the truth about users is in the record of the run that asked them.
        works.append(_work(name, stream.id, purpose, partial(_session_known, engine, name), do))
    await engine.expect(works)
    await together(map(engine.carry_out, works))
    return identities


def _work(identity: str, name: str, purpose: Purpose, stored: Callable[[], bool], do: Any) -> Work[None]:
    def ended(_already: bool, reply: SessionReply | None) -> Ended:
        return Ended(f"replayed answers for {name}", more={} if reply is None else {"truth": reply})

    return Work(
        step=REPLAY,
        identity=identity,
        purpose=purpose,
        failing=f"replaying for {name}",
        stored=stored,
        do=do,
        ended=ended,
        read=lambda: None,
    )


def _session_known(engine: Engine, identity: str) -> bool:
    return identity in engine.done and session_stored(engine.parties.releases, identity)


def _context(model: PlannedModel, identity: str, span: Span, heads: Sequence[int]) -> ReleaseContext:
    """The facts that a proxy would know. Noise follows from the identity, so that a repeat makes the same;
    noise that sticks to a sample follows from its place in the data."""
    where = f"{model.artifact} {span.data.model_dump_json()} {span.split} {span.variant}"
    places = range(span.start, span.stop)
    return ReleaseContext(
        release=model.release,
        draw=np.random.default_rng(int(identity[:16], 16)),
        sticky_key=hashlib.sha256(model.artifact.encode()).digest(),
        digests=[hashlib.sha256(f"{where} {place}".encode()).digest() for place in places],
        heads=tuple(heads),
    )


async def _replay_chunk(
    engine: Engine,
    file: str,
    identity: str,
    policy: PlannedPolicy,
    context: Callable[[], ReleaseContext],
    begin: Begin,
) -> None:
    await begin()
    releases = engine.parties.releases

    def replay() -> None:
        put_array(releases, REPLAY.file(identity), policy.chain.apply(get_array(releases, file), context()))

    await asyncio.to_thread(replay)


async def _replay_session(
    engine: Engine,
    undefended: str,
    identity: str,
    policy: PlannedPolicy,
    context: Callable[[], ReleaseContext],
    labels: dict[str, list[int]],
    begin: Begin,
) -> SessionReply:
    await begin()
    releases = engine.parties.releases

    def replay() -> NDArray[np.int64]:
        known = context()
        values = policy.chain.apply(get_array(releases, f"{undefended}.npy"), known)
        decisions = answers(values, known.heads)
        put_session(releases, identity, values, decisions)
        return decisions

    decisions = await asyncio.to_thread(replay)
    return SessionReply(
        upload=identity,
        samples=len(decisions),
        decisions=decisions.tolist(),
        labels=labels,
        input_bytes=0,
        sent_bytes=0,
    )
