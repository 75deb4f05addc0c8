"""Release files that others have made, at the first attempt of a new user, and count how often that succeeds.

Run from the project's root: ``python benchmarks/strangers.py``, with ``--folder`` for the folder that keeps the files
(by default a temporary one), ``--given`` for a folder of further files (by default ``../shared/data/strangers``), and
``--only`` for files whose names contain a text. Packages are downloaded by pip, npm and apt, and nothing in them is
run; files that cannot be fetched are listed as not tried.

The protocol: the user has read the README alone. They run ``geoveil check FILE`` and then, once, ``geoveil points FILE
-o released.EXT --privacy low`` with what an owner of such a file knows: the column of persons (``--person``), where
the data is (``--area``), and options that ``check`` has named in its output, and no other option. EXT is the ending of
the file, or .csv where files of its format are not written. A file counts if that command succeeds and
``geoveil.load`` reads what it wrote.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stranger_conventions import CONVENTIONS

ZURICH = ("--area", "47.38,8.54,50km")
USA = ("--area", "United States")
LONDON = ("--area", "51.5,-0.12,50km")
PHOENIX = ("--area", "33.4,-111.9,80km")
KIRITIMATI = ("--area", "1.87,-157.4,60km")


@dataclass(frozen=True)
class Stranger:
    """A file of somebody else, and what its owner knows about it.

    Parameters
    ----------
    name : str
        The name of the file.
    origin : str
        The package that it comes from, as "pip:plotly", "npm:vega-datasets" or "apt:r-cran-sf"; "given"; or "made".
    member : str
        Its path in the package.
    by : str, optional
        The column of persons; without it all points are one person's.
    where : tuple of str
        The options that say where the data is; none if the file is in a projected system.
    told : tuple of str
        Options that the user has only from the output of `check`.
    """

    name: str
    origin: str
    member: str = ""
    by: str | None = None
    where: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


STRANGERS = (
    Stranger("airbnb.csv", "given", by="host_id", where=("--area", "40.7,-73.95,50km")),
    Stranger("boat-positions.csv", "given", by="ID", where=("--area", "30.8,32.4,150km")),
    Stranger("cerknicko-jezero.gpx", "given", where=("--area", "45.76,14.33,30km")),
    Stranger("geolife.parquet", "given", by="trajectory_id", where=("--area", "39.9,116.4,100km")),
    Stranger("geolife_triplegs.csv", "given", by="user_id", where=("--area", "39.9,116.4,100km")),
    Stranger("google_trajectory.csv", "given", by="user_id", where=ZURICH),
    Stranger("gpx1.1_with_all_fields.gpx", "given", where=("--area", "12,13,3000km"), told=("--outside drop",)),
    Stranger("nyc_taxi.csv", "given", by="obs_id", where=("--area", "40.75,-73.95,80km")),
    Stranger("posmo_trajectory.csv", "given", by="user_id", where=("--area", "Switzerland")),
    Stranger("stops.gpkg", "given", by="stop_id", where=("--area", "52.65,-8.62,30km")),
    Stranger("track-with-empty-segment.gpx", "given", where=("--area", "50.78,6.08,20km")),
    Stranger("triplegs.geojson", "given", by="User", where=("--area", "47.4,8.5,100km")),
    Stranger("airports.csv", "npm:vega-datasets", "data/airports.csv", "iata", USA, ("--outside drop",)),
    Stranger("la-riots.csv", "npm:vega-datasets", "data/la-riots.csv", "last_name", ("--area", "34.05,-118.24,80km")),
    Stranger("zipcodes.csv", "npm:vega-datasets", "data/zipcodes.csv", "zip_code", USA, ("--outside drop",)),
    Stranger(
        "obiszow_mtb_xcm.csv",
        "pip:bokeh_sampledata",
        "bokeh_sampledata/_data/obiszow_mtb_xcm.csv",
        where=("--area", "51.57,16.1,30km"),
    ),
    Stranger(
        "carshare.csv.gz",
        "pip:plotly",
        "plotly/package_data/datasets/carshare.csv.gz",
        where=("--area", "45.52,-73.6,50km"),
    ),
    Stranger(
        "rega_zh.json.gz",
        "pip:traffic",
        "traffic/data/samples/ambulances/rega_zh.json.gz",
        "callsign",
        ("--area", "47.4,8.5,200km"),
    ),
    Stranger("crimes.shp", "pip:libpysal", "libpysal/examples/geodanet/crimes.shp", None, PHOENIX),
    Stranger("streets.shp", "pip:libpysal", "libpysal/examples/geodanet/streets.shp", "ID", PHOENIX),
    Stranger("SohoPeople.shp", "pip:libpysal", "libpysal/examples/snow_maps/SohoPeople.shp", None, LONDON),
    Stranger(
        "vautm17n_points.shp",
        "pip:libpysal",
        "libpysal/examples/virginia/vautm17n_points.shp",
        where=("--area", "37.5,-79,500km"),
    ),
    Stranger(
        "prenzlauer.zip",
        "pip:libpysal",
        "libpysal/examples/berlin/prenzlauer.zip",
        None,
        ("--area", "52.53,13.42,40km"),
    ),
    Stranger(
        "GData_utm.csv",
        "pip:libpysal",
        "libpysal/examples/georgia/GData_utm.csv",
        "AreaKey",
        ("--area", "32.7,-83.4,400km"),
    ),
    Stranger("cycle_hire.geojson", "apt:r-cran-spdata", "spData/shapes/cycle_hire.geojson", "id", LONDON),
    Stranger("cycle_hire_osm.geojson", "apt:r-cran-spdata", "spData/shapes/cycle_hire_osm.geojson", "osm_id", LONDON),
    Stranger("cycle_hire_xy.csv", "apt:r-cran-spdata", "spData/misc/cycle_hire_xy.csv", "id", LONDON, ("--crs 4326",)),
    Stranger("test_trk2.gpx", "apt:r-cran-rgdal", "rgdal/vectors/test_trk2.gpx", None, ("--area", "-45.9,170.5,80km")),
    Stranger(
        "kiritimati_primary_roads.shp",
        "apt:r-cran-rgdal",
        "rgdal/vectors/kiritimati_primary_roads.shp",
        None,
        KIRITIMATI,
    ),
    Stranger(
        "storms_xyz_feature.shp",
        "apt:r-cran-sf",
        "sf/shape/storms_xyz_feature.shp",
        "Track",
        ("--area", "30,-60,3000km"),
        ("--crs 4326", "--outside drop"),
    ),
    Stranger("b_pump.gpkg", "apt:r-cran-sf", "sf/gpkg/b_pump.gpkg", None, LONDON),
    *(Stranger(name, "made", by=by, where=ZURICH) for name, (by, _) in CONVENTIONS.items()),
)


def fetched(folder: Path, origin: str) -> Path | None:
    """Download a package, unless that was done before, and return the folder with its files, or None."""
    kind, _, package = origin.partition(":")
    place = folder / "packages" / package
    if place.is_dir():
        return place
    download = folder / "packages" / f"{package}.download"
    download.mkdir(parents=True, exist_ok=True)
    commands = {
        "pip": [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", package],
        "npm": ["npm", "pack", "-s", package],
        "apt": ["apt-get", "download", "-q", package],
    }
    try:
        subprocess.run(commands[kind], cwd=download, check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as problem:
        print(f"{origin}: {problem}", file=sys.stderr)
        return None
    (found,) = download.iterdir()
    place.mkdir()
    if kind == "pip":
        with zipfile.ZipFile(found) as wheel:
            wheel.extractall(place)
    elif kind == "npm":
        with tarfile.open(found) as archive:
            archive.extractall(place, filter="data")
    else:
        subprocess.run(["dpkg-deb", "-x", found, place], check=True)
    return place


def located(stranger: Stranger, folder: Path, given: Path) -> Path | None:
    """Return the path of a stranger's file, which is fetched or made if needed; None if that is not possible."""
    if stranger.origin == "made":
        path = folder / "made" / stranger.name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            CONVENTIONS[stranger.name][1](path)
        return path
    if stranger.origin == "given":
        return given / stranger.name if (given / stranger.name).exists() else None
    place = fetched(folder, stranger.origin)
    # Packages have their files in further folders, such as usr/lib.
    found = [] if place is None else [path for path in place.rglob(stranger.name) if path.match(f"*{stranger.member}")]
    return found[0] if found else None


