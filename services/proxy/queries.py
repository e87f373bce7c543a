"""The content of a request to a model: samples, pairs of samples, or samples against an enrolled person."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from numpy.typing import NDArray

from leakrange.defences.output import Release
from leakrange.wire.codecs import Reading, count_steps, sample_steps
from leakrange.wire.endpoints import GALLERY, RELEASES
from leakrange.wire.errors import BodyTooLarge
from leakrange.wire.names import asked_person, check_person
from leakrange.wire.pairs import pair_count_steps, pair_steps, sample_marks
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import ModelCard
from services.proxy.exchange import Request
from services.proxy.failures import unusable
from services.proxy.releases import pair_digests, query_digests

Naming = Callable[[bytes | None], list[bytes]]
"""Gives a digest for each sample of a query; where it is about a person, from the mark that the provider
answered with."""


class Query(NamedTuple):
    """A request for releases, or an enrolment (``endpoint`` "gallery", ``release`` None), that has been read
    and counted. ``person`` is the one to compare with, or the one to enrol."""

    endpoint: str
    content_type: str | None
    body: bytes
    samples: int
    person: str | None = None

    @classmethod
    def read(
        cls, endpoint: str, request: Request, person: str | None, body: bytes, *, most: int
    ) -> Generator[None, None, Query]:
        """Count the samples or pairs in ``body``, one step at a time. The path names the ``person``.
        Raises the error that a bad body deserves."""
        content_type = request.headers.get(b"content-type")
        if endpoint == "verification" and (person := asked_person(request.query)) is None:
            count = yield from pair_count_steps(content_type, body, most=most)
        else:
            count = yield from count_steps(content_type, body, most=most)
        if person is not None:
            check_person(person)
        return cls(endpoint, content_type, body, count, person)

    @property
    def release(self) -> Release | None:
        """What kind of release the answer is; None for an enrolment, which releases nothing."""
        return RELEASES.get(self.endpoint)

    @property
    def pairs(self) -> bool:
        """Whether each of its samples is a pair of them."""
        return self.endpoint == "verification" and self.person is None

    @property
    def method(self) -> str:
        """The HTTP method by which the provider is asked."""
        return "PUT" if self.endpoint == GALLERY else "POST"

    @property
    def place(self) -> str:
        """The path below the model's, with its query string."""
        if self.person is None:
            return self.endpoint
        return (
            f"{GALLERY}/{self.person}"
            if self.endpoint == GALLERY
            else f"{self.endpoint}?person={self.person}"
        )

    def decoded(self, spec: SampleSpec, most: int) -> Reading:
        """The samples (B, *shape) or pairs (B, 2, *shape) as a model of ``spec`` sees them: all encodings of
        one sample are one query. A step at a time. Raises what the body deserves."""
        steps = pair_steps if self.pairs else sample_steps
        return steps(self.content_type, self.body, spec=spec, most=most)

    def check(self, card: ModelCard, most: int) -> Generator[None, None, None]:
        """Raise what is wrong with the query, as far as the model's card tells."""
        if self.samples > card.max_batch and self.endpoint != GALLERY:
            raise BodyTooLarge(f"{self.samples} samples in one request; this model takes {card.max_batch}")
        yield from self.decoded(card.input, most)

    def naming(self, secret: bytes, model: str, seen: NDArray[Any]) -> Naming:
        """What names each query for sticky noise, given the samples or pairs as `decoded`.

        A pair is named whichever way around it comes, since its distance is the same. A person is named by
        the samples of the enrolment: else the same person under many names would get as many draws of sticky
        noise, and one name for many persons the same noise on all. Enrolled by one sample, a person and a
        sample are that pair.
        """
        if self.endpoint != "verification":
            digests = query_digests(secret, model, self.endpoint, seen)
            return lambda _: digests
        marks = sample_marks(seen if self.person is not None else seen.reshape(-1, *seen.shape[2:]))
        if self.person is None:
            digests = pair_digests(secret, model, list(zip(marks[::2], marks[1::2], strict=True)))
            return lambda _: digests

        def against(template: bytes | None) -> list[bytes]:
            if template is None:
                raise unusable()
            return pair_digests(secret, model, [(template, mark) for mark in marks])

        return against
