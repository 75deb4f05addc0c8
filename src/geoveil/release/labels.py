"""The person of each released point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geoveil._types import Labels
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.geo.forms import Form, Index

if TYPE_CHECKING:
    from geoveil.release.release import Release

__all__ = ["persons"]


def persons(release: Release, person: Labels, form: Form | None = None) -> Index:
    """Return, for each released point, the position of its person among the persons of the release.

    `form` is that of the release, if the caller has it already: it takes long to make for many points.
    """
    import pandas as pd

    if release.person is None:
        if person is not None:
            raise InvalidParameter("person", person, "left out", "All points of this release belong to one person.")
        return np.zeros(release.n, dtype=np.int64)
    sizes = np.array([answer.query.n for answer in release.answers])
    form = release.form if form is None else form
    if person is None and release.person.name in form.names:
        person = release.person.name
    if person is None:
        if sizes.max() > 1:
            raise InvalidParameter(
                "person",
                None,
                "a label for each point",
                "Give the labels that were given to gv.Locations: they are public.",
            )
        return np.arange(release.n)
    codes, found = pd.factorize(form.people(person))
    if list(found) != list(release.person) or (np.bincount(codes) != sizes).any():
        raise InvalidData(
            "person", person, "the labels that the release was made with", "Give what was given to gv.Locations."
        )
    return np.asarray(codes, dtype=np.int64)
