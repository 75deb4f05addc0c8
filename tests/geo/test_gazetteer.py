"""Cities, regions and countries by name."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pyproj
import pytest

import geoveil as gv
from geoveil.errors import InvalidCoordinateSystem
from geoveil.geo.areas import area_of
from geoveil.geo.gazetteer import (
    find_place,
    folded,
    place_file,
    places_beginning,
    places_named,
    similar_places,
    towns_near,
)
from geoveil.geo.planes import Plane

#: Names, and the places that they mean.
CLEAR = {
    **dict.fromkeys(["Switzerland", "switzerland", "Schweiz", "Suisse", "Svizzera"], "Switzerland"),
    **dict.fromkeys(["Beijing", "BEIJING", "Peking", "北京", "Pékin", "Beijing, China"], "Beijing, China"),
    **dict.fromkeys(["New York City", "NYC", "New York", "Nueva York"], "New York City, United States"),
    **dict.fromkeys(["San Francisco", "SF", "San Francisco CA", "San Francisco, US"], "San Francisco, United States"),
    **dict.fromkeys(["Zürich", "Zurich", "Zuerich", "Zurigo", "zurich, CH"], "Zürich, Switzerland"),
    **dict.fromkeys(["California", "California, USA", "State of California"], "California, United States"),
    **dict.fromkeys(["Bavaria", "Bayern"], "Bavaria, Germany"),
    **dict.fromkeys(["Paris", "PARIS", "Paris, France", "Paris, FR"], "Paris, France"),
    **dict.fromkeys(["Paris, Texas", "Paris, US", "Paris, TX", "Paris Texas"], "Paris, Texas, United States"),
    **dict.fromkeys(["München", "Munich", "Muenchen", "Monaco di Baviera"], "Munich, Germany"),
    **dict.fromkeys(["Köln", "Koln", "Cologne"], "Köln, Germany"),
    **dict.fromkeys(["Wien", "Vienna", "Vienne, Austria"], "Vienna, Austria"),
    **dict.fromkeys(["Firenze", "Florence"], "Florence, Italy"),
    **dict.fromkeys(["Москва", "Moscow", "Moskva"], "Moscow, Russia"),
    **dict.fromkeys(["Tokyo", "東京"], "Tokyo, Japan"),
    **dict.fromkeys(["São Paulo", "Sao Paulo"], "São Paulo, Brazil"),
    **dict.fromkeys(["Mumbai", "Bombay"], "Mumbai, India"),
    **dict.fromkeys(["Kyiv", "Kiev"], "Kyiv, Ukraine"),
    **dict.fromkeys(["Praha", "Prague"], "Prague, Czechia"),
    **dict.fromkeys(["Den Haag", "The Hague"], "The Hague, The Netherlands"),
    **dict.fromkeys(["Genève", "Geneva", "Genf"], "Geneva, Switzerland"),
    **dict.fromkeys(["Roma", "Rome"], "Rome, Italy"),
    **dict.fromkeys(["London", "London, UK", "Greater London", "Londres"], "London, United Kingdom"),
    **dict.fromkeys(["Washington DC", "Washington, DC"], "Washington, District of Columbia, United States"),
    **dict.fromkeys(["USA", "United States", "U.S.A."], "United States"),
    **dict.fromkeys(["UK", "Great Britain", "United Kingdom"], "United Kingdom"),
    **dict.fromkeys(["Deutschland", "Germany", "Allemagne"], "Germany"),
    **dict.fromkeys(["Mexico", "México"], "Mexico"),
    **dict.fromkeys(["Ciudad de México", "Mexico City"], "Mexico City, Mexico"),
    **dict.fromkeys(["Toscana", "Tuscany"], "Tuscany, Italy"),
    **dict.fromkeys(["New York State", "State of New York"], "New York (region), United States"),
    "London, Ontario": "London, Ontario, Canada",
    "Cambridge, UK": "Cambridge, England, United Kingdom",
    "Cambridge, MA": "Cambridge, Massachusetts, United States",
    "San José, Costa Rica": "San José, Costa Rica",
    "San Jose, CA": "San Jose, California, United States",
    "Georgia (country)": "Georgia (country)",
    "Georgia, US": "Georgia, United States",
    "Birmingham": "Birmingham, United Kingdom",
    "Santiago": "Santiago, Chile",
    "Luxembourg": "Luxembourg",
    "Singapore": "Singapore",
    "Lagos": "Lagos, Nigeria",
    "Cairo": "Cairo, Egypt",
    "Istanbul": "Istanbul, Turkey",
    "Delhi": "Delhi, India",
    "Shanghai": "Shanghai, China",
    "Seoul": "Seoul, South Korea",
    "Jakarta": "Jakarta, Indonesia",
    "Nairobi": "Nairobi, Kenya",
    "Sydney": "Sydney, Australia",
    "Berlin": "Berlin, Germany",
    "Madrid": "Madrid, Spain",
    "Athens": "Athens, Greece",
    "St Petersburg": "Saint Petersburg, Russia",
    "Saint-Étienne": "Saint-Étienne, France",
    "Lyon": "Lyon, France",
    "Scotland": "Scotland, United Kingdom",
    "Hawaii": "Hawaii, United States",
    "Île-de-France": "Île-de-France, France",
    "Holland": "The Netherlands",
}
#: Names that several places of similar rank have, and two of these.
SEVERAL = {
    "Springfield": {"Springfield, Missouri, United States", "Springfield, Illinois, United States"},
    "San José": {"San Jose, California, United States", "San José, Costa Rica"},
    "Cambridge": {"Cambridge, England, United Kingdom", "Cambridge, Massachusetts, United States"},
    "Georgia": {"Georgia (country)", "Georgia, United States"},
    "Victoria": {"Victoria, Australia", "Victoria, British Columbia, Canada"},
    "Washington": {"Washington (region), United States", "Washington, District of Columbia, United States"},
    "Valencia": {"Valencia, Spain", "Valencia, Carabobo, Venezuela"},
    "Richmond": {"Richmond, Virginia, United States", "Richmond, British Columbia, Canada"},
    "Vancouver": {"Vancouver, British Columbia, Canada", "Vancouver, Washington, United States"},
    "Punjab": {"Punjab, Pakistan", "Punjab, India"},
    "Congo": {"Republic of the Congo", "Democratic Republic of the Congo"},
    "Korea": {"South Korea", "North Korea"},
}
#: Places, and locations at the ends of what their names cover, as longitude and latitude.
EXTENTS = {
    "San Francisco": [(-122.51, 37.83), (-122.27, 37.87), (-121.89, 37.34), (-122.39, 37.62)],  # to San Jose
    "New York City": [(-74.25, 40.50), (-73.70, 40.75), (-73.78, 40.64), (-74.17, 40.69), (-73.84, 41.03)],
    "London": [(-0.51, 51.47), (0.33, 51.56), (-0.19, 51.15), (-0.45, 51.47), (0.24, 51.89)],  # to Stansted
    "Paris": [(2.55, 49.01), (2.12, 48.80), (2.78, 48.87), (2.70, 48.40)],  # to Fontainebleau
    "Beijing": [(116.60, 40.08), (116.02, 40.36), (116.41, 39.51), (117.12, 40.14)],  # to the Great Wall
    "Zürich": [(8.54, 47.46), (8.72, 47.50), (8.31, 47.05), (8.82, 47.22)],  # to Lucerne
    "Tokyo": [(140.39, 35.77), (139.64, 35.44), (139.31, 35.66)],  # to Narita and Yokohama
    "Los Angeles": [(-118.49, 34.01), (-117.87, 33.68), (-118.19, 33.77), (-118.52, 34.38)],
    "Switzerland": [(5.96, 46.13), (10.49, 46.62), (8.57, 47.81), (9.02, 45.82)],
    "Germany": [(5.87, 51.06), (15.04, 51.27), (10.18, 47.27), (8.42, 55.06)],
    "France": [(-4.79, 48.36), (9.56, 42.13), (8.23, 48.97), (1.67, 50.87), (-1.78, 43.36)],
    "United States": [(-124.73, 48.38), (-66.95, 44.81), (-80.03, 25.76), (-117.12, 32.53), (-97.14, 25.95)],
    "California": [(-124.41, 40.44), (-114.13, 34.26), (-117.12, 32.53), (-120.0, 42.0)],
    "Bavaria": [(8.98, 50.05), (13.84, 48.77), (10.18, 47.27), (11.4, 50.56)],
    "Malaysia": [(101.69, 3.14), (110.34, 1.55), (119.27, 5.35)],
    "Fiji": [(178.44, -18.14), (-179.9, -16.8)],
}


def test_names_mean_known_places() -> None:
    """Accents, case, abbreviations and local names lead to the same place, and its title says which it is."""
    for name in CLEAR:
        place = find_place(name)
        assert place is not None
        assert place.title == CLEAR[name]
        area = area_of(name)
        assert area.name.startswith(f"{CLEAR[name]}: {place.radius / 1000:g} km around ")
        assert area.stretch == 1
        assert area_of(place.title) == area


@pytest.mark.parametrize("name", SEVERAL)
def test_ambiguous_names_are_listed(name: str) -> None:
    """None is chosen silently; the message has the texts to give, each of which is clear."""
    assert find_place(name) is None
    titles = [place.title for place in places_named(name)]
    assert {*titles} >= SEVERAL[name]
    with pytest.raises(InvalidCoordinateSystem, match="several have this name") as refused:
        area_of(name)
    for title in titles[:6]:
        assert repr(title) in str(refused.value)
        found = find_place(title)
        assert found is not None
        assert found.title == title
    assert "inhabitants" in str(refused.value)


@pytest.mark.parametrize("name", EXTENTS)
def test_areas_cover_their_names(name: str) -> None:
    """An area covers what its name covers.

    Suburbs and airports of cities, the corners of regions and of the main parts of countries.
    """
    plane = Plane(pyproj.CRS(4326), area_of(name))
    assert plane.contains(np.array(EXTENTS[name])).all()


def test_far_parts_are_left_out() -> None:
    """Parts across an ocean where few people live would make an area useless."""
    for name, there in {"France": (-52.3, 4.9), "United States": (-157.8, 21.3), "Spain": (-15.4, 28.1)}.items():
        assert not Plane(pyproj.CRS(4326), area_of(name)).contains(np.array([there])).any()


def test_systems_are_areas() -> None:
    """Codes and names of projected systems stay what they are, and no place or geographic system is taken for them."""
    names = {
        "EPSG:2056": "CH1903+ / LV95",
        "2056": "CH1903+ / LV95",
        "CH1903+ / LV95": "CH1903+ / LV95",
        "UTM zone 10N": "WGS 84 / UTM zone 10N",
        "utm 33s": "WGS 84 / UTM zone 33S",
        "WGS 84 / UTM zone 10N": "WGS 84 / UTM zone 10N",
    }
    for given, name in names.items():
        assert area_of(given).name == name


def test_spelling_does_not_matter() -> None:
    """Case, accents, hyphens, full stops and common abbreviations are one spelling."""
    assert len({*map(folded, ["St. Gallen", "Saint-Gallen", "SAINT GALLEN", "saint gallen "])}) == 1
    assert folded("Łódź") == "lodz"
    assert folded("Tromsø") == "tromso"
    assert folded("L'Aquila") == folded("LʼAquila") == "laquila"
    assert folded(" . ") == ""


def test_misspelt_names_are_completed() -> None:
    """The most populous places come first."""
    assert similar_places("Beijng")[0].title == "Beijing, China"
    assert similar_places("San Fransico")[0].title == "San Francisco, United States"
    assert similar_places("") == []
    assert [place.name for place in places_beginning("san franc", 1)] == ["San Francisco"]
    assert gv.areas("nowhere of this name") == []
    assert [area.name.partition(":")[0] for area in gv.areas("Georgia")] == [
        "Georgia (country)",
        "Georgia, United States",
    ]


def test_cities_have_their_region() -> None:
    """A city is titled by its first-order region, and not by a part of it that has as many inhabitants."""
    assert places_named("Tiraspol")[0].region == "Transnistria"
    assert "Minsk" in towns_near(27.1, 53.9, 6e4).regions


def test_gazetteer_is_small() -> None:
    """Coordinates, populations and other names of 34 000 cities, and 130 000 villages for maps, fit into 2.5 MB."""
    assert len(resources.files("geoveil.geo").joinpath("places.parquet").read_bytes()) < 2_500_000
    places = place_file()
    table = places.read_row_group(0)
    columns = ["kind", "name", "others", "country", "region", "lat", "lon", "radius", "population", "named"]
    assert table.column_names == columns
    assert table.num_rows > 39_000
    assert places.metadata.num_rows > 170_000
    radius = np.asarray(table["radius"])
    assert radius[np.asarray(table["kind"].to_pylist()) == "city"].min() == 20
