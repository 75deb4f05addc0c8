"""Entries of a ledger's history: their fields, the hash chain that links them, and the texts that they may contain.

Each hash covers an entry and the hash before it, so that changes are detected.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeGuard

from geoveil.errors import InvalidParameter
from geoveil.host.processes import this_process

__all__ = [
    *("FIRST", "MAYBE_STORED", "SPENT", "STORED", "WRITE", "WRITE_OFF", "Charge", "Entry", "Line", "Postings"),
    *("digest", "key_digest", "link", "parameters_text", "postings_digest", "secret_of", "subject_name"),
    *("subject_names", "text"),
]

#: Note on every error that is raised between a charge and its release.
SPENT = "The charge is spent, since the data may have been read. Asking again costs again."
#: The note on an error while an answer with a key was stored: it may be stored, as may that of another process.
MAYBE_STORED = (
    "The charge is spent. Asking again with the same key or label costs nothing if an answer is stored by then, and "
    "costs again otherwise."
)
#: The note on an error after the answer was stored under a key.
STORED = "The answer was charged and stored. Asking again with the same key or label costs nothing."
#: The event of a file that an answer is written to after it was stored.
WRITE = "write"
#: The event of a restore after which accounts may be missing. An account that is opened later has a reason to be new.
WRITE_OFF = "write off"

#: The hash before the first entry.
FIRST = "0" * 64
#: Environment variables with the secret itself, and with the path of a file that holds it.
_SECRET = "GEOVEIL_LEDGER_SECRET"
_SECRET_FILE = "GEOVEIL_LEDGER_SECRET_FILE"
#: Shown instead of a secret in messages, which must not repeat it.
_HIDDEN = "..."
#: Largest number of characters in a name: PostgreSQL's indexes hold 2 704 bytes, and a character takes up to 4.
_LONGEST = 500

#: The effect of an entry on accounts: pairs of a subject and the amount charged, or the total set.
Postings: TypeAlias = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Entry:
    """An entry of the history, to which a certificate refers.

    Parameters
    ----------
    ledger : str
        Id of the ledger.
    number : int
        Number of the entry, counted from 1.
    hash : str
        Hash of the entry and of all entries before it.

    Examples
    --------
    >>> ledger = gv.Ledger(folder / "budget.db")
    >>> _ = ledger.create("ann", "bob", rho=1e-3)
    >>> entry = ledger.create("eve", rho=1e-3)
    >>> entry.number, entry.ledger == ledger.id
    (2, True)
    """

    ledger: str
    number: int
    hash: str

    def certificate(self) -> dict[str, str | int]:
        """Return the entry's fields of a certificate.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> sorted(ledger.create("ann", rho=1e-3).certificate())
        ['hash', 'ledger', 'number']
        """
        return {"ledger": self.ledger, "number": self.number, "hash": self.hash}


@dataclass(frozen=True)
class Charge:
    """The charge for a release, with the amount of each subject. It pays for one attempt to draw it."""

    entry: Entry
    amounts: Mapping[str, Decimal]
    #: Subjects without enough budget, who must be removed from the release.
    skipped: tuple[str, ...]
    #: Digest of the question's key, if it has one.
    key: str | None = None
    #: The release, if it was stored before; then nothing was charged.
    content: str | None = None
    #: Identifies the attempt.
    token: str = ""
    #: The process that was charged; a fork of it may not store an answer.
    process: tuple[int, bytes] = field(default_factory=this_process)


class Line(NamedTuple):
    """An entry as a row of the history; its hash covers all columns before it, and the id of the ledger."""

    number: int
    time: str
    event: str
    query: str
    parameters: str
    notion: str
    metric: str
    amount: str
    release: str
    key: str
    postings: str
    hash: str

    def linked(self, ledger: str, previous: str, secret: bytes | None) -> str:
        """Return the hash that the entry must have after the previous one."""
        content = self._asdict()
        del content["hash"]
        return link(previous, {**content, "ledger": ledger}, secret)


def link(previous: str, entry: Mapping[str, str | int], secret: bytes | None = None) -> str:
    """Return the hash of an entry, given the hash of the previous one: SHA-256, or HMAC-SHA-256 with a secret."""
    content = json.dumps([previous, dict(entry)], sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    if secret is None:
        return hashlib.sha256(content).hexdigest()
    return hmac.new(secret, content, hashlib.sha256).hexdigest()


def digest(content: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(content.encode()).hexdigest()


def postings_digest(postings: Postings) -> str:
    """Return the digest of an entry's postings, independent of their order."""
    return digest(json.dumps(sorted(postings), separators=(",", ":"), ensure_ascii=True))


