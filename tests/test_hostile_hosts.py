"""The program that geoveil runs in may set what it likes: no answer changes, and none fails because of the data."""

from __future__ import annotations

import contextlib
import decimal
import locale
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import geoveil as gv
from geoveil.noise import Entropy
from tests.oracle import Floats
from tests.test_inputs import QUESTIONS, ask

pytestmark = pytest.mark.once


def refuse(*told: Any) -> None:
    """Fail when numpy calls it."""
    raise FloatingPointError(told)


@contextlib.contextmanager
def numpy_errors(**how: Any) -> Iterator[None]:
    """Let numpy raise, warn or call at every overflow, underflow, division by zero and invalid operation."""
    with np.errstate(**how), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextlib.contextmanager
def strict_decimals() -> Iterator[None]:
    """Five digits, every trap set, exponents in small letters; new contexts are as bad."""
    traps = [decimal.Inexact, decimal.Rounded, decimal.FloatOperation, decimal.Subnormal, decimal.Clamped]
    with decimal.localcontext(decimal.Context(prec=5, rounding=decimal.ROUND_UP, traps=traps, capitals=0, Emax=20)):
        yield


@contextlib.contextmanager
def strict_warnings() -> Iterator[None]:
    """Every warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextlib.contextmanager
def another_locale(name: str) -> Iterator[None]:
    """Decimal commas, or letters that change case in another way."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        pytest.skip(f"this system has no locale {name}")
    try:
        yield
    finally:
        locale.setlocale(locale.LC_ALL, before)


@contextlib.contextmanager
def odd_printing() -> Iterator[None]:
    """Numbers that numpy shows with two digits, and arrays that it cuts short."""
    with np.printoptions(precision=2, threshold=3, suppress=True, legacy="1.13"):
        yield


SETTINGS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "numpy raises": lambda: numpy_errors(all="raise"),
    "numpy warns": lambda: numpy_errors(all="warn"),
    "numpy calls": lambda: numpy_errors(all="call", call=refuse),
    "strict decimals": strict_decimals,
    "strict warnings": strict_warnings,
    "odd printing": odd_printing,
    "German": lambda: another_locale("de_DE.UTF-8"),
    "Turkish": lambda: another_locale("tr_TR.UTF-8"),
}
EVERY_SETTING = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)

RNG = np.random.default_rng(5)
TUPLES: dict[str, Floats] = {
    "one point": np.array([[5e6 + 1 / 3, -7.5]]),
    "a person who stands still": np.full((40, 2), 1234.5),
    "on a line": np.outer(np.arange(30.0), [3.0, 4.0]),
    "a taxi": RNG.normal(scale=3000.0, size=(300, 2)).cumsum(axis=0) / 10,
    "next to nothing": np.array([[5e-324, 0.0], [-1e-310, 3e-200], [0.0, 1e-160], [1e-5, 2e-308]]),
    "far apart": np.array([[9e7, -9e7], [0.0, 0.0], [-9e7, 9e7], [1.0, 1e-300]]),
}
BUDGETS: list[dict[str, Any]] = [{"rho": 1e-4}, {"epsilon": 0.01}, {"rho": 1e-14}, {"rho": 1e3}]


def told(release: gv.Release) -> Any:
    """Return all that a release says, but for its id and time."""
    certificate = {k: v for k, v in release.certificate().items() if k not in ("id", "created", "time", "release")}
    value = release.coords if release.coords is not None else release.value
    return repr(np.asarray(value).tolist()), certificate, repr(release.error(0.05))


def asked(name: str, x: Any, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Any:
    """Return what a question tells when its random bytes are always the same."""
    with monkeypatch.context() as patch:
        patch.setattr(Entropy.__init__, "__defaults__", (np.random.default_rng(3).bytes,))
        return told(ask(name, x, **more))


@EVERY_SETTING
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("kind", TUPLES)
def test_settings_change_no_answer(
    setting: Callable[[], AbstractContextManager[None]], name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same random bits every question has the same answer, error and certificate, on every tuple."""
    cases: list[dict[str, Any]] = [{**budget, "method": "best"} for budget in BUDGETS]
    if name in ("hull", "nearest", "points", "first_within"):
        cases += [{**budget, "method": "paper"} for budget in BUDGETS]
    for case in cases:
        calm = asked(name, TUPLES[kind], monkeypatch, **case)
        with setting():
            hostile = asked(name, TUPLES[kind], monkeypatch, **case)
        assert calm == hostile, case
