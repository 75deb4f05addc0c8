"""Pseudonyms: random labels in place of those of persons, which the owner may keep in a key file.

A pseudonym is drawn from the operating system's randomness and depends on nothing else; a hash of the label could be
found again by whoever can guess the label.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from filelock import FileLock

from geoveil._types import Labels, Pseudonyms
from geoveil.errors import FileUnavailable, InvalidData, InvalidFile, InvalidParameter, Message, warn
from geoveil.geo.row_filters import RowFilter
from geoveil.host.private_files import write_private
from geoveil.noise import random_bytes

__all__ = ["check_key_file", "check_pseudonyms", "pseudonyms_of"]

#: Sixteen consonants: no pseudonym is a word, a number, a formula or a missing value to any program.
_LETTERS = "bcdfghjklmnpqrst"
_LENGTH = 12
_HEADER = ["person", "pseudonym"]


def check_pseudonyms(pseudonyms: Pseudonyms, by: Labels, where: RowFilter | None = None) -> None:
    """Refuse pseudonyms of persons who are not named by `by`, or whom the filter names.

    Parameters
    ----------
    pseudonyms : bool, str or Path
        Whether persons get pseudonyms, or the key file that keeps them.
    by : str or array of labels, optional
        The persons.
    where : RowFilter, optional
        The filter, which certificates state.
    """
    if not isinstance(pseudonyms, bool | str | os.PathLike) or pseudonyms == "":
        allowed = "True, False or the path of a key file"
        raise InvalidParameter("pseudonyms", pseudonyms, allowed, "Leave it out to release labels unchanged.")
    if pseudonyms is False:
        return
    if by is None:
        remedy = Message("Name the column of persons with {person}.")
        raise InvalidParameter("pseudonyms", pseudonyms, Message("left out without {person}"), remedy)
    if where is not None and by in where.columns:
        allowed = f"a filter without the column {by!r}: certificates state the filter, and {by!r} gets pseudonyms"
        raise InvalidParameter(
            "where", where.text, allowed, Message("Select these rows first, or leave {pseudonyms} out.")
        )


def check_key_file(pseudonyms: Pseudonyms, source: Path | None, target: Path, certificate: Path) -> None:
    """Refuse a key file that is another file of the release; warn of one that may be shared with it."""
    if isinstance(pseudonyms, bool):
        return
    key = Path(pseudonyms)
    for other in (source, target, certificate):
        if other is not None and os.path.realpath(key) == os.path.realpath(other):
            allowed = "a separate file: not the source, the released file or its certificate"
            raise InvalidParameter("pseudonyms", str(key), allowed, "Choose another name.")
    if os.path.realpath(key.parent) == os.path.realpath(target.parent):
        message = (
            f"The key file {key} is in the folder of the released file. It says who is who: keep it elsewhere, and do "
            "not share it."
        )
        warn(message)


def pseudonyms_of(labels: Sequence[object], pseudonyms: Pseudonyms) -> list[str]:
    """Return a random label for each person; with a key file, the one that it has, and new ones are added to it.

    Parameters
    ----------
    labels : sequence
        The labels of persons, each once.
    pseudonyms : True, str or Path
        The key file, if there is one. It is written before anything is released, readable by its owner only.
    """
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        allowed = "labels that differ when they are written as texts"
        raise InvalidData("person", f"{len(names)} labels", allowed, "Rename some of them.")
    if isinstance(pseudonyms, bool):
        return [*_drawn(names, {}).values()]
    key = Path(pseudonyms)
    try:
        # Two releases at the same time would give one person two pseudonyms.
        with FileLock(key.with_name(f".{key.name}.lock"), mode=0o600):
            known = _read(key)
            drawn = _drawn(names, known)
            if new := {name: drawn[name] for name in names if name not in known}:
                _write(key, known | new)
    except OSError as problem:
        why = f"cannot be read or written ({problem.strerror or problem})"
        raise FileUnavailable(str(key), why, "a file that can be written", "Choose another folder.") from None
    return [drawn[name] for name in names]


def _drawn(names: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Return the pseudonym of each name: the known one, or a new one that nobody else has."""
    taken = set(known.values())
    drawn = {}
    for name in names:
        pseudonym = known.get(name) or _random()
        while name not in known and pseudonym in taken:
            pseudonym = _random()
        taken.add(pseudonym)
        drawn[name] = pseudonym
    return drawn


def _random() -> str:
    # Sixteen letters divide the 256 values of a byte: all pseudonyms are equally likely.
    return "".join(_LETTERS[byte % 16] for byte in random_bytes(_LENGTH))


def _read(key: Path) -> dict[str, str]:
    """Return the pseudonyms in a key file, by the label of the person; none if there is no file yet."""
    try:
        with key.open(encoding="utf-8", newline="") as held:
            rows = [*csv.reader(held)]
    except FileNotFoundError:
        return {}
    except (UnicodeError, csv.Error):
        rows = []
    pairs = dict(row for row in rows[1:] if len(row) == 2)
    whole = len(pairs) == len(rows) - 1 and len(set(pairs.values())) == len(pairs)
    if not rows or rows[0] != _HEADER or not whole:
        remedy = "Name a new file, or the key file of an earlier release; without one, give the option no value."
        allowed = f"a key file: lines of {','.join(_HEADER)}, each person and each pseudonym once"
        raise InvalidFile(str(key), "another file", allowed, remedy)
    return pairs


def _write(key: Path, pairs: Mapping[str, str]) -> None:
    """Write a key file whole, readable by its owner only."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([_HEADER, *pairs.items()])
    write_private(key, text.getvalue())
