"""Advice to the owner of data: the purposes that it can serve, their errors, and how each release is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from geoveil.advice.purposes import PURPOSES, Outlook, Purpose
from geoveil.answering.public_rows import PublicRows
from geoveil.privacy import CGP, GP, Guarantee, exact
from geoveil.settings import LEVELS
from geoveil.text.cards import Card, Rows
from geoveil.text.words import counted, hidden

__all__ = ["Advice", "Use", "advise"]

_RANKS = {"good": 0, "fair": 1, "hopeless": 2}
#: A weaker protection is offered if its error is at most this share of the error under a stronger one.
_NEARER = 0.95


@dataclass(frozen=True, eq=False)
class Use:
    """A purpose that data may serve.

    Parameters
    ----------
    purpose : Purpose
        The purpose.
    best : Outlook
        What to expect under the guarantee that the advice is about.
    levels : dict
        What to expect by hidden distance, in metres.
    offers : sequence of Outlook
        What can be expected with other settings, too: those that protect most are first.
    """

    purpose: Purpose
    best: Outlook
    levels: Mapping[float, Outlook]
    offers: Sequence[Outlook] = ()

    @property
    def others(self) -> list[Outlook]:
        """Further offers that are useful, one for each protection: those nearer than under a stronger one."""
        kinds = dict.fromkeys(map(_kind, self.offers))
        useful = [offer for offer in self.offers if offer.verdict != "hopeless"]
        found, nearest = list[Outlook](), dict[str, float]()
        for kind in kinds:
            alike = [offer for offer in useful if _kind(offer) == kind]
            if not alike:
                continue
            offer = min(alike, key=lambda each: _RANKS[each.verdict])
            if not offer.error or offer.error < _NEARER * nearest.get(offer.asks, math.inf):
                nearest[offer.asks] = offer.error
                if kind != _kind(self.best):
                    found.append(offer)
        return found

    def asked(self, offer: Outlook) -> str:
        """Return the question of an offer."""
        return offer.asks or self.purpose.question

    @property
    def useful(self) -> bool:
        """Whether the error is not hopeless."""
        return self.best.verdict != "hopeless"

    @property
    def errors(self) -> dict[float, str]:
        """The error by hidden distance, in words; a dash where it is hopeless."""
        return {away: "-" if found.verdict == "hopeless" else found.short for away, found in self.levels.items()}

    def told(self, instead: Use | None = None) -> str:
        """Return the verdict in words, with what serves better in place of a hopeless release."""
        other = "" if instead is None or self.useful else f"; {instead.purpose.wish} instead"
        return f"{self.best.verdict}: {self.best.text}{other}"

    def data(self) -> dict[str, object]:
        """Return the use for programs."""
        return {
            "purpose": self.purpose.name,
            "wish": self.purpose.wish,
            **self._told(self.best),
            "others": [self._told(offer) for offer in self.others],
            "errors": {f"{away:g}": found.error for away, found in self.levels.items()},
        }

    def _told(self, offer: Outlook) -> dict[str, object]:
        return {
            "question": self.asked(offer),
            "verdict": offer.verdict,
            "text": offer.text,
            "error": offer.error,
            "unit": offer.unit,
            "settings": offer.settings,
        }


def _kind(offer: Outlook) -> tuple[object, ...]:
    """Return what tells offers from each other, other than thinning and smoothing."""
    return offer.asks, offer.data.get("protect"), *(offer.question.get(name) for name in ("cell", "regions", "margin"))


@dataclass(frozen=True, eq=False, repr=False)
class Advice(Card):
    """What data can be used for: for its owner, from public numbers alone.

    Parameters
    ----------
    rows : PublicRows
        The public numbers of the data.
    guarantee : CGP or GP
        The guarantee that the advice is about.
    uses : tuple of Use
        The purposes that suit the data, the best first.

    Examples
    --------
    >>> advice = gv.Locations(homes, person="row", area=bay).check()
    >>> [use.best.verdict for use in advice.uses if use.purpose.name == "points"]
    ['good']
    """

    rows: PublicRows
    guarantee: Guarantee
    uses: tuple[Use, ...]

    @property
    def best(self) -> Use | None:
        """The first purpose that the data serves."""
        return next((use for use in self.uses if use.useful), None)

    def instead_of(self, use: Use) -> Use | None:
        """Return what serves better than a hopeless purpose; None if nothing does.

        Examples
        --------
        >>> advice = gv.Locations(homes, person="row", area=bay).check()
        >>> advice.instead_of(advice.best) is None
        True
        """
        return None if use.useful else self.best

    def code(self, use: Use, offer: Outlook | None = None) -> str:
        """Return the Python code of a release, which begins with `gv.Locations` where its settings must change.

        It is that of the best offer, unless another one is given.

        Examples
        --------
        >>> advice = gv.Locations(homes, person="row", area=bay).check()
        >>> [advice.code(use) for use in advice.uses if use.purpose.name == "points"]
        ['locations.points(hide=100)']
        """
        best, guarantee = offer or use.best, self.guarantee
        if use.purpose.name == "home":
            margin = "".join(f", {name}={value}" for name, value in best.question.items())
            given = f"hide={guarantee.hidden(chance=0.75):.0f}{margin}"
            return f'locations.hide_places(home, {given}, centres="centres.json")'
        budget, away = f"{guarantee.symbol}={exact.rounded_up(guarantee.budget)}", guarantee.hidden(chance=0.75)
        if isinstance(guarantee, CGP) and math.isclose(away, round(away), rel_tol=1e-5):
            budget = f"hide={round(away)}"
        asked = {name: value for name, value in best.question.items() if name != "motion"}
        arguments = [f"{asked.pop('cell'):g}"] if "cell" in asked else []
        arguments += [repr(asked.pop("regions"))] if "regions" in asked else []
        arguments += [f"{name}={value!r}" for name, value in asked.items()]
        settings = ", ".join(f"{name}={value!r}" for name, value in best.data.items())
        data = f"gv.Locations(..., {settings})" if settings else "locations"
        smooth = f".smooth({best.question['motion']!r})" if "motion" in best.question else ""
        question = "center" if use.asked(best) == "summary" else use.asked(best)
        return f"{data}.{question}({', '.join([*arguments, budget])}){smooth}"

    def data(self) -> list[dict[str, object]]:
        """Return the uses for programs.

        Examples
        --------
        >>> advice = gv.Locations(homes, person="row", area=bay).check()
        >>> [use["wish"] for use in advice.data() if use["purpose"] == "points"]
        ['publish single points for research']
        """
        return [use.data() for use in self.uses]

    def _card(self) -> tuple[str, Rows]:
        lines: list[tuple[str, str]] = []
        for use in self.uses:
            lines.append((use.purpose.wish, use.told(self.instead_of(use))))
            if use.useful:
                told = "; ".join(f"{error} hiding {hidden(away)}" for away, error in use.errors.items())
                lines += [("", told), ("", self.code(use))]
                lines += [("", f"or {offer.text}: {self.code(use, offer)}") for offer in use.others]
        whose = counted(self.rows.persons, "person") if self.rows.named else "one person"
        return f"What {counted(self.rows.points, 'point')} of {whose} can be used for: nothing was released", lines


def advise(rows: PublicRows, guarantee: Guarantee, within: float | None = None) -> Advice:
    """Return what data can be used for under a guarantee, and at each level of privacy.

    Parameters
    ----------
    rows : PublicRows
        The public numbers of the data.
    guarantee : CGP or GP
        The guarantee for all points of a person together.
    within : float, optional
        The largest error that is of use, in metres or, for counts, persons.
    """
    uses, notion = [], CGP if isinstance(guarantee, CGP) else GP
    for purpose in PURPOSES:
        if purpose.suits(rows):
            levels = {
                away: purpose.outlook(rows, notion.hiding(distance=away, chance=0.75)) for away in LEVELS.values()
            }
            offers = purpose.offers(rows, guarantee)
            uses.append(Use(purpose, purpose.best(offers, within), levels, offers))
    return Advice(rows, guarantee, tuple(sorted(uses, key=lambda use: _RANKS[use.best.verdict])))
