"""A model as a file of TorchScript: what peers serve that cannot have Leakrange beside them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["OUTPUT", "VARIABLE", "Program", "from_environment"]

VARIABLE = "BENCH_PROGRAM"
"""The environment variable that has the file's path."""
OUTPUT = "output"
"""The name of the only output, where a protocol asks for one."""
Program = Callable[[NDArray[Any]], NDArray[np.float32]]
"""Function from samples (B, *shape) to values (B, C)."""


def from_environment() -> Program:
    """The program of the file that `VARIABLE` names, on one thread of torch."""
    torch.set_num_threads(1)
    module = torch.jit.load(os.environ[VARIABLE]).eval()

    def program(samples: NDArray[Any]) -> NDArray[np.float32]:
        with torch.inference_mode():
            return np.asarray(module(torch.from_numpy(np.array(samples))).numpy())

    return program
