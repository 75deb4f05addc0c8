"""Make files of canaries: made-up persons, each at one of two places by a secret coin, alone or among others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil._types import Path as PathLike
from geoveil.audit.canary_places import DECIMALS, Sites, at_pairs, degrees_plane
from geoveil.audit.evidence import LEAST_CANARIES
from geoveil.audit.secret import Made, Secret
from geoveil.city import generator, made_up_tracks, made_up_visits
from geoveil.errors import FileUnavailable, InvalidParameter, Message
from geoveil.geo.areas import Area, area_of
from geoveil.geo.coordinate_systems import GEOGRAPHIC, system_of
from geoveil.geo.formats import ending
from geoveil.geo.formats.atomic import check_target, staging_folder
from geoveil.geo.formats.fingerprints import digest
from geoveil.geo.geometries import Floats, Index
from geoveil.geo.planes import Plane
from geoveil.noise.keystream import random_bytes
from geoveil.privacy import CGP, GP, Guarantee
from geoveil.text.words import counted

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

__all__ = ["FEWEST", "FORMATS", "Wanted", "checked_claim", "make_files"]

#: The endings of files of canaries.
FORMATS = (".csv", ".tsv", ".gpx", ".geojson", ".parquet", ".gpkg")
#: The fewest canaries of which something can be said.
FEWEST = 100
#: Seconds between two pings of a track, the pings of a track, and seconds between two tracks: those of a day.
_EVERY, _TRACK, _DAY = 60, 5, 86_400
#: When the canaries' first day begins, in seconds since 1970, and how long first pings are spread.
_FIRST, _SPREAD = 1_777_874_400, 57_600
#: The radius in metres of the made-up city.
_CITY = 6_000.0


@dataclass(frozen=True)
class Wanted:
    """What a file of canaries is to be.

    Parameters
    ----------
    canaries, pings : int
        The number of canaries, and of the rows of each.
    crowd : int
        The number of persons of the made-up city among whom the canaries are.
    among : Path, optional
        A file of the user, among whose rows the canaries are.
    person, times : str, optional
        Its columns of persons and times, where they are not recognised.
    """

    canaries: int = 2000
    pings: int = 1
    crowd: int = 0
    among: Path | None = None
    person: str | None = None
    times: str | None = None

    def __post_init__(self) -> None:
        for name, value, least in (
            ("canaries", self.canaries, FEWEST),
            ("pings", self.pings, 1),
            ("crowd", self.crowd, 0),
        ):
            if not isinstance(value, int) or not least <= value <= 1_000_000:
                remedy = "With fewer canaries an audit finds little." if name == "canaries" else "Leave it out."
                raise InvalidParameter(name, value, f"a whole number from {least} to 1,000,000", remedy)
        if self.crowd and self.among is not None:
            raise InvalidParameter("crowd", self.crowd, "left out if canaries are among rows of your own", "Give one.")


def make_files(
    target: PathLike,
    secret: PathLike,
    claim: Guarantee,
    area: object,
    wanted: Wanted,
    *,
    runs: int = 1,
    overwrite: bool = False,
    progress: Callable[[float], None] = lambda share: None,
    rng: np.random.Generator | None = None,
) -> list[Path]:
    """Write files of canaries, and the secret file that `read` needs.

    Parameters
    ----------
    target : str or Path
        The file; with several runs, a folder, or a file of a folder whose ending is that of the files.
    secret : str or Path
        The secret file.
    claim : CGP or GP
        What the tool claims.
    area : Area or str
        Where the canaries are.
    wanted : Wanted
        How many, and among whom.
    runs : int
        The number of files, each with coins of its own.
    overwrite : bool
        Whether existing files are replaced.
    progress : callable
        Called with the share of the work that is done.
    rng : Generator, optional
        For tests and experiments; by default coins and places come from the operating system.
    """
    import pyproj

    claimed, place = checked_claim(claim), area_of(area)
    _enough(wanted.canaries, runs)
    keep, names = Path(secret), _names(Path(target), runs)
    check_target(keep, overwrite=overwrite)
    for name in names:
        if keep.absolute() == name.absolute():
            raise InvalidParameter("secret", str(secret), "another file than the canaries", "Choose another name.")
        check_target(name, overwrite=overwrite)
    own = None if wanted.among is None else _OwnRows.read(wanted.among, wanted, place)
    plane = Plane(system_of("crs", GEOGRAPHIC), place)
    if own is not None and not len(own.metres(plane)):
        allowed = f"an area with rows of {wanted.among}"
        raise InvalidParameter("area", place.name, allowed, Message("Give the {area} of these rows."))
    crs = pyproj.CRS(GEOGRAPHIC) if own is None else own.frame.crs
    source = generator(int.from_bytes(random_bytes(32))) if rng is None else rng
    crowd = _crowd(wanted, plane, source) if own is None else None
    around = None
    if own is not None:
        around = own.metres(plane)
    elif crowd is not None:
        around = plane.into(np.column_stack([crowd.geometry.x, crowd.geometry.y]))
    known = own.labels if own is not None else [] if crowd is None else [*crowd.person.unique()]
    sites = Sites.chosen(wanted.canaries, claimed, plane, source, around)
    made = []
    for number, name in enumerate(names):
        # The coins are the secret on which the whole audit rests.
        octets = random_bytes(wanted.canaries) if rng is None else rng.bytes(wanted.canaries)
        side = np.frombuffer(octets, dtype=np.uint8).astype(np.int64) & 1
        again = Sites(sites.ends, sites.kinds, source.permutation(sites.site))
        labels = _labels(wanted.canaries, source, known)
        known = [*known, *labels]
        frame = _canaries(again.places(side), labels, wanted, source, own, crs)
        frame, rows = _mixed(frame, crowd if own is None else own.frame, wanted.pings, source, own is not None)
        with staging_folder(name, overwrite=overwrite) as folder:
            _write(frame, folder / name.name, own)
            sha256 = digest(folder / name.name)
        shown = labels if own is None or not own.numeric else [int(label) for label in labels]
        made.append(Made(name.name, sha256, [*map(str, shown)], again.site, side, rows, len(frame)))
        progress((number + 1) / len(names))
    columns = {"person": "person", "time": "time"} if own is None else {"person": own.person, "time": own.time}
    Secret(claimed, place, sites.ends, sites.kinds, wanted.pings, columns, made).write(keep)
    return names


def checked_claim(claim: Guarantee) -> CGP | GP:
    """Return a claim that can be tested: ρ, or pure ε, for all points of a person."""
    if not isinstance(claim, CGP | GP) or (isinstance(claim, GP) and not claim.pure) or claim.metric.name != "inf":
        allowed = "a claim about all points of a person: {hide}, {rho} or {epsilon} without δ"
        raise InvalidParameter("claim", claim, Message(allowed), "State one of these.")
    return claim


def _enough(canaries: int, runs: int) -> None:
    """Refuse fewer canaries than an audit needs: of all files, as many at a distance as are tested at least."""
    if runs > 0 and runs * at_pairs(canaries) < LEAST_CANARIES:
        least = next(count for count in itertools.count(FEWEST) if runs * at_pairs(count) >= LEAST_CANARIES)
        remedy = Message("Leave it out for 2,000, or make more files.")
        raise InvalidParameter("canaries", canaries, f"at least {least} in {counted(runs, 'file')}", remedy)


def _names(target: Path, runs: int) -> list[Path]:
    """Return the files to be written."""
    if not 1 <= runs <= 1000:
        raise InvalidParameter("runs", runs, "a whole number from 1 to 1000", "Leave it out for one file.")
    kind = ending(target)
    if runs == 1 or kind:
        if kind not in FORMATS:
            allowed = f"a file that ends in one of {', '.join(FORMATS)}"
            raise InvalidParameter("target", str(target), allowed, "Choose another name.")
        if runs == 1:
            return [target]
        folder, stem = target.parent, target.stem
    else:
        folder, stem, kind = target, "run", ".csv"
    if folder.exists() and not folder.is_dir():
        raise FileUnavailable(str(folder), "it is a file", "a folder", "Choose another name.")
    folder.mkdir(parents=True, exist_ok=True)
    return [folder / f"{stem}-{number:0{len(str(runs))}}{kind}" for number in range(1, runs + 1)]


# Rows ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _OwnRows:
    """The rows of the user's own file, among which the canaries are hidden."""

    frame: geopandas.GeoDataFrame
    person: str
    time: str | None
    numeric: bool
    labels: Sequence[Any]
    #: The columns of coordinates of a table, and the order of all its columns.
    pair: tuple[str, str] | None
    order: Sequence[str]

    @classmethod
    def read(cls, path: Path, wanted: Wanted, area: Area) -> _OwnRows:
        """Read a file, and find its columns of persons and times."""
        import pandas as pd

        from geoveil.answering.loading import frame_of
        from geoveil.geo.formats import open_locations
        from geoveil.geo.formats.location_columns import CoordinatePairs

        file = open_locations(path)
        frame = frame_of(file, missing="drop")
        person = wanted.person or next(iter(file.recognised.persons), None)
        if person is None or person not in frame:
            allowed = f"a column of {path.name} that names persons"
            raise InvalidParameter("person", person, allowed, Message("Give {person}."))
        time = wanted.times or next(iter(file.recognised.times), None)
        if not (frame.geom_type == "Point").all():
            allowed = "a file of points, one in each row"
            raise InvalidParameter("among", str(path), allowed, "Give another file, or a made-up crowd.")
        located = file.located
        pair = located.pairs[0] if isinstance(located, CoordinatePairs) and file.tabular else None
        labels = [*frame[person].dropna().unique()]
        numeric = pd.api.types.is_integer_dtype(frame[person])
        return cls(frame, person, time, numeric, labels, pair, file.order)

    def metres(self, plane: Plane) -> Floats:
        """Return the places inside the area, in metres of its plane."""
        there = Plane(self.frame.crs, plane.area)
        coords = there.into(np.column_stack([self.frame.geometry.x, self.frame.geometry.y]))
        return np.asarray(coords[np.isfinite(coords).all(axis=1) & ~plane.area.outside(coords)])


