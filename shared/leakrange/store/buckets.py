"""Objects in a bucket of an S3 server, by obstore."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from leakrange.data.hub import cache_folder
from leakrange.store.files import ObjectStore, StoredObject, checked
from leakrange.store.packs import PACKS
from leakrange.wire.digests import digest
from leakrange.wire.errors import DamagedFile, NotFound, Unavailable

__all__ = ["BucketStore"]

PART = 2**23
"""Larger objects are written in parts of so many bytes, four at a time."""
SILENT, LONGEST = timedelta(seconds=10), timedelta(minutes=5)
"""How long a server may say nothing, and how long one request may take."""
RETRIES, RETRIED_FOR = 1000, timedelta(seconds=60)
"""A server that restarts within a minute is waited for."""
CREDENTIALS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY name who may use it"


class BucketStore(ObjectStore):
    """Objects below ``prefix`` in a bucket. Credentials, region and endpoint are AWS' usual variables; plain
    HTTP only with ``AWS_ALLOW_HTTP=true``.

    A process that has asked such a store must not fork: the threads that ask are not in the child.
    """

    def __init__(self, bucket: str, prefix: str = "") -> None:
        super().__init__()
        self.bucket, self.prefix = bucket, prefix
        self.local = cache_folder() / "models" / digest([bucket, prefix])[:16]
        self._s3 = self._client(SILENT, RETRIES)
        self._once = self._client(timedelta(seconds=2), 0)

    def _client(self, silent: timedelta, retries: int) -> S3Store:
        try:
            return S3Store(
                self.bucket,
                prefix=self.prefix or None,
                client_options={
                    "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true"),
                    "connect_timeout": timedelta(seconds=5),
                    "read_timeout": silent,
                    "timeout": LONGEST,
                },
                retry_config={
                    "max_retries": retries,
                    "retry_timeout": RETRIED_FOR,
                    "backoff": {
                        "init_backoff": timedelta(seconds=0.1),
                        "max_backoff": timedelta(seconds=4),
                        "base": 2,
                    },
                },
            )
        except BaseError as error:
            raise Unavailable(f"{self}: {_reason(error)}", hint=CREDENTIALS) from error

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def put(self, name: str, content: bytes) -> None:
        """See `ObjectStore.put`. An object that is there already is left as it is."""
        checked(name)
        with self._asked():
            if len(content) <= PART:
                try:
                    obstore.put(self._s3, name, content, mode="create")
                except AlreadyExistsError:
                    return
            elif not self._there(name):  # S3 writes in parts without a condition: the content is the same
                obstore.put(self._s3, name, content, use_multipart=True, chunk_size=PART, max_concurrency=4)

    def read(self, name: str) -> bytes:
        """See `ObjectStore.read`. Nothing but whole objects is returned."""
        checked(name)
        with self._asked():
            try:
                answer = obstore.get(self._s3, name)
                content = bytes(answer.bytes())
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
                raise NotFound(f"nothing is stored under {name!r}") from error
        if len(content) != answer.meta["size"]:
            raise Unavailable(f"{self} sent {len(content)} of the {answer.meta['size']} bytes of {name!r}")
        return content

    def there(self, name: str) -> bool:
        """See `ObjectStore.there`."""
        checked(name)
        with self._asked():
            return self._there(name) or ("." not in name and bool(self.names(name)))

    def _there(self, name: str) -> bool:
        try:
            obstore.head(self._s3, name)
        except FileNotFoundError:
            return False
        return True

    def remove(self, names: Iterable[str]) -> None:
        """See `ObjectStore.remove`."""
        with self._asked():
            listed = [checked(name) for name in names]
            for start in range(0, len(listed), 1000):
                obstore.delete(self._s3, listed[start : start + 1000])

    def names(self, folder: str) -> list[str]:
        """See `ObjectStore.names`."""
        checked(folder)
        with self._asked():
            return [entry["path"] for page in obstore.list(self._s3, f"{folder}/") for entry in page]

    def objects(self) -> Iterator[StoredObject]:
        """See `ObjectStore.objects`."""
        with self._asked():
            for page in obstore.list(self._s3):
                for entry in page:
                    if "/" not in entry["path"].removeprefix(f"{PACKS}/"):
                        yield StoredObject(entry["path"], entry["last_modified"].timestamp(), entry["size"])

    def damaged(self, name: str) -> DamagedFile:
        """See `ObjectStore.damaged`."""
        checked(name)
        try:
            with self._asked():
                inside = [name] if self._there(name) else self.names(name)
                for each in inside:
                    obstore.rename(self._s3, each, each.replace(name, f"{name}.damaged", 1))
        except Unavailable:
            return DamagedFile(
                f"{self}/{name} is damaged", hint=f"delete {self}/{name}, then run the scenario again"
            )
        return DamagedFile(f"{self}/{name} is damaged, and was set aside as {name}.damaged")

    def lock(self, name: str) -> Path:
        """See `ObjectStore.lock`: processes of several machines may make the same, which does no harm."""
        return Path(tempfile.gettempdir(), "leakrange-locks", f".{checked(name)}.lock")

    def ping(self) -> None:
        """See `ObjectStore.ping`. It asks once, for who wants to know soon."""
        with self._asked():
            next(iter(obstore.list(self._once, chunk_size=1)), None)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> Unavailable:
        text = str(error)
        if "NoSuchBucket" in text:
            return Unavailable(f"there is no bucket {self.bucket!r}", hint="create it, or name another one")
        if any(status in text for status in ("401 Unauthorized", "403 Forbidden")):
            return Unavailable(f"{self} refuses what is asked: {_reason(error)}", hint=CREDENTIALS)
        return Unavailable(
            f"{self} does not answer as it should: {_reason(error)}",
            hint="see that the server runs, and that AWS_ENDPOINT_URL is its address (over plain HTTP only "
            "with AWS_ALLOW_HTTP=true)",
        )


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]
