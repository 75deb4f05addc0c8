"""The folder of a release: tasks write into a hidden folder, whose accepted files are moved into place."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter, warn
from geoveil.geo.formats.fingerprints import digest_of_parts

if TYPE_CHECKING:
    import pyarrow.fs

__all__ = ["Destination", "Part"]

#: File systems without folders: nothing can be renamed as a whole.
_OBJECTS = ("s3", "gcs", "abfs")
#: The number of tries to remove the folder of attempts.
_TRIES = 25


@dataclass(frozen=True)
class Part:
    """A file that an attempt of a task has written.

    Parameters
    ----------
    partition : int
        The number of the partition.
    name : str
        The name of the file among all attempts.
    sha256 : str
        Its digest.
    size, rows : int
        Its size in bytes, and its number of rows.
    """

    partition: int
    name: str
    sha256: str
    size: int
    rows: int


class _Digested:
    """A file that computes the digest of the bytes that are written to it."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.sha256, self.size = stream, hashlib.sha256(), 0
        self.closed = False

    def write(self, data: Any) -> int:
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
    """A folder of released files, its certificate beside it, and the hidden folder of attempts.

    Parameters
    ----------
    address : str
        A path, or the address of a folder in a file system that pyarrow knows.
    token : str
        Makes the hidden folder this release's own.
    """

    address: str
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
            raise InvalidParameter("path", self.address, allowed, str(problem)) from None
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
    def staged(self) -> Iterator[None]:
        """Provide the hidden folder of attempts; it is removed at the end, whatever happened."""
        system, path = self.located()
        system.create_dir(self._attempts(path))
        try:
            yield
        finally:
            self._remove(system, self._attempts(path))

    def _remove(self, system: pyarrow.fs.FileSystem, attempts: str) -> None:
        """Remove the folder of attempts; try again while a task that lost is still writing to it."""
        for _ in range(_TRIES):
            try:
                return system.delete_dir(attempts)  # type: ignore[no-any-return]
            except OSError:
                time.sleep(0.2)
        told = f"{attempts} holds attempts that were not taken, with other noise on the same rows: delete it."
        warn(told)

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
        ready = f"{self._attempts(path)}/ready"
        system.create_dir(ready)
        digests = {}
        for number, part in enumerate(sorted(parts, key=lambda part: part.partition)):
            found = f"{self._attempts(path)}/{part.name}"
            if system.get_file_info(found).size != part.size:
                allowed = "a folder that the driver and all workers share"
                remedy = "Give the path of a shared folder, such as one on HDFS, S3 or NFS."
                raise InvalidFile(self.address, "files that the driver does not find", allowed, remedy)
            name = f"part-{number:06d}.parquet"
            system.move(found, f"{ready}/{name}")
            digests[name] = part.sha256
        return ready, digest_of_parts(digests)

    @property
    def ready(self) -> str:
        """The address of the accepted parts, before they are in place, as Spark reads it."""
        before, _, name = self.address.rpartition("/")
        return f"{before}/_{name}.{self.token}/ready" if before else f"_{name}.{self.token}/ready"

    def publish(self, certificate: Mapping[str, Any]) -> None:
        """Put the accepted parts in their place, and the certificate beside them."""
        from pyarrow import fs

        system, path = self.located()
        ready = f"{self._attempts(path)}/ready"
        if self._is_there(system, path):
            raise FileUnavailable(self.address, "it exists by now", "a new folder", "Choose another name.")
        if system.type_name in _OBJECTS:
            for info in system.get_file_info(fs.FileSelector(ready)):
                system.move(info.path, f"{path}/{info.base_name}")
        else:
            system.move(ready, path)
        with system.open_output_stream(self._certificate(path)) as stream:
            stream.write((json.dumps(certificate, indent=2) + "\n").encode())

    def certified(self) -> dict[str, Any] | None:
        """Return the certificate beside the folder; None if there is none."""
        system, path = self.located()
        if not self._is_there(system, self._certificate(path)):
            return None
        with system.open_input_stream(self._certificate(path)) as stream:
            return dict(json.loads(stream.read()))

    def digest(self) -> str:
        """Return the digest of the folder: that of the names and digests of its files."""
        from pyarrow import fs

        system, path = self.located()
        digests = {}
        for info in system.get_file_info(fs.FileSelector(path)):
            if not info.base_name.endswith(".parquet"):
                continue
            with system.open_input_stream(info.path) as stream:
                digests[info.base_name] = hashlib.file_digest(stream, "sha256").hexdigest()
        return digest_of_parts(digests)