def _labels(count: int, rng: np.random.Generator, others: Sequence[Any]) -> list[str]:
    """Return labels of canaries that look like those of other persons."""
    taken = {str(label) for label in others}
    found: list[str] = []
    patterns = [*taken] or ["p0000000"]
    for attempt in range(1000 * count):
        if len(found) == count:
            break
        # Where too few labels are left there are more digits.
        pattern = patterns[int(rng.integers(len(patterns)))] + "0" * (attempt // (20 * count))
        label = re.sub("[0-9]", lambda _: str(rng.integers(1, 10)), pattern)
        label = label if label != pattern or any(map(str.isdigit, label)) else f"{label}{rng.integers(10**6)}"
        if label in taken:
            label = f"{label}{rng.integers(1, 10)}"
        if label not in taken:
            taken.add(label)
            found.append(label)
    return found


def _crowd(wanted: Wanted, plane: Plane, rng: np.random.Generator) -> geopandas.GeoDataFrame | None:
    """Return persons of the made-up city, with as many pings as the canaries."""
    import geopandas

    if not wanted.crowd:
        return None
    pings = wanted.pings
    whose = np.repeat(np.arange(wanted.crowd), pings)
    if pings == 1:
        places = made_up_visits(wanted.crowd, rng)
    else:
        steps = np.tile(np.where(np.arange(pings) == 0, 0.0, _EVERY), wanted.crowd)
        places = made_up_tracks(steps, whose, rng)
    scale = min(1.0, plane.area.radius / _CITY)
    flat = plane.area.nearest(plane.area.middle + scale * places, times=0.99)
    degrees = np.round(degrees_plane(plane).degrees(flat), DECIMALS)
    frame = {
        "person": np.repeat(_labels(wanted.crowd, rng, []), pings),
        "time": _times(_starts(wanted.crowd, rng), pings),
    }
    return geopandas.GeoDataFrame(frame, geometry=geopandas.points_from_xy(*degrees.T), crs=GEOGRAPHIC)


def _starts(count: int, rng: np.random.Generator) -> Index:
    """Return when persons begin, in seconds since 1970."""
    return np.asarray(_FIRST + rng.integers(0, _SPREAD, size=count), dtype=np.int64)


def _times(starts: Index, pings: int) -> list[str]:
    """Return the times of pings: some a minute apart each day."""
    import pandas as pd

    numbers = np.arange(pings)
    seconds = starts[:, None] + numbers % _TRACK * _EVERY + numbers // _TRACK * _DAY
    return [*pd.to_datetime(seconds.ravel(), unit="s").strftime("%Y-%m-%dT%H:%M:%SZ")]


def _canaries(
    degrees: Floats, labels: Sequence[str], wanted: Wanted, rng: np.random.Generator, own: _OwnRows | None, crs: Any
) -> geopandas.GeoDataFrame:
    """Return the rows of canaries, each of which stays where it is."""
    import geopandas

    pings = wanted.pings
    whose = np.repeat(np.arange(len(labels)), pings)
    places = geopandas.GeoSeries(geopandas.points_from_xy(*degrees[whose].T), crs=GEOGRAPHIC).to_crs(crs)
    if own is None:
        columns = {"person": np.asarray(labels, dtype=object)[whose], "time": _times(_starts(len(labels), rng), pings)}
        return geopandas.GeoDataFrame(columns, geometry=places)
    # All other columns are those of a row of the file: nothing but the label and the place is new.
    drawn = own.frame.iloc[rng.integers(len(own.frame), size=len(whose))].reset_index(drop=True)
    if own.time is not None and pings > 1:
        order = np.lexsort((drawn[own.time].to_numpy(), whose))
        drawn[own.time] = drawn[own.time].to_numpy()[order]
    kind = own.frame[own.person].dtype
    drawn[own.person] = np.asarray([int(label) for label in labels] if own.numeric else labels, dtype=object)[whose]
    return drawn.astype({own.person: kind}).set_geometry(places)


def _mixed(
    canaries: geopandas.GeoDataFrame,
    others: geopandas.GeoDataFrame | None,
    pings: int,
    rng: np.random.Generator,
    keep: bool,
) -> tuple[geopandas.GeoDataFrame, Index]:
    """Mix the rows of canaries with those of others, whole persons at a time; return the first row of each canary.

    `keep` is whether others stay in their order, as rows of a user's file do.
    """
    import geopandas
    import pandas as pd

    count = len(canaries) // pings
    if others is None:
        return canaries, np.arange(count) * pings
    own = np.arange(len(others), dtype=float) if keep else np.repeat(rng.random(len(others) // pings), pings)
    key = np.concatenate([own, np.repeat(rng.random(count) * (len(others) if keep else 1), pings)])
    order = np.argsort(key, kind="stable")
    geometry = others.geometry.name
    if canaries.geometry.name != geometry:
        canaries = canaries.rename_geometry(geometry)
    both = geopandas.GeoDataFrame(
        pd.concat([others, canaries], ignore_index=True).iloc[order], geometry=geometry, crs=others.crs
    )
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return both.reset_index(drop=True), rank[len(others) :: pings]


# Files ---------------------------------------------------------------------------------------------------------------


def _write(frame: geopandas.GeoDataFrame, path: Path, own: _OwnRows | None) -> None:
    """Write rows in the format of a file's ending."""
    from geoveil.release.as_file import write_frame

    if ending(path) == ".gpx":
        _write_gpx(frame, path, "person" if own is None else own.person, "time" if own is None else own.time)
        return
    if own is not None and own.pair is not None and ending(path) in (".csv", ".tsv"):
        x, y = own.pair
        table: pd.DataFrame = frame.drop(columns=frame.geometry.name).assign(
            **{x: frame.geometry.x, y: frame.geometry.y}
        )
        table[[name for name in own.order if name in table]].to_csv(
            path, index=False, sep="\t" if ending(path) == ".tsv" else ","
        )
        return
    write_frame(frame, path, ())


def _write_gpx(frame: geopandas.GeoDataFrame, path: Path, person: str, time: str | None) -> None:
    """Write rows as tracks, one for each person, named like the person."""
    import pandas as pd
    import pyarrow as pa
    import pyproj

    from geoveil.geo.formats.location_columns import CoordinatePairs
    from geoveil.geo.formats.location_file import Batch
    from geoveil.geo.formats.xml_files import GPX

    flat = frame.to_crs(GEOGRAPHIC)
    columns = {
        "kind": ["trk"] * len(flat),
        "track": (pd.factorize(flat[person])[0] + 1).tolist(),
        "segment": [1] * len(flat),
        "track_name": [*map(str, flat[person])],
    }
    if time is not None:
        when = pd.to_datetime(flat[time], utc=True)
        columns["time"] = [*when.dt.strftime("%Y-%m-%dT%H:%M:%SZ")]
    file = GPX(
        path=path,
        crs=pyproj.CRS(GEOGRAPHIC),
        located=CoordinatePairs((("lon", "lat"),)),
        columns={},
        titles={},
        space="http://www.topografix.com/GPX/1/1",
        version="1.1",
    )
    table = pa.table(columns)
    file.write(
        path, iter([Batch(file, 0, 1.0, np.column_stack([flat.geometry.x, flat.geometry.y]), table)]), table.schema
    )
