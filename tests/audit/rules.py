"""Published rules that hide places, from their description, and faults that tools have: from tables to tables."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import geoveil as gv
from geoveil.geo.areas import area_of
from geoveil.geo.coordinate_systems import GEOGRAPHIC, system_of
from geoveil.geo.planes import Plane
from geoveil.noise.reals import Floats

#: A rule: from rows with the columns person, time, longitude and latitude to rows.
Rule = Callable[[pd.DataFrame], pd.DataFrame]

#: What rules claim to hide, in metres, and the scale of Gaussian noise that does so.
HIDE = 200.0
SCALE = 1 / math.sqrt(2 * float(gv.CGP.hiding(distance=HIDE).rho))
_DEGREE = 111_195.0


def moved(rows: pd.DataFrame, metres: Floats) -> pd.DataFrame:
    """Rows moved by so many metres east and north."""
    shrink = np.cos(np.radians(rows.latitude.to_numpy()))
    east, north = metres.T / _DEGREE
    return rows.assign(longitude=rows.longitude + east / shrink, latitude=rows.latitude + north)


def round_about(radius: Floats, rng: np.random.Generator) -> Floats:
    """Metres in all directions, with these lengths."""
    angle = rng.uniform(0, 2 * math.pi, len(radius))
    return np.asarray(radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def gaussian(rng: np.random.Generator, times: float = 1.0) -> Rule:
    """Gaussian noise that keeps the claim; with `times`, so many times the budget."""
    return lambda rows: moved(rows, rng.normal(scale=SCALE / math.sqrt(times), size=(len(rows), 2)))


def planar_laplace(rng: np.random.Generator) -> Rule:
    """Planar Laplace noise whose ε hides the same distance."""
    epsilon = float(gv.GP.hiding(distance=HIDE).epsilon)
    return lambda rows: moved(rows, round_about(rng.gamma(2, 1 / epsilon, len(rows)), rng))


def uniform_blur(rng: np.random.Generator, radius: float = 500.0) -> Rule:
    """A uniform place of a disc around the true one."""
    return lambda rows: moved(rows, round_about(radius * np.sqrt(rng.random(len(rows))), rng))


def donut(rng: np.random.Generator, least: float = 100.0, most: float = 500.0) -> Rule:
    """Donut masking: a uniform place of a ring around the true one (Hampton and others, 2010)."""
    return lambda rows: moved(rows, round_about(np.sqrt(rng.uniform(least**2, most**2, len(rows))), rng))


def truncated(decimals: int) -> Rule:
    """Degrees cut off after some decimals."""
    unit = 10.0**decimals
    return lambda rows: rows.assign(
        longitude=np.trunc(rows.longitude * unit) / unit, latitude=np.trunc(rows.latitude * unit) / unit
    )


def rounded_first(rng: np.random.Generator, decimals: int) -> Rule:
    """Degrees rounded before noise is added."""
    noisy = gaussian(rng)
    return lambda rows: noisy(
        rows.assign(longitude=rows.longitude.round(decimals), latitude=rows.latitude.round(decimals))
    )


def geohash(characters: int = 6) -> Rule:
    """The middle of the geohash cell."""
    bits = 5 * characters
    east, north = 360 / 2 ** math.ceil(bits / 2), 180 / 2 ** (bits // 2)
    return lambda rows: rows.assign(
        longitude=(np.floor(rows.longitude / east) + 0.5) * east,
        latitude=(np.floor(rows.latitude / north) + 0.5) * north,
    )


def hexagons(resolution: int = 8) -> Rule:
    """The middle of the H3 cell."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        import h3

        cells = [h3.latlng_to_cell(*at, resolution) for at in zip(rows.latitude, rows.longitude, strict=True)]
        middles = np.array([h3.cell_to_latlng(cell) for cell in cells])
        return rows.assign(latitude=middles[:, 0], longitude=middles[:, 1])

    return rule


def in_degrees(rng: np.random.Generator) -> Rule:
    """Noise of the right width from north to south, added to degrees as if these were as long from east to west."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        east, north = rng.normal(scale=SCALE / _DEGREE, size=(2, len(rows)))
        return rows.assign(longitude=rows.longitude + east, latitude=rows.latitude + north)

    return rule


def laplace_in_degrees(rng: np.random.Generator) -> Rule:
    """Planar Laplace noise, added to degrees as if these were as long from east to west."""
    epsilon = float(gv.GP.hiding(distance=HIDE).epsilon)

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        east, north = round_about(rng.gamma(2, 1 / epsilon, len(rows)), rng).T / _DEGREE
        return rows.assign(longitude=rows.longitude + east, latitude=rows.latitude + north)

    return rule


def seeded(seed: int = 42) -> Rule:
    """Noise from a generator with a fixed seed."""
    return lambda rows: gaussian(np.random.default_rng(seed))(rows)


def seeded_by_person(rows: pd.DataFrame) -> pd.DataFrame:
    """Noise from a generator whose seed is the person's label: the same in each run."""
    seeds = [int(hashlib.sha256(label.encode()).hexdigest()[:12], 16) for label in rows.person]
    return moved(rows, np.array([np.random.default_rng(seed).normal(scale=SCALE, size=2) for seed in seeds]))


