"""The mean of a crowd: workers add up whole numbers, so that the order of additions does not matter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Progress
from geoveil.answering.charging import Receipt
from geoveil.answering.crowd import CrowdSums
from geoveil.answering.crowd_sources import CrowdAdder, CrowdBatch
from geoveil.answering.intake import in_the_plane
from geoveil.answering.packing import packed, unpacked
from geoveil.geo.forms import Floats
from geoveil.noise import Ball, Reals, Source
from geoveil.privacy import Guarantee
from geoveil.queries import SUMMARIES, Answer, UnitSizes
from geoveil.queries.evaluation import REACH
from geoveil.queries.lipschitz_query import LipschitzQuery
from geoveil.release import Release
from geoveil.release.answered import ReleaseFields
from geoveil.spark.frame_crowd import FrameCrowd

__all__ = ["PreparedMean"]

#: A coordinate is a whole number of 2^-10 m, below 2^37, and the rest a whole number of 2^-54 m, below 2^43: 64 bits
#: hold the sums of 2^19 of them. Doubles of at least half a metre are such numbers exactly.
_COARSE, _FINE = 2.0**10, 2.0**44
_BLOCK = 2**19
#: The largest distance in metres between a point and the one that is added up.
_ROUNDED = math.sqrt(2) * 2.0**-55


@dataclass
class CoordinateSums:
    """The sums of coordinates, exactly, in units of 2^-54 m."""

    x: int = 0
    y: int = 0
    added: int = 0

    def merge(self, other: CoordinateSums) -> None:
        """Add the sums of another process."""
        self.x, self.y, self.added = self.x + other.x, self.y + other.y, self.added + other.added

    def mean(self) -> Reals:
        """Return the mean, to any precision."""
        exact = [Fraction(total, self.added) / 2**54 for total in (self.x, self.y)]

        def ball(i: int, _: int) -> Ball:
            from flint import arb, fmpq

            return arb(fmpq(exact[i].numerator, exact[i].denominator))

        # The error is a public number: coordinates are below the reach.
        return Reals(np.array([float(number) for number in exact]), REACH * 2.0**-53, ball)


class MeanAdder(CrowdAdder[CoordinateSums]):
    """Adds up coordinates."""

    def empty(self) -> CoordinateSums:
        return CoordinateSums()

    def add(self, sums: CoordinateSums, batch: CrowdBatch) -> None:
        (places,) = batch.places
        # A row of a line or of several points has any number of them.
        for start in range(0, len(places), _BLOCK):
            self._add(sums, places[start : start + _BLOCK])

    def _add(self, sums: CoordinateSums, places: Floats) -> None:
        scaled = places * _COARSE
        whole = np.rint(scaled)
        rest = np.rint((scaled - whole) * _FINE)
        x, y = (
            int(a) * int(_FINE) + int(b)
            for a, b in zip(whole.astype(np.int64).sum(axis=0), rest.astype(np.int64).sum(axis=0), strict=True)
        )
        sums.merge(CoordinateSums(x, y, len(places)))


class PreparedMean(CrowdSums[Release]):
    """The mean of all points of a DataFrame."""

    def __init__(self, crowd: FrameCrowd, guarantee: Guarantee, method: str = "best") -> None:
        self.crowd, self.guarantee, self.method = crowd, guarantee, method
        units = UnitSizes(int(crowd.all_sizes[0].max())) if guarantee.metric.of_unit else None
        rounding, working = crowd.rounding + _ROUNDED, in_the_plane(guarantee, self.area)
        self.query: LipschitzQuery = SUMMARIES["mean"](crowd.n, 2, working, method, rounding=rounding, units=units)

    def without(self, skipped: NDArray[np.bool_] | None) -> PreparedMean:
        if skipped is None:
            return self
        crowd = self.crowd.without(skipped)
        assert isinstance(crowd, FrameCrowd)
        return PreparedMean(crowd, self.guarantee, self.method)

    def draw(self, source: Source, progress: Progress) -> Answer:
        sums = self.crowd.added_up(MeanAdder(), progress)
        value = self.query.mechanism.sample(sums.mean(), source)
        return Answer(self.query, value, self.query.mechanisms, value.reshape(1, 2))

    def packed(self, drawn: Answer) -> dict[str, Any]:
        return {"answer": packed(drawn.parts())}

    def unpacked(self, stored: dict[str, Any]) -> Answer:
        return self.query.restored(unpacked(stored["answer"]))

    def shape(self, drawn: Answer, source: Source, receipt: Receipt) -> Release:
        import shapely

        assert self.crowd.plane is not None
        place = shapely.Point(self.crowd.plane.out(np.reshape(drawn.value, (1, 2)))[0])
        fields = self.facts(source, receipt) | ReleaseFields(answers=(drawn,), coords=drawn.coords)
        return Release(place, **fields)
