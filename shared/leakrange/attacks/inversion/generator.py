"""A generator of pictures, learnt from pictures of people whom the attacked model does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from leakrange.jobs.recipe import NetSpec, Schedule
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["Generator", "GeneratorSpec", "learnt_generator"]

FEWEST = 100
ENCODER = NetSpec(name="strided-conv")
DECODER = "strided-conv"
BATCH = 64
NOISE = 0.1
"""The deviation of pixels in [0, 1] from what is drawn, by which the likelihood weighs a picture's error."""


class GeneratorSpec(Strict):
    """The number of values of a latent ``point``, and the training: its passes over the pictures, its rate
    and its seed. Trials of all seeds share a generator."""

    point: Annotated[int, Field(ge=2, le=512)] = 32
    epochs: Annotated[int, Field(ge=1, le=1000)] = 20
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 2e-3
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0


class Generator:
    """Draws pictures of ``spec`` from latent points, which are standard normal (N, ``size``). ``arrays`` are
    those of `learnt_generator`. Raises `InvalidInput` for others."""

    def __init__(self, spec: SampleSpec, size: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        import torch

        self.spec, self.size = spec, size
        self._net = _decoder(spec, size)
        try:
            self._net.load_state_dict(
                {name: torch.from_numpy(np.array(each)) for name, each in arrays.items()}
            )
        except RuntimeError as e:
            raise InvalidInput("these are no weights of such a generator", hint="learn it again") from e
        self._net.eval()

    def draw(self, points: NDArray[np.floating]) -> NDArray[Any]:
        """Pictures (N, *shape), as a model is asked about them."""
        import torch

        from leakrange.nets.reconstructor import from_pixels

        with torch.inference_mode():
            parts = torch.split(torch.from_numpy(points.astype(np.float32)), 500)
            drawn = torch.cat([from_pixels(self._net(part)) for part in parts]).numpy()
        return self.spec.nearest(drawn)


def learnt_generator(
    samples: NDArray[Any], spec: SampleSpec, chosen: GeneratorSpec
) -> dict[str, NDArray[Any]]:
    """The weights of the decoder of a variational autoencoder (Kingma and Welling 2014, Eq. 10) of pictures
    ``samples`` (N, *shape). Raises `InvalidInput` for too few of them."""
    import torch

    from leakrange.nets import nets
    from leakrange.nets.classifier import to_input
    from leakrange.nets.reconstructor import to_pixels
    from leakrange.providers.loop import FittedNet, Lessons, Trainer, seeded

    if len(samples) < FEWEST:
        raise InvalidInput(
            f"a generator learns from {FEWEST} pictures or more, not from {len(samples)}",
            hint="name a larger set as 'public'",
        )
    schedule = Schedule(epochs=chosen.epochs, batch=BATCH, lr=chosen.lr)
    with seeded(chosen.seed):
        encoder = nets[ENCODER.name].build(spec, 2 * chosen.point, ENCODER.width)
        decoder = _decoder(spec, chosen.point)

        class PictureCoder(torch.nn.Module):
            """Draws pictures anew; the second output is how many nats their points tell of each."""

            def __init__(self) -> None:
                super().__init__()
                self.encoder, self.decoder = encoder, decoder

            def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
                mean, logarithm = self.encoder(pictures).chunk(2, dim=1)
                points = mean + torch.randn_like(mean) * (logarithm / 2).exp()
                nats = (mean**2 + logarithm.exp() - 1.0 - logarithm).sum(dim=1) / 2
                return decoder(points), nats

        def loss(drawn: Any, pictures: Tensor) -> Tensor:
            errors = ((drawn[0] - pictures) ** 2).flatten(1).sum(dim=1) / (2 * NOISE**2)
            each: Tensor = (errors + drawn[1]).mean() / pictures[0].numel()
            return each

        taken = torch.from_numpy(np.array(samples))
        trainer = Trainer(
            FittedNet(PictureCoder(), loss, schedule),
            Lessons(taken, to_pixels(taken)),
            batch=min(BATCH, len(samples)),
            prepare=lambda inputs: to_input(inputs, spec),
        )
        for _ in range(chosen.epochs):
            trainer.epoch()
    return {name: each.numpy() for name, each in decoder.state_dict().items()}


def _decoder(spec: SampleSpec, size: int) -> nn.Module:
    from leakrange.nets.reconstructors import reconstructors

    return reconstructors[DECODER].build(spec, size)
