"""The folder of a release: tasks write into a hidden folder, whose accepted files are moved into place."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast
from uuid import uuid4

from geoveil.certificates import Certificate
from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter, warn
from geoveil.geo.formats.fingerprints import digest_of_parts

if TYPE_CHECKING:
    import pyarrow.fs

__all__ = ["Destination", "Part"]

#: File systems without folders: nothing can be renamed as a whole.
_OBJECTS = ("s3", "gcs", "abfs")
#: The number of tries to remove the folder of attempts.
_TRIES = 25
#: The names of the folder of accepted parts, and of the facts about them, in the folder of attempts.
_READY, _CERTIFICATE = "ready", "ready.json"


@dataclass(frozen=True)
class Part:
    """A file that an attempt of a task has written."""

    #: The number of the partition.
    partition: int
    #: The name of the file among all attempts.
    name: str
    #: Its digest.
    sha256: str
    #: Its size in bytes, and its number of rows.
    size: int
    rows: int


class _Digested:
    """A file that computes the digest of the bytes that are written to it."""

    def __init__(self, stream: pyarrow.NativeFile) -> None:
        self._stream, self.sha256, self.size = stream, hashlib.sha256(), 0
        self.closed = False

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data)
        self.sha256.update(view)
        self._stream.write(data)
        self.size += view.nbytes
        return view.nbytes

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        """Leave the file open: whoever opened it closes it."""


@dataclass(frozen=True)
class Destination:
    """A folder of released files, its certificate beside it, and the hidden folder of attempts."""

    #: A path, or the address of a folder in a file system that pyarrow knows.
    address: str
    #: Makes the hidden folder this release's own.
    token: str

    @classmethod
    def of(cls, address: str | PathLike[str]) -> Destination:
        """Return the destination at a path or an address."""
        return cls(str(address).rstrip("/"), uuid4().hex)

    def located(self) -> tuple[pyarrow.fs.FileSystem, str]:
        """Return the file system and the path of the folder in it."""
        import pyarrow as pa
        from pyarrow import fs

        scheme, mark, rest = self.address.partition("://")
        if not mark:
            return fs.LocalFileSystem(), str(Path(self.address.removeprefix("file:")).absolute())
        try:
            system, path = fs.FileSystem.from_uri(f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}")
        except (pa.ArrowException, OSError, ValueError) as problem:
            allowed = "a path that the driver and all workers share, or an address of file, s3, gs, abfs or hdfs"
            raise InvalidParameter("to", self.address, allowed, str(problem)) from None
        return system, path

    @property
    def tag(self) -> str:
        """The tag of the jobs that write to it."""
        return f"geoveil-{self.token}"

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.address.rpartition("/")[2]

    def _beside(self, path: str, name: str) -> str:
        return f"{path.rpartition('/')[0]}/{name}"

    def _attempts(self, path: str) -> str:
        # Spark and pyarrow ignore names that begin with an underscore.
        return self._beside(path, f"_{self.name}.{self.token}")

    def _is_there(self, system: pyarrow.fs.FileSystem, path: str) -> bool:
        from pyarrow import fs

        return bool(system.get_file_info(path).type != fs.FileType.NotFound)

    def check_free(self) -> None:
        """Refuse a folder that exists, or whose parent does not."""
        system, path = self.located()
        if self._is_there(system, path) or self._is_there(system, self._certificate(path)):
            raise InvalidFile(self.address, "a folder or file that exists", "a new folder", "Choose another name.")
        if system.type_name not in _OBJECTS and not self._is_there(system, path.rpartition("/")[0] or "/"):
            raise InvalidFile(self.address, "no such folder", "in an existing folder", "Create the folder first.")

    def _certificate(self, path: str) -> str:
        return self._beside(path, f"{self.name}.certificate.json")

    @contextmanager
    def staged(self, can_finish: Callable[[], bool]) -> Iterator[None]:
        """Provide the hidden folder of attempts, and remove it at the end.

        After an error, the accepted parts stay if `can_finish` says that a later run can publish them.
        """
        system, path = self.located()
        system.create_dir(self._attempts(path))
        try:
            yield
        except BaseException:
            self.clear(keep_ready=can_finish())
            raise
        self.clear()

    def clear(self, *, keep_ready: bool = False) -> None:
        """Remove the folder of attempts; try again while a task that lost is still writing to it."""
        system, path = self.located()
        attempts = self._attempts(path)
        for _ in range(_TRIES):
            try:
                return self._remove(system, attempts, keep_ready=keep_ready)
            except OSError:
                time.sleep(0.2)
        told = f"{attempts} holds attempts that were not taken, with other noise on the same rows: delete it."
        warn(told)

    def _remove(self, system: pyarrow.fs.FileSystem, attempts: str, *, keep_ready: bool) -> None:
        if keep_ready and self._is_there(system, f"{attempts}/{_CERTIFICATE}"):
            for info in self._files(system, attempts):
                if info.base_name.endswith(".parquet"):
                    system.delete_file(info.path)
        elif self._is_there(system, attempts):
            system.delete_dir(attempts)

    def _files(self, system: pyarrow.fs.FileSystem, folder: str) -> list[pyarrow.fs.FileInfo]:
        """Return what is in a folder; nothing if there is no such folder."""
        from pyarrow import fs

        return list(system.get_file_info(fs.FileSelector(folder, allow_not_found=True)))

    @contextmanager
    def attempt(self, partition: int, attempt: int) -> Iterator[tuple[IO[bytes], dict[str, Any]]]:
        """Open a new file for this attempt of a task, on a worker; the dictionary describes it after it is closed."""
        system, path = self.located()
        name = f"{partition:06d}-{attempt}-{uuid4().hex}.parquet"
        described: dict[str, Any] = {}
        with system.open_output_stream(f"{self._attempts(path)}/{name}") as stream:
            digested = _Digested(stream)
            yield digested, described  # type: ignore[misc]
        described |= {"name": name, "sha256": digested.sha256.hexdigest(), "size": digested.size}

    def gather(self, parts: Sequence[Part]) -> tuple[str, str]:
        """Move the accepted parts out of the attempts, and return the path of their folder and its digest.

        An attempt that was not accepted may still be writing: its file is not moved.
        """
        system, path = self.located()
        ready = f"{self._attempts(path)}/{_READY}"
        system.create_dir(ready)
        digests = {}
        for number, part in enumerate(sorted(parts, key=lambda part: part.partition)):
            source = f"{self._attempts(path)}/{part.name}"
            if system.get_file_info(source).size != part.size:
                allowed = "a folder that the driver and all workers share"
                remedy = "Give the path of a shared folder, such as one on HDFS, S3 or NFS."
                raise InvalidFile(self.address, "files that the driver does not find", allowed, remedy)
            name = f"part-{number:06d}.parquet"
            system.move(source, f"{ready}/{name}")
            digests[name] = part.sha256
        return ready, digest_of_parts(digests)

    @property
    def ready(self) -> str:
        """The address of the accepted parts, before they are in place, as Spark reads it."""
        before, _, name = self.address.rpartition("/")
        return f"{before}/_{name}.{self.token}/ready" if before else f"_{name}.{self.token}/ready"

    def record(self, certificate: Certificate) -> None:
        """Write the certificate beside the accepted parts, so that a later run can publish both."""
        system, path = self.located()
        self._write(system, f"{self._attempts(path)}/{_CERTIFICATE}", certificate)

    def begun(self, sha256: str) -> tuple[Destination, Certificate] | None:
        """Return the destination of an earlier run with these parts, and their certificate.

        None if no such run was interrupted.
        """
        system, path = self.located()
        before = f"_{self.name}."
        for info in self._files(system, path.rpartition("/")[0] or "/"):
            facts = f"{info.path}/{_CERTIFICATE}"
            if info.base_name.startswith(before) and self._is_there(system, facts):
                account = self._read(system, facts)
                if account is not None and account["file"]["sha256"] == sha256:
                    return replace(self, token=info.base_name.removeprefix(before)), account
        return None

    def publish(self, certificate: Certificate, *, again: bool = False) -> None:
        """Put the accepted parts in their place, and then the certificate, as a whole, beside them.

        With `again`, an earlier run was interrupted, and some of its parts may be in place already. If that run is
        not dead but slow, both of them publish the same files, and each takes what the other has moved as done.
        """
        system, path = self.located()
        attempts = self._attempts(path)
        ready, objects = f"{attempts}/{_READY}", system.type_name in _OBJECTS
        parts = self._files(system, ready)
        if parts and self._is_there(system, path) and not (again and objects):
            remedy = "Move it away; with a key, then ask again with the same key, which costs nothing."
            raise FileUnavailable(self.address, "it exists by now", "a new folder", remedy)
        if objects:
            for info in parts:
                self._move(system, info.path, f"{path}/{info.base_name}")
        elif not self._is_there(system, path):
            self._move(system, ready, path)
        written = f"{attempts}/{uuid4().hex}.json"
        try:
            self._write(system, written, certificate)
            system.move(written, self._certificate(path))
        except OSError:
            if self.certified() is None:
                raise

    def _move(self, system: pyarrow.fs.FileSystem, source: str, target: str) -> None:
        """Move a file or a folder, unless another run with the same key has moved it meanwhile."""
        try:
            system.move(source, target)
        except OSError:
            if self._is_there(system, source) or not self._is_there(system, target):
                raise

    def certified(self) -> Certificate | None:
        """Return the certificate beside the folder; None if there is none that can be read."""
        system, path = self.located()
        return self._read(system, self._certificate(path))

    def _write(self, system: pyarrow.fs.FileSystem, path: str, facts: Certificate) -> None:
        with system.open_output_stream(path) as stream:
            stream.write((json.dumps(facts, indent=2) + "\n").encode())

    def _read(self, system: pyarrow.fs.FileSystem, path: str) -> Certificate | None:
        """Return the certificate in a file; None if there is no such file, or only a part of it."""
        if not self._is_there(system, path):
            return None
        with system.open_input_stream(path) as stream:
            try:
                return cast("Certificate", dict(json.loads(stream.read())))
            except ValueError:
                return None

    def digest(self) -> str:
        """Return the digest of the folder: that of the names and digests of its files.

        Accepted parts that are not in place yet count as if they were.
        """
        system, path = self.located()
        digests = {}
        for folder in (path, f"{self._attempts(path)}/{_READY}"):
            for info in self._files(system, folder):
                if info.base_name.endswith(".parquet"):
                    with system.open_input_stream(info.path) as stream:
                        digests[info.base_name] = hashlib.file_digest(stream, "sha256").hexdigest()
        return digest_of_parts(digests)
