"""Share tracks except where their owner lives: read files, cut them all at once, and write what is left anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.errors import InvalidFile, InvalidParameter, Message
from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.geometries import Floats, Index
from geoveil.geo.recordings import Track, TrackFormat, length, recordings_in, released_ending, track_format

if TYPE_CHECKING:
    from geoveil._types import Progress, Rho
    from geoveil.report import Layer
    from geoveil.report.layers import Role
    from geoveil.zones import Cut, ProposedPlace, Rules, Zone

__all__ = ["CutTracks", "SharedFile", "TrackFiles", "lines_of", "names_of", "write_files"]


@dataclass(frozen=True)
class _Source:
    """A file of tracks, and its name among the files that were given."""

    path: Path
    name: Path
    format: TrackFormat


@dataclass(frozen=True, eq=False)
class TrackFiles:
    """The tracks of some files. They are private: `CutTracks.shared` is what remains of them."""

    #: The files.
    sources: tuple[_Source, ...]
    #: All tracks, those of one file after those of another.
    tracks: tuple[Track, ...]
    #: The file of each track, by its position.
    file_of: Index

    @classmethod
    def read(
        cls,
        paths: Sequence[Path],
        *,
        keep: Sequence[str] = (),
        time: str | None = None,
        reading: dict[str, object] | None = None,
        progress: Progress | None = None,
    ) -> TrackFiles:
        """Read files and folders of tracks.

        Parameters
        ----------
        paths : sequence of Path
            Files, and folders whose files are read, with those of the folders in them.
        keep : sequence of str
            The attributes of points that are released besides places and times.
        time : str, optional
            The column of times of tables, if it is not recognised.
        reading : dict, optional
            The options with which tables are read.
        progress : callable, optional
            Called with the share of the files that were read.
        """
        named = [(each, name) for path in paths for each, name in _named(path)]
        sources, tracks, file_of = [], list[Track](), []
        for number, (path, name) in enumerate(named):
            source = _Source(path, name, track_format(path, keep, time, **(reading or {})))
            tracks_of_file = [track for track in source.format.read(path) if len(track)]
            sources.append(source)
            tracks += tracks_of_file
            file_of += [number] * len(tracks_of_file)
            if progress is not None:
                progress((number + 1) / len(named))
        if not tracks:
            first = paths[0] if len(paths) == 1 else "the files"
            remedy = "Give recordings, or tables with a row for each point; waypoints are left out."
            raise InvalidFile(str(first), "no points of tracks", "files with tracks", remedy)
        return cls(tuple(sources), tuple(tracks), np.array(file_of, dtype=np.int64))

    def __len__(self) -> int:
        return sum(map(len, self.tracks))

    @cached_property
    def _ends(self) -> Index:
        return np.cumsum([len(track) for track in self.tracks], dtype=np.int64)

    @cached_property
    def degrees(self) -> Floats:
        """The longitudes and latitudes of all points."""
        return np.concatenate([np.empty((0, 2)), *(track.places for track in self.tracks)])

    @cached_property
    def seconds(self) -> Floats:
        """The times of all points in seconds since 1970, NaN where there is none, or none was read yet."""
        times = np.concatenate([np.empty(0, dtype="datetime64[us]"), *(track.times for track in self.tracks)])
        seconds = times.astype(np.int64) / 1e6
        seconds[np.isnat(times)] = np.nan
        return np.asarray(seconds)

    @cached_property
    def track_of(self) -> Index:
        """The track of each point, by its position."""
        return np.repeat(np.arange(len(self.tracks)), [len(track) for track in self.tracks])

    def proposed(self) -> list[ProposedPlace]:
        """Return places where tracks begin and end, for their owner to confirm, and never to be used by itself."""
        from geoveil.zones import places_of_tracks

        whole = self.outside(())
        return places_of_tracks(whole.degrees, whole.seconds, whole.track_of)

    def outside(self, zones: Sequence[Zone]) -> TrackFiles:
        """Return the files as they are when points inside the zones have never been in them."""
        from geoveil.zones import kept_points

        parts = np.split(kept_points(zones, self.degrees), self._ends[:-1])
        left: dict[int, list[Track]] = {}
        for number, track, kept in zip(self.file_of.tolist(), self.tracks, parts, strict=True):
            if kept.any():
                left.setdefault(number, []).append(track.chosen(np.flatnonzero(kept)))
        sources, tracks, file_of = [*self.sources], list[Track](), []
        for number, chosen in left.items():
            form, settled = sources[number].format.settled(chosen)
            sources[number] = replace(sources[number], format=form)
            tracks += settled
            file_of += [number] * len(settled)
        return TrackFiles(tuple(sources), tuple(tracks), np.array(file_of, dtype=np.int64))

    def moved(self, rows: Index, places: Floats) -> TrackFiles:
        """Return the files with some of their points alone, which are at other places."""
        begins, track_of = self._ends - [len(track) for track in self.tracks], self.track_of[rows]
        tracks, file_of = [], []
        for number in np.unique(track_of).tolist():
            mine, file = np.flatnonzero(track_of == number), int(self.file_of[number])
            own = self.sources[file].format.in_own_system(places[mine])
            chosen = self.tracks[number].chosen(rows[mine] - begins[number])
            tracks.append(replace(chosen, places=places[mine], native=own))
            file_of.append(file)
        return TrackFiles(self.sources, tuple(tracks), np.array(file_of, dtype=np.int64))

    def pieces(self, cut: Cut) -> Iterator[tuple[int, Track]]:
        """Yield the pieces that a cut leaves, in the order in which they begin, each with the position of its file."""
        order = np.argsort(cut.pieces, kind="stable")
        edges = np.flatnonzero(np.diff(cut.pieces[order])) + 1
        begins = self._ends - [len(track) for track in self.tracks]
        for rows in np.split(cut.rows[order], edges) if len(order) else ():
            track = int(self.track_of[rows[0]])
            yield int(self.file_of[track]), self.tracks[track].chosen(rows - begins[track])


@dataclass(frozen=True, eq=False)
class SharedFile:
    """What is left of a file of tracks."""

    #: The name of the original among the files that were given. It is private unless its owner says otherwise.
    source: Path
    #: The format in which it is written.
    format: TrackFormat = field(repr=False)
    #: The ending of its name.
    ending: str
    #: The pieces of tracks.
    pieces: tuple[Track, ...] = field(repr=False)

    def write(self, path: Path) -> None:
        """Write the pieces into a new file."""
        self.format.write(path, self.pieces)

    @property
    def first_time(self) -> str:
        """The first published time in whole seconds; empty if there is none."""
        times = np.concatenate([piece.times for piece in self.pieces])
        return "" if np.isnat(times).all() else str(np.nanmin(times).astype("datetime64[s]"))

    @property
    def rank(self) -> tuple[bool, str, str, bytes, str]:
        """What files are sorted by: all that is published of them and nothing else, the first time first."""
        content = b"".join(piece.places.tobytes() + piece.times.tobytes() for piece in self.pieces)
        attributes = repr([piece.attributes for piece in self.pieces])
        return not self.first_time, self.first_time, self.ending, content, attributes


@dataclass(frozen=True, eq=False)
class CutTracks:
    """Tracks after the cut: what a recipient will see, and beside it the tracks before, for their owner alone."""

    #: The tracks before the cut.
    files: TrackFiles
    #: The discs from which nothing is published.
    zones: tuple[Zone, ...]
    #: What is left of each file, in an order that follows from what is left.
    shared: tuple[SharedFile, ...]
    #: The certificate of the noise that published points have.
    noise: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls, files: TrackFiles, zones: Sequence[Zone], rules: Rules, noise: Rho = None, area: str | None = None
    ) -> CutTracks:
        """Cut tracks by public discs and rules; with `noise`, published points get noise of that ρ in an area."""
        from geoveil.zones import Cut, cut, piece_numbers

        left = files.outside(zones)
        left_over = cut(
            zones,
            left.degrees,
            left.seconds,
            left.track_of,
            gap=rules.gap,
            trim=rules.trim,
            together=rules.together,
        )
        account = None
        if noise is not None and len(left_over.rows):
            left, account = _noisy(left, left_over.rows, noise, area)
            # Pieces follow from what is published, which is no longer where the points are.
            rows = np.arange(len(left_over.rows))
            left_over = Cut(rows, piece_numbers(zones, left.degrees, left.seconds, left.track_of, gap=rules.gap))
        pieces: dict[int, list[Track]] = {}
        for number, piece in left.pieces(left_over):
            if len(piece) >= left.sources[number].format.shortest:
                pieces.setdefault(number, []).append(piece)
        shared = [
            SharedFile(source.name, source.format, released_ending(source.path), tuple(pieces[number]))
            for number, source in enumerate(left.sources)
            if number in pieces
        ]
        return cls(files, tuple(zones), tuple(sorted(shared, key=lambda each: each.rank)), account)

    @property
    def pieces(self) -> list[Track]:
        """The published pieces."""
        return [piece for each in self.shared for piece in each.pieces]

    @cached_property
    def passed(self) -> bool:
        """Whether some point is inside a disc: for the owner alone."""
        from geoveil.zones import kept_points

        return not kept_points(self.zones, self.files.degrees).all()

    def layers(self, *, removed: bool = False) -> tuple[Layer, ...]:
        """Return the layers of a map: the pieces, the discs, and below them, for the owner alone, what is removed."""
        whole = _lines("removed", [track.places for track in self.files.tracks], "truth") if removed else ()
        shown = _lines("shared", [piece.places for piece in self.pieces], "released")
        edges = [np.array(zone.outline()) for zone in self.zones]
        return (*whole, *shown, *_lines("discs", edges, "public"))

    @cached_property
    def points(self) -> int:
        """The number of published points."""
        return sum(map(len, self.pieces))

    @cached_property
    def length(self) -> float:
        """The length of the published pieces together, in metres."""
        return sum(map(length, self.pieces))


def _noisy(left: TrackFiles, rows: Index, rho: Rho, area: str | None) -> tuple[TrackFiles, Mapping[str, Any]]:
    """Return the points of some rows with noise, and the certificate of the noise."""
    from geoveil.locations import Locations

    points = Locations(left.degrees[rows], crs=GEOGRAPHIC, area=area).points(rho=rho)
    return left.moved(rows, np.asarray(points.value)), points.certificate()


def _lines(name: str, lines: Sequence[Floats], role: Role) -> tuple[Layer, ...]:
    """Return a layer of lines in degrees; none if there are no lines."""
    from geoveil.report import Layer

    if not lines:
        return ()
    parts = np.repeat(np.arange(len(lines)), [len(line) for line in lines])
    return (Layer(name, np.concatenate(lines), "lines", role, parts=parts),)


def lines_of(path: Path) -> list[Floats]:
    """Return the lines in a file, such as roads, as longitudes and latitudes."""
    import pyproj
    import shapely

    from geoveil.geo.formats import open_locations

    file = open_locations(path)
    to_degrees = pyproj.Transformer.from_crs(file.crs, GEOGRAPHIC, always_xy=True)
    shapes = [shape for batch in file.batches([]) for shape in shapely.get_parts(batch.geometries)]
    lines = [shapely.get_coordinates(shape) for shape in shapes if shape.geom_type == "LineString"]
    if not lines:
        remedy = "Give a file of roads, or leave it out."
        raise InvalidFile(str(path), "no lines", "a map with lines", remedy)
    return [np.column_stack(to_degrees.transform(*line.T)) for line in lines]


def names_of(shared: Sequence[SharedFile], *, same: bool) -> list[str]:
    """Return the names of released files, relative to their folder.

    Names of originals often tell when or where a track began. Unless their owner wants them, a file is named after the
    first time that is published in it, or numbered.
    """
    if not same:
        wanted = [
            (f"{each.first_time.replace(':', '-')}Z" if each.first_time else "track", each.ending) for each in shared
        ]
        often, seen, names = Counter(wanted), Counter[tuple[str, str]](), []
        for stem, ending in wanted:
            seen[stem, ending] += 1
            number = f"-{seen[stem, ending]}" if often[stem, ending] > 1 else ""
            names.append(f"{stem}{number}{ending}")
        return names
    names = [each.source.with_name(_stem(each.source) + each.ending).as_posix() for each in shared]
    twice = [name for name, count in Counter(map(str.casefold, names)).items() if count > 1]
    if twice:
        remedy = Message("Leave {same_names} out, or release these files apart.")
        raise InvalidParameter("same_names", twice[0], "files of different names", remedy)
    return names


def write_files(shared: Sequence[SharedFile], folder: Path, *, same_names: bool = False) -> list[Path]:
    """Write what is left of files into an empty folder, and return the new files."""
    written = [folder / name for name in names_of(shared, same=same_names)]
    for each, path in zip(shared, written, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        each.write(path)
    return written


def _stem(path: Path) -> str:
    return path.name.removesuffix("".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix)


def _named(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files at a path, each with its name: of a file in a folder, its path from there."""
    from geoveil.zones import holds_centres

    if path.is_file() and holds_centres(path):
        remedy = "Leave it out, and keep it in another folder than your tracks."
        raise InvalidFile(str(path), "a file of centres, which says where the hidden places are", "tracks", remedy)
    # Read as a table, it would be a track from one hidden place to the next.
    recordings = [each for each in recordings_in(path) if not holds_centres(each)]
    if not recordings:
        remedy = "Give a folder with recordings, such as .gpx, .fit, .tcx, .kml, .geojson, .csv or .gpkg."
        raise InvalidFile(str(path), "no files of tracks", "a folder with files of tracks", remedy)
    for each in recordings:
        yield each, each.relative_to(path) if path.is_dir() else Path(each.name)
