"""How the paper's algorithms are run: an array of points in, a release out."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from geoveil._types import Epsilon, Rho
from geoveil.answering.intake import take_in
from geoveil.answering.pipeline import ask
from geoveil.answering.requests import Question
from geoveil.answering.settings import Settings
from geoveil.geo import enter
from geoveil.noise import source_of
from geoveil.privacy import promise
from geoveil.queries import Query
from geoveil.release import Release

__all__ = ["Metres", "run"]

#: "metres" says that numbers which could all be degrees are in metres.
Metres: TypeAlias = Literal["metres"] | None


def run(
    query: type[Query],
    x: ArrayLike,
    rho: Rho,
    epsilon: Epsilon,
    crs: Metres,
    rng: np.random.Generator | None,
    **options: Any,
) -> Release:
    """Answer one of the paper's queries about an array of points.

    Parameters
    ----------
    query : type of Query
        The class of the query.
    x, rho, epsilon, crs, rng
        As for `identity`.
    **options
        The query's own parameters.
    """
    guarantee = promise(None, rho, epsilon, None)
    return ask(take_in(enter(x, crs=crs), Settings()), Question(query, "paper", options), guarantee, source_of(rng))
