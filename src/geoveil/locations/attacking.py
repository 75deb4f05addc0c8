"""Attack a release of known locations: pair what is released with the truth, and run the attacks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Labels
from geoveil.answering.intake import Intake
from geoveil.attacks import Attacks, NearbyAnswer, Seen, attack_cut_tracks, attack_points, attack_zones, find_nearby
from geoveil.errors import (
    GeoveilError,
    InvalidData,
    InvalidParameter,
    Message,
)
from geoveil.geo.coordinate_systems import GEOGRAPHIC, system_of
from geoveil.geo.entering import form_of
from geoveil.geo.forms import Floats, Index
from geoveil.geo.planes import Plane
from geoveil.geo.point_times import point_times
from geoveil.locations.shown import ShownPoints, coordinates_of, shown_points
from geoveil.mechanisms import Gaussian
from geoveil.movement.habits import PERSON, Habits
from geoveil.postprocess import motion as motions
from geoveil.postprocess.motion import Motion
from geoveil.privacy import Guarantee
from geoveil.queries import Distance, Nearest
from geoveil.release import Release
from geoveil.release.heat_maps import noise_of
from geoveil.zones import HiddenPlace, ZonesRelease

if TYPE_CHECKING:
    from geoveil.locations.locations import Locations

__all__ = ["attacked"]

#: Microseconds after which times are taken for dates: those of 1990. Durations are shorter.
_DATES = 631_152_000_000_000
#: What is said where nothing shows that released rows are in the order of the truth.
_ORDER = "Rows without times are taken to be in the order of the truth."
#: Metres from a hidden place within which some point of the true tracks must be.
_NEAR = 1000.0
_MOTIONS: dict[str, Motion | Habits] = {
    "car": motions.CAR,
    "cycling": motions.CYCLING,
    "person": PERSON,
    "taxi": motions.TAXI,
    "walking": motions.WALKING,
}


def attacked(
    locations: Locations,
    released: Any,
    motion: str | Motion | None,
    places: Sequence[HiddenPlace],
    prior: Any,
    claimed: Guarantee | None,
) -> Attacks:
    """Attack what was released of locations; see `Locations.attack`."""
    data = locations._rows.known()
    if data.dimension != 2:
        raise InvalidData("source", f"{data.dimension} coordinates", "places in the plane", "Give two coordinates.")
    if claimed is not None and (places or isinstance(released, ZonesRelease) or _are_answers(released)):
        raise _own_guarantee(released)
    if _are_answers(released):
        return _nearby(data, released)
    if isinstance(released, ZonesRelease) or places:
        return _cut(locations, released, places)
    shown = shown_points(released, data, coordinates_of(locations))
    if claimed is not None and shown.release is not None:
        raise _own_guarantee(released)
    motion = "person" if motion is None else motion
    moves = _MOTIONS.get(motion) if isinstance(motion, str) else motion
    if not isinstance(moves, Motion | Habits):
        allowed = f"how people move: {', '.join(map(repr, _MOTIONS))}, or a Motion"
        raise InvalidParameter("motion", motion, allowed, 'Leave it out: it is "person".')
    known = None if prior is None else _known_places(prior, data)
    found = attack_points(_paired(data, shown, claimed), moves, locations._progress, known)
    return replace(found, note="" if _known_order(data, shown) else _ORDER)


def _own_guarantee(released: Any) -> InvalidData:
    """Return the error about a claim beside something of which no claim is taken."""
    allowed = Message("points of another tool, if {hide}, {rho} or {epsilon} says what it claims")
    remedy = "Leave the claim out: a release states its own guarantee, and cut tracks have none for points."
    shown = str(released) if isinstance(released, str | Path) else f"a {type(released).__name__}"
    return InvalidData("released", shown, allowed, remedy)


def _known_places(prior: Any, data: Intake) -> Floats:
    """Return public places in metres of the plane of the truth."""
    plane, own = data.form.plane, getattr(prior, "crs", None)
    if own is not None and plane is not None:
        places = Plane(own, plane.area).into(form_of(prior, Plane(own, plane.area)).own_coords())
    else:
        places = data.form.into(np.asarray(prior, dtype=float).reshape(-1, 2))
    if not len(places) or not np.isfinite(places).all():
        allowed = "a GeoSeries of points, or an (m, 2) array in the coordinate system of the data"
        raise InvalidParameter("prior", prior, allowed, "Leave it out.")
    return places


# Pairs --------------------------------------------------------------------------------------------------------------


def _paired(data: Intake, shown: ShownPoints, claimed: Guarantee | None) -> Seen:
    """Return released points beside true ones: row by row, or by persons and times."""
    people, truth = data.persons, data.form.coords.values
    codes = np.zeros(len(truth), dtype=np.int64) if people is None else people.codes
    labels: list[Any] = ["everybody"] if people is None else [*people.labels]
    seconds, clock = _times(data)
    mine, theirs = _pairs(data, shown, codes, labels, seconds)
    release, middle = shown.release, 0.0
    if data.form.plane is not None:
        middle = float(data.form.plane.degrees(np.median(truth, axis=0)[None])[0, 0])
    seen = Seen(
        truth[mine],
        shown.coords[theirs],
        codes[mine],
        labels,
        seconds=None if seconds is None else seconds[mine],
        clock=clock,
        degrees_east=middle,
        rho=None if claimed is None else _rho(claimed),
    )
    return seen if release is None else _known(seen, release, theirs, data.by)


def _known(seen: Seen, release: Release, rows: Index, by: Labels) -> Seen:
    """Return what is seen of a release of points, with its public facts."""
    first = release.answers[0].mechanisms[0]
    given = by if release.person is not None and release.person.name not in release.form.names else None
    try:
        rho: float | None = _rho(release.cost(person=given))
    except GeoveilError:
        # What a person's points cost together is not known for this noise.
        rho = None
    processed = bool(release.processing.steps)
    seen = replace(seen, rho=rho, exact_bound=isinstance(first, Gaussian), processed=processed)
    if processed:
        return seen
    try:
        scales = np.array([noise_of(answer.mechanisms[0], answer.query.n) for answer in release.answers], dtype=object)
    except InvalidData:
        # The noises of points depend on each other: they are attacked as if they did not.
        return replace(seen, noise="laplace")
    noise, whose = scales[0, 0], release._person_index(given)
    each = scales[:, 1].astype(float)[whose] if release.point_scales is None else release.point_scales
    if rho is None:
        # The noises of points are independent, so that their divergences add up: of Laplace noise in the plane ε²/4.
        divergence = each**-2.0 / (2 if noise == "gaussian" else 4)
        rho = float(np.bincount(whose, divergence).max())
    return replace(seen, rho=rho, noise=noise, scale=each[rows])


def _rho(guarantee: Guarantee) -> float:
    """Return the ρ of concentrated geo-privacy that a guarantee implies."""
    budget = float(guarantee.budget)
    return budget if guarantee.power == 2 else budget**2 / 2


def _times(data: Intake) -> tuple[Floats | None, bool]:
    """Return the time of each point in seconds, and whether these are dates; None without times."""
    if data.times is None and len(data.form.times) != max(len(data.form.pairs), 1):
        return None, False
    moments = data.microseconds
    return moments / 1e6, bool(len(moments)) and int(moments.min()) > _DATES


def _pairs(
    data: Intake, shown: ShownPoints, codes: Index, labels: Sequence[Hashable], seconds: Floats | None
) -> tuple[Index, Index]:
    """Return the rows of the truth and of the release that belong together."""
    count, form = len(codes), shown.form
    named = isinstance(data.by, str) and data.by in form.names
    times = None
    if seconds is not None and len(form.times) == 1:
        times = point_times(form, None).microseconds / 1e6
    same_count = len(shown.coords) == count
    if same_count and shown.release is not None:
        return np.arange(count), np.arange(count)
    true = np.asarray(labels, dtype=object)[codes].astype(str)
    whose = np.asarray(form.people(data.by)).astype(str) if named else true if same_count else None
    same_times = times is None or (same_count and np.array_equal(times, seconds))  # type: ignore[arg-type]
    if same_count and whose is not None and same_times and _same_persons(true, whose):
        return np.arange(count), np.arange(count)
    if data.by is None and times is not None:
        whose = np.full(len(times), str(labels[0]))
    elif not named:
        whose = None
    if whose is None or (times is None and not same_count):
        allowed = f"{count} points, one for each true one, or a column of times"
        remedy = Message("Give {times} and {person} of the truth as columns that the released file has as well.")
        raise InvalidData("released", f"{len(shown.coords)} points", allowed, remedy)
    return _by_person(true, seconds if times is not None else None, whose, times)


def _known_order(data: Intake, shown: ShownPoints) -> bool:
    """Return whether the release, its times, or persons with one point each tell which rows belong together."""
    if shown.release is not None or (len(shown.form.times) == 1 and _times(data)[0] is not None):
        return True
    if isinstance(data.by, str) and data.by in shown.form.names and data.persons is not None:
        return int(data.persons.sizes.max()) == 1
    return len(data.form.coords) == 1


def _same_persons(true: NDArray[np.str_], shown: NDArray[np.str_]) -> bool:
    """Return whether rows are of the same persons one by one, under their labels or under pseudonyms."""
    import pandas as pd

    if np.array_equal(true, shown):
        return True
    return not np.isin(shown, true).any() and np.array_equal(pd.factorize(true)[0], pd.factorize(shown)[0])


def _by_person(
    true: NDArray[np.str_], seconds: Floats | None, shown: NDArray[np.str_], times: Floats | None
) -> tuple[Index, Index]:
    """Return the rows of the truth and of the release that have one person, and one time where both have times."""
    import pandas as pd

    mine = pd.DataFrame({"who": true, "when": 0.0 if seconds is None else seconds})
    theirs = pd.DataFrame({"who": shown, "when": 0.0 if times is None else times})
    if times is None and set(true) & set(shown) and mine.who.duplicated().any():
        allowed = "in the order of the truth, or with a column of times: its persons are in another order"
        remedy = Message("Give {times}, a column that the released file has too, or restore the order of its rows.")
        raise InvalidData("released", f"{len(shown)} points", allowed, remedy)
    for rows in (mine, theirs):
        # Several points of one person and time are paired in their order.
        rows["turn"] = rows.groupby(["who", "when"]).cumcount()
        rows["row"] = np.arange(len(rows))
    both = mine.merge(theirs, on=["who", "when", "turn"])
    if not len(both):
        made = "Attack the file that was made of these locations."
        raise InvalidData("released", "no point of these persons at these times", "points of the truth", made)
    return both["row_x"].to_numpy(), both["row_y"].to_numpy()


# Tracks that were cut, and answers ----------------------------------------------------------------------------------


def _cut(locations: Locations, released: Any, places: Sequence[HiddenPlace]) -> Attacks:
    """Attack tracks that were cut around places."""
    from geoveil.locations.hiding import seconds_of_tracks, track_numbers

    if not places:
        remedy = 'Give them as for hide_places: places="47.37,8.54".'
        raise InvalidParameter("places", None, "the places that the tracks hide", remedy)
    rows = locations._rows
    data = rows.tracks()
    plane = data.form.plane
    if plane is None:
        remedy = "Give crs= and area=."
        raise InvalidParameter("source", "metres", "places on the Earth, for hidden places", remedy)
    if isinstance(released, ZonesRelease):
        _check_hidden(places, [any(zone.hides(place) for zone in released.zones) for place in places])
        true = plane.longitudes_latitudes(data.form.own_coords())
        tracks = track_numbers(data, rows.structure)
        return attack_zones(released.zones, released.rules, places, true, seconds_of_tracks(data), tracks)
    # Tracks that never come near a place have nothing to hide there.
    at = Plane(system_of("crs", GEOGRAPHIC), plane.area).into(np.array([[place.lon, place.lat] for place in places]))
    truth = data.form.coords.values
    _check_hidden(places, [bool((np.hypot(*(truth - place).T) <= _NEAR).any()) for place in at])
    shown = shown_points(released, data, coordinates_of(locations))
    times = point_times(shown.form, None).microseconds / 1e6 if len(shown.form.times) == 1 else None
    person = data.by if isinstance(data.by, str) else None
    names = [name for name in ("track", "segment", "activity", person) if name in shown.form.names]
    columns = [np.asarray(shown.form.column(name)).astype(str) for name in names]
    numbers: Index = np.zeros(len(shown.coords), dtype=np.int64)
    if columns:
        numbers = np.unique(np.array(columns).T, axis=0, return_inverse=True)[1].astype(np.int64).ravel()
    return attack_cut_tracks(places, plane.degrees(shown.coords), times, numbers)


def _check_hidden(places: Sequence[HiddenPlace], hidden: Sequence[bool]) -> None:
    """Refuse places that are not hidden."""
    for place, is_hidden in zip(places, hidden, strict=True):
        if not is_hidden:
            remedy = "Give them as they were given to hide them, and no others."
            raise InvalidParameter("places", f"{place.lat},{place.lon}", "the places that the tracks hide", remedy)


def _are_answers(released: Any) -> bool:
    several = isinstance(released, list | tuple) and len(released) > 0
    return several and all(isinstance(each, Release) and each.query != "points" for each in released)


def _nearby(data: Intake, answers: Sequence[Release]) -> Attacks:
    """Intersect answers about the distances of persons from public places, or about who is nearest to them."""
    people, truth = data.persons, data.form.coords.values
    labels: list[Any] = ["everybody"] if people is None else [*people.labels]
    codes = np.zeros(len(truth), dtype=np.int64) if people is None else people.codes
    asked, spent = [], 0.0
    for release in answers:
        query = release.answers[0].query
        spent += _rho(release.guarantee)
        scale = float(release.answers[0].mechanisms[0].scale)
        if isinstance(query, Distance):
            distances = np.full(len(labels), np.nan)
            values = [release.value] if release.person is None else np.asarray(release.value).ravel()
            known = labels if release.person is None else [*release.person]
            for label, value in zip(known, values, strict=True):
                distances[labels.index(label)] = float(value)
            asked.append(NearbyAnswer(_place(query, release), distance=distances, scale=scale))
        elif isinstance(query, Nearest) and release.person is None:
            named = np.zeros(len(labels), dtype=bool)
            named[codes[np.asarray(release.positions).ravel()]] = True
            asked.append(NearbyAnswer(_place(query, release), named=named, scale=scale))
        else:
            remedy = Message("Use {locations.distance}, or {locations.nearest} with {together:True}.")
            raise InvalidData("released", repr(release), "answers about distances or who is nearest", remedy)
    middles = np.array([np.median(truth[codes == code], axis=0) for code in range(len(labels))])
    return find_nearby(asked, middles, labels, spent)


def _place(query: Distance | Nearest, release: Release) -> Floats:
    """Return the public place that was asked about."""
    points = query.public_points
    if len(points) != 1:
        raise InvalidData("released", repr(release), "about places that are points", "Ask about points.")
    return np.asarray(points[0], dtype=float)
