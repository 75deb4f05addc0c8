"""Files that a page sends or names: their names and paths, and files that belong together, such as a shapefile."""

from __future__ import annotations

import re
import stat
import unicodedata
from pathlib import Path

from geoveil.errors import GeoveilError
from geoveil.text.words import counted

__all__ = ["Parcel", "ReceivedName", "regular_size", "typed_path"]

#: The longest name of a file on disk, in bytes; file systems take 255.
_LONGEST = 180
#: The longest ending of a name, such as .geojsonl.gz.
_ENDING = 24
#: The largest depth of folders within folders.
_DEEPEST = 12
#: Characters that some file systems forbid, and names that Windows keeps for itself.
_FORBIDDEN = re.compile(r'[<>:"|?*]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
#: Characters that reverse the text around them, which can make one name look like another.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
#: The parts without which a shapefile cannot be read.
_NEEDED = (".shx", ".dbf")


class ReceivedName:
    r"""The name of a file as its owner knows it, and a name for it that any disk can hold.

    Parameters
    ----------
    given : str
        The name, as a page states it. Folders in it are left out.

    Examples
    --------
    >>> name = ReceivedName(r"C:\data\may: all.csv")
    >>> name.shown, name.stored
    ('may: all.csv', 'may_ all.csv')
    """

    def __init__(self, given: str) -> None:
        last = re.split(r"[/\\]", unicodedata.normalize("NFC", given))[-1].strip()
        if any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in last) or _TURNING.search(last):
            raise GeoveilError("The name of the file has a character that cannot be shown.", "Rename it first.")
        #: The name, as its owner knows it.
        self.shown = last
        if not last.strip(". "):
            raise GeoveilError("The file has no name.", "Rename it first.")
        if last.startswith("."):
            raise GeoveilError(f"{last} is a hidden file.", "Rename it first, if it holds locations.")
        plain = _FORBIDDEN.sub("_", last.rstrip(". "))
        #: The name on disk.
        self.stored = _shortened(f"_{plain}" if _RESERVED.fullmatch(plain) else plain)


def _shortened(name: str) -> str:
    """Return a name that is short enough for any disk; it keeps its ending, which tells the format."""
    if len(name.encode()) <= _LONGEST:
        return name
    ending = "".join(Path(name).suffixes[-2:])
    if len(ending.encode()) > _ENDING:
        ending = Path(name).suffix
    if len(ending.encode()) > _ENDING:
        ending = ""
    stem = name.removesuffix(ending).encode()[: _LONGEST - len(ending.encode())]
    return stem.decode(errors="ignore") + ending


class Parcel:
    """Files that are received one after another and opened together.

    Parameters
    ----------
    folder : Path
        An empty folder for them, which only its owner can read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shown: dict[Path, str] = {}
        self._top: tuple[Path, str] | None = None

    def place(self, given: str) -> Path:
        """Return the path to which a file is to be written; its name may contain folders, below the dropped one.

        Raises an error of the library for a name that no file can have.
        """
        *above, last = given.split("/")
        if len(above) > _DEEPEST:
            raise GeoveilError("The folder has folders within folders that are too deep.", "Choose one of them.")
        folder = self._folder
        for part in above:
            name = ReceivedName(part)
            folder /= name.stored
            folder.mkdir(mode=0o700, exist_ok=True)
            self._top = self._top or (folder, name.shown)
        name = ReceivedName(last)
        path = folder / name.stored
        if path in self._shown:
            raise GeoveilError(f"Two files are called {name.shown}.", "Rename one of them.")
        self._shown[path] = name.shown
        return path

    def whole(self) -> tuple[Path, str]:
        """Return the path to open, and its name: one file, the .shp file of a shapefile, or the folder."""
        files = [*self._shown]
        shapes = [path for path in files if path.suffix.lower() == ".shp"]
        if len(shapes) == 1 and all(path.name.startswith(f"{shapes[0].stem}.") for path in files):
            return self._shapefile(shapes[0])
        if len(files) == 1:
            return files[0], self._shown[files[0]]
        if self._top is not None and all(path.is_relative_to(self._top[0]) for path in files):
            return self._top
        if not files:
            raise GeoveilError("The folder holds no files.", "Choose another one.")
        names = ", ".join([*self._shown.values()][:3])
        problem = f"{counted(len(files), 'file')} were given at once: {names}{' …' if len(files) > 3 else ''}."
        raise GeoveilError(problem, "Give one file, the parts of one shapefile, or the folder that holds them.")

    def _shapefile(self, shape: Path) -> tuple[Path, str]:
        """Return a shapefile, or refuse one whose other parts are missing."""
        endings = {path.suffix.lower() for path in self._shown}
        if missing := [ending for ending in _NEEDED if ending not in endings]:
            stem = Path(self._shown[shape]).stem
            parts = " and ".join(f"{stem}{ending}" for ending in missing)
            problem = f"{self._shown[shape]} is one part of a shapefile; {parts} {'are' if len(missing) > 1 else 'is'}"
            remedy = "Choose or drop all of its parts together, or a zip file that holds them."
            raise GeoveilError(f"{problem} missing.", remedy)
        return shape, self._shown[shape]


def typed_path(text: str, what: str) -> Path:
    """Return the path that a text states, with the home folder in place of ~; refuse a text that cannot be a path.

    Parameters
    ----------
    text : str
        The text.
    what : str
        What the file is, for the message.

    Examples
    --------
    >>> typed_path("budget.db", "ledger").name
    'budget.db'
    """
    remedy = "Type the path of a file."
    if any(ord(each) < 32 for each in text):
        raise GeoveilError(f"The path of the {what} has a character that no path can have.", remedy)
    try:
        path = Path(text).expanduser()
        path.exists()
    except RuntimeError:
        raise GeoveilError(f"{text}: there is no such user on this machine.", remedy) from None
    except (OSError, ValueError):
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise GeoveilError(f"{shown} cannot be the path of a {what}: it may be too long.", remedy) from None
    return path


def regular_size(path: Path) -> int:
    """Return the size of a regular file in bytes; -1 if it is missing, a folder, a device or the like."""
    try:
        state = path.stat()
    except OSError:
        return -1
    return state.st_size if stat.S_ISREG(state.st_mode) else -1
