"""The environment in which a run was made, so that it can be repeated."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distributions, version

from leakrange.jobs.recipe import TrainingRecipe

LIBRARIES = ("leakrange", "fastapi", "numpy", "pydantic", "celery", "sqlalchemy", "vl-convert-python")


def describe(recipes: Iterable[TrainingRecipe]) -> dict[str, str]:
    """The versions of Python, libraries and plugins in the controller, its machine, and the declared versions
    behind the models of a run."""
    versions = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
    }
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            versions[library] = "from source"
    for package in distributions():
        if any(entry.group.startswith("leakrange.") for entry in package.entry_points):
            versions[f"plugin {package.name}"] = package.version
    for recipe in recipes:
        declared = recipe.versions
        versions["training loop"] = f"version {declared.loop}"
        versions[f"data set {recipe.data.name}"] = f"version {declared.data}"
        versions[f"net {recipe.net.name}"] = f"version {declared.net}"
        versions[f"behaviour {recipe.behaviour}"] = f"version {declared.trainer}"
    return versions
