"""Files of tracks without what lies in zones: nothing in them, or about them, depends on what was removed."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pyogrio
import pyproj
import pytest
import shapely
from hypothesis import HealthCheck, given, settings

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.recordings import Track, gpx, length, tcx
from geoveil.geo.recordings import fit as fit_files
from geoveil.requests.shared_tracks import CutTracks, SharedFile, TrackFiles, write_files
from geoveil.zones import Rules
from tests import rides
from tests.worlds import HOME, ZONE, commute, released, worlds

needs_fit = pytest.mark.skipif(importlib.util.find_spec("fitdecode") is None, reason="fitdecode is not installed")
KINDS = {kind: [needs_fit] if kind == "fit" else [] for kind in rides.RIDES}
every_kind = pytest.mark.parametrize("kind", [pytest.param(kind, marks=marks) for kind, marks in KINDS.items()])
_SLOW = ("gpkg", "parquet", "lines-gpkg")
_EARTH = pyproj.Geod(ellps="WGS84")


@pytest.fixture(autouse=True)
def _same_day() -> Any:
    """Let GDAL write the same day into every GeoPackage."""
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": "2024-01-01T00:00:00Z"})
    yield
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": None})


@pytest.mark.slow
@every_kind
def test_files_ignore_hidden_rides(kind: str, tmp_path: Path) -> None:
    """Rides that differ only within the margin around a home give the same files, byte by byte."""
    nonempty = 0

    @settings(max_examples=8 if kind in _SLOW else 25, suppress_health_check=[*HealthCheck])
    @given(worlds())
    def same(pair: Any) -> None:
        nonlocal nonempty
        found = []
        for world in pair:
            shutil.rmtree(tmp_path / "world", ignore_errors=True)
            found.append(released(kind, world, tmp_path / "world"))
        assert found[0] == found[1]
        nonempty += bool(found[0])

    same()
    assert nonempty >= 2


@every_kind
def test_pieces_lie_outside(kind: str, tmp_path: Path) -> None:
    """Commutes from home lose their first points, and no others; further points at home change nothing."""
    alone, longer = (released(kind, commute(extra), tmp_path / str(extra)) for extra in (0, 3))
    assert alone == longer
    assert len(alone) == 3
    files = TrackFiles.read([tmp_path / "0" / "rides"])
    for each in CutTracks.of(files, [ZONE], Rules()).shared:
        [piece] = each.pieces
        away = _EARTH.inv(*np.broadcast_to(HOME, (len(piece), 2)).T, *piece.places.T)[2]
        assert away.min() > 350
        assert len(piece) > 25
        assert away[0] == away.min()


#: What the first point, at home, says of itself in a column, and the column as a usual ride has it.
REMOVED: dict[str, tuple[str, str, list[str]]] = {
    "a text for a time": ("time", "at home", [f"2026-05-04T08:{at:02d}:00Z" for at in range(9)]),
    "a day that tells the order of dates": ("time", "25/04/2026 08:00", [f"{5 + at:02d}/04/2026" for at in range(9)]),
    "a number that is no time since 1970": ("time", "5", [str(1_777_881_600 + at) for at in range(9)]),
    "half a pulse": ("pulse", "100.5", [str(100 + at) for at in range(9)]),
    "a text for a pulse": ("pulse", "none", [str(100 + at) for at in range(9)]),
}


@pytest.mark.parametrize("ending", ["csv", "geojson", "xlsx"])
@pytest.mark.parametrize("case", [*REMOVED])
def test_removed_values_decide_nothing(case: str, ending: str, tmp_path: Path) -> None:
    """Times, units and types are told from what is released: a removed value changes none of them."""
    column, odd, usual = REMOVED[case]
    told = []
    for which, first in enumerate((odd, usual[0])):
        columns: dict[str, list[Any]] = {"lat": [47.37, *(47.39 + np.arange(9) * 1e-4)], "lon": [8.54] * 10}
        columns["time"] = REMOVED["a text for a time"][2][:1] + REMOVED["a text for a time"][2]
        columns[column] = [first, *usual]
        if ending != "csv":
            columns[column] = [
                json.loads(text) if text.replace(".", "").isdigit() else text for text in [first, *usual]
            ]
        frame = pd.DataFrame(columns, dtype=object)
        folder = tmp_path / str(which)
        folder.mkdir()
        path = folder / f"ride.{ending}"
        if ending == "csv":
            frame.to_csv(path, index=False)
        elif ending == "xlsx":
            frame.to_excel(path, index=False)
        else:
            rows = frame.drop(columns=["lat", "lon"]).to_dict("records")
            points = [
                {"type": "Point", "coordinates": [lon, lat]} for lon, lat in zip(frame.lon, frame.lat, strict=True)
            ]
            features = [
                {"type": "Feature", "properties": row, "geometry": point}
                for row, point in zip(rows, points, strict=True)
            ]
            path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        cut = CutTracks.of(TrackFiles.read([path], keep=["pulse"] if column == "pulse" else []), [ZONE], Rules())
        [written] = write_files(cut.shared, folder)
        content: Any = pd.read_excel(written).to_csv() if ending == "xlsx" else written.read_bytes()
        [shared] = cut.shared
        told.append((written.name, content, shared.format.columns, [piece.times.tolist() for piece in shared.pieces]))
        assert cut.points == 9
        assert not any(np.isnat(piece.times).any() for piece in shared.pieces)
    assert told[0] == told[1]


@pytest.mark.parametrize("ending", ["gpkg", "parquet", "geojson", "csv"])
def test_points_alone_are_shared(ending: str, tmp_path: Path) -> None:
    """A layer of points without a column is released as one."""
    places = geopandas.GeoSeries([shapely.Point(fix[:2]) for fix in rides.straight(HOME)], crs=4326)
    path = tmp_path / f"points.{ending}"
    if ending == "csv":
        places.get_coordinates().rename(columns={"x": "lon", "y": "lat"}).to_csv(path, index=False)
    elif ending == "parquet":
        geopandas.GeoDataFrame(geometry=places).to_parquet(path)
    else:
        places.to_file(path)
    cut = CutTracks.of(TrackFiles.read([path]), [ZONE], Rules())
    [written] = write_files(cut.shared, tmp_path)
    [track] = TrackFiles.read([written]).tracks
    assert len(track) == cut.points > 25


def test_lines_have_no_values(tmp_path: Path) -> None:
    """A column of a line is about the whole line: it is refused by name, and the line is released without it."""
    path = rides.make("lines-gpkg", rides.straight(HOME), tmp_path, "ride")
    with pytest.raises(InvalidParameter, match="tell of whole lines"):
        TrackFiles.read([path], keep=["length"])
    [written] = write_files(CutTracks.of(TrackFiles.read([path]), [ZONE], Rules()).shared, tmp_path)
    found = geopandas.read_file(written)
    assert found.columns.tolist() == ["geometry"]
    assert found.crs == geopandas.read_file(path).crs
    assert set(shapely.get_coordinates(found.geometry)[:, 0]) < set(
        shapely.get_coordinates(geopandas.read_file(path).geometry)[:, 0]
    )


def test_mixed_lines_are_refused(tmp_path: Path) -> None:
    """The refusal names forms of lines that are read; a layer of the lines alone is."""
    line = shapely.LineString([fix[:2] for fix in rides.straight(HOME)])
    both = geopandas.GeoDataFrame(geometry=[line, shapely.Point(HOME)], crs=4326)
    both.to_file(tmp_path / "both.gpkg")
    both.to_wkt().to_csv(tmp_path / "both.csv", index=False)
    for name in ("both.gpkg", "both.csv"):
        with pytest.raises(InvalidFile, match="a layer of lines alone"):
            TrackFiles.read([tmp_path / name])
    both[:1].to_file(tmp_path / "lines.gpkg")
    assert len(TrackFiles.read([tmp_path / "lines.gpkg"]).tracks) == 1


@pytest.mark.parametrize("kind", ["csv", "points-geojson", "parquet"])
def test_row_order_is_irrelevant(kind: str, tmp_path: Path) -> None:
    """Points of a table are put in the order of their times, as databases have an order of their own."""
    told = []
    for name, mixed in (("plain", False), ("mixed", True)):
        world = [(each, sorted(ride, key=lambda fix: fix.seconds % 7) if mixed else ride) for each, ride in commute()]
        told.append(released(kind, world, tmp_path / name))
    assert told[0] == told[1]
    assert len(told[0]) == 3


# Planted bugs --------------------------------------------------------------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]


def _before_the_cut(change: Callable[[Track], Track]) -> Plant:
    """Change tracks as a whole, before they are cut."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        read = TrackFiles.read

        def changed(*args: Any, **given: Any) -> TrackFiles:
            files = read(*args, **given)
            return TrackFiles(files.sources, tuple(map(change, files.tracks)), files.file_of)

        patch.setattr(TrackFiles, "read", changed)

    return plant


