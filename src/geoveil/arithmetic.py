"""What arithmetic must be for proven bounds to hold, whatever the host program has set, linked or replaced.

Three things are not in geoveil's hands, and are looked at here: how numpy and `decimal` react to what they compute
(`steady`), how the processor rounds (`steady` as well), and how accurate numpy's functions are (`inaccurate`).
"""

from __future__ import annotations

import decimal
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType

import numpy as np

from geoveil.errors import BudgetError, GeoveilWarning, UnreliableArithmetic

__all__ = ["inaccurate", "steady"]

#: Frames that an answer may take: the deepest way, through balls, takes about half of them.
_FRAMES = 200
#: Python's own settings, whatever the current or the default context is.
_PLAIN = decimal.Context(
    prec=28,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=-999999,
    Emax=999999,
    capitals=1,
    clamp=0,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)


@contextmanager
def steady() -> Iterator[None]:
    """Compute as IEEE 754 and Python have it by default, whatever the host program has set.

    Everything between data and answer runs inside. Under `numpy.seterr(all="raise")` a point for which a number
    underflows would else fail where its neighbour does not: the failure would tell about the data. So would an answer
    that runs out of stack, or a processor that flushes small numbers to zero: both are refused before anything is
    looked at. What began in one process ends in it: if a function or a callback of the host forks, two processes
    would draw for what one of them has paid, so the child gets an error instead of an answer.

    Raises
    ------
    UnreliableArithmetic
        If the processor does not round to nearest, or flushes subnormal numbers to zero.
    RecursionError
        If too few nested calls are left.
    BudgetError
        In a process that was forked meanwhile.
    """
    process = os.getpid()
    if not _rounds(sys.float_info.min, 2.0**-54):
        raise UnreliableArithmetic(
            "The processor does not round to nearest, or flushes subnormal numbers to zero in this thread: no bound "
            "on errors holds. A library compiled with -ffast-math, or a call of fesetround, sets that; release in a "
            "process, or a thread, without it. Nothing was released."
        )
    if _room() < _FRAMES:
        raise RecursionError(
            f"An answer may take {_FRAMES} nested calls, and {_room()} are left. Raise the limit with "
            "sys.setrecursionlimit, or ask from less deep. Nothing was released."
        )
    with np.errstate(all="ignore"), decimal.localcontext(_PLAIN):
        yield
    if os.getpid() != process:
        raise BudgetError("A fork came in the middle of a question. The process that asked it has the answer.")


def _rounds(smallest: float, bit: float) -> bool:
    """Return whether doubles round to nearest, and below the smallest normal one have subnormal ones.

    1 + 2^-54 is rounded up where 1 should be left, 1 - 2^-55 rounded down.
    """
    return smallest / 2 > 0 and 1 + bit == 1 and 1 - bit / 2 == 1


def _room() -> int:
    """Return how many more calls can be nested."""
    frame: FrameType | None = sys._getframe()
    room = sys.getrecursionlimit()
    while frame is not None:
        frame, room = frame.f_back, room - 1
    return room


#: How wrong, relatively, a function may be where it is looked at. Bounds trust them to 2^-41 everywhere.
_TOLERANCE = 2.0**-44

