"""Data sets of the Hugging Face hub by name: their export to Parquet, which the hub makes of public sets.

Files are kept in ``$LEAKRANGE_CACHE/hub``, so that a preview and the import after it fetch them once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from leakrange.data.hub import cache_folder, offline
from leakrange.wire.disk import room_in
from leakrange.wire.errors import DataUnavailable, InvalidInput

__all__ = ["HUB", "exported_files"]

HUB = "hf:"
"""What names of the hub's sets begin with."""
NAME = re.compile(r"hf:(?P<set>[\w.-]+/[\w.-]+)(:(?P<config>[^/:]+))?(/(?P<split>[^/:]+))?")
EXPORT = "refs/convert/parquet"
"""The branch of a set that holds its export, as <config>/<split>/<number>.parquet."""
ENDING = ".parquet"
ELSEWHERE = (
    "connect to the network; or save the set on a machine that is (datasets.load_dataset(...)"
    ".save_to_disk(FOLDER)), copy the folder here, and import that"
)


def exported_files(name: str) -> list[Path]:
    """The Parquet files of ``hf:owner/name[:config][/split]`` in their order, fetched if they must be.

    Raises `InvalidInput` for a name of another form, and where the set has several configurations or splits
    and the name chooses none; `DataUnavailable` where the hub cannot be reached, or has no such set or export
    of it; `StorageFull`.
    """
    asked = NAME.fullmatch(name)
    if asked is None:
        raise InvalidInput(f"{name[:80]!r} names no set of the hub", hint="write hf:owner/name:config/split")
    if find_spec("huggingface_hub") is None:
        raise InvalidInput(f"huggingface_hub is needed for {name}", hint="pip install 'leakrange[hub]'")
    if offline():
        raise DataUnavailable(f"HF_HUB_OFFLINE forbids to fetch {name}", hint=f"unset it, and {ELSEWHERE}")
    from huggingface_hub import HfApi, hf_hub_download

    endpoint, folder = os.environ.get("HF_ENDPOINT"), cache_folder() / "hub"
    with _reachable(name):
        export = HfApi(endpoint).dataset_info(asked["set"], revision=EXPORT)
    places = [each.rfilename.split("/") for each in export.siblings or () if each.rfilename.endswith(ENDING)]
    parts = [place for place in places if len(place) == 3]
    config = _chosen(
        name, "configurations", "owner/name:config", asked["config"], {each[0] for each in parts}
    )
    splits = {each[1] for each in parts if each[0] == config}
    split = _chosen(name, "splits", "owner/name/split", asked["split"], splits)
    files = sorted("/".join(each) for each in parts if each[:2] == [config, split])
    with _reachable(name), room_in(folder):
        return [
            Path(
                hf_hub_download(
                    asked["set"],
                    file,
                    revision=export.sha,
                    repo_type="dataset",
                    cache_dir=folder,
                    endpoint=endpoint,
                )
            )
            for file in files
        ]


def _chosen(name: str, what: str, form: str, asked: str | None, there: set[str]) -> str:
    """The one that is asked for, or the only one."""
    if asked in there:
        return str(asked)
    if asked is None and len(there) == 1:
        return next(iter(there))
    raise InvalidInput(
        f"{name} has {'no' if asked or not there else 'several'} {what}"
        + (f" {asked!r}" if asked else "")
        + f"; there are: {', '.join(sorted(there)[:40]) or 'none'}",
        hint=f"name one of them: hf:{form}",
    )


@contextmanager
def _reachable(name: str) -> Iterator[None]:
    """Turn what the hub's client raises into `DataUnavailable`."""
    from huggingface_hub import errors

    try:
        yield
    except errors.RevisionNotFoundError as error:
        raise DataUnavailable(
            f"the hub has no export to Parquet of {name}", hint=f"a set that runs code has none; {ELSEWHERE}"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise DataUnavailable(
            f"the hub has no set {name}, or does not show it to you",
            hint="check its name; for a set with conditions accept them on its page, and set HF_TOKEN",
        ) from error
    except (OSError, ValueError, errors.HTTPError) as error:  # type: ignore[attr-defined]
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataUnavailable(f"{name} cannot be fetched from the hub: {first}", hint=ELSEWHERE) from error