def _with(track: Track, values: Sequence[float]) -> Track:
    """Return a track whose altitudes are other values."""
    kind = type(track.attributes["altitude"][0])
    attributes = {**track.attributes, "altitude": [kind(float(value)) for value in values]}
    return Track(track.places, track.times, attributes, track.line, track.native)


def _cumulative(track: Track) -> np.ndarray[Any, Any]:
    steps = _EARTH.line_lengths(*track.places.T) if len(track) > 1 else []
    return np.concatenate([[0.0], np.cumsum(steps)])


def _smoothed(track: Track) -> Track:
    around = np.clip(np.arange(len(track))[:, None] + np.arange(-4, 5), 0, len(track) - 1)
    moved = track.places[around].mean(axis=1)
    native = None if track.native is None else track.native[around].mean(axis=1)
    return Track(moved, track.times, track.attributes, track.line, native)


def _since_the_start(track: Track) -> Track:
    since = track.times - track.times[0] + np.datetime64("2000-01-01T00:00:00", "us")
    names = {name: values for name, values in track.attributes.items() if name != "time"}
    texts = {"time": np.datetime_as_string(since).tolist()} if "time" in track.attributes else {}
    return Track(track.places, since, {**names, **texts}, track.line, track.native)


def _remember(patch: pytest.MonkeyPatch) -> None:
    """Let what is outside of zones remember the files that it was cut from."""
    outside = TrackFiles.outside

    def remembered(self: TrackFiles, zones: Any) -> TrackFiles:
        left = outside(self, zones)
        left.__dict__["before"] = outside(self, [])
        return left

    patch.setattr(TrackFiles, "outside", remembered)


