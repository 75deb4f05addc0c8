"""The program that geoveil runs in may set what it likes: no answer changes, and none fails because of the data."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import decimal
import functools
import itertools
import locale
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import flint
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.host import arithmetic
from geoveil.noise import Entropy
from geoveil.privacy import exact
from geoveil.queries import FirstWithin, Hull, Nearest, Points, Query
from geoveil.queries.band import averages
from geoveil.queries.convex import directions
from tests.answering.test_inputs import X
from tests.formats import BAY, make, people
from tests.oracle import Floats
from tests.questions import EVERY_QUESTION, ask, release_of, release_of_query


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


LOCALE = """LC_NUMERIC
copy "de_DE"
END LC_NUMERIC
LC_CTYPE
copy "tr_TR"
END LC_CTYPE
"""


@functools.cache
def compiled_locale() -> str:
    """Return a folder with a locale of German numbers and Turkish letters, which few systems have."""
    folder = tempfile.mkdtemp(prefix="geoveil-locale-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    Path(folder, "source").write_text(LOCALE)
    command = ["localedef", "--no-archive", "-c", "-i", f"{folder}/source", "-f", "UTF-8", f"{folder}/xx_XX.UTF-8"]
    subprocess.run(command, check=False, capture_output=True, timeout=60)
    return folder


@contextlib.contextmanager
def another_locale() -> Iterator[None]:
    """Decimal commas, and letters that change case in another way, for all of C."""
    if not (shutil.which("localedef") and os.path.exists("/usr/share/i18n/locales/tr_TR")):
        pytest.skip("this system cannot compile locales")
    categories = (locale.LC_NUMERIC, locale.LC_CTYPE)
    before = [locale.setlocale(category) for category in categories]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCPATH", compiled_locale())
        try:
            for category in categories:
                locale.setlocale(category, "xx_XX.UTF-8")
            assert locale.localeconv()["decimal_point"] == ","
            assert ctypes.CDLL(None).towupper(ord("i")) == ord("İ")
            yield
        finally:
            for category, name in zip(categories, before, strict=True):
                locale.setlocale(category, name)


@contextlib.contextmanager
def odd_printing() -> Iterator[None]:
    """Numbers that numpy shows with two digits, and arrays that it cuts short."""
    with np.printoptions(precision=2, threshold=3, suppress=True, legacy="1.13"):
        yield


@contextlib.contextmanager
def few_digits() -> Iterator[None]:
    """Whole numbers of more than 640 digits cannot be written."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


@contextlib.contextmanager
def odd_frames() -> Iterator[None]:
    """Texts that pandas keeps in another way, and frames that it shows cut short."""
    with pd.option_context("mode.string_storage", "python", "display.precision", 1, "display.max_rows", 2):
        yield


@contextlib.contextmanager
def coarse_balls() -> Iterator[None]:
    """Balls of five bits, where nothing else is asked for."""
    with flint.ctx.workprec(5):
        yield


SETTINGS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "numpy raises": lambda: numpy_errors(all="raise"),
    "numpy warns": lambda: numpy_errors(all="warn"),
    "numpy calls": lambda: numpy_errors(all="call", call=refuse),
    "strict decimals": strict_decimals,
    "strict warnings": strict_warnings,
    "odd printing": odd_printing,
    "odd frames": odd_frames,
    "few digits": few_digits,
    "coarse balls": coarse_balls,
    "another locale": another_locale,
}
#: The settings that fast tests try.
_FIRST = ("numpy raises", "strict decimals")
EVERY_SETTING = pytest.mark.parametrize(
    "setting",
    [
        pytest.param(setting, id=name, marks=() if name in _FIRST else pytest.mark.slow)
        for name, setting in SETTINGS.items()
    ],
)

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
    return repr(np.asarray(value).tolist()), certificate, repr(np.asarray(release.error(0.05)).tolist())