def seeded_by_place(rows: pd.DataFrame) -> pd.DataFrame:
    """Noise from a generator whose seed is the true place."""
    places = zip(rows.longitude, rows.latitude, strict=True)
    seeds = [int(hashlib.sha256(f"{lon} {lat}".encode()).hexdigest()[:12], 16) for lon, lat in places]
    return moved(rows, np.array([np.random.default_rng(seed).normal(scale=SCALE, size=2) for seed in seeds]))


def shared(rng: np.random.Generator) -> Rule:
    """One offset for all."""
    return lambda rows: moved(rows, np.tile(rng.normal(scale=SCALE, size=2), (len(rows), 1)))


def one_offset_each(rng: np.random.Generator) -> Rule:
    """One offset for each person, which all points have."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        code, labels = pd.factorize(rows.person)
        return moved(rows, rng.normal(scale=SCALE, size=(len(labels), 2))[code])

    return rule


def sometimes_true(rng: np.random.Generator, share: float = 0.25) -> Rule:
    """The true place, some of the time."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        noisy = gaussian(rng)(rows)
        kept = rng.random(len(rows)) < share
        noisy.loc[kept, ["longitude", "latitude"]] = rows.loc[kept, ["longitude", "latitude"]]
        return noisy

    return rule


def redacted(k: int = 10, characters: int = 6) -> Rule:
    """The middle of the geohash cell, if so many persons are in it."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        cells = geohash(characters)(rows)
        return cells[cells.groupby(["longitude", "latitude"]).person.transform("nunique") >= k]

    return rule


def with_truth_in(rng: np.random.Generator, column: str = "comment") -> Rule:
    """Noise, and the true place in another column."""
    return lambda rows: gaussian(rng)(rows).assign(
        **{column: [f"was {lat}, {lon}" for lat, lon in zip(rows.latitude, rows.longitude, strict=True)]}
    )


def with_zone(rng: np.random.Generator) -> Rule:
    """Noise, and the number of the street of the true place."""
    return lambda rows: gaussian(rng)(rows).assign(street=(rows.longitude * 500).round().astype(int))


def sorted_rows(rng: np.random.Generator) -> Rule:
    """Noise, in the order of the true latitudes and with digests as labels."""
    return lambda rows: gaussian(rng)(rows.sort_values("latitude", ignore_index=True))


def dropped(rng: np.random.Generator) -> Rule:
    """Noise for those alone who are in every second stripe of 200 m from west to east."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        return gaussian(rng)(rows[np.floor(rows.longitude * 500).astype(int) % 2 == 0])

    return rule


def coarse_noise(rng: np.random.Generator) -> Rule:
    """Noise in whole thousandths of a degree, which keeps the last digits."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        steps = np.round(rng.normal(scale=SCALE / _DEGREE * 1000, size=(2, len(rows)))) / 1000
        return rows.assign(
            longitude=(rows.longitude + steps[0]).round(7), latitude=(rows.latitude + steps[1]).round(7)
        )

    return rule


def neighbours_alike(rng: np.random.Generator) -> Rule:
    """Noise that is half that of the row before."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        noise = rng.normal(scale=SCALE, size=(len(rows) + 1, 2))
        return moved(rows, (noise[1:] + noise[:-1]) * math.sqrt(1.2))

    return rule


def centred_zone(rng: np.random.Generator, radius: float = 200.0) -> Rule:
    """Rides in six directions from each place, cut inside a circle around it: the first points that are left."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        rides = rows.loc[rows.index.repeat(6)].reset_index(drop=True)
        return moved(rides, round_about(radius + rng.uniform(0, 30, len(rides)), rng))

    return rule


def own_zone(rng: np.random.Generator) -> Rule:
    """The centres of the discs that geoveil draws around hidden places."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        from geoveil.mechanisms.discs import STEPS
        from geoveil.noise import source_of
        from geoveil.zones import Hiding

        law, source = Hiding.of(rho=float(gv.CGP.hiding(distance=HIDE).rho)).law, source_of(rng)
        places = zip(rows.latitude, rows.longitude, strict=True)
        centres = np.array([law.draw(lat, lon, source) for lat, lon in places]) / STEPS
        return rows.assign(latitude=centres[:, 0], longitude=centres[:, 1])

    return rule


def own_heat_map(rng: np.random.Generator, area: str = "37.77,-122.42,10km") -> Rule:
    """The middle of the largest cell of a heat map of each person alone."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        claim, middles = gv.CGP.hiding(distance=HIDE).rho, []
        for number in range(len(rows)):
            own = gv.Locations(rows.iloc[[number]], person="person", area=area, rng=rng)
            heat = own.heatmap(cell=250, rho=claim)
            grid: Any = heat.grid  # type: ignore[attr-defined]
            y, x = np.unravel_index(int(np.argmax(heat.value)), grid.shape)
            west, south = grid.bounds[:2]
            middles.append([west + (x + 0.5) * grid.cell, south + (y + 0.5) * grid.cell])
        plane = Plane(system_of("crs", GEOGRAPHIC), area_of(area))
        lon, lat = plane.degrees(np.array(middles)).T
        return rows.assign(longitude=lon, latitude=lat)

    return rule
