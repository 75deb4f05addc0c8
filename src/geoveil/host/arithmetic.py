"""Make sure that arithmetic is as the proven error bounds assume, whatever the host program has set or replaced.

The host program controls three things that are set or checked here: the error handling of numpy and the context of
`decimal` (`steady` sets them), the rounding of the processor (`steady` checks it), and the accuracy of numpy's
functions (`inaccurate` checks it).
"""

from __future__ import annotations

import decimal
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType

import numpy as np

from geoveil.errors import BudgetError, UnreliableArithmetic, warn

__all__ = ["inaccurate", "steady"]

#: Nested calls that must be available for an answer; the deepest path, through balls, takes about half of them.
_FRAMES = 200
#: Python's default decimal context, independent of the current and the default context of the host program.
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
    """Run a block with the default arithmetic of IEEE 754 and Python, whatever the host program has set.

    All code between the data and the answer runs inside. Otherwise, under `numpy.seterr(all="raise")`, a point whose
    computation underflows would raise an error and its neighbour would not: the error would reveal something about the
    data. Running out of stack, or a processor that flushes small numbers to zero, would reveal something too: both are
    refused before the data is read. The block must end in the process that began it. If the user's function or a
    callback forks, two processes would draw an answer that was paid for once, so the child gets an error instead.

    Raises
    ------
    UnreliableArithmetic
        If the processor does not round to nearest, or flushes subnormal numbers to zero.
    RecursionError
        If the stack has too little room for nested calls.
    BudgetError
        In a process that was forked inside the block.
    """
    process = os.getpid()
    if not _rounds(sys.float_info.min, 2.0**-54):
        raise UnreliableArithmetic(
            "In this thread the processor does not round to nearest, or flushes subnormal numbers to zero, so that no "
            "error bound holds. A library compiled with -ffast-math, or a call of fesetround, causes this.",
            "Release in a process or thread without it.",
            charged="nothing",
        )
    if _room() < _FRAMES:
        raise RecursionError(
            f"An answer may need {_FRAMES} nested calls, and only {_room()} are left. Raise the limit with "
            "sys.setrecursionlimit, or call geoveil with fewer functions on the stack. Nothing was released."
        )
    with np.errstate(all="ignore"), decimal.localcontext(_PLAIN):
        yield
    if os.getpid() != process:
        raise BudgetError("The process was forked while a question was answered.", "Only the parent gets the answer.")


def _rounds(smallest: float, bit: float) -> bool:
    """Tell whether doubles round to nearest and have subnormal numbers.

    Rounding to nearest gives 1 for 1 + 2^-54 and for 1 - 2^-55; rounding up or down changes one of them.
    """
    return smallest / 2 > 0 and 1 + bit == 1 and 1 - bit / 2 == 1


def _room() -> int:
    """Return the number of further calls that can be nested."""
    frame: FrameType | None = sys._getframe()
    room = sys.getrecursionlimit()
    while frame is not None:
        frame, room = frame.f_back, room - 1
    return room


#: Largest relative error of a function at the checked arguments. Error bounds assume 2^-41 at all arguments.
_TOLERANCE = 2.0**-44

#: Values of functions, rounded to the nearest double, at arguments that are difficult for some implementation.
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
    """Return the names of numpy's functions that are less accurate on this machine than the error bounds assume.

    numpy chooses its functions by the processor, and a build may take them from any library. The check runs once per
    process, takes a fraction of a millisecond, and warns of every function that fails. Noise is then computed entirely
    with balls (`Entropy`), which is correct but slow.

    Raises
    ------
    UnreliableArithmetic
        If square roots are not rounded correctly, as IEEE 754 requires; every error bound depends on that.
    """
    with np.errstate(all="ignore"):
        wrong = frozenset(name for name in _KNOWN if not _accurate(name))
    if "sqrt" in wrong:
        raise UnreliableArithmetic(
            "numpy's square root does not round correctly on this machine, so that no error bound holds.",
            "Install numpy again, or another version of it.",
            charged="nothing",
        )
    if wrong:
        warn(
            f"numpy's {', '.join(sorted(wrong))} is less accurate on this machine than 2^-44: noise is computed in "
            "ball arithmetic, which is correct but about a hundred times slower. Another version of numpy may help."
        )
    return wrong


def _accurate(name: str) -> bool:
    """Tell whether a function is accurate at all known arguments, in long, short, contiguous and strided arrays."""
    function = getattr(np, name)
    known = np.array([*_KNOWN[name].items()])
    dense, spread = np.repeat(known.T, 4, axis=1), np.tile(known, (2, 1)).T
    tolerance = 0.0 if name == "sqrt" else _TOLERANCE
    layouts = [(dense[0], dense[1]), (spread[0], spread[1]), (known[:3, 0].copy(), known[:3, 1])]
    return all((np.abs(function(x) - y) <= tolerance * np.abs(y)).all() for x, y in layouts)
