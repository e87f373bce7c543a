"""The settings of a federation, which are part of a recipe."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from leakrange.strict import Strict

__all__ = ["CriticSize", "Dirichlet", "Federation"]

CriticSize = Literal["small", "paper"]
"""Size of the nets that devices keep to themselves: see `leakrange.defences.games`."""


class Dirichlet(Strict):
    """Devices whose shares of the classes of ``by`` differ: each class is dealt out by a draw from a
    Dirichlet distribution with ``alpha``. The smaller ``alpha``, the fewer devices have most of a class."""

    alpha: Annotated[float, Field(gt=0.0, le=1e4, allow_inf_nan=False)]
    by: str


class Federation(Strict):
    """A number of ``devices`` that share the training samples out between them. In each of the ``rounds`` the
    server averages what a ``share`` of them, drawn anew, has learned.

    ``participation``: with "all" every device trains in every round, and those that are not drawn keep their
    nets and send nothing (TAPPFL, Algorithm 1, lines 3 to 5 and 22); with "chosen" only the drawn ones train,
    and the nets of the others are out of date. A device that trains goes ``local_epochs`` times through its
    samples. ``split``: "iid" deals the samples out at random in equal parts, see `Dirichlet` for the other
    way. Before the rounds come ``pretraining`` rounds, in which nothing is hidden yet. The server refuses an
    update that is further than ``most_norm`` (L2) from the parameters that it sent. With ``secure``
    aggregation it sees only the sum of a round's updates, and can refuse no single one.
    """

    devices: Annotated[int, Field(ge=2, le=10_000)] = 100
    share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    participation: Literal["all", "chosen"] = "all"
    rounds: Annotated[int, Field(ge=1, le=1_000)] = 20
    pretraining: Annotated[int, Field(ge=0, le=1_000)] = 10
    local_epochs: Annotated[int, Field(ge=1, le=1_000)] = 10
    split: Literal["iid"] | Dirichlet = "iid"
    most_norm: Annotated[float, Field(gt=0.0, le=1e9, allow_inf_nan=False)] = 100.0
    secure: bool = False

    @model_validator(mode="after")
    def _hidden_among_others(self) -> Self:
        if self.secure and self.participants < 2:
            raise ValueError("secure aggregation hides one device among others: let two or more take part")
        return self

    @property
    def participants(self) -> int:
        """Number of devices whose updates the server takes in a round; at least one."""
        return max(1, round(self.share * self.devices))

    @property
    def all_rounds(self) -> int:
        """Number of the pretraining rounds and the others."""
        return self.pretraining + self.rounds
