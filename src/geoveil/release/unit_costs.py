"""The guarantee of a release for another unit, from the exact cost of its mechanism."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from geoveil._types import Labels, Times
from geoveil.errors import IncompatibleGuarantees
from geoveil.geo.forms import Floats
from geoveil.geo.point_times import point_times
from geoveil.privacy import Guarantee, Metric, dist_1, dist_inf, largest_stretch_sum

if TYPE_CHECKING:
    from geoveil.release.release import Release

__all__ = ["unit_cost"]

#: Ratios are computed in doubles: one part in a billion covers their rounding.
_ROUNDING = 1 + 1e-9


def unit_cost(release: Release, metric: Metric, times: Times, person: Labels) -> Guarantee:
    """Return the guarantee of a release under the metric of another unit; see `Release.cost`."""
    guarantee = release.guarantee
    if metric == guarantee.metric:
        return guarantee
    if release.query == "points":
        # The noise and the time of each point of a file are in the file.
        release = release.in_memory()
    shares = _shares(release)
    if shares is not None:
        share = _largest_sum(release, shares, metric, times, person)
        return guarantee.under_unit(metric, Decimal(share * _ROUNDING))
    if metric == dist_inf and not release.processing.combined:
        ratios = [answer.query.cost_of_all() for answer in {id(a.query): a for a in release.answers}.values()]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) == len(ratios):
            return guarantee.under_unit(metric, Decimal(max(known) ** guarantee.power * _ROUNDING))
    if guarantee.metric.is_at_most(metric):
        return guarantee.under_unit(metric)
    raise IncompatibleGuarantees(
        f"What {release.query} under {guarantee.metric} costs under {metric} is not known.",
        "Ask the question with that unit.",
    )


def _shares(release: Release) -> Floats | None:
    """Return for each point the share of its person's budget that released it; None if it is not known."""
    if release.query != "points" or release.processing.combined:
        return None
    first = release.answers[0].query
    if release.point_scales is not None:
        one = first.point_scales(np.ones(1, dtype=np.int64))
        assert one is not None
        return np.asarray((one[0] / release.point_scales) ** release.guarantee.power)
    return first.budget_shares() if release.person is None else None


def _largest_sum(release: Release, shares: Floats, metric: Metric, times: Times, person: Labels) -> float:
    """Return the largest sum of shares over a unit."""
    codes = release._person_index(person)
    if metric == dist_1:
        return float(shares.max())
    if metric.stretch is None:
        return float(np.bincount(codes, shares).max())
    moments = point_times(release.form, times).for_units(metric.stretch)
    return largest_stretch_sum(shares, moments, metric.stretch, codes)
