"""What all inversions share: a generator, random first questions, and a search among its latent points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from leakrange.attacks.attack import Ask, Knowledge, Walk, WalkingAttack
from leakrange.attacks.inversion.generator import Generator, GeneratorSpec, learnt_generator
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.recipe import NetSpec
from leakrange.strict import Strict
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput

__all__ = ["Inversion", "InversionParameters", "Points", "PublicPictures", "Start"]

Points = NDArray[np.float64]
FIRST = 1 / 3
"""The share of its questions that an attack asks at random, for all people together."""


class PublicPictures(Strict):
    """The data set of a generator: its name, the seed that draws it, and how many it draws, where it is a
    procedural one. Its pictures are taken in the size of the model's."""

    name: Annotated[str, Field(min_length=1)]
    seed: int = 0
    count: Annotated[int, Field(ge=100, le=1_000_000)] | None = None


class InversionParameters(Strict):
    """How many ``people`` are drawn, at random among those that the model knows; the ``public`` pictures, of
    other people, and the ``generator`` that learns from them; and the net of the ``evaluator``, which judges
    the drawings."""

    people: Annotated[int, Field(ge=2, le=1000)] = 20
    public: PublicPictures
    generator: GeneratorSpec = GeneratorSpec()
    evaluator: NetSpec = NetSpec(name="residual", width=0.25)


@dataclass(frozen=True)
class Start:
    """What a search begins with: random ``points`` (N, D), the ``answers`` (N, Y) about their pictures, the
    classes ``wanted`` (T,), how many pictures are ``left`` to ask about, and the attack's random ``draw``."""

    points: Points
    answers: NDArray[np.float32]
    wanted: NDArray[np.intp]
    left: int
    release: str
    draw: np.random.Generator


class Inversion(WalkingAttack):
    """Draws a picture of each wanted class of the model. The first questions are about random pictures of the
    generator, and serve all classes."""

    kind: ClassVar[str] = "inversion"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax")
    grants: ClassVar[tuple[str, ...]] = ("queries of the attacker's choice", "pictures of other people")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware",)
    Parameters: ClassVar[type[BaseModel]] = InversionParameters

    def walk(self, start: Walk, ask: Ask) -> dict[str, NDArray[Any]]:
        """The ``pictures`` (T, *shape) of the classes ``wanted`` (T,), as many that were drawn ``unasked``,
        and how many pictures were ``asked`` about, round by round. Raises `InvalidInput` for pictures that no
        generator can learn from, and where the model knows fewer than two people."""
        chosen = self.parameters.generator
        name = digest(["generator", chosen.model_dump(mode="json")])
        learnt = start.once(name, lambda: learnt_generator(start.samples, start.spec, chosen))
        generator = Generator(start.spec, chosen.point, learnt)
        asked: list[int] = []

        def ask_about(points: Points) -> NDArray[np.float32]:
            asked.append(len(points))
            return ask(generator.draw(points))

        draw = stream(start.seed, "inversion")
        points = draw.normal(size=(max(1, int(start.queries * FIRST)), chosen.point))
        answers = ask_about(points)
        if answers.ndim != 2 or answers.shape[1] < 2:
            raise InvalidInput(f"answers of shape {answers.shape[1:]} are no scores of people")
        wanted = shuffled(stream(start.seed, "wanted"), answers.shape[1])[: self.parameters.people]
        begun = Start(points, answers, wanted, start.queries - len(points), start.release, draw)
        unasked = draw.normal(size=(len(wanted), chosen.point))
        return {
            "pictures": generator.draw(self.search(begun, ask_about)),
            "unasked": generator.draw(unasked),
            "wanted": wanted,
            "asked": np.array(asked),
        }

    @abstractmethod
    def search(self, start: Start, ask: Callable[[Points], NDArray[np.float32]]) -> Points:
        """The best points (T, D) of the wanted classes; asks about ``start.left`` points at most."""
