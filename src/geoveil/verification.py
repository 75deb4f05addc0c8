"""Check a released file against its certificate, a ledger and a public key."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from geoveil.answering.charging import check_ledger
from geoveil.answering.noise_check import noise_problems
from geoveil.budget import Charges, Ledger
from geoveil.certificates import (
    SCHEMA,
    Certificate,
    PublicKey,
    checked_signature,
    read_certificate,
    schema_problems,
    trusted_keys,
)
from geoveil.errors import FileUnavailable, InvalidFile, InvalidInput, LedgerTampered
from geoveil.facts.wording import guarantee_line
from geoveil.geo.formats.atomic import certificate_path
from geoveil.geo.formats.fingerprints import digest
from geoveil.geo.formats.side_files import side_files
from geoveil.host.arithmetic import steady
from geoveil.privacy import CGP, certified
from geoveil.text.messages import PYTHON, Message, Naming, Text, worded
from geoveil.text.words import counted
from geoveil.zones import is_of_zones, zones_problems, zones_stated

__all__ = ["CANNOT_TELL", "Check", "Verification", "verify"]

#: The outcome of a check, and of all of them: right, wrong, or not known.
Verdict: TypeAlias = Literal["holds", "fails", "open"]

#: What every verification says.
CANNOT_TELL = "No verification can tell whether the noise was really drawn: that rests on whoever made the release."
#: The largest text file that is searched for what rewrote it, and the mark with which some programs begin one.
_MOST_REWRITTEN = 2**28
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Check:
    """One of the questions about a released file, and its answer.

    Parameters
    ----------
    name : {"certificate", "file", "noise", "ledger", "signature"}
        What was checked.
    outcome : {"holds", "fails", "open"}
        Whether it is right, wrong, or not known.
    text : str or Message
        The answer in words.
    asked : bool
        Whether the caller asked for this check by giving a ledger. If its outcome is "open" then, so is that of the
        verification.

    Examples
    --------
    >>> path = gv.Locations(homes, area=bay).mean(rho=1e-4).to_file(folder / "mean.csv")
    >>> gv.verify(path).checks[1].text
    'It is the file that was released with this certificate.'
    """

    name: str
    outcome: Verdict
    text: Text
    asked: bool = False


@dataclass(frozen=True, repr=False)
class Verification:
    """The result of `verify`. It is true if nothing was found to be wrong and everything that was asked is known.

    Parameters
    ----------
    path : Path
        The released file.
    certificate : dict, optional
        Its certificate, if one was found that can be read.
    checks : tuple of Check
        What was checked: the certificate, the file, the noise, the ledger and the signature.
    signer : PublicKey, optional
        The key that signed the certificate, if the signature is valid.
    trusted : bool
        Whether that key is the one that was given, or one that the user trusts.

    Examples
    --------
    >>> path = gv.Locations(homes, area=bay).mean(rho=1e-4).to_file(folder / "mean.csv")
    >>> found = gv.verify(path)
    >>> found.holds, found.signer, found.certificate["rho"]
    (True, None, '0.0001')
    """

    path: Path
    certificate: Certificate | None
    checks: tuple[Check, ...]
    signer: PublicKey | None = None
    trusted: bool = False

    @property
    def outcome(self) -> Verdict:
        """The outcome of all checks: "open" if nothing is wrong, and a check that was asked for has no answer."""
        if any(check.outcome == "fails" for check in self.checks):
            return "fails"
        return "open" if any(check.outcome == "open" and check.asked for check in self.checks) else "holds"

    @property
    def holds(self) -> bool:
        """Whether nothing was found to be wrong, and every check that was asked for has an answer."""
        return self.outcome == "holds"

    @property
    def summary(self) -> str:
        """The result in a few words."""
        if self.outcome == "fails":
            return f"NOT as certified: {', '.join(check.name for check in self.checks if check.outcome == 'fails')}"
        if self.outcome == "open":
            unknown = [check.name for check in self.checks if check.outcome == "open" and check.asked]
            return f"NOT KNOWN to be as certified: {', '.join(unknown)}"
        unanswered = [check.name for check in self.checks if check.outcome == "open"]
        return f"as certified{', not checked: ' if unanswered else ''}{', '.join(unanswered)}"

    def __bool__(self) -> bool:
        return self.holds

    def to_dict(self, naming: Naming = PYTHON) -> dict[str, Any]:
        """Return the result as data that can be written as JSON.

        Examples
        --------
        >>> path = gv.Locations(homes, area=bay).mean(rho=1e-4).to_file(folder / "mean.csv")
        >>> gv.verify(path).to_dict()["checks"][0]["outcome"]
        'holds'
        """
        return {
            "file": str(self.path),
            "holds": self.holds,
            "outcome": self.outcome,
            "checks": [
                {"name": check.name, "outcome": check.outcome, "text": worded(check.text, naming)}
                for check in self.checks
            ],
            "signer": None if self.signer is None else self.signer.fingerprint,
            "trusted": self.trusted,
            "cannot_tell": CANNOT_TELL,
            "id": None if self.certificate is None else self.certificate.get("id"),
        }

    def __repr__(self) -> str:
        head = f"Verification of {self.path.name}: {self.summary}"
        lines = [f"  {check.name:<12} {check.outcome:<6} {worded(check.text, PYTHON)}" for check in self.checks]
        return "\n".join([head, *lines, f"  {CANNOT_TELL}"])


@steady()
def verify(
    path: str | os.PathLike[str],
    *,
    ledger: Ledger | None = None,
    key: PublicKey | str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
) -> Verification:
    r"""Check that a released file is the one that its certificate was written for, and that the certificate is sound.

    Parameters
    ----------
    path : str or Path
        A file that `Locations.points` or `Release.to_file` wrote.
    ledger : Ledger, optional
        The ledger in which it must have been charged; its whole history is verified as well. It knows the files and
        the certificates that a question wrote with `to=`, and `Release.to_file` in the same process. A file that was
        written from a loaded or unpickled release it does not know: then the outcome is "open".
    key : PublicKey, or path of a public key, optional
        The key that must have signed the certificate. Without it, keys that the user trusts are tried.
    certificate : str or Path, optional
        The certificate, if it is not beside the file.

    Returns
    -------
    Verification
        True if nothing is wrong. A check that could not be made is "open"; if a ledger was given and cannot tell, the
        result is not true either.

    Notes
    -----
    Without a signature or a ledger, a file and a certificate that were changed together cannot be told from a release:
    then only mistakes are found. A file cannot show that the stated noise was really added.

    Programs read some files together with the released one: a journal of SQLite beside a GeoPackage, coordinate
    systems and indexes beside a Shapefile, .aux.xml and world files beside a GeoTIFF. The check of the file fails
    while one is there that was not released. It names styles, which only change how a file is drawn.

    Examples
    --------
    >>> _ = (folder / "trips.csv").write_text("user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n")
    >>> key = gv.SigningKey.create("city-lab")
    >>> trips = gv.Locations(folder / "trips.csv", person="user", area=bay, sign=key)
    >>> release = trips.points(to=folder / "out.csv", rho=5e-5)
    >>> found = gv.verify(folder / "out.csv", key=key.public)
    >>> found.holds, found.signer.name
    (True, 'city-lab')
    >>> with (folder / "out.csv").open("a") as file:
    ...     _ = file.write("eve,37.7,-122.4,245,5e-05\n")
    >>> gv.verify(folder / "out.csv").checks[1].text
    'The file was changed, or the certificate is that of another file: their SHA-256 differ.'
    """
    path = Path(path)
    if not path.exists():
        raise FileUnavailable(str(path), "file not found", "a released file", "Check the path.")
    check_ledger(ledger, person=True, subject=None, label=None, short="refuse")
    public = key if isinstance(key, PublicKey | None) else PublicKey.load(key)
    beside = certificate_path(path) if certificate is None else Path(certificate)
    try:
        stated = read_certificate(beside)
    except InvalidFile as problem:
        return Verification(path, None, (Check("certificate", "fails", f"{problem}"),))
    zones = is_of_zones(stated)
    whole = _zones_certificate(stated) if zones else _certificate(stated)
    if whole.outcome == "fails":
        return Verification(path, stated, (whole,))
    file = _file(path, stated)
    same = file.outcome == "holds"
    if not same:
        noise = _open("noise", "The noise cannot be compared with a file that was changed.")
    else:
        noise = _discs(stated) if zones else _noise(path, stated)
    charged = _centres_charged(stated, ledger) if zones else _ledger(stated, ledger)
    signature, signer, trusted = _signature(stated, public)
    return Verification(path, stated, (whole, file, noise, charged, signature), signer, trusted)


def _open(name: str, text: Text) -> Check:
    return Check(name, "open", text)


def _certificate(certificate: Certificate) -> Check:
    """Check the certificate against the schema, and that statements in it agree with each other."""
    version = certificate.get("schema")
    if version != SCHEMA or isinstance(version, bool):
        known = "an older or newer version of geoveil" if isinstance(version, int) else "another program"
        said = f"The certificate is from {known}: its schema is {version!r}, and this version reads {SCHEMA}."
        return Check("certificate", "fails", said)
    problems = schema_problems(certificate)
    if "file" not in certificate:
        problems.append("file: it is missing, so that the certificate belongs to no file")
    if not problems:
        guarantee = certified(certificate)
        stated = {name: certificate.get(name) for name in guarantee.certificate()}
        if stated != guarantee.certificate():
            problems.append(f"guarantee: {stated} contradicts itself")
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Check("certificate", "fails", f"The certificate is damaged: {problems[0][:300]}{more}.")
    promised = guarantee_line(certified(certificate))
    return Check("certificate", "holds", f"It is complete, and it states: {promised}.")


def _zones_certificate(certificate: Certificate) -> Check:
    """Check the certificate of tracks that were cut."""
    problems = zones_problems(certificate)
    if "file" not in certificate:
        problems.append("file: it is missing, so that the certificate belongs to no file")
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Check("certificate", "fails", f"The certificate is damaged: {problems[0][:300]}{more}.")
    discs = counted(len(zones_stated(certificate)), "disc")
    return Check("certificate", "holds", f"It is complete, and it states {discs} from which nothing is published.")


def _discs(certificate: Certificate) -> Check:
    said = "The discs are as large as what they hide needs: it was computed again."
    return Check("noise", "holds", said)


def _charged_centre(rho: str, entry: dict[str, Any]) -> Certificate:
    """Return what the certificate of a charged centre would state, by which a ledger checks its entry."""
    asked = {"query": "hide_places", "processed": [], "id": entry["centre"], "entry": entry}
    return cast("Certificate", {**CGP(rho=rho).certificate(), **asked})


def _centres_charged(certificate: Certificate, ledger: Ledger | None) -> Check:
    """Check that a ledger charged the centres."""
    entries = cast("dict[str, Any]", certificate)["entries"]
    if ledger is None:
        charged = "The certificate states that a ledger was charged; give {ledger} to check that."
        return _open("ledger", Message(charged if entries else "The release was made without a ledger."))
    if not entries:
        return Check("ledger", "fails", "The release was made without a ledger, so this one did not charge it.")
    known = {zone.id: zone.hiding.law for zone in zones_stated(certificate)}
    try:
        if {entry["centre"] for entry in entries} != set(known):
            raise LedgerTampered("it charged other centres.")
        count = ledger.verify(_charged_centre(known[each["centre"]].rho, each) for each in entries)
    except (LedgerTampered, InvalidInput, KeyError) as problem:
        return Check("ledger", "fails", f"The ledger does not confirm it: {problem}")
    said = f"The ledger charged {counted(len(known), 'centre')}; all {count} entries are intact."
    return Check("ledger", "holds", said)


def _file(path: Path, certificate: Certificate) -> Check:
    """Check the digest of the file."""
    if digest(path) != certificate["file"]["sha256"]:
        said = "The file was changed, or the certificate is that of another file: their SHA-256 differ."
        return Check("file", "fails", said + _rewritten(path, certificate))
    beside = side_files(path)
    if beside.read:
        named = ", ".join(file.name for file in beside.read[:5])
        more = f" and {len(beside.read) - 5} more" if len(beside.read) > 5 else ""
        where = "in the folder" if path.is_dir() else "beside it"
        said = f"Programs may read {named}{more} {where} together with it, which was not released: remove that first."
        return Check("file", "fails", said)
    name = certificate["file"]["name"]
    renamed = "" if name == path.name else f" It was called {name} then."
    styles = ", ".join(file.name for file in beside.drawn)
    drawn = f" Styles beside it, which were not released, change how it is drawn: {styles}." if styles else ""
    return Check("file", "holds", f"It is the file that was released with this certificate.{renamed}{drawn}")


def _rewritten(path: Path, certificate: Certificate) -> str:
    """Return a sentence that names what rewrote a text file, if nothing but its form was changed; else ""."""
    if path.is_dir() or path.stat().st_size > _MOST_REWRITTEN:
        return ""
    content, certified = path.read_bytes(), certificate["file"]["sha256"]
    if content.startswith(b"PK\x03\x04"):
        return " It is a workbook or an archive now: a spreadsheet saved it anew."
    text = content.removeprefix(_BYTE_ORDER_MARK)
    lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for end in (lines, lines.rstrip(b"\n"), lines.rstrip(b"\n") + b"\n"):
        for whole in (end, end.replace(b"\n", b"\r\n")):
            if hashlib.sha256(whole).hexdigest() == certified:
                return (
                    " Only its line ends or its byte order mark were changed, as by an editor or by mail; its content "
                    "is as released. Ask for the file as it was written."
                )
    reading = cast("dict[str, Any]", certificate["file"]).get("reading") or {}
    stated = str(reading.get("delimiter") or ",").encode()
    header = lines.partition(b"\n")[0]
    others = [mark for mark in (b";", b"\t", b",") if mark != stated and header.count(mark) > header.count(stated)]
    rounded = re.search(rb"\d[.,]\d+E[+-]\d\d\b", text) is not None
    if path.suffix.lower() in (".csv", ".tsv", ".txt") and (others or rounded or lines != content):
        return " It looks as if a spreadsheet had saved it anew, which changes separators and rounds numbers."
    return ""


def _noise(path: Path, certificate: Certificate) -> Check:
    """Compare the stated noise with the noise that the guarantee and the numbers of points need."""
    problems, recomputed = noise_problems(path, certificate)
    if problems:
        return Check("noise", "fails", f"The certificate contradicts itself or the file: {problems[0]}.")
    if not recomputed:
        return _open(
            "noise", f"The certificate does not state enough to recompute the noise of {certificate['query']}."
        )
    return Check("noise", "holds", "The stated noise is enough for the guarantee: it was computed again.")


def _ledger(certificate: Certificate, ledger: Ledger | None) -> Check:
    entry = certificate["entry"]
    if ledger is None:
        charged = "The certificate states that a ledger was charged; give {ledger} to check that."
        return _open("ledger", Message("The release was made without a ledger." if entry is None else charged))
    if entry is None:
        return Check("ledger", "fails", "The release was made without a ledger, so this one did not charge it.")
    try:
        entries = ledger.verify([certificate])
    except LedgerTampered as problem:
        return Check("ledger", "fails", f"The ledger does not confirm it: {problem}")
    said = f"Entry {entry['number']} of the ledger charged it; all {entries} entries are intact."
    recorded = Charges.of(ledger).recorded_files(certificate["id"])
    if certificate["file"]["sha256"] in recorded:
        return Check("ledger", "holds", f"{said} It recorded this very file and this certificate.")
    if certificate["processed"]:
        later = (
            "The file was computed from that release later, and the ledger does not know it: another may be forged."
        )
        return Check("ledger", "open", f"{said} {later}", asked=True)
    if not recorded:
        later = "The ledger recorded an answer and no file, so it cannot tell whether this file holds that answer."
        return Check("ledger", "open", f"{said} {later}", asked=True)
    if certificate["file"]["kind"] != "points":
        later = "It recorded another file of that answer, and cannot tell whether this file holds the same answer."
        return Check("ledger", "open", f"{said} {later}", asked=True)
    return Check("ledger", "fails", f"{said} But it recorded another file for this release.")


def _signature(certificate: Certificate, key: PublicKey | None) -> tuple[Check, PublicKey | None, bool]:
    """Check the signature, and who signed."""
    try:
        signature = checked_signature(certificate)
    except ValueError as problem:
        return Check("signature", "fails", f"The signature cannot be checked: {problem}."), None, False
    if signature is None:
        outcome: Verdict = "open" if key is None else "fails"
        said = "The certificate is not signed, so it does not prove who wrote it."
        return Check("signature", outcome, said), None, False
    if not signature.valid:
        said = "The signature is wrong: the certificate was changed after it was signed, or signed by another key."
        return Check("signature", "fails", said), None, False
    signer = signature.key
    known = next((one for one in ([key] if key is not None else trusted_keys()) if one.raw == signer.raw), None)
    if known is not None:
        return Check("signature", "holds", f"Signed by {known}."), known, True
    if key is not None:
        return Check("signature", "fails", f"Signed by another key, not by {key}: {_unknown(signer)}."), signer, False
    told = Message(
        "Signed by a key that you have not confirmed: {who}. Anyone can make such a key: get the public key of the "
        "office that released it, and give {key}.",
        who=_unknown(signer),
    )
    return _open("signature", told), signer, False


def _unknown(key: PublicKey) -> str:
    return f"{key.fingerprint[:23]}…, which calls itself {key.name[:100]!r}"
