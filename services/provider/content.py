"""The content of requests and answers on the data path: samples that come, values that go."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

import orjson
from numpy.typing import NDArray

from leakrange.service.exchange import CompleteAnswer, Request
from leakrange.wire.codecs import decoding_size
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import MODEL_VERSION, ModelCard
from leakrange.wire.tensors import NPY, encode_npy
from leakrange.wire.turns import in_turns

__all__ = ["read_body", "values_answer"]

T = TypeVar("T")
Reading = Callable[[str | None, bytes], Generator[Any, None, T]]


async def read_body(request: Request, limit: int, reading: Reading[T], spec: SampleSpec | None = None) -> T:
    """The result of ``reading(content type, body)`` for a body of at most ``limit`` bytes, which holds
    samples of ``spec`` if given. A large one takes turns with others of its kind.

    Raises as `Request.body` and ``reading`` do.
    """
    body, media = await request.body(limit=limit), request.headers.get(b"content-type")
    return await in_turns(reading(media, body), decoding_size(media, body, spec) if spec else len(body))


def values_answer(
    card: ModelCard,
    release: str,
    values: NDArray[Any],
    accepted: str,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> CompleteAnswer:
    """The answer with values (B, N) in the media type ``accepted``: npy, or JSON that also describes them and
    has the fields of ``more``. By the version in a header users notice that the model was replaced."""
    if accepted == NPY:
        content = encode_npy(values)
    else:
        described = {"model": card.name, "version": card.version, "release": release}
        content = orjson.dumps({**described, "values": values, **more}, option=orjson.OPT_SERIALIZE_NUMPY)
    return CompleteAnswer(
        200, content, {"Content-Type": accepted, MODEL_VERSION: card.version, **(headers or {})}
    )
