"""Which process this is: known at once, and never taken for another's."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from geoveil.host import processes
from geoveil.host.processes import is_running, process_space, this_process
from tests.systems import POSIX


@POSIX
@pytest.mark.parametrize("fork", [lambda: os.fork(), lambda: ctypes.CDLL(None).fork()], ids=["python", "c"])
@pytest.mark.parametrize("page", [True, False], ids=["remembered", "asked"])
def test_forks_are_processes(fork: Callable[[], int], page: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork is another process, also one in C and a fork of a fork."""
    if not page:
        monkeypatch.setattr(processes, "_PAGE", None)
    mine = this_process()
    assert this_process() == mine == (os.getpid(), processes._start("self"))
    child = fork()
    if child == 0:
        mine_now = this_process()
        grandchild = fork()
        if grandchild == 0:
            os._exit(len({mine, mine_now, this_process()}) == 3 and is_running(mine))
        told = os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1])
        os._exit(2 * (mine_now == (os.getpid(), processes._start("self"))) + told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert this_process() == mine


@POSIX
def test_fork_during_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler of a signal may fork at any moment; the child does not take the parent's identity."""
    if processes._PAGE is None:
        pytest.skip("this system's kernel empties no memory in forks, so nothing is remembered")
    plain, children = processes._start, []

    def start(process: int | str) -> bytes:
        told = plain(process)
        monkeypatch.setattr(processes, "_start", plain)
        children.append(os.fork())
        return told

    processes._PAGE[:64] = bytes(64)
    monkeypatch.setattr(processes, "_start", start)
    found = this_process()
    if children == [0]:
        os._exit(found == (os.getpid(), plain("self")))
    assert found == (os.getpid(), plain("self"))
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 1


@POSIX
def test_ended_processes() -> None:
    """Neither an ended process nor an earlier one of the same id is running."""
    number, start = this_process()
    assert is_running((number, start))
    assert is_running((number, b"1")) == (not start)
    child = os.fork()
    if child == 0:
        signal.pause()
    assert is_running((child, processes._start(child)))
    start = processes._start(child)
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert not is_running((child, start))  # though its parent has not noticed
    os.waitpid(child, 0)
    assert not is_running((child, b""))


def test_machine_without_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids of processes are compared on one machine, from one start of it to the next, whatever its name is."""
    mine = process_space()
    processes._space_of.cache_clear()
    monkeypatch.setattr(socket, "gethostname", lambda: "another name")
    assert process_space() == mine
    if sys.platform == "linux":
        assert mine.startswith(Path("/proc/sys/kernel/random/boot_id").read_text().strip())


def test_machine_without_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system does not tell when it started, the network card stands for the machine."""

    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    monkeypatch.setattr(os, "readlink", missing)
    assert processes._space_of.__wrapped__(this_process()) == f"{uuid.getnode():012x}"
