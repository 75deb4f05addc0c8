"""A pre-forking server: it loads geoveil and releases once, then forks its workers in C, behind Python's back.

Run as ``python -m tests.prefork WORKERS REQUESTS [--carried]``. Every worker answers requests over a socket that all
of them listen on, as those of a web server do; the noise of all releases goes to standard output, a line each.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import geoveil as gv
from geoveil.noise import Entropy

X = np.zeros((600, 2))


def fork_in_c() -> int:
    """Fork as a C library does: Python's hooks do not run."""
    return int(ctypes.PyDLL(None).fork())


def noise() -> str:
    """Return the noise of one release, which takes keystream and short requests alike."""
    many = gv.Locations(X).points(rho=2e-4).value[:8].ravel()
    few = gv.Locations(X).mean(rho=2e-4).value
    return " ".join(map(repr, [*many.tolist(), *few.tolist()]))


def work(listening: socket.socket) -> None:
    """Answer requests, in a thread where one asks for that, until one says stop."""
    while True:
        connection, _ = listening.accept()
        with connection:
            word = connection.recv(1)
            if word == b"s":
                os._exit(0)
            if word == b"t":
                with ThreadPoolExecutor(1) as pool:
                    told = pool.submit(noise).result()
            else:
                told = noise()
            connection.sendall(told.encode())


def request(address: str, word: bytes) -> str:
    """Ask the server, whichever worker it is that answers."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        connection.sendall(word)
        return b"".join(iter(lambda: connection.recv(2**16), b"")).decode()


def main(workers: int, requests: int, *, carried: bool) -> None:
    """Serve, ask, and print what came."""
    if carried:  # a generator that is made before the fork, as many programs have one
        Entropy.__init__.__defaults__ = (np.random.default_rng().bytes,)
    print(noise())
    address = f"\0geoveil-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        children = []
        for _ in range(workers):
            child = fork_in_c()
            if child == 0:
                work(listening)
            children.append(child)
        print(noise())
        for i in range(requests):
            print(request(address, b"rt"[i % 2 :][:1]))
        for _ in children:
            request(address, b"s")
        for child in children:
            os.waitpid(child, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), carried="--carried" in sys.argv)
