"""The content of a request to a model: samples, pairs of samples, or samples against an enrolled person."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from numpy.typing import NDArray

from leakrange.defences.output import Release
from leakrange.service.exchange import Request
from leakrange.services.proxy.failures import unusable
from leakrange.services.proxy.releases import pair_digests, query_digests
from leakrange.wire.codecs import Reading, count_steps, sample_steps
from leakrange.wire.endpoints import GALLERY, RELEASES
from leakrange.wire.errors import BodyTooLarge
from leakrange.wire.names import asked_person, check_person
from leakrange.wire.pairs import pair_count_steps, pair_steps, sample_marks
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import ModelCard

Naming = Callable[[bytes | None], list[bytes]]
"""Function that gives a digest for each sample of a query; where it is about a person, from the mark in the
provider's answer."""


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
        """Count the samples or pairs in ``body``, one step at a time. The path names the ``person``. Raises
        the error of a bad body."""
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
        """The kind of release of the answer; None for an enrolment, which releases nothing."""
        return RELEASES.get(self.endpoint)

    @property
    def pairs(self) -> bool:
        """Whether each of its samples is a pair of samples."""
        return self.endpoint == "verification" and self.person is None

    @property
    def method(self) -> str:
        """The HTTP method for the provider."""
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
        """The samples (B, *shape) or pairs (B, 2, *shape) as a model of ``spec`` sees them, decoded a step at
        a time. All encodings of one sample are one query. Raises the error of a bad body."""
        steps = pair_steps if self.pairs else sample_steps
        return steps(self.content_type, self.body, spec=spec, most=most)

    def check(self, card: ModelCard, most: int) -> Generator[None, None, None]:
        """Raise the mistakes of the query, as far as the model's card shows them."""
        if self.samples > card.max_batch and self.endpoint != GALLERY:
            raise BodyTooLarge(f"{self.samples} samples in one request; this model takes {card.max_batch}")
        yield from self.decoded(card.input, most)

    def naming(self, secret: bytes, model: str, inputs: NDArray[Any]) -> Naming:
        """The names of each query for sticky noise, for the samples or pairs ``inputs`` as `decoded` gives
        them.

        A pair has one name for both orders, since its distance is the same. A person is named by the samples
        of the enrolment: otherwise the same person under many names would get as many draws of sticky noise,
        and one name for many persons the same noise on all. If a person is enrolled by one sample, that
        person and another sample are named as the pair of samples.
        """
        if self.endpoint != "verification":
            digests = query_digests(secret, model, self.endpoint, inputs)
            return lambda _: digests
        marks = sample_marks(inputs if self.person is not None else inputs.reshape(-1, *inputs.shape[2:]))
        if self.person is None:
            digests = pair_digests(secret, model, list(zip(marks[::2], marks[1::2], strict=True)))
            return lambda _: digests

        def against(template: bytes | None) -> list[bytes]:
            if template is None:
                raise unusable()
            return pair_digests(secret, model, [(template, mark) for mark in marks])

        return against
