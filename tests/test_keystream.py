"""Random bits: never the same twice, in no thread and no process, and spread evenly."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from geoveil.noise import Entropy, keystream
from geoveil.noise.keystream import Keystream, random_bytes


def drawn(_: int = 0) -> bytes:
    """What one worker draws; at module level, so that other processes can be asked for it."""
    return random_bytes(64)


def drawn_in_a_fork() -> bytes:
    """What a forked child draws from the stream that its parent had begun."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(send, random_bytes(64))
        os._exit(0)
    os.waitpid(child, 0)
    found = os.read(receive, 64)
    os.close(receive)
    os.close(send)
    return found


def test_bytes_are_as_many_as_asked_for() -> None:
    """Any number of them, none included."""
    for count in (0, 1, 15, 16, 17, 4096, 100_003):
        assert len(random_bytes(count)) == count


def test_bytes_are_spread_evenly() -> None:
    """All values, and all pairs of neighbours' lowest bits, are about equally frequent."""
    found = np.frombuffer(random_bytes(2**22), dtype=np.uint8)
    assert stats.chisquare(np.bincount(found, minlength=256)).pvalue > 1e-6
    low = found & 1
    assert stats.chisquare(np.bincount(2 * low[:-1] + low[1:], minlength=4)).pvalue > 1e-6


def test_threads_share_no_stream() -> None:
    """Each thread has its own keystream."""
    together = threading.Barrier(8)

    def work(_: int) -> bytes:
        together.wait()
        return random_bytes(64)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert len(set(found)) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_processes_share_no_stream() -> None:
    """A child does not go on where its parent stood, nor do two children, nor a child's own child."""
    random_bytes(1)
    found = [drawn_in_a_fork() for _ in range(4)] + [random_bytes(64)]
    assert len(set(found)) == 5
    assert all(len(part) == 64 for part in found)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_pools_of_processes_share_no_stream(method: str) -> None:
    """Workers of a pool draw different bytes, however they are started."""
    random_bytes(1)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        found = list(pool.map(drawn, range(20)))
    assert len(set(found)) == 20


def test_keys_are_replaced_on_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many bytes a new key comes from the operating system, also in the middle of a request."""
    asked: list[int] = []

    def entropy(count: int) -> bytes:
        asked.append(count)
        return real(count)

    real = os.urandom
    monkeypatch.setattr(keystream, "_PER_KEY", 1000)
    monkeypatch.setattr(os, "urandom", entropy)
    stream = Keystream()
    found = stream.read(2500)
    assert asked == [32, 16] * 3
    assert len({found[:500], found[1000:1500], found[2000:]}) == 3
    stream.read(500)
    assert len(asked) == 6
    stream.read(1)
    assert len(asked) == 8


def test_without_fresh_keys_children_would_repeat_their_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of forks sees a stream that is carried over."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    random_bytes(1)
    # What the child forgets is no longer what it reads from.
    kept = keystream._own.stream
    monkeypatch.setattr(keystream, "Keystream", lambda: kept)
    assert drawn_in_a_fork() == drawn_in_a_fork()


def test_releases_draw_from_the_keystream() -> None:
    """The default source reads it."""
    assert Entropy()._read is random_bytes
