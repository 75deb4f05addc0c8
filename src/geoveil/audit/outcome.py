"""The outcome of an audit: one sentence, a table, a picture, and whether anything was found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil.audit.evidence import LEAST_RUNS, Evidence, Verdict
from geoveil.audit.findings import Fault
from geoveil.audit.guesses import Guesses
from geoveil.privacy import CGP, GP
from geoveil.text.cards import Card, as_html
from geoveil.text.cards import Rows as CardRows
from geoveil.text.words import counted, hidden, metres

if TYPE_CHECKING:
    from geoveil._types import Path as PathLike

__all__ = ["NO_PROOF", "Audit"]

#: What every outcome without a finding says.
NO_PROOF = "This is no proof that it is safe: a fault that none of the tests looks for is not seen."
#: The parts of the area, in the order of their numbers.
_QUARTERS = ("the middle", "the east", "the north", "the west", "the south")
_DIRECTIONS = {
    0: "from east to west",
    45: "from south-west to north-east",
    90: "from north to south",
    135: "from south-east to north-west",
}


@dataclass(frozen=True, repr=False)
class Audit(Card):
    """Whether a tool gives away more than it claims, as far as the files that it released show.

    Parameters
    ----------
    claim : CGP or GP
        What the tool claims.
    level : float
        The largest probability that a tool that keeps its claim is accused.
    verdicts : tuple of Verdict
        The bounds on what is given away: if the noise of persons is independent, and, of many runs, whatever it is.
    findings : tuple of Fault
        The tests by name.
    canaries, persons : int
        The number of canaries of all files, and of those with a released point.
    files : int
        The number of made files of which released ones were read.
    repeated : bool
        Whether a file was given to the tool twice.
    notes : tuple of str
        How canaries were found again, and what else was noticed.
    guesses : tuple of Guesses
        How often simple guesses are right, by distance.
    """

    claim: CGP | GP
    level: float
    verdicts: tuple[Verdict, ...]
    findings: tuple[Fault, ...]
    canaries: int
    persons: int
    files: int
    repeated: bool
    notes: tuple[str, ...] = ()
    guesses: tuple[Guesses, ...] = ()

    @property
    def faults(self) -> tuple[str, ...]:
        """The names of the faults that were found."""
        return tuple(finding.name for finding in self.findings if finding.found)

    @property
    def found(self) -> bool:
        """Whether the tool gives away more than it claims, or has a fault. If not, nothing is proved."""
        return bool(self.faults) or any(verdict.found for verdict in self.verdicts)

    @property
    def bound(self) -> float:
        """The largest lower bound on the budget that the tool really spends: ρ per m², or ε per m."""
        return max((verdict.bound for verdict in self.verdicts), default=0.0)

    def verdict(self) -> str:
        """Return in words whether the tool gives away more than it claims, with what confidence, and where."""
        if not self.found:
            return (
                f"Nothing was found. What the tool released for {counted(self.persons, 'made-up person')} does not "
                f"show that it gives away more than it claims ({self.claimed()}). {NO_PROOF}"
            )
        told = f"This tool does not keep its claim ({self.claimed()}). With {1 - self.level:.0%} confidence, "
        over = [verdict for verdict in self.verdicts if verdict.found]
        if not over:
            return f"{told}{self._seen()}."
        worst = max(over, key=lambda verdict: verdict.bound)
        times = worst.bound / worst.claimed
        told += f"it gives away at least {times:.1f} times as much as it claims: {self._meaning(worst.bound)}"
        told = f"{told} {self._worst(worst)}"
        return f"{told} Found as well: {self._seen()}." if self.faults else told

    def _seen(self) -> str:
        """Return what the tests that found a fault saw, the clearest first."""
        found = sorted((each for each in self.findings if each.found), key=lambda each: each.chance)
        return "; ".join(each.told for each in found)

    def claimed(self) -> str:
        """Return the claim in words."""
        return f"to hide {hidden(self.claim.hidden(chance=0.75))}"

    def _meaning(self, budget: float) -> str:
        """Return a budget in words: the distance that it hides."""
        kind = CGP(rho=budget) if isinstance(self.claim, CGP) else GP(epsilon=budget)
        return f"what a tool may give away that claims to hide only {metres(kind.hidden(chance=0.75))}."

    def _worst(self, verdict: Verdict) -> str:
        """Return at which distance, in which direction and at which place it is worst, as far as that is sure."""
        over = {tested.group: tested for tested in verdict.evidence if tested.budget > verdict.claimed}
        told = [_shown(over[kind]) for kind in ("distance", "direction", "place") if kind in over]
        return f"It is clearest for {', '.join(told)}." if told else "No distance, direction or place stands out."

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the rows of the table."""
        rows = []
        for verdict in self.verdicts:
            assumed = "" if len(self.verdicts) == 1 or verdict.independent else ", any dependence between persons"
            for tested in verdict.evidence:
                seen = "MORE THAN CLAIMED" if tested.budget > verdict.claimed else "nothing found"
                times = tested.budget / verdict.claimed
                more = f"at least {times:.2f} times what is claimed"
                least = more if times > 1 else f"within the claim (at least {times:.2f} of it)"
                rows.append([f"{_shown(tested)}{assumed}", seen, least])
        for finding in sorted(self.findings, key=lambda each: (not each.found, each.chance)):
            seen = f"{finding.told} (chance of luck: {_luck(finding.chance)})" if finding.found else ""
            rows.append([finding.name, "FOUND" if finding.found else "nothing found", seen])
        return ["what was tested", "outcome", "what was seen"], rows

    def explained(self) -> str:
        """Return what the claim means."""
        apart = hidden(self.claim.hidden(chance=0.75))
        return (
            f"The claim means: somebody who sees what was released, and chooses between two places {apart} apart, "
            f"is right at most 75% of the time ({self.claim.symbol} = {float(self.claim.budget):g}). Places that are "
            "nearer to each other have to be still harder to tell apart."
        )

    def assumptions(self) -> str:
        """Return what was assumed, and what was not tested."""
        told = [
            f"Of {self.canaries:,} made-up persons {self.persons:,} were found again in what was released.",
            f"Of tools that keep their claim, an audit accuses {self.level:.0%} at most.",
        ]
        if all(verdict.independent for verdict in self.verdicts):
            told.append(
                "The bounds assume that the noise of one person does not depend on that of others, which is tested as "
                f"far as one file shows it. For bounds without that, make at least {LEAST_RUNS} files."
            )
        else:
            told.append("The bounds for any dependence between persons take each run of the tool as one trial.")
        if not self.repeated:
            told.append(
                "Whether a second run repeats its noise was not tested: run the tool twice on one file, and give both."
            )
        return " ".join(told)

    def data(self) -> dict[str, object]:
        """Return the outcome for programs."""
        return {
            "found": self.found,
            "verdict": self.verdict(),
            "confidence": 1 - self.level,
            "claim": self.claim.certificate(),
            "at_least": self.bound,
            "times_the_claim": self.bound / float(self.claim.budget),
            "canaries": self.canaries,
            "matched": self.persons,
            "files": self.files,
            "claim_in_words": self.explained(),
            "assumptions": self.assumptions(),
            "notes": [*self.notes],
            "bounds": [
                {
                    "independent": verdict.independent,
                    "by": tested.group,
                    "value": tested.value,
                    "at_least": tested.budget,
                    "estimate": tested.estimate,
                    "canaries": tested.n,
                    "found": tested.budget > verdict.claimed,
                }
                for verdict in self.verdicts
                for tested in verdict.evidence
            ],
            "tests": [
                {
                    "fault": each.name,
                    "found": each.found,
                    "chance": each.chance,
                    "level": each.level,
                    "seen": each.told,
                }
                for each in self.findings
            ],
        }

    def save(self, path: PathLike, *, overwrite: bool = False) -> Path:
        """Write the outcome as a page (.html), its picture (.png, .svg, .pdf) or its numbers (.json).

        Parameters
        ----------
        path : str or Path
            The file.
        overwrite : bool
            Whether an existing file is replaced.
        """
        from geoveil.audit.outcome_picture import draw, page
        from geoveil.geo.formats.outcome_files import write_outcome

        return write_outcome(
            Path(path),
            overwrite=overwrite,
            data=self.data,
            page=lambda: page(self),
            draw=lambda target: draw(self, target),
        )

    def _card(self) -> tuple[str, CardRows]:
        _, rows = self.table()
        told = [(row[0], "; ".join(cell for cell in row[1:] if cell)) for row in rows]
        return "Audit of a tool", [
            ("verdict", self.verdict()),
            *told,
            ("claim", self.explained()),
            ("assumed", self.assumptions()),
        ]

    def _repr_html_(self) -> str:
        from geoveil.audit.outcome_picture import curve

        return as_html(*self._card(), figure=curve(self))


def _shown(tested: Evidence) -> str:
    """Return which canaries were tested."""
    if tested.group == "distance":
        return f"places {metres(tested.value)} apart"
    if tested.group == "direction":
        return f"places {_DIRECTIONS[int(tested.value) % 180]}"
    if tested.group == "place":
        return f"places in {_QUARTERS[int(tested.value)]} of the area"
    return "all places"


def _luck(chance: float) -> str:
    """Return a small probability as text."""
    if chance <= 0:
        return "below 10^-300"
    return f"{chance:.1g}" if chance > 1e-4 else f"below 10^{math.ceil(math.log10(chance))}"