def secret_of(secret: bytes | os.PathLike[str] | None) -> bytes | None:
    """Return the secret of the chain: the given one, also as the path of a file, or that of the environment."""
    if secret is not None:
        return _long_enough("secret", secret if isinstance(secret, bytes) else _read("secret", secret))
    value, path = os.environ.get(_SECRET), os.environ.get(_SECRET_FILE)
    if value and path:
        raise InvalidParameter(_SECRET, _HIDDEN, f"left out where {_SECRET_FILE} is given", "Set one of the two.")
    if path:
        return _long_enough(_SECRET_FILE, _read(_SECRET_FILE, path))
    if not value:
        return None
    folder = os.path.dirname(value)
    if os.path.exists(value) or (folder.strip("/") != "" and os.path.isdir(folder)):
        remedy = f"Put the path of a file that contains the secret into {_SECRET_FILE}."
        raise InvalidParameter(_SECRET, _HIDDEN, "the secret itself, not the path of a file", remedy)
    return _long_enough(_SECRET, os.fsencode(value))


def _read(argument: str, path: str | os.PathLike[str]) -> bytes:
    """Return the secret in a file: all of its bytes except a newline at the end, which editors add."""
    try:
        data = Path(path).read_bytes()
    except (OSError, TypeError, ValueError) as problem:
        # The caller may have given the secret itself as a text, so the message does not repeat it.
        why = getattr(problem, "strerror", None) or "it is not a path"
        allowed = "the path of a file that contains the secret"
        allowed += ", or the secret as bytes" if argument == "secret" else ""
        raise InvalidParameter(argument, _HIDDEN, allowed, f"The file cannot be read: {why}.") from None
    return re.sub(rb"\r?\n\Z", b"", data)


def _long_enough(argument: str, secret: bytes) -> bytes:
    if len(secret) < 16:
        remedy = "Generate 32 random bytes: head -c 32 /dev/urandom > ledger.secret"
        raise InvalidParameter(argument, _HIDDEN, "a secret of at least 16 bytes", remedy)
    return secret


# Texts are validated before a request joins a batch with others.


def subject_name(subject: object) -> str:
    """Return a subject's name, or raise InvalidParameter if it is not a valid one."""
    if not _is_text(subject) or not subject.strip() or "\x00" in subject or len(subject) > _LONGEST:
        allowed = f"a name of at most {_LONGEST} characters"
        raise InvalidParameter("subject", subject, allowed, "Give the name of a person, a device or a data set.")
    return str.__str__(subject)


def subject_names(subjects: Sequence[str]) -> list[str]:
    """Return the names of at least one subject, or raise InvalidParameter if a name is given twice."""
    names = [subject_name(subject) for subject in subjects]
    if not names or len(set(names)) < len(names):
        raise InvalidParameter("subjects", subjects, "at least one name, and no name twice", "Name each subject once.")
    return names


def text(argument: str, value: object) -> str:
    """Return a text, or raise InvalidParameter if a database column cannot hold it."""
    if not _is_text(value) or "\x00" in value:
        remedy = "Leave out NUL characters and lone surrogates."
        raise InvalidParameter(argument, value, "a text that can be written in UTF-8", remedy)
    return str.__str__(value)


def parameters_text(parameters: Mapping[str, object] | None) -> str:
    """Return parameters as canonical JSON: the same text for equal parameters."""
    try:
        return json.dumps(dict(parameters or {}), sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError) as problem:
        remedy = f"Give numbers and texts: {problem}."
        raise InvalidParameter("parameters", parameters, "valid JSON values", remedy) from None


def key_digest(key: object) -> str:
    """Return the digest of a question's key, which the ledger stores instead of the key.

    It is a digest of the question, which is public, and never of the data: from the digest of a location, anyone could
    find the location by trying all locations.
    """
    if not _is_text(key):
        raise InvalidParameter("key", key, "a text that can be written in UTF-8", "Leave out lone surrogates.")
    return digest(key)


def _is_text(value: object) -> TypeGuard[str]:
    if not isinstance(value, str):
        return False
    try:
        str.encode(value)
    except UnicodeEncodeError:
        return False
    return True
