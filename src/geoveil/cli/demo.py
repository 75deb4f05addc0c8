"""`geoveil demo`: releases of a simulated city, with a map."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import Command, broken
from geoveil.cli.points import release_file
from geoveil.cli.presentation import describe, public_place
from geoveil.words import counted


@click.command(
    cls=Command,
    examples=(("Into another folder:", "geoveil demo --out my-demo"),),
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="geoveil-demo",
    show_default=True,
    help="The folder for the results.",
)
def demo(out: Path) -> None:
    """Simulate a city with taxis, release their trajectories, and draw the map.

    It contains no real locations. Takes some seconds.
    """
    from geoveil.city import AREA, STATION, write_taxis

    out.mkdir(parents=True, exist_ok=True)
    source, target = out / "taxis.csv", out / "released.csv"
    lat, lon, radius = AREA
    with terminal.waiting("Simulating a city"):
        count = write_taxis(source)
    where = f"--by taxi --local {lat:g},{lon:g},{radius / 1000:g}km"
    terminal.say(
        f"A simulated city: {counted(count, 'point')} of four taxis in {source}. The first release is that of",
        *broken(f"geoveil points {source} -o {target} {where} --rho 5e-4 --smooth taxi", terminal.console().width),
        "",
    )
    release, near, hull = _released(source, target, AREA, STATION)
    describe(release, f"{target}: {counted(release.n, 'point')} of {len(release.by)} taxis, smoothed")
    terminal.say("")
    describe(hull, "hull.geojson: the convex hull of all tracks, treated as one person")
    terminal.say("")
    describe(near, "The three points nearest to the station, with their locations")
    terminal.say("", terminal.bold("The certificate, in words"), release.certificate()["words"], "")
    terminal.say("Map and certificate: " + ", ".join(_drawn(out, source, release, near, hull)))


def _released(source: Path, target: Path, area: Any, station: tuple[float, float]) -> tuple[Any, Any, Any]:
    import geoveil as gv

    bay = gv.local(lat=area[0], lon=area[1], radius=area[2])
    release = release_file(source, target, "taxi", None, by="taxi", rho=5e-4, area=bay)
    with terminal.waiting("Asking"), gv.Session(gv.read(source), rho=1e-3, area=bay) as session:
        near = session.nearest(public_place(station), k=3, locations=0.5, rho=6e-4)
        hull = session.hull(rho=4e-4)
        hull.to_file(target.with_name("hull.geojson"))
    return release, near, hull


def _drawn(out: Path, source: Path, release: Any, near: Any, hull: Any) -> list[str]:
    """Draw the map as a page and as a picture, with the true trajectories, which are simulated; return the files."""
    from geoveil import read, total
    from geoveil.report import Layer, Report, write

    true = read(source)
    layers = (
        *hull.layers(name="released hull"),
        Layer("simulated tracks", true.get_coordinates().to_numpy(), "lines", "public", parts=_whose(true)),
        *(
            replace(layer, kind="lines", parts=_whose(release.value))
            for layer in release.layers(name="released tracks")
        ),
        *near.layers(name="released neighbours"),
    )
    guarantee = total([release.guarantee, near.guarantee, hull.guarantee])
    whole = replace(release, guarantee=guarantee, processing=replace(release.processing, combined=True))
    page = Report("A simulated city, released", layers, whole.facts(), whole.certificate())
    with terminal.waiting("Drawing"):
        write(out / "map.html", page)
        if find_spec("matplotlib") is None:
            return [f"{out / 'map.html'} (open it in a browser)"]
        write(out / "map.png", page)
    return [f"{out / 'map.html'} (open it in a browser)", str(out / "map.png")]


def _whose(frame: Any) -> Any:
    """Return the number of each row's taxi."""
    return frame["taxi"].factorize()[0]
