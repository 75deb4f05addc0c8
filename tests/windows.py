"""A program that runs geoveil without the calls that Windows lacks: for test_windows.

There is no Windows here. This takes away what the documentation of Python marks as "Availability: not Windows", and
has the calls that remain behave as they do there: no file that is open is renamed, replaced or removed, no folder is
opened, nothing is flushed that is open for reading, and file names have no characters that Windows reserves.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_SYSTEM: tuple[str, ...] = (
    *("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "getgroups", "getpgid", "getppgid", "getsid"),
    *("killpg", "setsid", "setuid", "uname", "chown", "fchown", "lchown", "fchmod", "mkfifo", "mknod", "nice"),
    *("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_SYNC", "O_DSYNC", "openpty", "pread", "pwrite"),
    *("register_at_fork", "sched_getaffinity", "sched_setaffinity", "statvfs", "sync", "sysconf", "wait", "waitid"),
    *("getloadavg", "getpriority", "memfd_create", "posix_fallocate", "posix_spawn", "sendfile", "getrandom", "lockf"),
    *("WNOHANG", "WIFEXITED", "WEXITSTATUS", "P_PID", "confstr", "ctermid", "fdatasync", "pipe2", "wait3", "wait4"),
)
_SIGNALS = (
    *("SIGHUP", "SIGKILL", "SIGQUIT", "SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGCONT", "SIGSTOP"),
    *(
        "SIGTSTP",
        "SIGWINCH",
        "alarm",
        "pause",
        "setitimer",
        "sigwait",
        "pthread_sigmask",
        "pthread_kill",
        "siginterrupt",
    ),
)
_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "posix_ipc", "crypt", "readline")
_RESERVED = frozenset('<>:"|?*\\')


def deprive() -> None:
    """Take away what a process on Windows does not have: calls from geoveil alone, since others have other wheels."""
    import fcntl

    open_, replace, listdir, readlink = os.open, os.replace, os.listdir, os.readlink
    flags_of, get_flags = fcntl.fcntl, fcntl.F_GETFL

    def is_open(path: Any) -> bool:
        there = os.path.realpath(path)
        for number in listdir("/proc/self/fd"):
            try:
                found = readlink(f"/proc/self/fd/{number}")
            except OSError:
                continue
            if found == there or found.startswith(there + "/"):
                return True
        return False

    def closed(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(path: Any, *others: Any, **more: Any) -> Any:
            for each in (path, *others):
                if "dir_fd" not in more and isinstance(each, str | os.PathLike) and is_open(each):
                    raise PermissionError(13, "The process cannot access the file: it is open", str(each))
            return call(path, *others, **more)

        return called

    def opened(path: Any, flags: int, *others: Any, **more: Any) -> int:
        if more.get("dir_fd") is None and os.path.isdir(path):
            raise PermissionError(13, "Windows opens no folders", str(path))
        return open_(path, flags, *others, **more)

    def fsync(fd: Any) -> None:
        if flags_of(fd, get_flags) & 3 == os.O_RDONLY:
            raise OSError(9, "Windows flushes no file that is open for reading")

    def kill(number: int, signal_number: int) -> None:
        raise AssertionError("os.kill(number, 0) ends a process on Windows")

    def watch(event: str, given: tuple[Any, ...]) -> None:
        if event not in ("open", "os.mkdir", "os.rename", "sqlite3.connect") or not isinstance(given[0], str | Path):
            return
        path = str(given[0])
        # Here psutil itself reads /proc.
        if path.startswith(("/proc", "/sys")) and "psutil" not in sys._getframe(1).f_code.co_filename:
            raise FileNotFoundError(2, "Windows has no such folder", path)
        if event != "sqlite3.connect" and _RESERVED & {*os.path.basename(path)}:
            raise OSError(22, "Windows reserves some characters of file names", path)

    os.replace = os.rename = closed(replace)
    os.unlink, os.remove, os.rmdir = closed(os.unlink), closed(os.remove), closed(os.rmdir)
    os.fsync = fsync
    for module, names, others in (
        (os, _SYSTEM, {"open": opened, "kill": kill}),
        (signal, _SIGNALS, {"SIGBREAK": signal.SIGTERM}),
    ):
        poorer = ModuleType(module.__name__)
        poorer.__dict__.update({name: value for name, value in vars(module).items() if name not in names}, **others)
        sys.modules[module.__name__] = poorer
    for name in _MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.addaudithook(watch)


def import_all() -> list[str]:
    """Import every module of geoveil, as on Windows."""
    import geoveil

    names = [found.name for found in pkgutil.walk_packages(geoveil.__path__, "geoveil.")]
    for name in names:
        if name != "geoveil.__main__":
            importlib.import_module(name)
    return names


def run(folder: Path) -> None:
    """Release points, charge a ledger, back it up and restore it, and run commands."""
    import pytest

    import geoveil as gv
    from geoveil.cli import main

    area = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    trips = folder / "trips.csv"
    trips.write_text("user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n", encoding="utf-8")
    with gv.Ledger(folder / "budgets.db") as ledger:
        ledger.create("ann", "bob", rho="1e-2")
        release = (
            gv.Locations(trips, person="user", area=area)
            .session(ledger=ledger)
            .points(to=folder / "out.csv", rho="1e-4")
        )
        ledger.backup(folder / "backup.db")
    restored = gv.Ledger.restore(folder / "backup.db", folder / "restored.db", certificates=[release.certificate()])
    restored.close()
    # A file that a user has open in a spreadsheet is refused before anything is charged, and left alone.
    with (folder / "out.csv").open("rb"), pytest.raises(gv.errors.InvalidFile, match="Close it in other programs"):
        gv.Locations(trips, area=area, overwrite=True).points(to=folder / "out.csv", rho="1e-4")
    for command in (
        f"points {trips} -o {folder / 'again.csv'} --person user --rho 1e-4 --area 37.77,-122.42,50km "
        f"--ledger {folder / 'restored.db'} --report {folder / 'report.html'}",
        f"experiments run composition --out {folder / 'results'} --repetitions 1 --workers 1 --no-figures",
    ):
        with pytest.raises(SystemExit) as ended:
            main(command.split())
        assert ended.value.code == 0


if __name__ == "__main__":
    # What others install is taken as it is: their wheels for Windows are other ones.
    for outside in sys.argv[2].split(","):
        importlib.import_module(outside)
    # A text file whose encoding is not stated has that of the country there.
    warnings.filterwarnings("error", category=EncodingWarning, module="geoveil")
    deprive()
    sys.platform = "win32"
    import_all()
    run(Path(sys.argv[1]))
    print("ran")
