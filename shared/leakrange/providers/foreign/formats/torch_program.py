"""Programs of torch: `torch.export` and TorchScript. Reading one may run code of its maker."""

from __future__ import annotations

import warnings
from io import BytesIO
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.providers.foreign.card import FileCard
from leakrange.providers.foreign.format import FileFormat, FileNet, as_numbers, first_line, members
from leakrange.wire.errors import InvalidArtifact

__all__ = ["ExportedProgram", "TorchScript"]


class _TorchFile(FileFormat):
    packages = ("torch",)
    risk: ClassVar[str]
    """What a hostile file can do."""

    @classmethod
    def needs_trust(cls, content: bytes) -> bool:  # noqa: ARG003
        """See `FileFormat.needs_trust`."""
        return True

    @classmethod
    def module(cls, content: bytes) -> Any:
        """The module of a file; raises anything."""
        raise NotImplementedError

    @classmethod
    def net(cls, content: bytes, card: FileCard, *, trusted: bool, threads: int) -> FileNet:  # noqa: ARG003
        """See `FileFormat.net`. The threads are those of the process."""
        import torch

        if not trusted:
            raise InvalidArtifact(
                f"{cls.risk}. It was not opened",
                hint="export the model to ONNX; or, if you trust whoever made the file as you trust the"
                " programs that you run, add it with --trust",
            )
        if card.output is not None:
            raise InvalidArtifact(
                f"the card names an output {card.output!r}, and {cls.title} has outputs without names",
                hint="leave 'output' out of the card; the program must give one tensor",
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # TorchScript, all of it
                module = cls.module(content)
        except Exception as error:  # whatever a program does
            raise InvalidArtifact(
                f"torch cannot read the file: {first_line(error)}",
                hint="save it again with the version of torch that is installed here",
            ) from error

        def run(samples: NDArray[Any]) -> NDArray[np.float32]:
            with torch.inference_mode():
                given = module(torch.from_numpy(samples))
            if not isinstance(given, torch.Tensor):
                raise InvalidArtifact(
                    f"the program gives a {type(given).__name__}, and not one tensor",
                    hint="export a module that returns the tensor of its outputs alone",
                )
            numbers = given.float() if given.is_floating_point() else given
            return as_numbers(numbers.cpu().numpy(), "the program")

        return run


class ExportedProgram(_TorchFile):
    """What `torch.export.save` writes."""

    name, title, file = "torch-export", "a torch.export file", "model.pt2"
    risk = (
        "the file is one of torch.export: torch reads the formulas of its shapes by evaluating them, and may"
        " unpickle parts of it, so a hostile file can run code"
    )

    @classmethod
    def holds(cls, content: bytes) -> bool:
        """See `FileFormat.holds`."""
        ends = ("archive_format", "serialized_exported_program.json")
        return any(name.endswith(ends) for name in members(content))

    @classmethod
    def module(cls, content: bytes) -> Any:
        """See `_TorchFile.module`."""
        import torch

        return torch.export.load(BytesIO(content)).module()


class TorchScript(_TorchFile):
    """What `torch.jit.save` writes."""

    name, title, file = "torchscript", "TorchScript", "model.pt"
    risk = "the file is TorchScript: a program, which can read and write files and fill the memory"

    @classmethod
    def holds(cls, content: bytes) -> bool:
        """See `FileFormat.holds`."""
        return any(name.endswith("constants.pkl") for name in members(content))

    @classmethod
    def module(cls, content: bytes) -> Any:
        """See `_TorchFile.module`."""
        import torch

        module = torch.jit.load(BytesIO(content), map_location="cpu")  # type: ignore[no-untyped-call]
        return module.eval()
