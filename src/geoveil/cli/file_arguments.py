"""Input and output files of commands; `-` is stdin or stdout."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from geoveil.cli.command import gathered
from geoveil.cli.terminal import say, state
from geoveil.errors import FileUnavailable, InvalidParameter

if TYPE_CHECKING:
    from geoveil.certificates import SigningKey

__all__ = ["SOURCE", "Target", "distinct", "incoming", "tabular", "target", "target_of", "writable"]

#: The argument of commands that read a file.
SOURCE = click.argument("source", metavar="FILE", type=click.Path(allow_dash=True, readable=False))


@contextmanager
def incoming(source: str, form: str | None) -> Iterator[Path]:
    """Yield the path of a file; data from a pipe is kept in a private temporary file meanwhile."""
    if source != "-":
        if form is not None:
            raise click.UsageError("--format is for piped data; the format of a file follows from its ending.")
        yield Path(source)
        return
    from geoveil.geo.formats.workspace import workspace

    with workspace() as folder:
        path = folder / f"stdin.{form or 'csv'}"
        with path.open("wb") as held:
            path.chmod(0o600)
            shutil.copyfileobj(sys.stdin.buffer, held)
        yield path


def distinct(paths: Mapping[str, str | None]) -> None:
    """Refuse a file that is named twice on a command line, since an output would overwrite it."""
    known: dict[str, str] = {}
    for name, path in paths.items():
        if path is not None and path != "-":
            other = known.setdefault(os.path.normcase(os.path.realpath(path)), name)
            if other != name:
                raise click.UsageError(f"{other} and {name} are both {path}: name another file.")


def writable(path: str) -> None:
    """Refuse a file that cannot be written, before anything is charged."""
    folder = Path(path).absolute().parent
    if Path(path).is_dir():
        raise FileUnavailable(path, "this is a folder", "a file", "Choose another name.")
    if not folder.is_dir():
        raise FileUnavailable(
            path, f"there is no folder {folder}", "in an existing folder", "Create the folder first."
        )
    if not os.access(folder, os.W_OK):
        raise FileUnavailable(
            path,
            f"cannot be written, because the folder {folder} is read-only",
            "a file in another folder",
            "Choose another folder.",
        )


def tabular(path: str, option: str) -> None:
    """Refuse a table beside the output that cannot be written, before anything is charged."""
    from geoveil.geo.formats.atomic import check_target

    if Path(path).suffix.lower() != ".csv":
        raise InvalidParameter(option, path, "a file that ends in .csv", "Choose another name.")
    writable(path)
    check_target(Path(path), overwrite=state().overwrite)


@dataclass(frozen=True)
class Target:
    """The output file of a release, and its certificate."""

    #: A file; - is stdout.
    path: str | None
    #: Beside the file by default.
    certificate: str | None
    #: The path of the key that signs the certificate, and the key.
    sign: str = ""
    key: SigningKey | None = None

    @property
    def name(self) -> str:
        """The name of the output."""
        return "stdout" if self.path == "-" else str(self.path)

    @property
    def _apart(self) -> Path | None:
        """The path of the certificate, if it is not beside the file."""
        return None if self.certificate is None else Path(self.certificate).absolute()

    def check(self, endings: Sequence[str]) -> None:
        """Refuse an output that cannot be written. Data for a pipe has the first of the formats."""
        from geoveil.geo.formats import ending
        from geoveil.geo.formats.atomic import check_room, check_target

        if self.certificate is not None:
            if self.path is None:
                raise click.UsageError("--certificate goes with -o.")
            writable(self.certificate)
        if self.path == "-":
            if endings[0] in (".shp", ""):
                raise click.UsageError("A format of several files cannot be piped: name a file with -o.")
            if self._apart is not None:
                check_target(self._apart, overwrite=state().overwrite)
        elif self.path is not None:
            if ending(Path(self.path)) not in endings:
                allowed = f"a file that ends in {', '.join(endings)}" if any(endings) else "a new folder"
                raise InvalidParameter("-o", self.path, allowed, "Choose another name.")
            writable(self.path)
            check_target(Path(self.path), overwrite=state().overwrite, certificate=self._apart)
            check_room(Path(self.path))

    @contextmanager
    def opened(self, ending: str) -> Iterator[tuple[Path, bool]]:
        """Yield the path to write a release to, and whether an existing file is replaced there.

        Data for a pipe, and data whose certificate is kept apart, are written into a temporary folder first.
        """
        from geoveil.geo.formats.atomic import certificate_path, staging_folder
        from geoveil.geo.formats.workspace import workspace

        assert self.path is not None
        overwrite, apart = state().overwrite, self._apart
        with ExitStack() as stack:
            if self.path == "-":
                path = stack.enter_context(workspace()) / f"stdout{ending}"
                yield path, False
                if apart is not None:
                    with staging_folder(apart, overwrite=overwrite) as folder:
                        shutil.copyfile(certificate_path(path), folder / apart.name)
                state().released = self.name
                with path.open("rb") as held:
                    shutil.copyfileobj(held, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            elif apart is not None:
                target = Path(self.path)
                folder = stack.enter_context(staging_folder(target, overwrite=overwrite, certificate=apart))
                yield folder / target.name, False
            else:
                yield Path(self.path), overwrite
        state().released = self.name
        if self.path == "-" and self.certificate is None:
            say("The certificate was not kept: --certificate FILE keeps it.")

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The lines that name the file and its certificate."""
        from geoveil.geo.formats.atomic import certificate_path

        if self.path is None or self.path == "-":
            return [] if self.certificate is None else [("certificate", self.certificate)]
        return [("file", self.path), ("certificate", self.certificate or str(certificate_path(Path(self.path))))]


def target_of(target: str | None, certificate: str | None, sign: str | None) -> Target:
    """Return the output file that options name."""
    # Text must not be mixed with released data on stdout.
    state().piped = target == "-"
    if sign is not None and target is None:
        raise click.UsageError("--sign goes with -o: a certificate is signed together with its file.")
    return Target(target, certificate, sign or "", None if sign is None else private_key(sign))


def private_key(path: str) -> SigningKey:
    """Read a private key; ask for its passphrase if it needs one and the environment does not hold it."""
    from geoveil.certificates.signing_keys import PassphraseNeeded, SigningKey

    try:
        return SigningKey.load(path)
    except PassphraseNeeded:
        if not sys.stdin.isatty():
            raise
        asked: str = click.prompt(f"Passphrase of {path}", hide_input=True, err=True)
        return SigningKey.load(path, passphrase=asked)


target = gathered("target", target_of, ("target", "certificate", "sign"))
