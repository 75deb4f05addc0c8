"""`geoveil demo`: releases of a simulated city, with a map."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from geoveil.cli import terminal
from geoveil.cli.command import broken, command, setting
from geoveil.cli.presentation import describe
from geoveil.requests.file_request import public_place
from geoveil.text.words import counted

if TYPE_CHECKING:
    from geoveil import Release
    from geoveil.report import Layer

#: The part of the simulated data that is released, and the budget.
_SHOWN, _RHO = "taxi < 'cab04' and time < '2026-05-04T06:40:00Z'", 5e-4
#: The files that are written.
_FILES = ("taxis.csv", "released.csv", "smoothed.csv", "hull.geojson", "map.html", "map.png")
#: The taxi in the picture, which stays away from the shore: the simulated streets know no coast.
_PICTURED = 1


@command("Into another folder:", "geoveil demo --out my-demo")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="geoveil-demo",
    show_default=True,
    help="The folder for the results.",
)
@setting("overwrite")
def demo(out: Path, overwrite: bool) -> None:
    """Simulate a city with taxis, release their trajectories, and draw the map.

    It contains no real locations. Takes some seconds.
    """
    from geoveil.city import AREA, STATION, write_taxis
    from geoveil.geo.formats.atomic import check_target

    out.mkdir(parents=True, exist_ok=True)
    source, target, smooth = out / "taxis.csv", out / "released.csv", out / "smoothed.csv"
    for name in _FILES:
        check_target(out / name, overwrite=overwrite)
    lat, lon, radius = AREA
    with terminal.waiting("Simulating a city"):
        count = write_taxis(source)
    where = f'--person taxi --where "{_SHOWN}" --area {lat:g},{lon:g},{radius / 1000:g}km'
    terminal.say(
        f"A simulated city: {counted(count, 'point')} of four taxis in {source}. Forty minutes of three of them are "
        "released and smoothed, as by",
        *broken(f"geoveil points {source} -o {target} {where} --rho {_RHO:g}", terminal.console().width),
        *broken(f"geoveil smooth {target} -o {smooth} --motion taxi", terminal.console().width),
        "",
    )
    release, tracks, near, hull = _released(source, target, smooth, AREA, STATION)
    describe(release, f"{target}: {counted(release.points_released, 'point')} of {len(release.person)} taxis")
    terminal.say("")
    describe(tracks, f"{smooth}: the same, smoothed")
    terminal.say("")
    describe(hull, "hull.geojson: the convex hull of all tracks, treated as one person")
    terminal.say("")
    describe(near, "The three points nearest to the station, with their locations")
    terminal.say("", terminal.bold("The certificate, in words"), release.certificate()["words"], "")
    terminal.say("Map and certificate: " + ", ".join(_drawn(out, source, tracks)))


def _released(
    source: Path, target: Path, smooth: Path, area: tuple[float, float, float], station: tuple[float, float]
) -> tuple[Release, Release, Release, Release]:
    import geoveil as gv

    bay = gv.local(lat=area[0], lon=area[1], radius=area[2])
    with terminal.progress(f"Releasing {source.name}") as tell:
        taxis = gv.Locations(
            source, person="taxi", where=_SHOWN, area=bay, overwrite=True, progress=tell, confirm=lambda concerns: None
        )
        release = taxis.points(to=target, rho=_RHO)
    with terminal.waiting("Smoothing"):
        tracks = gv.load(target).smooth("taxi", times="time")
        tracks.to_file(smooth, overwrite=True)
    with terminal.waiting("Asking"), gv.Locations(source, area=bay).session(rho=1e-3) as session:
        near = session.nearest(public_place(station), k=3, locations=0.5, rho=6e-4)
        hull = session.hull(rho=4e-4)
        hull.to_file(target.with_name("hull.geojson"), overwrite=True)
    return release, tracks, near, hull


def _of_one(layer: Layer, name: str) -> Layer:
    """Return the part of a layer of tracks that the picture shows: that of one taxi."""
    assert layer.persons is not None
    own = layer.persons == _PICTURED
    parts = None if layer.parts is None else layer.parts[own]
    whose = layer.persons[own] - _PICTURED
    return replace(layer, name=name, places=layer.places[own], persons=whose, parts=parts, names=("",))


def _drawn(out: Path, source: Path, tracks: Release) -> list[str]:
    """Draw all tracks on a page and one in a picture, with the true ones, which are simulated; return the files."""
    from geoveil import Locations
    from geoveil.report import Layer, Report

    true = Locations(source, where=_SHOWN).frame()
    whose, names = true["taxi"].factorize()
    driven = Layer(
        "where they drove (simulated)",
        true.get_coordinates().to_numpy(),
        "lines",
        "public",
        parts=whose,
        persons=whose,
        names=tuple(names),
    )
    layers = (*tracks.layers(name="what was published"), driven)
    title = "Three taxis: where they drove, and what was published"
    page = Report(title, layers, tracks.facts(), tracks.certificate())
    with terminal.waiting("Drawing"):
        page.save(out / "map.html", overwrite=True)
        if find_spec("matplotlib") is None:
            return [f"{out / 'map.html'} (open it in a browser)"]
        alone = (_of_one(layers[0], "what was published"), _of_one(driven, "where it really drove (simulated)"))
        title = "One of three taxis: where it drove, and what was published"
        Report(title, alone, tracks.facts(), tracks.certificate()).save(out / "map.png", overwrite=True)
    return [f"{out / 'map.html'} (open it in a browser)", str(out / "map.png")]