def _whole_of(patch: pytest.MonkeyPatch) -> None:
    """Let each piece remember the track that it was cut from."""
    _remember(patch)
    pieces = TrackFiles.pieces

    def remembered(self: TrackFiles, cut: Any) -> Any:
        for number, piece in pieces(self, cut):
            before = self.__dict__["before"]
            piece.__dict__["whole"] = before.tracks[int(np.flatnonzero(before.file_of == number)[0])]
            yield number, piece

    patch.setattr(TrackFiles, "pieces", remembered)


def _interpolated(patch: pytest.MonkeyPatch) -> None:
    """Begin each piece on the edge of the zone, between the last removed point and the first one outside."""
    _remember(patch)
    pieces = TrackFiles.pieces

    def extended(self: TrackFiles, cut: Any) -> Any:
        for number, piece in pieces(self, cut):
            before = self.__dict__["before"]
            whole = before.tracks[int(np.flatnonzero(before.file_of == number)[0])]
            at = int(np.flatnonzero((whole.places == piece.places[0]).all(axis=1))[0])
            if at == 0:
                yield number, piece
                continue
            edge = (whole.places[at - 1] + piece.places[0]) / 2
            native = None if piece.native is None else np.vstack([piece.native[:1], piece.native])
            attributes = {name: [values[0], *values] for name, values in piece.attributes.items()}
            times = np.concatenate([piece.times[:1], piece.times])
            yield number, Track(np.vstack([edge, piece.places]), times, attributes, piece.line, native)

    patch.setattr(TrackFiles, "pieces", extended)


