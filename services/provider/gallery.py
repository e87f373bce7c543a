"""The people that a verification model knows: enrolled by images, kept as one vector each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager

import numpy as np
from numpy.typing import NDArray

from leakrange.services.provider.gallery_store import GalleryStore, Template
from leakrange.wire.errors import Conflict, InvalidInput, NotFound
from leakrange.wire.names import check_person
from leakrange.wire.pairs import joint_mark


class PersonGallery:
    """Templates by name, for one model as long as it compares the same vectors.

    All keys that may use the model share it: who may enrol a person may replace or remove any. Changes are
    stored before they are answered, one at a time: within ``changing()``.
    """

    def __init__(
        self,
        store: GalleryStore,
        model: str,
        basis: str,
        stored: Iterable[Template],
        *,
        most: int,
        changing: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._store, self._model, self.basis, self._most = store, model, basis, most
        self._changing = changing
        self._closed = False
        self.hold(stored)

    def hold(self, stored: Iterable[Template]) -> None:
        """Replace the templates in memory by ``stored`` ones."""
        self._templates = {template.person: template for template in stored}

    def __iter__(self) -> Iterator[Template]:
        return iter([self._templates[person] for person in sorted(self._templates)])

    def __getitem__(self, person: str) -> Template:
        """The template of a person. Raises `InvalidInput` for an invalid name, `NotFound` for a stranger."""
        check_person(person)
        try:
            return self._templates[person]
        except KeyError:
            raise NotFound(f"no person {person!r} is enrolled with the model {self._model!r}") from None

    async def enrol(self, person: str, vectors: NDArray[np.float32], marks: list[bytes]) -> Template:
        """Keep the mean of the vectors (B, F) of images with those marks; equal images count once.

        A person of that name is replaced. Raises `InvalidInput` where the gallery is full, `Conflict` where
        the model was replaced meanwhile.
        """
        check_person(person)
        different = dict(zip(marks, vectors, strict=True))
        mean = np.stack(list(different.values())).astype(np.float64).mean(axis=0).astype(np.float32)
        template = Template(person, mean, len(different), joint_mark(different))
        async with self._changing():
            self._check_open()
            if person not in self._templates and len(self._templates) >= self._most:
                raise InvalidInput(
                    f"the gallery of {self._model!r} is full: {self._most} persons",
                    hint="remove somebody first",
                )
            await self._store.put(self._model, self.basis, template)
            self._templates[person] = template
        return template

    async def remove(self, person: str) -> None:
        """Forget a person; raises `NotFound`."""
        async with self._changing():
            self._check_open()
            _ = self[person]
            await self._store.delete(self._model, person)
            del self._templates[person]

    def close(self) -> None:
        """Forget everybody: the model is withdrawn, or compares other vectors from now on."""
        self._closed = True
        self._templates.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise Conflict(f"the model {self._model!r} was replaced meanwhile", retry_after=1.0)
