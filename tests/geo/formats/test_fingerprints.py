"""Digests of folders: no name of a file makes two folders alike."""

from __future__ import annotations

import hashlib
from pathlib import Path

from geoveil.geo.formats.fingerprints import digest
from tests.systems import POSIX


@POSIX
def test_line_breaks_in_names(tmp_path: Path) -> None:
    """A folder whose one file has a line break in its name has another digest than a folder with two files."""
    two, one = tmp_path / "two", tmp_path / "one"
    two.mkdir()
    one.mkdir()
    (two / "a.txt").write_text("alice")
    (two / "b.txt").write_text("bob")
    (one / f"a.txt {hashlib.sha256(b'alice').hexdigest()}\nb.txt").write_text("bob")
    assert digest(one) != digest(two)


def test_folder_named_like_file(tmp_path: Path) -> None:
    """A folder has another digest than the file in it, also if both have the same name."""
    folder = tmp_path / "new_a.txt"
    folder.mkdir()
    (folder / "new_a.txt").write_text("alice")
    assert digest(folder) != digest(folder / "new_a.txt")