#: Functions at arguments that are hard for one implementation or another: the nearest doubles to arguments and values.
# fmt: off
_KNOWN: dict[str, dict[float, float]] = {
    "log": {
        1.0842021724855044e-19: -43.66827237527655, 1.3065338134765626e-06: -13.548132871358872,
        0.001: -6.907755278982137, 0.1: -2.3025850929940455, 0.3333333333333333: -1.0986122886681098,
        0.6796875: -0.38612214526503347, 0.70703125: -0.3466804132137367, 0.7071067811865476: -0.3465735902799726,
        0.9375: -0.06453852113757118, 0.9990234375: -0.0009770396478266127,
        0.9999999990686774: -9.313225750491594e-10, 0.9999999999999998: -2.2204460492503136e-16,
        0.9999999999999999: -1.1102230246251565e-16, 1.0000000000000002: 2.2204460492503128e-16,
        1.0390625: 0.0383188643021366, 1.4142135623730951: 0.3465735902799727, 2.718281828459045: 1.0,
        44.5: 3.7954891891721947,
    },
    "log1p": {
        -1e-300: -1e-300, -8.673617379884035e-19: -8.673617379884035e-19,
        -1.1102230246251565e-16: -1.1102230246251565e-16, -1e-09: -1.0000000005000001e-09,
        -0.0009765625: -0.0009770396478266127, -0.09375: -0.09844007281325252,
        -0.29289321881345254: -0.34657359027997275, -0.3: -0.35667494393873234,
        -0.4999999999999999: -0.6931471805599451, -0.5: -0.6931471805599453, -0.75: -1.3862943611198906,
        -0.9990234375: -6.931471805599453, -0.9999999999999999: -36.7368005696771,
    },
    "exp": {
        -700.0: 9.85967654375977e-305, -300.7: 2.556520571425501e-131, -45.1: 2.5901139215042696e-20,
        -10.3: 3.363309518571897e-05, -1.0: 0.36787944117144233, -0.6931471805599453: 0.5,
        -0.34657359027997264: 0.7071067811865476, -1e-09: 0.999999999, 5.551115123125783e-17: 1.0,
        0.3465735902799727: 1.4142135623730951, 0.5: 1.6487212707001282, 1.0: 2.718281828459045,
        88.7: 3.325986980250579e+38, 555.5: 1.780675146961092e+241,
    },
    "expm1": {
        -700.0: -1.0, -40.0: -1.0, -37.42994775023705: -1.0, -1.0: -0.6321205588285577, -0.6931471805599453: -0.5,
        -0.5: -0.3934693402873666, -0.34657359027997264: -0.2928932188134525, -0.25: -0.22119921692859512,
        -0.001: -0.0009995001666250085, -1e-09: -9.999999995e-10, -1.1102230246251565e-16: -1.1102230246251565e-16,
        -1e-300: -1e-300,
    },
    "sin": {
        -9.42477796076938: -3.6739403974420594e-16, -3.141592653589793: -1.2246467991473532e-16,
        -1.5707963267948966: -1.0, -0.7853981633974483: -0.7071067811865475, -0.3: -0.29552020666133955,
        -1e-08: -1e-08, 1e-19: 1e-19, 7.450580596923828e-09: 7.450580596923828e-09,
        0.001953125: 0.001953123758236804, 0.1: 0.09983341664682815, 0.39269908169872414: 0.3826834323650898,
        0.5235987755982989: 0.5, 0.7853981633974483: 0.7071067811865475, 1.0471975511965976: 0.8660254037844386,
        3.0: 0.1411200080598672, 6.283185307179586: -2.4492935982947064e-16, 9.0: 0.4121184852417566,
    },
    "sqrt": {
        5.421010862427522e-20: 2.3283064365386963e-10, 0.1: 0.31622776601683794, 0.5: 0.7071067811865476,
        0.9999999999999999: 0.9999999999999999, 1.0000000000000002: 1.0, 2.0: 1.4142135623730951,
        3.0: 1.7320508075688772, 27.74: 5.2668776329054765,
    },
}
# fmt: on


@cache
def inaccurate() -> frozenset[str]:
    """Return the names of numpy's functions that are not as accurate here as bounds on errors take them to be.

    It is looked at once in a process, in a fraction of a millisecond, and a warning names what is found: numpy chooses
    its functions by the processor, and a build may take them from any library. Noise that depends on one of them is
    then computed in balls altogether (`Entropy`), which is right and slow.

    Raises
    ------
    UnreliableArithmetic
        If square roots are not rounded correctly, which IEEE 754 asks for and nothing can do without.
    """
    with np.errstate(all="ignore"):
        found = frozenset(name for name in _KNOWN if not _accurate(name))
    if "sqrt" in found:
        raise UnreliableArithmetic(
            "numpy's square root does not round correctly here: no bound on errors holds. Is numpy what it should be? "
            "Nothing was released."
        )
    if found:
        warnings.warn(
            f"numpy's {', '.join(sorted(found))} is less accurate here than 2^-44: noise is computed in ball "
            "arithmetic, which is right and some hundred times slower. Another version of numpy may help.",
            GeoveilWarning,
            stacklevel=2,
        )
    return found


def _accurate(name: str) -> bool:
    """Return whether a function is right at all known arguments, in arrays long and short, dense and spread out."""
    function = getattr(np, name)
    known = np.array([*_KNOWN[name].items()])
    dense, spread = np.repeat(known.T, 4, axis=1), np.tile(known, (2, 1)).T
    tolerance = 0.0 if name == "sqrt" else _TOLERANCE
    layouts = [(dense[0], dense[1]), (spread[0], spread[1]), (known[:3, 0].copy(), known[:3, 1])]
    return all((np.abs(function(x) - y) <= tolerance * np.abs(y)).all() for x, y in layouts)
