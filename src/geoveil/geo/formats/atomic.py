"""Write files, and certificates beside them, completely or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from geoveil.errors import FileUnavailable, InvalidFile, Message
from geoveil.geo.formats.fingerprints import files_of
from geoveil.geo.formats.gdal import DRIVERS
from geoveil.geo.formats.guards import encodable, usable_name
from geoveil.geo.formats.side_files import SideFiles, read_with, side_files
from geoveil.geo.formats.workspace import workspace

__all__ = [
    "ROOM",
    "certificate_path",
    "check_room",
    "check_target",
    "replaced_files",
    "staging_folder",
    "write_atomically",
    "write_certificate",
]

#: Endings of files that describe an older target; styles are the user's own, and stay.
_DESCRIPTIONS = (".qmd", ".xml")
#: The bytes that an answer and its certificate need at least.
ROOM = 2**21
#: Endings of files beside a table or a raster that may be parts of other data with the same name, such as a shapefile.
_OF_OTHERS = (".prj", ".tab")


@contextmanager
def staging_folder(
    target: Path, *, overwrite: bool = False, certificate: Path | None = None, folder: bool = False
) -> Iterator[Path]:
    """Provide a temporary folder in which a target is written; nobody else can write the target meanwhile.

    At the end, the old target and its certificate are taken away, the certificate first, and then all files of the
    folder are moved beside the target, the target last. After an error everything is as before. A process that is
    killed leaves the old files, or the new ones, or one without the other: never a file beside the certificate of
    another.

    Parameters
    ----------
    target : Path
        The file to be written.
    overwrite : bool
        Whether an existing target is replaced; otherwise it is refused.
    certificate : Path, optional
        The path of the certificate, if it is not to be beside the target.
    folder : bool
        Whether an existing target may be a folder, which is replaced with all files in it.
    """
    check_target(target, overwrite=overwrite, certificate=certificate, folder=folder)
    parent = target.absolute().parent
    with _locked(target.absolute()), ExitStack() as stack:
        # Another program may have written it just before it was locked.
        check_target(target, overwrite=overwrite, certificate=certificate, folder=folder)
        staging = stack.enter_context(workspace(parent))
        yield staging
        staged = {
            path: parent / path.name for path in sorted(staging.iterdir(), key=lambda path: path.name == target.name)
        }
        asides = {parent: stack.enter_context(workspace(parent))}
        if certificate is not None:
            certificate = certificate.absolute()
            # It may be on another disk, to which it cannot be renamed.
            elsewhere = stack.enter_context(workspace(certificate.parent))
            asides.setdefault(certificate.parent, elsewhere)
            written = certificate_path(staging / target.name)
            shutil.copyfile(written, elsewhere / "certificate")
            del staged[written]
            staged = {elsewhere / "certificate": certificate, **staged}
        for path in staged:
            _flush(path)
        replaced = check_target(target, overwrite=overwrite, certificate=certificate, folder=folder)
        _exchange(replaced, asides, staged)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Lock a target while it is written; refuse one that another program writes.

    The system ends the lock with the process, in whatever way that ends. Where a file system has no locks, nothing is
    locked.
    """
    from filelock import FileLock, Timeout

    # A digest, since the name itself may be as long as a file system allows. Some systems ignore capitals.
    name = hashlib.sha256(os.fsencode(target.name.casefold())).hexdigest()[:16]
    path = target.with_name(f".geoveil-{name}.lock")
    lock = FileLock(path, timeout=0, mode=0o600, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        remedy = "Wait until it has finished, or choose another name."
        raise FileUnavailable(str(target), "another program is writing it", "a file of your own", remedy) from None
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        # Removed while it is locked: whoever has opened it meanwhile sees that it has no name any more, and opens
        # another. Windows removes a file only after it was closed, and only if nobody else has opened it.
        with suppress(OSError):
            path.unlink()
        lock.release(force=True)
        if sys.platform == "win32":
            with suppress(OSError):
                path.unlink()


def _exchange(old: Iterable[Path], asides: Mapping[Path, Path], staged: Mapping[Path, Path]) -> None:
    """Take old files away and put staged ones in their places; after an error, undo all of it.

    Parameters
    ----------
    old : iterable of Path
        The files that are replaced, their certificate first.
    asides : mapping from Path to Path
        A temporary folder for them in each folder.
    staged : mapping from Path to Path
        The places of new files, the target last.
    """
    taken: list[tuple[Path, Path]] = []
    placed: list[tuple[Path, Path]] = []
    try:
        for number, path in enumerate(old):
            kept = asides[path.parent] / f"replaced-{number}"
            os.replace(path, kept)
            taken.append((kept, path))
        if taken:
            # The disk must know that the old certificate is gone before it knows the new file.
            _flush_folders(asides)
        for path, final in staged.items():
            os.replace(path, final)
            placed.append((path, final))
        _flush_folders(asides)
    except BaseException:
        # New files go first and the old certificate comes last, so that no step leaves a file with the certificate of
        # another.
        for path, final in reversed(placed):
            os.replace(final, path)
        for kept, path in reversed(taken):
            os.replace(kept, path)
        raise


def check_target(
    target: Path,
    *,
    overwrite: bool,
    certificate: Path | None = None,
    setting: str = "overwrite:True",
    folder: bool = False,
) -> list[Path]:
    """Refuse a target that cannot be written, and one that exists unless it is to be overwritten by a setting.

    Return the existing files that are replaced or removed with it, its certificate first.
    """
    encodable(target)
    if target.suffix.lower() in DRIVERS:
        usable_name(target)
    parent = target.absolute().parent
    if not parent.is_dir():
        raise InvalidFile(str(target), str(parent), "in an existing folder", "Create the folder first.")
    if target.is_dir() and not folder:
        remedy = "Choose another name, or remove the folder."
        raise InvalidFile(str(target), "an existing folder", "a new name", remedy)
    # The folder is listed once.
    beside = _beside(target)
    for path in _of_others(target, beside):
        reason = f"programs would read {path.name} together with it"
        remedy = "Choose another name, or another folder."
        raise FileUnavailable(str(target), reason, "a name that no other data has", remedy)
    for path in _changed_by(target):
        reason = f"programs would read its coordinate system together with {path.name}, which was released before"
        remedy = "Choose another name, or another folder."
        raise FileUnavailable(str(target), reason, "a name that no other release has", remedy)
    existing = _existing(target, certificate, beside)
    if existing and not overwrite:
        named = target if target.absolute() in existing else existing[0]
        instead = Message(f"Choose another name, or replace it with {{{setting}}}.")
        raise FileUnavailable(str(named), "it exists", "a new name", instead)
    _check_free(existing)
    return existing


def check_room(target: Path, needed: int = ROOM) -> None:
    """Refuse a target for which the disk has not enough room, given about how many bytes it needs."""
    try:
        usage = shutil.disk_usage(target.absolute().parent)
    except OSError:
        return
    # Some network file systems do not know their size, and say that it is zero.
    if usage.total and needed > usage.free:
        reason = f"it needs about {_size(needed)}, and the disk has {_size(usage.free)} free"
        raise FileUnavailable(str(target), reason, "on a disk with enough room", "Free some, or choose another disk.")


def _size(count: int) -> str:
    """Return a number of bytes in MB, with one digit after the point below 10 MB."""
    return f"{count / 1e6:,.1f} MB" if count < 1e7 else f"{count / 1e6:,.0f} MB"


def _existing(target: Path, certificate: Path | None, beside: SideFiles) -> list[Path]:
    """Return the existing files that are replaced or removed with a target, its certificate first."""
    target = target.absolute()
    own = [] if certificate is None else [certificate.absolute()]
    paths = dict.fromkeys((*own, certificate_path(target), *_stale(target, beside), target))
    return [path for path in paths if os.path.lexists(path)]


def _check_free(existing: Iterable[Path]) -> None:
    """Refuse files that could not be replaced later: Windows replaces no file that another program has open."""
    for path in existing:
        try:
            path.replace(path)  # does nothing where it can be done
        except FileNotFoundError:
            pass
        except OSError as problem:
            reason = f"cannot be replaced ({problem.strerror or problem})"
            remedy = "Close it in other programs, or choose another name."
            raise FileUnavailable(str(path), reason, "a file that nobody uses", remedy) from None


def _beside(target: Path) -> SideFiles:
    """Return the files beside a target that are not part of it; a folder is replaced as a whole."""
    return SideFiles([], []) if target.is_dir() else side_files(target)


def _stale(target: Path, beside: SideFiles) -> list[Path]:
    """Return the files beside a target that would be taken for parts of a new one."""
    if target.is_dir():
        return []
    described = [path for path in beside.drawn if path.suffix.lower() in _DESCRIPTIONS]
    parts = [path for path in (*files_of(target), *beside.read, *described) if path.parent == target.parent]
    kept = {target, *_of_others(target, beside)}
    return [path for path in parts if path not in kept]


def _of_others(target: Path, beside: SideFiles) -> list[Path]:
    """Return the files beside a target that programs read with it and that may belong to other data."""
    if target.suffix.lower() == ".shp":
        return []
    return [path for path in beside.read if path.suffix.lower() in _OF_OTHERS]


def _changed_by(target: Path) -> list[Path]:
    """Return released tables and rasters beside a shapefile of which programs would read its .prj file."""
    if target.suffix.lower() != ".shp":
        return []
    files = read_with(target.absolute().with_suffix(".prj"))
    return [path for path in files if path.suffix.lower() != ".shp" and certificate_path(path).exists()]


def replaced_files(target: Path) -> list[Path]:
    """Return all files that are replaced or removed when a target and its certificate are written."""
    return [target, certificate_path(target), *_stale(target, _beside(target))]


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write one file completely or not at all, in place of an older one: `write` is called with a temporary path."""
    with staging_folder(path, overwrite=True) as folder:
        write(folder / path.name)


def certificate_path(path: Path) -> Path:
    """Return the path of the certificate of a released file."""
    return path.with_name(path.name + ".certificate.json")


def write_certificate(path: Path, account: Mapping[str, object]) -> None:
    """Write a certificate beside a released file."""
    certificate_path(path).write_text(json.dumps(account, indent=2) + "\n", encoding="utf-8", newline="\n")


def _flush(path: Path) -> None:
    """Flush a file to the disk, so that a crash cannot leave a part of it under its final name."""
    for file in files_of(path):
        # Windows flushes only files that are open for writing.
        with file.open("r+b") as handle:
            os.fsync(handle.fileno())
    if path.is_dir():
        _flush_folders([path])


def _flush_folders(folders: Iterable[Path]) -> None:
    """Flush the names in folders to the disk, where the system can do that; Windows cannot open a folder."""
    if sys.platform == "win32":
        return
    for folder in folders:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as problem:
            if problem.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(handle)
