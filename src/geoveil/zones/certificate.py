"""The certificate of tracks that were cut: what it states, in words too, and how it is checked.

It states no count and no time of the tracks before the cut: everything in it follows from the zones, the rules and the
points that are published.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from geoveil import checks
from geoveil._types import Rho
from geoveil._version import __version__
from geoveil.errors import InvalidParameter, Message
from geoveil.privacy import Duration, as_duration, promise
from geoveil.text.typed_values import read_length
from geoveil.text.words import hidden, metres
from geoveil.zones.cutting import GAP
from geoveil.zones.zone import CHANCE, Zone

__all__ = [
    "RELEASE",
    "SCHEMA",
    "Rules",
    "is_of_zones",
    "words_of",
    "zones_certificate",
    "zones_problems",
    "zones_stated",
]

#: The name of such releases in certificates, and the version of their schema.
RELEASE, SCHEMA = "zones", 1


@dataclass(frozen=True)
class Rules:
    """The public rules by which tracks are cut, besides the zones.

    Parameters
    ----------
    gap : float
        Seconds between two published points after which a new piece begins.
    trim : float
        Metres by which the ends of pieces near a zone are shortened as well.
    together : int
        Ends of pieces near a zone are shortened to where so many tracks run together.
    """

    gap: float = GAP
    trim: float = 0.0
    together: int = 1

    @classmethod
    def of(cls, gap: Duration | None = None, shorten: str | float | None = None) -> Rules:
        """Return the rules that a caller asks for.

        Examples
        --------
        >>> from geoveil.zones import Rules
        >>> Rules.of("5 minutes", "200 m"), Rules.of(shorten="2 tracks")
        (Rules(gap=300.0, trim=200.0, together=1), Rules(gap=600.0, trim=0.0, together=2))
        """
        seconds = GAP if gap is None else as_duration("gap", gap) / 1e6
        trim, together = 0.0, 1
        if isinstance(shorten, str) and shorten.split()[1:] in (["track"], ["tracks"]):
            number = shorten.split()[0]
            together = int(number) if number.isdecimal() and len(number) < 6 else 0
            trim = 0.0 if together >= 2 else -1.0
        elif shorten is not None:
            length = read_length(shorten) if isinstance(shorten, str) else shorten
            trim = -1.0 if length is None else checks.number("shorten", length, below=1e6, remedy="It is in metres.")
        if trim < 0:
            allowed = "a length such as 200 or '200 m', or at least '2 tracks'"
            remedy = "A length takes so much off each end; '2 tracks' takes ends off to where two tracks run together."
            raise InvalidParameter("shorten", shorten, allowed, remedy)
        return cls(seconds, trim, together)

    def check_noise(self, noise: Rho) -> None:
        """Refuse noise of published points without a budget, or with rules that would follow true positions."""
        promise(None, noise, None, None)
        if self.trim or self.together > 1:
            allowed = "left out with noise: where ends are taken off would follow from true positions"
            raise InvalidParameter("shorten", "given", allowed, Message("Leave it or {noise} out."))

    @property
    def shortened(self) -> str:
        """What `of` is given to shorten tracks so; empty if they are not shortened.

        Examples
        --------
        >>> from geoveil.zones import Rules
        >>> Rules(trim=200.0).shortened, Rules(together=2).shortened
        ('200m', '2 tracks')
        """
        return f"{self.together} tracks" if self.together > 1 else f"{self.trim:g}m" if self.trim else ""

    def describe(self) -> dict[str, Any]:
        """Return the rules as certificates state them."""
        return {"gap": self.gap, "trim": self.trim, "together": self.together}


def words_of(zones: Sequence[Zone], noise: str | None = None) -> str:
    """Return the promise and its limits in plain English.

    Parameters
    ----------
    zones : sequence of Zone
        The zones.
    noise : str, optional
        The words about the noise of the points outside.
    """
    laws = {(zone.hiding.law, zone.hiding.margin) for zone in zones}
    one = len(zones) == 1
    sentences = [
        "Nothing is published from inside a disc on the map. Its centre was drawn at random once, and is the same in "
        "every release; a hidden place is somewhere inside."
        if one
        else f"Nothing is published from inside {len(zones)} discs on the map. Their centres were drawn at random "
        "once, and are the same in every release; a hidden place is somewhere inside of each."
    ]
    for law, margin in sorted(laws, key=repr):
        far, apart = law.hidden(CHANCE), law.rho != "0"
        sentences.append(
            f"Starting from even odds, anyone who must tell which of two places {hidden(far)} apart is the hidden one "
            f"is right at most {CHANCE:.0%} of the time"
            + (
                f" (ρ = {law.rho} per m², which adds up with that of other releases, except with a probability of "
                f"{law.exclusion(far):.1g}: the disc then rules one of the places out)."
                if apart
                else f"; in the other cases the disc itself rules one of them out (with a probability of at most "
                f"{law.advantage(far):.0%})."
            )
            + f" What happens within {metres(margin)} of the place changes nothing that is published."
        )
    if len(zones) > 1:
        sentences.append("Somebody who belongs to several of the places is hidden less: what the discs tell adds up.")
    sentences.append(
        "The promise is about what lies inside the discs alone. "
        + (
            "Points outside are published as they are, with their times. Someone with a street map and dozens of "
            "precise tracks may still find the place, or the crossing next to it, from the roads and the directions "
            "in which tracks enter and leave the disc. Tracks published before are not covered, nor are those "
            "of other people who come to the place."
            if noise is None
            else f"Points outside have noise: {noise} That a published point was outside the discs is not hidden."
        )
    )
    return " ".join(sentences)


def zones_certificate(
    zones: Sequence[Zone],
    rules: Rules,
    columns: Sequence[Hashable],
    *,
    inexact: str = "",
    entries: Sequence[Mapping[str, object]] = (),
    noise: Mapping[str, Any] | None = None,
    identity: str | None = None,
) -> dict[str, Any]:
    """Return the certificate of tracks that were cut; a file adds its name, its digest and a signature.

    Parameters
    ----------
    zones, rules
        The public discs, and the rules.
    columns : sequence of str
        The columns, or extensions, that are published beside positions.
    inexact : str
        Why centres were not drawn exactly; empty if they were.
    entries : sequence of dict
        The entries of a ledger that charged the centres.
    noise : dict, optional
        The certificate of the noise of the points outside.
    identity : str, optional
        The id of the release; by default a new one.
    """
    return {
        "schema": SCHEMA,
        "release": RELEASE,
        "zones": [zone.describe() for zone in zones],
        "rules": rules.describe(),
        "chance": CHANCE,
        "hidden": [zone.hiding.law.hidden(CHANCE) for zone in zones],
        "exclusion": [zone.hiding.law.exclusion(zone.hiding.law.hidden(CHANCE)) for zone in zones],
        "columns": [str(name) for name in columns],
        "words": words_of(zones, None if noise is None else str(noise["words"])),
        "noise": None if noise is None else dict(noise),
        "exact": not inexact,
        "inexact": inexact,
        "entries": [dict(entry) for entry in entries],
        "version": __version__,
        "id": uuid4().hex if identity is None else identity,
    }


def is_of_zones(account: Mapping[str, Any]) -> bool:
    """Return whether a certificate is one of tracks that were cut."""
    return account.get("release") == RELEASE


def zones_stated(account: Mapping[str, Any]) -> list[Zone]:
    """Return the zones that a certificate states; any error means that it states none."""
    return [Zone.described(stated) for stated in account["zones"]]


def zones_problems(account: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a certificate of zones, in words: against its schema, or in itself."""
    from importlib import resources

    import jsonschema

    text = resources.files("geoveil").joinpath("zones", "certificate.schema.json").read_text(encoding="utf-8")
    found = jsonschema.Draft202012Validator(json.loads(text)).iter_errors(account)
    problems = [f"{'.'.join(map(str, each.absolute_path)) or 'certificate'}: {each.message}" for each in found]
    if problems:
        return problems
    try:
        zones = zones_stated(account)
    except (ValueError, KeyError, TypeError) as problem:
        return [f"zones: {problem}"]
    hidden = [zone.hiding.law.hidden(account["chance"]) for zone in zones]
    if account["chance"] != CHANCE or any(
        stated > least for stated, least in zip(account["hidden"], hidden, strict=True)
    ):
        problems.append(f"hidden: {account['hidden']} m is stated, and the discs hide {hidden} m")
    ruled_out = [zone.hiding.law.exclusion(hidden[number]) for number, zone in enumerate(zones)]
    if any(stated < 0.999 * least for stated, least in zip(account["exclusion"], ruled_out, strict=True)):
        problems.append(f"exclusion: {account['exclusion']} is stated, and the discs have {ruled_out}")
    if account["exact"] != (not account["inexact"]):
        problems.append("exact: it contradicts inexact")
    return problems
