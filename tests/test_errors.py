"""Errors carry their parts as data, and each reader gets a text made of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely

import geoveil as gv
from geoveil.cli.option_names import OPTIONS
from geoveil.errors import (
    BudgetExceeded,
    FileUnavailable,
    GeoveilError,
    GeoveilWarning,
    InvalidFile,
    InvalidInput,
    InvalidParameter,
    LedgerUnavailable,
    Message,
)

ERRORS: list[GeoveilError] = [
    InvalidParameter("outside", "{by}", Message("'refuse' or {outside:clamp}"), Message("Give {outside:clamp}.")),
    InvalidFile("k", 3, "a file with a place", "Give another.", charged="spent"),
    FileUnavailable("x", "cannot be written", "a file", "Choose another."),
    BudgetExceeded(Decimal(2), Decimal(1), "ann"),
    LedgerUnavailable("It is locked.", Message("Use {ledger.create}."), charged="unknown"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling(error: GeoveilError) -> None:
    """With their parts, so that another process can word them."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.worded(OPTIONS), again.charged) == (str(error), error.worded(OPTIONS), error.charged)


def test_argument_names_by_reader() -> None:
    """As keywords in Python and as options on the command line; a value that looks like a placeholder is none."""
    error = ERRORS[0]
    assert str(error) == "outside = '{by}': must be 'refuse' or outside=\"clamp\". Give outside=\"clamp\"."
    assert error.worded(OPTIONS) == "--outside = '{by}': must be 'refuse' or --outside clamp. Give --outside clamp."


def test_files_are_no_arguments() -> None:
    """Files called like arguments keep their names."""
    assert ERRORS[1].worded(OPTIONS).startswith("k = 3")
    assert ERRORS[2].worded(OPTIONS).startswith("x: cannot be written.")


def test_charges_may_be_omitted() -> None:
    """The text says it, unless the reader knows more."""
    error = ERRORS[3]
    assert error.charged == "nothing"
    assert "Nothing was charged or released." in str(error)
    assert "charged" not in error.worded(OPTIONS, outcome=False)
    assert "not known" in str(ERRORS[4])


def test_late_errors_say_spent() -> None:
    """In a session, the error of a question that failed while it was answered knows that it was paid for."""

    def fails(x: object) -> float:
        raise InvalidInput("fn", None, "a function", "Mend it.")

    with gv.Locations(np.zeros((3, 2))).session(rho=1e-3) as session:
        with pytest.raises(InvalidInput) as raised:
            session.answer(fails, lipschitz=1, rho=1e-4)
        assert session.spent == Decimal("0.0001")
    assert raised.value.charged == "spent"
    assert "the charge is spent" in str(raised.value)


@pytest.mark.parametrize(("name", "value", "own"), [("sep", ";", "delimiter=';'"), ("epsg", 2056, "crs=2056")])
def test_foreign_names_are_explained(name: str, value: object, own: str) -> None:
    """Python and the command line say what an argument is called here; other names are refused as usual."""
    given: dict[str, Any] = {name: value}
    with pytest.raises(TypeError, match=rf"^Locations\(\) has no argument '{name}'.*give {own}"):
        gv.Locations("trips.csv", **given)
    with pytest.raises(TypeError, match=r"^points\(\) has no argument 'columns'.*give keep='all'"):
        gv.Locations(np.zeros((3, 2)), crs="metres").points(columns="all", rho=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Locations\(\) has no argument 'sepp'. Its arguments are source, person, "):
        gv.Locations("trips.csv", sepp=";")  # type: ignore[call-arg]


def test_warnings_name_user_line(tmp_path: Path) -> None:
    """Whichever module of geoveil warns, and however deep, the warning points at the call in the user's program."""
    (tmp_path / "places.csv").write_bytes("lat,lon,café\n37.77,-122.42,x\n".encode("latin-1"))
    heights = geopandas.GeoSeries([shapely.Point(0, 0, 5)], crs=3857)
    here, area = gv.local(lat=37.77, lon=-122.42, radius=1000), gv.local(lat=0, lon=0, radius=1000)
    calls: list[Callable[[], object]] = [
        lambda: gv.Locations(tmp_path / "places.csv").frame(),
        lambda: gv.Locations(heights, area=area).points(rho=1),
        lambda: gv.Locations(tmp_path / "places.csv", area=here).points(to=tmp_path / "out.csv", rho=1e-9),
    ]
    for call in calls:
        with pytest.warns(GeoveilWarning) as told:
            call()
        assert {warning.filename for warning in told} == {__file__}
