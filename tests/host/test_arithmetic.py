"""What bounds on errors rest on: numpy's functions are looked at, and not trusted where they are wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

import geoveil as gv
from geoveil.errors import GeoveilWarning, UnreliableArithmetic
from geoveil.geo.tangent import Tangent
from geoveil.host import arithmetic
from geoveil.noise import Entropy, source
from geoveil.noise.source import ACCURACY
from tests.questions import ask

Wrong = Callable[..., Any]
FUNCTIONS = [name for name in arithmetic._KNOWN if name != "sqrt"]


@pytest.fixture(autouse=True)
def _looked_at_anew() -> Iterator[None]:
    arithmetic.inaccurate.cache_clear()
    yield
    arithmetic.inaccurate.cache_clear()


def off(function: Wrong, where: Callable[[Any], Any], by: float) -> Wrong:
    """Return a function that is relatively wrong by so much where a condition on the argument holds."""

    def wrong(x: Any, out: Any = None) -> Any:
        chosen = where(np.asarray(x))
        found = function(x, out=out)
        return np.multiply(found, 1 + by * chosen, out=out)

    return wrong


WHERE: dict[str, Callable[[Any], Any]] = {
    "everywhere": lambda x: np.ones(x.shape),
    "for half of all numbers": lambda x: np.frexp(x)[0] * 64 % 2 < 1,
    "in long arrays": lambda x: np.full(x.shape, x.size > 4),
    "in short arrays": lambda x: np.full(x.shape, x.size <= 4),
    "in arrays that are spread out": lambda x: np.full(x.shape, x.strides != (8,)),
}


@pytest.mark.parametrize("name", arithmetic._KNOWN)
def test_constants_are_right(name: str) -> None:
    """Every value is that of the function to a bit, and a square root the nearest double."""
    for x, y in arithmetic._KNOWN[name].items():
        with ctx.workprec(200):
            true = getattr(arb, name)(arb(x))
            assert abs(arb(y) / true - 1) < 2.0**-52
            if name == "sqrt":
                assert all(abs(arb(y) - true) < abs(arb(math.nextafter(y, to)) - true) for to in (0, math.inf))


def test_numpy_is_trusted() -> None:
    """Nothing is warned of where the tests run, and it is looked at once."""
    assert arithmetic.inaccurate() == frozenset()
    Entropy(), Entropy()
    assert arithmetic.inaccurate.cache_info().misses == 1
    assert Entropy().widened == 1


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("where", WHERE)
def test_wrong_functions_are_noticed(name: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong by half of what bounds allow, everywhere or in one kind of array alone."""
    monkeypatch.setattr(np, name, off(getattr(np, name), WHERE[where], ACCURACY / 2))
    with pytest.warns(GeoveilWarning, match=f"numpy's {name} is less accurate"):
        source = Entropy()
    assert source.widened == math.inf


def test_nan_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that gives NaN is noticed, and so is one that fails for small arguments alone."""
    right = np.log
    monkeypatch.setattr(np, "log", lambda x, out=None: np.where(x < 1e-18, np.nan, right(x)))
    with pytest.warns(GeoveilWarning, match="numpy's log"):
        arithmetic.inaccurate()


def test_wrong_roots_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong square root is refused, as nothing can be computed with it."""
    monkeypatch.setattr(np, "sqrt", off(np.sqrt, WHERE["everywhere"], 2.0**-52))
    with pytest.raises(UnreliableArithmetic, match="square root"):
        gv.Locations([[0.0, 0.0]]).points(rho=1e-4)


def test_wrong_sines_refuse_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """A projection has no other way to bound its error."""
    place, degrees = Tangent(37.77, -122.42), np.array([[-122.4, 37.8]])
    assert np.isfinite(place.forward(degrees, 50_000).values).all()
    monkeypatch.setattr(np, "sin", off(np.sin, WHERE["everywhere"], ACCURACY / 2))
    arithmetic.inaccurate.cache_clear()
    with pytest.warns(GeoveilWarning), pytest.raises(UnreliableArithmetic, match="numpy's sin"):
        place.forward(degrees, 50_000)


RNG = np.random.default_rng(11)
X = RNG.normal(scale=300.0, size=(25, 2)) + 4e6
CASES: list[tuple[str, dict[str, Any]]] = [
    ("points", {"rho": 1e-4}),
    ("points", {"epsilon": 1e-2}),
    ("points", {"epsilon": 1e-2, "metric": "1"}),
    ("points", {"epsilon": 1e-2, "metric": "2"}),
    ("mean", {"rho": 1e-4, "method": "both"}),
    ("nearest", {"rho": 1e-3, "k": 5, "p": (4e6, 4e6)}),
    ("nearest", {"epsilon": 1e-2, "k": 5, "p": (4e6, 4e6)}),
    ("nearest as in the paper", {"rho": 1e-3, "k": 3, "p": (4e6, 4e6)}),
    ("first_within", {"rho": 1e-4, "p": (4e6, 4e6)}),
    ("hull", {"rho": 1e-4}),
    ("hull", {"epsilon": 1e-2}),
]


def released(name: str, more: dict[str, Any], patch: pytest.MonkeyPatch) -> Any:
    """Return what is released, before anything is made of it, given always the same bits."""
    found = []
    for seed in range(3):
        patch.setattr(Entropy.__init__, "__defaults__", (np.random.default_rng(seed).bytes,))
        release = gv.paper.nearest(X, **more) if name.endswith("paper") else ask(name, X, **more)
        parts = release.answers[0].parts()
        found.append({key: None if part is None else np.asarray(part).tolist() for key, part in parts.items()})
    return found


@pytest.mark.parametrize(("name", "more"), CASES, ids=[f"{name} {more}" for name, more in CASES])
@pytest.mark.parametrize("by", [1e-3, math.nan], ids=["wrong", "not a number"])
def test_noise_survives_wrong_numpy(
    name: str, more: dict[str, Any], by: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With functions that are wrong by a thousandth, balls give what they give with right ones."""
    with monkeypatch.context() as patch:
        # More bits are drawn where everything is refined, so that is what is compared.
        patch.setattr(source, "inaccurate", lambda: {"log"})
        right = released(name, more, monkeypatch)
    for function in FUNCTIONS:
        monkeypatch.setattr(np, function, off(getattr(np, function), WHERE["everywhere"], by))
    with pytest.warns(GeoveilWarning, match="ball arithmetic"):
        arithmetic.inaccurate()
    assert released(name, more, monkeypatch) == right


@pytest.mark.statistical
def test_trusting_numpy_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison of releases sees a wrong function that nobody has noticed."""
    monkeypatch.setattr(source, "inaccurate", lambda: frozenset())
    for name, more in CASES:
        # An order may be the same by chance, and few normal variables take a function of numpy.
        if name not in ("points", "mean", "hull") or (name, "rho" in more) == ("hull", True):
            continue
        right = released(name, more, monkeypatch)
        with monkeypatch.context() as patch:
            for function in FUNCTIONS:
                patch.setattr(np, function, off(getattr(np, function), WHERE["everywhere"], 0.1))
            assert released(name, more, patch) != right, name


@pytest.mark.parametrize("name", ["points", "nearest", "first_within"])
def test_balls_match_doubles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one draw, where no more bits can come between two."""
    more = {"rho": 1e-4} if name == "points" else {"rho": 1e-4, "p": (4e6, 4e6)}
    right = released(name, more, monkeypatch)
    monkeypatch.setattr(source, "inaccurate", lambda: {"log"})
    assert released(name, more, monkeypatch) == right