def asked(name: str, x: Any, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Any:
    """Return what a question tells when its random bytes are always the same."""
    with monkeypatch.context() as patch:
        patch.setattr(Entropy.__init__, "__defaults__", (np.random.default_rng(3).bytes,))
        return told(ask(name, x, **more))


def answers(name: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what a question tells of all tuples, under all budgets, and what the paper's query for it tells."""
    cases = [*itertools.product(TUPLES.values(), BUDGETS)]
    found = [asked(name, x, monkeypatch, **budget) for x, budget in cases]
    return found + [in_the_papers_way(name, x, monkeypatch, **budget) for x, budget in cases if name in PAPER]


#: The queries that the paper answers in another way, with their parameters.
PAPER: dict[str, tuple[type[Query], dict[str, Any]]] = {
    "first_within": (FirstWithin, {"p": np.array([100.0, 200.0]), "radius": 400.0}),
    "hull": (Hull, {"k": 12}),
    "nearest": (Nearest, {"p": np.array([100.0, 200.0]), "k": 1}),
    "points": (Points, {}),
}


def in_the_papers_way(name: str, x: Any, monkeypatch: pytest.MonkeyPatch, **budget: Any) -> Any:
    """Return what one of the paper's queries tells when its random bytes are always the same."""
    query, options = PAPER[name]
    guarantee = gv.CGP(**budget) if "rho" in budget else gv.GP(**budget)
    with monkeypatch.context() as patch:
        patch.setattr(Entropy.__init__, "__defaults__", (np.random.default_rng(3).bytes,))
        return told(release_of_query(query, x, guarantee, **options))


def forget() -> None:
    """Let everything be computed anew that is computed once in a process."""
    directions.cache_clear()
    averages.cache_clear()
    arithmetic.inaccurate.cache_clear()


#: What is told without any setting, by longer path.
CALM: dict[str, list[Any]] = {}


@pytest.mark.deep
@pytest.mark.slow
@EVERY_QUESTION
def test_settings_change_no_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same random bits every question has the same answer, error and certificate, on every tuple."""
    calm = answers(name, monkeypatch)
    for host, setting in SETTINGS.items():
        forget()
        with setting():
            hostile = answers(name, monkeypatch)
        for before, after in zip(calm, hostile, strict=True):
            assert before == after, host


def persons(folder: Path) -> list[Any]:
    """Ask about each person of a frame in degrees, in a local plane."""
    frame = people(30)
    more: dict[str, Any] = {"person": "user", "area": BAY, "rho": "1e-4"}
    answers = [
        release_of("points", frame, **more),
        release_of("hull", frame, **more),
        release_of("radius", frame, **more),
        release_of("mean", frame, **more),
    ]
    answers += [release_of("nearest", frame, shapely.Point(-122.42, 37.77), k=2, **more)]
    return [told(answer) for answer in answers]


def session(folder: Path) -> list[Any]:
    """Ask in a session on a ledger, to the last of the budget."""
    with gv.Ledger(folder / "budget.db") as ledger:
        ledger.create("ann", rho="0.3")
        open_session = gv.Locations(TUPLES["a taxi"]).session(ledger=ledger, subject="ann")
        values = [open_session.mean(rho="0.1").value, open_session.hull(rho="0.1").coords]
        values += [open_session.first_within((0.0, 0.0), radius=500, rho="0.1").value]
        with pytest.raises(gv.errors.BudgetExceeded):
            open_session.mean(rho="1e-20")
        ledger.verify()
        return [repr(np.asarray(value).tolist()) for value in values] + [str(float(ledger.account("ann").spent))]


def file(folder: Path) -> list[Any]:
    """Release files, whose batches are worked on in threads, and load them."""
    written = []
    for name in ("trips.csv", "comma.csv", "trips.gpkg"):
        with calm():
            path, more = make(name, folder, people(30))
        budget: dict[str, Any] = {"epsilon": 1} if name == "trips.gpkg" else {"rho": "1e-4"}
        release_of("points", path, to=folder / f"out-{name}", **budget, **more)
        loaded = gv.load(folder / f"out-{name}")
        written.append(shapely.get_coordinates(loaded.value.geometry).tolist())
    return written


def improvements(folder: Path) -> list[Any]:
    """Make more of releases, and plan some."""
    raw = gv.Locations(TUPLES["a taxi"]).points(rho=1e-4)
    smoothed = raw.smooth("taxi", times=np.arange(300) * 60.0)
    clamped = raw.clamp(shapely.box(-1000, -1000, 1000, 1000))
    plans = [gv.plan("hull", n=100, rho=1e-4).error, gv.plan("points", n=100, error=300.0).guarantee]
    return [repr(np.asarray(r.value).tolist()) for r in (smoothed, clamped)] + [repr(plan) for plan in plans]


PATHS: list[Callable[[Path], list[Any]]] = [persons, session, file, improvements]


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """Let other libraries do as they are used to."""
    with np.errstate(all="ignore"), decimal.localcontext(decimal.DefaultContext), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.slow
@EVERY_SETTING
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_longer_paths_keep_settings(
    setting: Callable[[], AbstractContextManager[None]],
    path: Callable[[Path], list[Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Frames of persons, sessions on a ledger, files and free improvements come out the same."""

    def taken(name: str, setting_of: Callable[[], AbstractContextManager[None]]) -> list[Any]:
        (tmp_path / name).mkdir()
        forget()
        with monkeypatch.context() as patch:
            patch.setattr(Entropy.__init__, "__defaults__", (np.random.default_rng(3).bytes,))
            with setting_of():
                return path(tmp_path / name)

    if path.__name__ not in CALM:
        CALM[path.__name__] = taken("calm", contextlib.nullcontext)
    assert taken("hostile", setting) == CALM[path.__name__]


@EVERY_SETTING
def test_settings_change_no_budget(setting: Callable[[], AbstractContextManager[None]]) -> None:
    """A number of any type is read as the decimal that its author wrote, and sums are exact."""
    numbers: list[Any] = [
        0.1,
        np.float64(0.12345678901234567),
        np.float32(0.1),
        np.float16(0.1),
        np.longdouble("0.1"),
        "1e-7",
        3,
    ]
    numbers += [np.float64(1e-12), Fraction(1, 3)]

    def read() -> list[str]:
        budgets = [gv.CGP(rho=number) for number in numbers]
        more = [gv.GP(epsilon="0.1") * 3, gv.CGP(rho=1) / 7, gv.total([gv.CGP(rho=0.1)] * 10)]
        more += [gv.CGP.hiding(distance=200, chance=0.75)]
        return [exact.written(budget.budget) for budget in [*budgets, *more]] + [repr(budget) for budget in budgets]

    before = read()
    with setting():
        assert read() == before
    assert before[:3] == ["0.1", "0.12345678901234566", "0.1"]


def test_threads_have_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread in which numpy raises gets an answer like any other."""
    x = TUPLES["next to nothing"]
    expected = asked("first_within", x, monkeypatch)

    def work() -> Any:
        np.seterr(all="raise")
        return asked("first_within", x, monkeypatch)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == expected


def test_settings_are_left_alone() -> None:
    """What the host program has set still holds afterwards, also after an error."""
    with numpy_errors(all="raise"), strict_decimals():
        before = np.geterr(), decimal.getcontext().prec
        gv.Locations(X).mean(rho="1e-4")
        with pytest.raises(gv.errors.InvalidData):
            gv.Locations([[math.nan, 0.0]]).mean(rho="1e-4")
        assert (np.geterr(), decimal.getcontext().prec) == before


def test_small_stacks_are_refused() -> None:
    """Too little room for recursion is refused at once, as it would else fail for some values only."""
    session = gv.Locations(X).session(rho="1e-3")
    limit, used = sys.getrecursionlimit(), 0
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        frame, used = frame.f_back, used + 1
    try:
        sys.setrecursionlimit(used + 150)
        with pytest.raises(RecursionError, match="nested calls"):
            session.hull(rho="1e-4")
        assert session.spent == 0
        sys.setrecursionlimit(used + 260)
        session.hull(rho="1e-4")
    finally:
        sys.setrecursionlimit(limit)
    assert float(session.spent) == 1e-4


#: What fegetenv writes on x86-64: the control word of the vector unit is the last of eight words.
_FLUSH, _DENORMALS_ARE_ZERO = 0x8000, 0x40


@contextlib.contextmanager
def vector_unit(bits: int) -> Iterator[None]:
    """Set bits of the processor's control word, as the start-up code of -ffast-math does."""
    if platform.machine() not in ("x86_64", "AMD64") or not sys.platform.startswith("linux"):
        pytest.skip("the control word is that of another processor")
    libm = ctypes.CDLL("libm.so.6")
    before, changed = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
    libm.fegetenv(before)
    libm.fegetenv(changed)
    changed[7] |= bits
    libm.fesetenv(changed)
    try:
        yield
    finally:
        libm.fesetenv(before)


@pytest.mark.parametrize(
    "bits",
    [_FLUSH, _DENORMALS_ARE_ZERO, _FLUSH | _DENORMALS_ARE_ZERO, 0x2000, 0x4000, 0x6000],
    ids=["flush", "denormals are zero", "both", "round down", "round up", "round towards zero"],
)
def test_other_roundings_are_refused(bits: int) -> None:
    """Nothing is charged or drawn under a rounding that no bound on errors is for."""
    session = gv.Locations(X).session(rho="1e-3")
    with vector_unit(bits):
        with pytest.raises(gv.errors.UnreliableArithmetic):
            session.mean(rho="1e-4")
        with pytest.raises(gv.errors.UnreliableArithmetic):
            gv.Locations(X).points(rho="1e-4")
    assert session.spent == 0
    session.mean(rho="1e-4")


OPTIMIZED = """
import sys
import numpy as np
import geoveil as gv
assert False, "asserts are not there"
X = np.arange(8.0).reshape(4, 2)
walk = gv.Locations(X)
for more in ({"rho": 1e-4}, {"epsilon": 0.01}):
    for release in (
        *(getattr(walk, name)(**more) for name in ("points", "bounds", "mean", "median", "radius", "hull")),
        *(getattr(walk, name)(**more) for name in ("center", "diameter", "radius_of_gyration")),
        walk.nearest((0, 0), k=2, **more),
        walk.first_within((0, 0), radius=500, **more),
        walk.distance((0, 0), **more),
        walk.answer(lambda x: x.max(), lipschitz=1, **more),
    ):
        release.error(0.05), release.certificate(), repr(release)
session = gv.Locations(X).session(rho="1e-3")
session.mean(rho="1e-3")
for refused in (
    lambda: session.mean(rho="1e-9"),
    lambda: gv.Locations([[float("nan"), 0.0]]).mean(rho=1e-4),
    lambda: gv.Locations(X).nearest((0, 0), k=9, rho=1e-4),
    lambda: gv.Locations(X).mean(rho=-1),
    lambda: gv.Locations(X).points(rho=1e-4, epsilon=1),
):
    try:
        refused()
    except gv.errors.GeoveilError:
        continue
    sys.exit("not refused")
print("done")
"""


@pytest.mark.slow
def test_optimised_python_still_refuses() -> None:
    """No assert stands between data and an answer that should not be given."""
    told = subprocess.run([sys.executable, "-OO", "-c", OPTIMIZED], capture_output=True, text=True, timeout=120)
    assert told.stdout == "done\n", told.stderr