def attempt(stranger: Stranger, path: Path, out: Path) -> tuple[bool, str]:
    """Run the two commands of the protocol; return whether the file was released, and what was said if not."""
    import geoveil as gv
    from geoveil.geo.formats import targets

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "geoveil", *arguments]
        # No record of releases, in which a second run of this benchmark would find the first.
        told = {**os.environ, "GEOVEIL_RECORD": "off"}
        return subprocess.run(command, capture_output=True, text=True, timeout=600, env=told)

    # What the owner knows already is given to check as well, as the README does.
    known = [*(["--person", stranger.by] if stranger.by else []), *stranger.where]
    checked = run("check", str(path), *known)
    said = " ".join((checked.stdout + checked.stderr).split())
    for option in stranger.told:
        if option not in said:
            return False, f"check does not name {option}: {said[:300]}"
    told = [part for option in stranger.told for part in option.split()]
    target = out / f"{path.name}.released{targets(path)[0] or ''}"
    released = run("points", str(path), "-o", str(target), *known, *told, "--privacy", "low")
    if released.returncode:
        return False, " ".join(released.stderr.split())[:300]
    gv.load(target)
    return True, f"as {''.join(target.suffixes[-1:]) or 'a folder'}" + (
        f", with {', '.join(stranger.told)}" if told else ""
    )


def main(show: Callable[[str], None] = print) -> None:
    """Try all strangers, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="keeps downloads and files [default: a temporary folder]")
    parser.add_argument("--given", type=Path, default=Path("../shared/data/strangers"), help="further files")
    parser.add_argument("--only", default="", help="only files whose names contain this text")
    options = parser.parse_args()
    show("| file | origin | released at the first attempt |")
    show("|---|---|---|")
    tried = successes = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        out = Path(temporary) / "released"
        out.mkdir()
        for stranger in STRANGERS:
            if options.only not in stranger.name:
                continue
            path = located(stranger, folder, options.given)
            if path is None:
                show(f"| `{stranger.name}` | {stranger.origin} | not tried: it cannot be fetched here |")
                continue
            success, said = attempt(stranger, path, out)
            tried, successes = tried + 1, successes + success
            show(f"| `{stranger.name}` | {stranger.origin} | {'yes' if success else 'no'}, {said} |")
            print(f"{successes} of {tried}", file=sys.stderr)
    show("")
    show(f"{successes} of {tried} files were released at the first attempt.")


if __name__ == "__main__":
    main()