def _lap_totals(patch: pytest.MonkeyPatch) -> None:
    """State the lengths of whole rides in laps."""
    _whole_of(patch)
    for module in (tcx, fit_files):
        patch.setattr(module, "length", lambda piece: length(piece.__dict__["whole"]))


def _header(tell: Callable[[Track], str]) -> Plant:
    """Write metadata about the whole ride into GPX."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        _whole_of(patch)
        write = gpx.GPXTracks.write

        def headed(self: Any, path: Path, pieces: Sequence[Track]) -> None:
            write(self, path, pieces)
            text = path.read_text().replace("<trk>", f"<metadata>{tell(pieces[0].__dict__['whole'])}</metadata><trk>")
            path.write_text(text)

        patch.setattr(gpx.GPXTracks, "write", headed)

    return plant


def _old_times(patch: pytest.MonkeyPatch) -> None:
    """Give released files the times of the originals, as some programs that copy do."""
    write = SharedFile.__dict__["write"]

    def copied(self: SharedFile, path: Path) -> None:
        write(self, path)
        import os

        seconds = self.pieces[0].__dict__["whole"].times[0].astype(np.int64) / 1e6
        os.utime(path, (seconds, seconds))

    _whole_of(patch)
    patch.setattr(SharedFile, "write", copied)


def _bounds(track: Track) -> str:
    (west, south), (east, north) = track.places.min(axis=0), track.places.max(axis=0)
    return f'<bounds minlat="{south}" minlon="{west}" maxlat="{north}" maxlon="{east}"/>'


_VALUED = ("gpx", "tcx", "fit", "lines-geojson", "points-geojson", "csv", "gpkg", "parquet")
PLANTED: dict[str, tuple[Plant, Sequence[str]]] = {
    "interpolated cut": (_interpolated, [*rides.RIDES]),
    "total distance": (_before_the_cut(lambda track: _with(track, [length(track)] * len(track))), _VALUED),
    "cumulative distance": (_before_the_cut(lambda track: _with(track, _cumulative(track).tolist())), _VALUED),
    "index gaps": (_before_the_cut(lambda track: _with(track, range(len(track)))), _VALUED),
    "time since the start": (_before_the_cut(_since_the_start), ["gpx", "tcx", "fit", "kml", "lines-geojson"]),
    "smoothing before the cut": (_before_the_cut(_smoothed), [*rides.RIDES]),
    "lap totals": (_lap_totals, ["tcx", "fit"]),
    "time in the header": (_header(lambda track: f"<time>{track.times[0]}</time>"), ["gpx"]),
    "bounds in the header": (_header(_bounds), ["gpx"]),
    "times of the original files": (_old_times, [kind for kind in rides.RIDES if kind != "lines-gpkg"]),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "kind"),
    [pytest.param(bug, kind, marks=KINDS[kind]) for bug, (_, kinds) in PLANTED.items() for kind in kinds],
)
def test_planted_bugs_are_caught(bug: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that tell about removed points differ between worlds in which only removed points differ."""
    PLANTED[bug][0](monkeypatch)
    alone, longer = (released(kind, commute(extra), tmp_path / str(extra)) for extra in (0, 3))
    assert alone != longer


def test_original_names_tell_times(tmp_path: Path) -> None:
    """The names that many devices give differ between the worlds; those of released files do not, unless asked for."""
    for same, equal in ((False, True), (True, False)):
        found = [released("gpx", commute(extra), tmp_path / f"{extra}{same}", same_names=same) for extra in (0, 3)]
        assert (found[0].keys() == found[1].keys()) is equal
