"""The facts of a release are data, and its texts are made of them alone."""

from __future__ import annotations

from dataclasses import replace

import geopandas
import numpy as np
import pytest

import geoveil as gv
from geoveil.cli.option_names import OPTIONS
from geoveil.facts import ErrorBound, Removed
from geoveil.facts.wording import error_line, heading, lines, paragraphs

X = np.arange(12.0).reshape(6, 2) * 100
WHO = ["b", "a", "b", "c", "a", "b"]


def released(by: list[str] | None = None) -> gv.Release:
    """A release of points, about one person or several."""
    return gv.Locations(X, person=by, rng=np.random.default_rng(1)).points(rho=1e-4)


def test_facts_match_release() -> None:
    """The facts are those of the release. Error bounds, mechanisms and exactness are what the release itself gives."""
    release = released()
    facts = release.facts()
    assert (facts.query, facts.n, facts.persons, facts.guarantee) == ("points", 6, None, gv.CGP(rho=1e-4))
    assert facts.error == ErrorBound(release.error(0.05), release.error(0.05), point=release.error(0.05, each=True))
    assert [(use.name, use.scale, use.times) for use in facts.mechanisms] == [("Gaussian", release.scale, 1)]
    assert facts.inexact == release.inexact


def test_facts_have_extremes() -> None:
    """The smallest and the largest bound of any person, or that of the first one where nobody waits for all."""
    release = released(WHO)
    facts = release.facts()
    bounds = release.error(0.05)
    assert facts.persons == 3
    assert facts.error == ErrorBound(bounds.min(), bounds.max(), "each person")
    hulls = gv.Locations(X, person=WHO, rng=np.random.default_rng(1)).hull(k=12, rho=1e-4)
    first = hulls.facts(every_error=False).error
    assert first is not None
    assert first.about == "first person"
    assert first.largest == hulls.error(0.05).iloc[0]


def test_repr_words_facts() -> None:
    """The repr is the heading and a line for each fact."""
    release = released(WHO)
    facts = release.facts()
    shown = repr(release).splitlines()
    assert shown[0] == heading(facts)
    assert [tuple(line.split(maxsplit=1)) for line in shown[1:]] == lines(facts)


@pytest.mark.parametrize(("naming", "keep"), [(None, "keep="), (OPTIONS, "--keep")])
def test_removed_parts_are_listed(naming: object, keep: str) -> None:
    """Columns, rows and persons that are not in a release, with the argument that keeps columns."""
    removed = Removed(missing=2, columns=("speed", "{keep}"), persons=("ann",))
    facts = replace(released().facts(), removed=removed)
    shown = dict(lines(facts) if naming is None else lines(facts, OPTIONS))
    columns = f"the columns speed, {{keep}} ({keep} releases columns unchanged)"
    assert shown["removed"] == f"{columns}; 2 rows without a location; 1 person without enough budget"


def test_no_bound_is_said() -> None:
    """An error without a bound is said to have none. With the error to expect, where one is known."""
    facts = replace(released().facts(), error=None)
    assert error_line(facts) == "no guaranteed bound"
    assert (
        error_line(replace(facts, expected_error=12.0))
        == "no guaranteed bound; expected error 12 m (root mean square)"
    )


def test_certificate_paragraphs() -> None:
    """What is hidden comes first; the certificate has both in one text."""
    frame = geopandas.GeoSeries.from_xy(X[:, 0] + 550_000, X[:, 1] + 4_180_000, crs=32610)
    release = gv.Locations(frame, outside="clamp", rng=np.random.default_rng(1)).mean(rho=1e-4)
    hides, rest = paragraphs(release.facts())
    assert release.certificate()["words"] == f"{hides} {rest}"
    assert "75% of the time" in hides
    assert "moved to its edge" in rest
    assert "are not hidden" in rest
