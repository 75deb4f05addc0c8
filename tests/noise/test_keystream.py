"""Random bits: never the same twice, in no thread and no process, and spread evenly."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import stats

import geoveil as gv
from geoveil.budget import SessionLimit
from geoveil.errors import BudgetError
from geoveil.noise import Entropy, keystream, settled
from geoveil.noise.keystream import Keystream, random_bytes
from geoveil.privacy import CGP
from tests.prefork import fork_in_c
from tests.systems import POSIX

pytestmark = [
    pytest.mark.usefixtures("bits_of_the_system"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]


def drawn(_: int = 0) -> bytes:
    """What one worker draws; at module level, so that other processes can be asked for it."""
    return random_bytes(64)


def in_a_fork(draw: Callable[[], bytes], fork: Callable[[], int]) -> bytes:
    """Return what a forked child draws."""
    receive, send = os.pipe()
    child = fork()
    if child == 0:
        os.write(send, draw())
        os._exit(0)
    os.waitpid(child, 0)
    found = os.read(receive, 2**16)
    os.close(receive)
    os.close(send)
    return found


def test_any_number_of_bytes() -> None:
    """Any number of bytes can be asked for, none included."""
    for count in (0, 1, 15, 16, 17, 4096, 100_003):
        assert len(random_bytes(count)) == count


#: These bytes are different every time.
FALSE_ALARM = 1e-10


@pytest.mark.statistical
def test_bytes_are_spread_evenly() -> None:
    """All values, and all pairs of neighbours' lowest bits, are about equally frequent."""
    found = np.frombuffer(random_bytes(2**22), dtype=np.uint8)
    assert stats.chisquare(np.bincount(found, minlength=256)).pvalue > FALSE_ALARM
    low = found & 1
    assert stats.chisquare(np.bincount(2 * low[:-1] + low[1:], minlength=4)).pvalue > FALSE_ALARM


def test_threads_share_no_stream() -> None:
    """Each thread has its own keystream."""
    together = threading.Barrier(8)

    def work(_: int) -> bytes:
        together.wait()
        return random_bytes(64)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert len(set(found)) == 8


FORKS = {"os.fork": lambda: os.fork(), "a fork in C": fork_in_c}


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS)
@pytest.mark.parametrize("count", [64, 5000], ids=["short", "long"])
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forks_share_no_bytes(fork: Callable[[], int], count: int) -> None:
    """A child does not repeat its parent, nor do two children, nor a child's own child, however they were forked."""
    random_bytes(count)

    def draw() -> bytes:
        return random_bytes(count)

    found = [in_a_fork(draw, fork) for _ in range(4)]
    found += [in_a_fork(lambda: in_a_fork(draw, fork), fork), draw()]
    assert len(set(found)) == 6
    assert all(len(part) == count for part in found)


@POSIX
@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS)
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_carried_stream_is_noticed(fork: Callable[[], int]) -> None:
    """The check of forks sees children that go on where their parent stood."""
    carried = np.random.default_rng().bytes
    assert in_a_fork(lambda: carried(64), fork) == in_a_fork(lambda: carried(64), fork)


def test_copied_keys_are_harmless() -> None:
    """Two streams with one key, as a snapshot of a machine has them, give different bytes."""
    one, other = Keystream(), Keystream()
    one.read(5000)
    other._cipher, other._left = one._cipher, one._left
    assert one.read(5000) != other.read(5000)


@pytest.mark.slow
@pytest.mark.parametrize("carried", [False, True], ids=["geoveil", "a generator made before the fork"])
def test_preforking_servers_differ(carried: bool) -> None:
    """No two releases of a pre-forking server have equal noise; with a generator from before the fork they would."""
    command = [sys.executable, "-m", "tests.prefork", "3", "12", *["--carried"][: int(carried)]]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert len(told) == 14
    # Noise of hundreds of metres on a grid of half a metre: two equal lines of 18 numbers are no chance.
    assert (len(set(told)) < 14) == carried


@POSIX
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="this system does not tell when a process started")
def test_reused_ids_are_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grandchild may get the id of a process that has ended; its budget in memory is not the grandchild's."""
    account = SessionLimit(CGP(rho=1))
    mine = os.getpid()
    account.charge(CGP(rho="0.1"))

    def refused() -> bytes:
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: mine)
            try:
                account.charge(CGP(rho="0.1"))
            except BudgetError:
                return b"refused"
        return b"allowed"

    # The start of a process is told in hundredths of a second.
    time.sleep(0.02)
    assert in_a_fork(refused, fork_in_c) == b"refused"


@POSIX
@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS)
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_during_a_question(fork: Callable[[], int]) -> None:
    """A fork in the middle of a question gives one answer.

    Two processes must not both draw for what one of them has paid.
    """
    session = gv.Locations([[0.0, 0.0]]).session(rho="1e-4")
    here, child = os.getpid(), 0
    receive, send = os.pipe()

    def forking(x: Any) -> float:
        nonlocal child
        child = fork()
        return float(x[0, 0])

    outcome = b"answered"
    try:
        session.answer(forking, lipschitz=1, rho="1e-4")
    except BudgetError:
        outcome = b"refused"
    if os.getpid() != here:
        os.write(send, outcome)
        os._exit(0)
    os.waitpid(child, 0)
    assert outcome == b"answered"
    assert os.read(receive, 100) == b"refused"
    os.close(receive)
    os.close(send)


@POSIX
def test_forks_wait_for_nobody() -> None:
    """A thread that refines while another one forks leaves no lock behind that the child would wait for."""
    inside, done = threading.Event(), threading.Event()

    def attempt(_: int) -> bool:
        inside.set()
        return done.wait(30)

    thread = threading.Thread(target=lambda: settled(attempt))
    thread.start()
    inside.wait()
    try:
        assert in_a_fork(lambda: settled(lambda bits: str(bits).encode()), fork_in_c) == b"128"
    finally:
        done.set()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_pools_share_no_stream(method: str) -> None:
    """Workers of a pool draw different bytes, however they are started."""
    random_bytes(1)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        found = list(pool.map(drawn, range(20)))
    assert len(set(found)) == 20


def test_keys_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fixed number of bytes a new key comes from the operating system, and every request starts anew."""
    asked: list[int] = []

    def entropy(count: int) -> bytes:
        asked.append(count)
        return real(count)

    real = os.urandom
    monkeypatch.setattr(keystream, "_PER_KEY", 1000)
    monkeypatch.setattr(os, "urandom", entropy)
    stream = Keystream()
    found = stream.read(2500)
    assert asked == [32, 16, 16] * 3
    assert len({found[:500], found[1000:1500], found[2000:]}) == 3
    stream.read(500)
    assert asked[9:] == [16]
    stream.read(300)
    assert asked[10:] == [32, 16, 16]
    stream.read(8)
    assert asked[13:] == [8]


def test_releases_use_the_keystream() -> None:
    """The default source of noise reads the keystream."""
    assert Entropy()._read is random_bytes
