"""`geoveil areas`: the areas that a name can mean, and the completion of such names in a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from geoveil.cli import terminal
from geoveil.cli.command import command
from geoveil.cli.options import as_json

if TYPE_CHECKING:
    from geoveil.geo.gazetteer import Place

__all__ = ["areas"]


@command(
    "Where is that?",
    "geoveil areas Zurich",
    "One of several places of a name:",
    'geoveil areas "Springfield, Illinois"',
)
@click.argument("name")
@as_json
def areas(name: str, as_json: bool) -> None:
    """Show the areas that NAME can mean in --area NAME: cities, regions and countries.

    Names are English or local, with or without accents, and may be followed by a region or a country.
    """
    from geoveil.geo.gazetteer import find_place, places_named, similar_places

    places = places_named(name)
    taken = find_place(name)
    similar = [] if places else similar_places(name)
    if as_json:
        told = [{"area": place.title, "taken": place == taken, **_numbers(place)} for place in places]
        terminal.json({"places": told, "similar": [place.title for place in similar]})
    elif places:
        rows = [
            (f'"{place.title}"', place.kind, f"{place.population:,}", f"{place.lat:.2f}, {place.lon:.2f}", _km(place))
            for place in places[:20]
        ]
        terminal.answer(terminal.table(("--area", "kind", "population", "centre", "radius"), rows, total=len(places)))
        if taken is not None:
            terminal.answer(f'--area "{name}" means "{taken.title}".')
        else:
            terminal.answer(f'--area "{name}" is refused, since it can mean several places: give one of these.')
    if not places:
        said = ", ".join(f'"{place.title}"' for place in similar)
        if not as_json:
            terminal.answer(f"No place is called {name!r}." + (f" Similar names: {said}." if said else ""))
            terminal.answer("--area LAT,LON,RADIUS states any area, such as --area 37.77,-122.42,50km.")
        click.get_current_context().exit(2)


def _numbers(place: Place) -> dict[str, object]:
    return {
        "kind": place.kind,
        "population": place.population,
        "lat": round(place.lat, 2),
        "lon": round(place.lon, 2),
        "radius": place.radius,
    }


def _km(place: Place) -> str:
    return f"{place.radius / 1000:g} km"
