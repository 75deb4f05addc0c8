"""Lines of CSV, fingerprints and searches that work on the bytes of many texts at once."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoveil.answering import counted_rows
from geoveil.geo.formats import open_locations
from geoveil.geo.formats.csv import CSV
from geoveil.geo.formats.fingerprints import Fingerprint
from geoveil.geo.plain_values import shows_places
from geoveil.geo.texts import any_begins_with, any_holds, bytes_of, has_formulas
from tests.formats import BAY, make
from tests.questions import release_of

TEXTS = st.lists(st.text(st.sampled_from('a1é ,;"\n\r-=(['), max_size=4), min_size=1, max_size=9)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> CSV:
    """A CSV file that was opened."""
    path = tmp_path_factory.mktemp("table") / "table.csv"
    path.write_text("user,lat,lon\nann,37.78,-122.41\n")
    file = open_locations(path)
    assert isinstance(file, CSV)
    return file


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
@given(texts=TEXTS)
def test_quoting_is_minimal(table: CSV, delimiter: str, texts: list[str]) -> None:
    """Fields with a delimiter, a quotation mark or a line break are quoted, and all are read back as they were."""
    file = replace(table, reading={**table.reading, "delimiter": delimiter})
    lines = bytes(file._lines([pa.array(texts), pa.repeat("x", len(texts))])).decode()
    marks = {delimiter, '"', "\r", "\n"}
    quoted = ['"' + text.replace('"', '""') + '"' if marks & {*text} else text for text in texts]
    assert lines == "".join(f"{text}{delimiter}x\n" for text in quoted)
    assert [*csv.reader(io.StringIO(lines, newline=""), delimiter=delimiter)] == [[text, "x"] for text in texts]


def test_missing_values_are_empty(table: CSV) -> None:
    """A missing value is an empty field, whether or not other fields are quoted."""
    for other, shown in (("x", "x"), ("a,b", '"a,b"')):
        lines = table._lines([pa.array([None, "y"], pa.string()), pa.array([other, other])])
        assert bytes(lines).decode() == f",{shown}\ny,{shown}\n"


@given(texts=TEXTS, first=st.integers(0, 3))
def test_byte_search_matches_text(texts: list[str], first: int) -> None:
    """Searches in bytes find what searches in each text find, also in a part of an array."""
    part = pa.array([*texts, None]).slice(first)
    known = [text for text in part.to_pylist() if text is not None]
    held, ends = bytes_of(part)
    assert bytes(held) == "".join(known).encode()
    assert len(ends) == len(part) + 1
    assert any_holds(part, "([") == any("(" in text or "[" in text for text in known)
    assert any_begins_with(part, "-=") == any(text.startswith(("-", "=")) for text in known)
    assert any_begins_with(pa.chunked_array([part, part]), "-=") == any_begins_with(part, "-=")


@pytest.mark.parametrize(
    "text",
    [
        "POINT(1 2)",
        '{"coordinates": [1, 2]}',
        "0101000000" + "0" * 32,
        "01e9030000" + "0" * 32,
        "0000000001" + "0" * 32,
    ],
)
def test_short_geometries_are_found(text: str) -> None:
    """The shortest geometry of each kind is found among plain texts."""
    assert shows_places(pa.array(["ann", text]))
    assert not shows_places(pa.array(["ann", "2026-05-01 08:30:00"]))


def test_formulas_are_found(table: CSV) -> None:
    """A text that a spreadsheet would run is found in any chunk of a column."""
    assert has_formulas(pa.chunked_array([["ann", ""], ["=1+1"]]))
    assert not has_formulas(pa.chunked_array([["ann", ""], ["-12", "a=b"]]))


def test_fingerprints_tell_labels_apart() -> None:
    """A fingerprint depends on where labels end, and not on where batches end."""

    def digest(*batches: tuple[list[list[float]], list[str]]) -> bytes:
        found = Fingerprint()
        for coords, labels in batches:
            found.add(np.array(coords).reshape(-1, 2), pa.array(labels, pa.string()))
        return found.digest

    places = [[1.0, 2.0], [3.0, 4.0]]
    whole = digest((places, ["ab", "c"]))
    assert whole == digest((places[:1], ["ab"]), ([], []), (places[1:], ["c"]))
    assert whole != digest((places, ["a", "bc"]))
    assert whole != digest((places[::-1], ["ab", "c"]))


@pytest.mark.parametrize("rows", [0, 40])
def test_persons_beyond_memory(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release is the same if persons of the first rows alone are kept in memory between the two readings."""
    path, told = make("trips.csv", tmp_path)
    monkeypatch.setattr("geoveil.geo.formats.csv._BLOCK", 400)
    monkeypatch.setattr("geoveil.answering.person_counts._LABELS", 5)
    told = {**told, "rho": 1e-4, "area": BAY}
    release_of("points", path, rng=np.random.default_rng(1), to=tmp_path / "all.csv", **told)
    monkeypatch.setattr(counted_rows, "_KNOWN_ROWS", rows)
    release_of("points", path, rng=np.random.default_rng(1), to=tmp_path / "some.csv", **told)
    assert (tmp_path / "some.csv").read_bytes() == (tmp_path / "all.csv").read_bytes()
