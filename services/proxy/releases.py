"""Release bodies: read, transformed by a policy, written again in the media type they came in."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange.defences.output import Chain, Release, ReleaseContext
from leakrange.wire.digests import digest_each
from leakrange.wire.errors import InvalidInput, LeakrangeError, UnsupportedMedia, UpstreamFailed
from leakrange.wire.jobs import ReleaseKind
from leakrange.wire.pairs import same_person
from leakrange.wire.tensors import (
    JSON,
    NPY,
    decode_npy,
    encode_npy,
    media_type,
    npy_header,
    numeric_array,
    parse_json,
    release_array,
)

__all__ = ["Noise", "Upload", "answered_rows", "pair_digests", "query_digests", "transform_answer"]

DESCRIBING = ("model", "version", "release")
"""Members of a JSON answer that are passed on beside the values; any other could hold the values again."""
LONGEST_RELEASE = 1_048_576
"""Numbers of one sample's release; the size of the body is limited beside."""


@dataclass(frozen=True)
class Noise:
    """Where the noise of one request comes from: ``secret`` keys all of it.

    request: names the request where it carries an idempotency key. Then a repeat draws the same noise, so
    that neither failing requests on purpose nor waiting until an answer is forgotten gives a second draw, and
    an upload that is sent again is the same upload.
    """

    secret: bytes
    request: bytes | None = None

    def context(self, chain: Chain, release: Release, digests: list[bytes] | None) -> ReleaseContext:
        """The context of one run of the chain."""
        if chain.deterministic:
            draw = _UNUSED
        elif self.request is None:
            draw = _generator(os.urandom(16))
        else:
            named = hashlib.blake2b(self.request, key=self.secret, digest_size=16, person=b"request-noise")
            named.update(chain.digest().encode())
            draw = _generator(named.digest())
        return ReleaseContext(release=release, draw=draw, sticky_key=self.secret, digests=digests)


def _generator(seed: bytes) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=int.from_bytes(seed, "little")))


_UNUSED = _generator(bytes(16))
"""For chains that draw nothing: seeding takes longer than most of them."""


def query_digests(
    secret: bytes, model: str, endpoint: str, samples: NDArray[Any], kind: str = ""
) -> list[bytes]:
    """Per sample a digest of the query: model, endpoint, and the canonical values of the sample (and its
    ``kind``).
    """
    named = hashlib.blake2b(key=secret, digest_size=32, person=b"query")
    named.update(repr((model, endpoint, kind, samples.shape[1:], samples.dtype.str)).encode())
    return digest_each(named, (np.ascontiguousarray(sample).data for sample in samples))


def pair_digests(secret: bytes, model: str, pairs: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Per pair of marks a digest of the query how far the two are apart, whichever comes first."""
    named = hashlib.blake2b(key=secret, digest_size=32, person=b"pair")
    named.update(repr((model, "verification")).encode())
    return digest_each(named, (b"".join(sorted(pair)) for pair in pairs))


def answered_rows(content_type: str | None, body: bytes) -> int:
    """How many samples a provider's answer holds; raises `UpstreamFailed` for anything but a release."""
    kind = media_type(content_type)
    try:
        if kind == NPY:
            shape = npy_header(body)[0]
            return shape[0] if len(shape) == 2 else 0
        return len(_json_values(kind, body)[1])
    except LeakrangeError as error:
        raise _nonsense(error) from error


def transform_answer(
    chain: Chain,
    context: ReleaseContext,
    content_type: str | None,
    body: bytes,
    samples: int,
    threshold: float | None = None,
) -> bytes:
    """The provider's answer with the policy applied; raises `UpstreamFailed` unless it is a finite (samples,
    N).

    threshold: of a verification. A JSON answer decides by the released distances, so that the decision tells
    nothing that they do not; without a threshold it does not decide.
    """
    kind = media_type(content_type)
    described: dict[str, Any] = {}
    try:
        if kind == NPY:
            raw = decode_npy(body)
        else:
            described, values = _json_values(kind, body)
            raw = numeric_array(values, "values")
        clean = release_array(raw, max_samples=samples, max_length=LONGEST_RELEASE)
    except LeakrangeError as error:
        raise _nonsense(error) from error
    if len(clean) != samples:
        raise UpstreamFailed(f"the provider answered {len(clean)} of {samples} samples")
    released = chain.apply(clean, context)
    if kind == NPY:
        return encode_npy(released)
    if threshold is not None:
        described["same"] = same_person(released, threshold)
    return orjson.dumps({**described, "values": released}, option=orjson.OPT_SERIALIZE_NUMPY)


def _json_values(kind: str, body: bytes) -> tuple[dict[str, Any], list[Any]]:
    if kind != JSON:
        raise InvalidInput(f"content type {kind or 'none'!r} holds no release")
    value = parse_json(body)
    if not isinstance(value, dict) or not isinstance(value.get("values"), list):
        raise InvalidInput("no list of values")
    described = {name: value[name] for name in DESCRIBING if isinstance(value.get(name), str)}
    return described, value["values"]


def _nonsense(error: LeakrangeError) -> UpstreamFailed:
    return UpstreamFailed(f"the provider's answer is no release: {error.detail}")


@dataclass(frozen=True)
class Upload:
    """What an edge client sends to ``outputs``: the release kind and finite float32 values (samples, N)."""

    media: str
    release: Release
    values: NDArray[np.float32]

    @classmethod
    def read(cls, content_type: str | None, release: str | None, body: bytes, *, max_samples: int) -> Upload:
        """Read npy (then ``release`` is the header ``X-Release``) or JSON; raises what the body deserves."""
        media = media_type(content_type)
        if media == NPY:
            raw = decode_npy(body)
        elif media == JSON:
            value = parse_json(body)
            if not isinstance(value, dict) or set(value) != {"release", "values"}:
                raise InvalidInput('the JSON body must be {"release": ..., "values": [...]} and nothing else')
            release, raw = value["release"], numeric_array(value["values"], "values")
        else:
            raise UnsupportedMedia(
                f"content type {media or 'none'!r} holds no outputs", hint=f"send {JSON} or {NPY}"
            )
        kinds = get_args(ReleaseKind)
        if release not in kinds:
            where = "the header X-Release" if media == NPY else "'release'"
            raise InvalidInput(f"{where} must name the release kind: {', '.join(kinds)}")
        return cls(
            media,
            cast(Release, release),
            release_array(raw, max_samples=max_samples, max_length=LONGEST_RELEASE),
        )

    def transformed(self, chain: Chain, context: ReleaseContext) -> bytes:
        """The body to send on, with the policy applied, in the same media type."""
        released = chain.apply(self.values, context)
        if self.media == NPY:
            return encode_npy(released)
        return orjson.dumps({"release": self.release, "values": released}, option=orjson.OPT_SERIALIZE_NUMPY)
