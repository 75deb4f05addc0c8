"""The outcome of attacks: how far off the attacker is, for whom it is worst, and what the guarantee allows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geoveil.attacks.bounds import false_alarm, most_within
from geoveil.noise.reals import Floats
from geoveil.text.cards import Card, as_html
from geoveil.text.cards import Rows as CardRows
from geoveil.text.words import counted, metres

if TYPE_CHECKING:
    import pandas as pd

    from geoveil._types import Path as PathLike

__all__ = ["FOR_YOU_ONLY", "Attack", "Attacks"]

#: What every picture and table of attacks says.
FOR_YOU_ONLY = "For you only: errors are measured from true places. Do not share it."


@dataclass(frozen=True)
class Attack:
    """One attack on a release, measured by its owner.

    Parameters
    ----------
    name, does : str
        Its name, and what the attacker does, in words.
    off : array
        The error for each person in metres; of linking, whether the person was found.
    labels : sequence of str
        The persons, or the places that were attacked.
    bound : float, optional
        The least root mean square error that the guarantee allows; of linking, the largest share of persons. None
        where no theorem bounds the attack.
    linking : bool
        Whether it links tracks to persons.
    """

    name: str
    does: str
    off: Floats = field(repr=False)
    labels: Sequence[str] = field(repr=False)
    bound: float | None = None
    linking: bool = False

    @property
    def typical(self) -> float:
        """The median error over persons in metres; of linking, the share of persons who were found."""
        return float(np.mean(self.off)) if self.linking else float(np.median(self.off))

    @property
    def root_mean_square(self) -> float:
        """The root mean square error over persons, which the bound is about."""
        return float(np.sqrt(np.mean(np.square(self.off))))

    @property
    def worst(self) -> tuple[str, float]:
        """The person to whom the attacker comes nearest, and the error; of linking, the first who was found."""
        at = int(np.argmax(self.off) if self.linking else np.argmin(self.off))
        return str(self.labels[at]), float(self.off[at])

    @property
    def beats(self) -> bool:
        """Whether it does better than the guarantee allows, by more than luck (with probability 10⁻⁶) explains."""
        if self.bound is None:
            return False
        if self.linking:
            trials = len(self.off)
            return self.typical > self.bound + math.sqrt(math.log(1e6) / (2 * trials))
        return self.root_mean_square**2 < false_alarm(self.off) * self.bound**2

    @property
    def limit(self) -> str:
        """What the guarantee allows, in words."""
        if self.bound is None:
            return "no bound"
        if self.linking:
            said, over = f"at most {self.bound:.0%}", self.typical > self.bound
        else:
            said, over = f"at least {metres(self.bound)}", self.root_mean_square < self.bound
        return f"{said}, but for luck" if over and not self.beats else said

    def described(self) -> dict[str, object]:
        """Return the numbers for programs."""
        whom, least = self.worst
        shown = {"share_linked": self.typical} if self.linking else {"median_m": self.typical}
        squared = {} if self.linking else {"root_mean_square_m": self.root_mean_square}
        return {
            "attack": self.name,
            "does": self.does,
            "tried_on": len(self.off),
            **shown,
            **squared,
            "worst": {"whom": whom, "linked" if self.linking else "m": least},
            "bound": self.bound,
            "beats_bound": self.beats,
        }


@dataclass(frozen=True, repr=False)
class Attacks(Card):
    """Attacks on one release. It holds errors from true places: it is for the owner of the data alone.

    Parameters
    ----------
    attacks : tuple of Attack
        The attacks, the strongest last.
    about : str
        What was attacked, in words.
    rho : float, optional
        The budget for moving all points of a person together, from which the bounds follow.
    exact_bound : bool
        Whether the noise is Gaussian, for which the bound on chances is attained.
    of : {"person", "place"}
        Whose locations are attacked.
    note : str
        A sentence on how far the outcome can be trusted.

    Examples
    --------
    >>> walk = pd.DataFrame({"lat": 37.77, "lon": -122.42, "time": pd.date_range("2026-05-04", periods=50, freq="h")})
    >>> truth = gv.Locations(walk, area=bay)
    >>> found = truth.attack(truth.points(rho=1e-4))
    >>> found["averaging"].bound, bool(found["averaging"].off[0] < found["released point"].off[0])
    (100.0, True)
    """

    attacks: tuple[Attack, ...]
    about: str
    rho: float | None = None
    exact_bound: bool = False
    of: str = "person"
    note: str = ""

    def __getitem__(self, name: str) -> Attack:
        return next(attack for attack in self.attacks if attack.name == name)

    def __iter__(self) -> Iterator[Attack]:
        return iter(self.attacks)

    @property
    def beaten(self) -> tuple[str, ...]:
        """The names of the attacks that beat what the guarantee allows: then it does not hold."""
        return tuple(attack.name for attack in self.attacks if attack.beats)

    def verdict(self) -> str:
        """Return in one sentence how near the best attack comes."""
        measured = [attack for attack in self.attacks if not attack.linking]
        told, unbounded = "", False
        if measured:
            best = min(measured, key=lambda attack: attack.typical)
            whom, least = best.worst
            several = f"a typical {self.of} and {metres(least)} for {whom}"
            told = f"The best attack ({best.name}) is {metres(best.typical)} off for "
            told += f"{several if len(best.labels) > 1 else whom}. "
            unbounded = best.bound is None
        if self.beaten:
            said = f"More than the guarantee allows: {', '.join(self.beaten)}. It does not hold."
        elif all(attack.bound is None for attack in self.attacks):
            said = "No guarantee was stated, so nothing bounds an attack."
            said = "No bound on these attacks is known." if self.of == "place" else said
        elif unbounded:
            said = "Nothing bounds this attack: only others are compared with the guarantee, and do not beat it."
        else:
            said = "No attack beats what the guarantee allows."
        return " ".join(filter(None, (f"{told}{said}", self.note)))

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the rows of the table."""
        rows = []
        for attack in self.attacks:
            (whom, least), limit = attack.worst, attack.limit
            if attack.linking:
                rows.append([attack.name, f"{attack.typical:.0%} found", "", whom if least else "nobody", limit])
                continue
            squared = metres(attack.root_mean_square)
            rows.append([attack.name, metres(attack.typical), squared, f"{whom}: {metres(least)}", limit])
        return ["attack", "typical", "root mean square", "worst for", "the guarantee allows (r.m.s.)"], rows

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each person and attack, with the error in metres or whether the person was found."""
        import pandas as pd

        parts = [
            pd.DataFrame(
                {"attack": each.name, "whom": [*map(str, each.labels)], "linked" if each.linking else "off": each.off}
            )
            for each in self.attacks
        ]
        return pd.concat(parts, ignore_index=True)

    def data(self) -> dict[str, object]:
        """Return the outcome for programs."""
        return {
            "for_you_only": {
                "about": self.about,
                "verdict": self.verdict(),
                "rho_of_all_points": self.rho,
                "attacks": [attack.described() for attack in self.attacks],
            }
        }

    def chances(self, distances: Floats) -> Floats | None:
        """Return the largest share of persons to whom an attacker may come within each distance; None unbounded."""
        if self.rho is None:
            return None
        return np.array([most_within(self.rho, float(each), gaussian=self.exact_bound) for each in distances])

    def save(self, path: PathLike, *, overwrite: bool = False) -> Path:
        """Write the table and the picture as a page (.html), the picture (.png, .svg, .pdf) or the numbers (.json).

        Parameters
        ----------
        path : str or Path
            The file. It is for the owner of the data alone, and says so.
        overwrite : bool
            Whether an existing file is replaced.
        """
        from geoveil.attacks.picture import draw, page
        from geoveil.geo.formats.outcome_files import write_outcome

        return write_outcome(
            Path(path),
            overwrite=overwrite,
            data=self.data,
            page=lambda: page(self),
            draw=lambda target: draw(self, target),
        )

    def _card(self) -> tuple[str, CardRows]:
        headings, rows = self.table()
        told = [
            (
                row[0],
                "; ".join(f"{heading}: {cell}" for heading, cell in zip(headings[1:], row[1:], strict=True) if cell),
            )
            for row in rows
        ]
        return f"Attacks on {self.about}", [*told, ("verdict", self.verdict()), ("warning", FOR_YOU_ONLY)]

    def _repr_html_(self) -> str:
        from geoveil.attacks.picture import curves

        return as_html(*self._card(), figure=curves(self))


def about(persons: int, points: int) -> str:
    """Return how many points of how many persons were attacked."""
    return f"{counted(points, 'point')} of {counted(persons, 'person')}"
