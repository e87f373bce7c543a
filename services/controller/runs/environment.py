"""The record of where a run was made, without which it cannot be repeated."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from leakrange.jobs.training_code import training_code

__all__ = ["describe"]

LIBRARIES = ("leakrange", "fastapi", "numpy", "pydantic", "celery", "sqlalchemy", "matplotlib")


def describe() -> dict[str, str]:
    """Versions of Python and libraries as the controller has them, its machine, and the digest of the
    training code.
    """
    found = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
        "training code": training_code(),
    }
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "from source"
    return found
