"""Named summaries of a tuple: its mean, its bounding box, its diameter, and others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Reals
from geoveil.queries import evaluation, grouped
from geoveil.queries.lipschitz_query import LipschitzQuery
from geoveil.queries.query import Tuple

__all__ = ["SUMMARIES", "Bounds", "Center", "Diameter", "Mean", "Median", "Radius", "RadiusOfGyration"]


@dataclass(frozen=True)
class Mean(LipschitzQuery):
    """Release the mean of the points."""

    name = "mean"
    kind = "place"
    of_set, sizeless = True, "Wasserstein"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.mean(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return grouped.means(x.values, sizes), evaluation.mean_error(x)


@dataclass(frozen=True)
class Center(LipschitzQuery):
    """Release the middle of the bounding box."""

    name = "center"
    kind = "place"
    of_set, sizeless = True, "Hausdorff"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.midrange(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return grouped.midranges(x.values, sizes), evaluation.middle_error(x)


@dataclass(frozen=True)
class Median(LipschitzQuery):
    """Release the median of each coordinate; the geometric median is not Lipschitz."""

    name = "median"
    kind = "place"
    of_set, sizeless = True, "Wasserstein"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.median(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return grouped.medians(x.values, sizes), evaluation.middle_error(x)


@dataclass(frozen=True)
class Bounds(LipschitzQuery):
    """Release the bounding box: the minimum of each coordinate, then the maximum."""

    name = "bounds"
    kind = "box"
    of_set, sizeless = True, "Hausdorff"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.extremes(x).reshaped(-1)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return grouped.extremes(x.values, sizes), evaluation.coordinate_error(x)

    def corrected(self, noisy: Floats) -> Floats:
        """Return noisy boxes, as rows, with minima and maxima exchanged where noise has reversed their order."""
        return np.sort(noisy.reshape(len(noisy), 2, -1), axis=1).reshape(noisy.shape)

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the exact 1-β quantile of the largest error of a coordinate.

        With `each` it is that of one coordinate before any exchange.
        """
        return self.mechanism.error(beta, blocks=self.size, each=each)


@dataclass(frozen=True)
class Radius(LipschitzQuery):
    """Release the radius of the smallest enclosing ball."""

    name = "radius"
    kind = "length"
    of_set, sizeless = True, "Hausdorff"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.enclosing_radius(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, Floats]:
        values, below = grouped.radii(x.values, sizes)
        error = np.full(values.shape, evaluation.enclosing_error(x))
        stops = np.cumsum(sizes)
        for i in np.flatnonzero(~evaluation.bounds_are_tight(x, values, below)):
            alone = self.evaluate(x[stops[i] - sizes[i] : stops[i]])
            values[i], error[i] = alone.values, alone.error
        return values, error


@dataclass(frozen=True)
class RadiusOfGyration(LipschitzQuery):
    """Release the root mean square distance to the mean."""

    name = "radius_of_gyration"
    kind = "length"
    of_set, sizeless = True, "Wasserstein"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.gyration(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return grouped.gyrations(x.values, sizes), evaluation.gyration_error(x)


@dataclass(frozen=True)
class Diameter(LipschitzQuery):
    """Release the largest distance between two points."""

    name = "diameter"
    kind = "length"
    of_set, sizeless = True, "Hausdorff"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.widest(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return grouped.diameters(x.values, sizes), evaluation.widest_error(x)


#: The classes of summaries by name. They have no parameters.
SUMMARIES: dict[str, type[LipschitzQuery]] = {
    query.name: query for query in (Bounds, Center, Diameter, Mean, Median, Radius, RadiusOfGyration)
}
