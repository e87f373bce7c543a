"""Release bodies: parsed, transformed by a policy, and written again in the same media type."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
import orjson
import structlog
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.defences.output import Chain, Release, ReleaseContext
from leakrange.services.proxy.failures import unusable
from leakrange.wire.digests import digest_each
from leakrange.wire.endpoints import check_upload
from leakrange.wire.errors import InvalidInput, LeakrangeError
from leakrange.wire.pairs import same_person
from leakrange.wire.releases import ReleaseKind, upload_steps
from leakrange.wire.schemas import Classes, GalleryEntry, ModelCard
from leakrange.wire.tensors import (
    JSON,
    NPY,
    encode_npy,
    media_type,
    npy_header,
    npy_view,
    numeric_array,
    parse_json,
    release_array,
)

log = structlog.get_logger("leakrange.proxy.releases")


@dataclass(frozen=True)
class NoiseSource:
    """Source of the noise of one request: ``secret`` keys all of it.

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
"""Generator for chains that draw nothing: seeding takes longer than most of them."""


def query_digests(
    secret: bytes, model: str, endpoint: str, samples: NDArray[Any], kind: str = ""
) -> list[bytes]:
    """A digest of the query for each sample: of model, endpoint, and the sample's canonical values and
    ``kind``."""
    named = hashlib.blake2b(key=secret, digest_size=32, person=b"query")
    named.update(repr((model, endpoint, kind, samples.shape[1:], samples.dtype.str)).encode())
    return digest_each(named, _contents(samples))


def _contents(samples: NDArray[Any]) -> Iterator[memoryview]:
    """The bytes of each sample."""
    content = np.ascontiguousarray(samples).data.cast("B")
    size = len(content) // len(samples)
    return (content[begin : begin + size] for begin in range(0, len(content), size))


def pair_digests(secret: bytes, model: str, pairs: list[tuple[bytes, bytes]]) -> list[bytes]:
    """A digest of the query for the distance of each pair of marks; their order does not matter."""
    named = hashlib.blake2b(key=secret, digest_size=32, person=b"pair")
    named.update(repr((model, "verification")).encode())
    return digest_each(named, (b"".join(sorted(pair)) for pair in pairs))


def answered_rows(media: str, body: bytes) -> int:
    """Number of samples in a provider's answer. Raises `UpstreamFailed` for anything but a release."""
    with _NONSENSE:
        if media == NPY:
            shape = npy_header(body)[0]
            return shape[0] if len(shape) > 1 else 0
        return len(_members(media, body, "values"))


def transform_answer(
    chain: Chain,
    context: ReleaseContext,
    media: str,
    body: bytes,
    shape: tuple[int, ...],
    described: Mapping[str, Any],
    threshold: float | None = None,
) -> bytes:
    """The provider's answer with the policy applied. Raises `UpstreamFailed` unless the answer is finite and
    of ``shape`` (samples, ...): in a longer release, an index alone would tell more.

    described: the members beside the values of a JSON answer. threshold: of a verification. A JSON answer
    decides by the released distances, so that the decision tells nothing that they do not; without a
    threshold it does not decide.
    """
    with _NONSENSE:
        raw = npy_view(body) if media == NPY else numeric_array(_members(media, body, "values"), "values")
        clean = release_array(raw, max_samples=shape[0])
        if clean.shape != shape:
            raise InvalidInput(f"shape {clean.shape} instead of {shape}")
        released = chain.apply(clean, context)
    if media == NPY:
        return encode_npy(released)
    same = {} if threshold is None else {"same": same_person(released, threshold)}
    return orjson.dumps({**described, "values": released, **same}, option=orjson.OPT_SERIALIZE_NUMPY)


def decisions(media: str, body: bytes, samples: int, heads: Sequence[int]) -> Classes:
    """A provider's decisions on an upload of so many ``samples``, checked to be no more than that: a class of
    each of the ``heads``. Raises `UpstreamFailed`."""
    with _NONSENSE:
        classes: Classes = _members(media, body, "decisions")
        rows: list[Any] = [[each] for each in classes] if len(heads) == 1 else list(classes)
        if len(classes) != samples or not all(_are_classes(row, heads) for row in rows):
            raise InvalidInput("decisions are one class a sample, of several attributes one of each")
    return classes


def _are_classes(row: Any, heads: Sequence[int]) -> bool:
    if not isinstance(row, list) or len(row) != len(heads):
        return False
    return all(type(each) is int and 0 <= each < classes for each, classes in zip(row, heads, strict=True))


def enrolled(media: str, body: bytes) -> list[GalleryEntry]:
    """The enrolled people of a provider's answer. Raises `UpstreamFailed`."""
    with _NONSENSE:
        try:
            return [GalleryEntry.model_validate(each) for each in _members(media, body, "persons")]
        except ValidationError as error:
            raise InvalidInput("persons are names and numbers of images") from error


def _members(media: str, body: bytes, name: str) -> list[Any]:
    if media != JSON:
        raise InvalidInput(f"content type {media or 'none'!r} is not {JSON}")
    value = parse_json(body)
    if not isinstance(value, dict) or not isinstance(value.get(name), list):
        raise InvalidInput(f"no list of {name}")
    members: list[Any] = value[name]
    return members


class _Nonsense:
    """Logs the mistake in a provider's answer for the operator alone: the provider could choose the words
    that a client reads."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        if isinstance(error, LeakrangeError):
            log.warning("upstream failed", reason="nonsense", detail=error.detail)
            raise unusable() from error


_NONSENSE = _Nonsense()


@dataclass(frozen=True)
class UploadBody:
    """An edge client's message to ``outputs``: the release kind and finite float32 values (samples, ...)."""

    media: str
    release: Release
    values: NDArray[np.float32]

    @property
    def samples(self) -> int:
        """Number of uploaded samples."""
        return len(self.values)

    @classmethod
    def read(
        cls, content_type: str | None, release: str | None, body: bytes, *, max_samples: int
    ) -> Generator[None, None, UploadBody]:
        """Read npy (then ``release`` is the header ``X-Release``) or JSON, a step at a time. Raises the error
        of a bad body."""
        media = media_type(content_type)
        release, values = yield from upload_steps(content_type, release, body, max_samples=max_samples)
        kinds = get_args(ReleaseKind)
        if release not in kinds:
            where = "the header X-Release" if media == NPY else "'release'"
            raise InvalidInput(f"{where} must name the release kind: {', '.join(kinds)}")
        return cls(media, cast(Release, release), values)

    def check(self, card: ModelCard) -> Generator[None, None, None]:
        """Raise the mistakes of the upload, as far as the model's card shows them; that takes no step."""
        yield from ()
        check_upload(card, self.release, self.values)

    def transformed(self, chain: Chain, context: ReleaseContext) -> bytes:
        """The body to send on, with the policy applied, in the same media type."""
        released = chain.apply(self.values, context)
        if self.media == NPY:
            return encode_npy(released)
        return orjson.dumps({"release": self.release, "values": released}, option=orjson.OPT_SERIALIZE_NUMPY)
