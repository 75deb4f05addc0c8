"""The outcome of an audit: one sentence, a table, a picture, and whether anything was found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil._version import __version__
from geoveil.audit.evidence import LEAST_RUNS, Evidence, Verdict
from geoveil.audit.findings import DEPENDENT, REPEATED, Fault
from geoveil.audit.guesses import Guesses
from geoveil.audit.order import UNSURE
from geoveil.privacy import CGP, GP
from geoveil.text.cards import Card, as_html
from geoveil.text.cards import Rows as CardRows
from geoveil.text.words import counted, hidden, metres

if TYPE_CHECKING:
    from geoveil._types import Path as PathLike

__all__ = ["NO_PROOF", "Audit"]

#: What every outcome without a finding says.
NO_PROOF = "This is no proof that it is safe: a fault that none of the tests looks for is not seen."
#: How many times the claimed budget Gaussian noise has to give away to be found in 99 of 100 audits, by the number of
#: canaries with a released point, largest first: measured in benchmarks/README.md.
_CAUGHT = ((2000, 4), (1000, 6), (500, 9))
#: The outcomes of a test.
_MORE, _FAULT, _ASSUMED, _NOTHING = "MORE THAN CLAIMED", "FOUND", "NOT AS ASSUMED", "nothing found"
_INDEPENDENT = "if the noise of one person does not depend on that of others"
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
    released : tuple of str
        The names of the released files.
    day : str
        The day on which they were read.
    version : str
        The version of geoveil.
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
    released: tuple[str, ...] = ()
    day: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())
    version: str = __version__

    @property
    def faults(self) -> tuple[str, ...]:
        """The names of the faults that were found."""
        return tuple(finding.name for finding in self.findings if finding.found)

    @property
    def found(self) -> bool:
        """Whether the claim is broken or something is not as assumed. If not, nothing is proved."""
        return bool(self.faults) or any(verdict.found for verdict in self.verdicts)

    @property
    def refuted(self) -> bool:
        """Whether the tool breaks its claim."""
        return bool(self._over() or self._breaks())

    def _dependent(self) -> bool:
        """Whether the noise of persons was seen to depend on each other."""
        return DEPENDENT in self.faults

    def _over(self) -> list[Verdict]:
        """Return the bounds above the claim whose assumption was not seen to fail."""
        return [each for each in self.verdicts if each.found and not (self._assumes(each) and self._dependent())]

    def _breaks(self) -> list[Fault]:
        """Return the faults that break the claim and whose assumption was not seen to fail, the clearest first."""
        held = [each for each in self.findings if each.found and each.refutes]
        held = [each for each in held if not (each.independent and self._dependent())]
        return sorted(held, key=lambda each: each.chance)

    def _assumes(self, verdict: Verdict) -> bool:
        """Whether a bound assumes that persons are independent: one of pure GP never does."""
        pure = isinstance(self.claim, GP) and self.claim.delta == 0
        return verdict.independent and not pure

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
        if not self.refuted:
            return f"Whether the tool keeps its claim ({self.claimed()}) is not shown. {self._not_as_assumed()}"
        told = f"This tool does not keep its claim ({self.claimed()})."
        if over := self._over():
            worst = max(over, key=lambda verdict: verdict.bound)
            told += f" It hides at most {self._hides(worst.bound)}, not {hidden(self.claim.hidden(chance=0.75))}"
            told += f" ({self._sure(self._assumes(worst))}).{self._worst(worst)}"
        if faults := self._breaks():
            rest = any(each.independent for each in faults)
            told += f" {'Found as well' if over else 'Found'}: {'; '.join(each.told for each in faults)}"
            told += "." if over and rest == self._assumes(worst) else f" ({self._sure(rest)})."
        return f"{told} {self._not_as_assumed()}".rstrip()

    def _sure(self, independent: bool) -> str:
        """Return the confidence of a finding, and on what it rests."""
        on = _INDEPENDENT if independent else "whatever the noise of persons has to do with each other"
        return f"{1 - self.level:.0%} confidence, {on}"

    def _not_as_assumed(self) -> str:
        """Return what was found that does not break the claim."""
        told = []
        for each in self.findings:
            if each.found and each.name == REPEATED:
                told.append(
                    f"The noise repeats: {each.told}. A claim about one run does not forbid that, but whoever knows "
                    "the seed or key, or one true place, can take the noise off."
                )
            elif each.found and each.name == DEPENDENT:
                told.append(
                    f"The noise of persons depends on each other: {each.told}. One file cannot show then whether the "
                    "claim is kept."
                )
        return " ".join(told)

    def following(self) -> str:
        """Return what to do next, in one line."""
        if self.refuted:
            return "Do not release with this setting. Send this outcome to the makers, and audit what they mend anew."
        if self._dependent():
            return (
                f"Make {LEAST_RUNS} files or more (geoveil audit make --runs {LEAST_RUNS}), and run the tool on each."
            )
        if self.found:
            return "Ask the makers why the noise repeats, and turn it off unless you need it."
        return "Keep this outcome. To see smaller faults, make more canaries (geoveil audit make --canaries 5000)."

    def claimed(self) -> str:
        """Return the claim in words."""
        return f"to hide {hidden(self.claim.hidden(chance=0.75))}"

    def _hides(self, budget: float) -> str:
        """Return the distance that a budget hides."""
        kind = CGP(rho=budget) if isinstance(self.claim, CGP) else GP(epsilon=budget)
        return metres(kind.hidden(chance=0.75))

    def worst_distance(self) -> float | None:
        """Return the distance that the verdict names: the table has it, and the picture marks it."""
        if not (over := self._over()):
            return None
        worst = max(over, key=lambda verdict: verdict.bound)
        held = [each for each in worst.evidence if each.group == "distance" and each.budget > worst.claimed]
        near = [each for each in self.guesses if held and abs(each.distance / held[0].value - 1) < 0.1]
        return held[0].value if near and near[0].low > near[0].allowed else None

    def _worst(self, verdict: Verdict) -> str:
        """Return at which distance, in which direction and at which place it is worst, as far as that is sure."""
        over = {tested.group: tested for tested in verdict.evidence if tested.budget > verdict.claimed}
        if self.worst_distance() is None:
            over.pop("distance", None)
        told = [_shown(over[kind]) for kind in ("distance", "direction", "place") if kind in over]
        return f" It is clearest for {', '.join(told)}." if told else ""

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the rows of the table."""
        rows = []
        for verdict in self.verdicts:
            assumed = "" if len(self.verdicts) == 1 or verdict.independent else ", any dependence between persons"
            for tested in verdict.evidence:
                over, seen = tested.budget > verdict.claimed, "No more than claimed was seen."
                if over:
                    seen = f"At most {self._hides(tested.budget)} are hidden: at least "
                    seen += f"{tested.budget / verdict.claimed:.1f} times the claimed budget."
                rows.append([f"{_shown(tested)}{assumed}", _MORE if over else _NOTHING, seen])
        for finding in sorted(self.findings, key=lambda each: (not each.found, each.chance)):
            status = (_FAULT if finding.refutes else _ASSUMED) if finding.found else _NOTHING
            luck = f" (chance of luck: {_luck(finding.chance)})" if finding.found else ""
            rows.append([finding.name, status, f"{finding.told}{luck}"])
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
        told = [f"Of {self.canaries:,} made-up persons {self.persons:,} were found again in what was released."]
        if self.refuted:
            told.append(
                f"If the tool kept its claim, the chance of this accusation would be at most {self.level:.0%}."
            )
        elif not self.found and not any(note.endswith(UNSURE) for note in self.notes):
            told += [
                f"A tool with Gaussian noise that gives away {times} times the claimed budget is caught in at least "
                "99 of 100 such audits."
                for least, times in _CAUGHT
                if self.persons >= least and isinstance(self.claim, CGP)
            ][:1]
        told.append(
            f'It is assumed that the noise of one person does not depend on that of others; "{DEPENDENT}" looks for '
            "that among neighbours in the file alone."
        )
        if all(verdict.independent for verdict in self.verdicts):
            told.append(
                f"To assume nothing about it, make at least {LEAST_RUNS} files: geoveil audit make with --runs "
                f"{LEAST_RUNS}."
            )
        else:
            told.append('Bounds "any dependence between persons" assume nothing about it: each run is one trial.')
        if not self.repeated:
            told.append(
                "Whether a second run repeats its noise was not tested: run the tool twice on one file, and give both."
            )
        return " ".join(told)

    def about(self) -> str:
        """Return what was audited, when, and with which version."""
        names = ", ".join(self.released[:3]) + (
            f" and {len(self.released) - 3} more" if len(self.released) > 3 else ""
        )
        return f"{names or 'released files'}, audited on {self.day} with geoveil {self.version}"

    def data(self) -> dict[str, object]:
        """Return the outcome for programs."""
        return {
            "found": self.found,
            "breaks_the_claim": self.refuted,
            "verdict": self.verdict(),
            "next": self.following(),
            "released": [*self.released],
            "day": self.day,
            "geoveil": self.version,
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
                    "assumes_independence": self._assumes(verdict),
                    "by": tested.group,
                    "value": tested.value,
                    "at_least": tested.budget,
                    "times_the_claim": tested.budget / verdict.claimed,
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
                    "breaks_the_claim": each.found and each in self._breaks(),
                    "assumes_independence": each.independent,
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
            ("next", self.following()),
            ("about", self.about()),
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
