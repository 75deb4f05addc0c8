"""Hide places: find or draw their centres, cut the tracks, and publish what is left."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Rho
from geoveil.answering.charging import LedgerCharger, SessionCharger
from geoveil.answering.intake import Intake
from geoveil.answering.point_facts import PointFacts
from geoveil.errors import InvalidCoordinateSystem, InvalidParameter, Message, warn
from geoveil.facts import Reason
from geoveil.geo.columns import words
from geoveil.geo.forms import Floats
from geoveil.geo.recognition import may_be_times
from geoveil.mechanisms.discs import Disc, TruncatedGaussian
from geoveil.zones import (
    CHANCE,
    Centres,
    HiddenPlace,
    Hiding,
    Near,
    Rules,
    ZonesRelease,
    cut,
    kept_points,
    piece_numbers,
    refuse_far,
    refuse_swapped,
    time_order,
)

if TYPE_CHECKING:
    from geoveil.locations.locations import Locations

__all__ = ["ChargedCentres", "hidden_places", "seconds_of_tracks", "track_numbers"]


#: Words in the names of columns that may have been computed from other points than those of their row.
_DERIVED = frozenset(
    (
        *("speed", "velocity", "pace", "course", "bearing", "heading", "direction", "dist", "distance", "odometer"),
        *("lap", "index", "number", "count", "elapsed", "duration", "total", "cumulative", "smoothed", "matched"),
    )
)


class ChargedCentres:
    """Charges the accounts of a session for centres, each once."""

    def __init__(self, charger: SessionCharger) -> None:
        self._charger = charger

    def charging(self, identity: str, law: Disc) -> AbstractContextManager[None]:
        """Charge for a centre unless it was charged before; it is drawn and stored in the context."""
        if not isinstance(law, TruncatedGaussian):
            remedy = Message("Give {rho}, or ask outside of the session: a uniform disc has no ρ that adds up.")
            raise InvalidParameter("hide", law.hidden(), "left out in a session", remedy)
        # ρ adds up except with the probability δ that a disc rules out a place at the hidden distance.
        hidden = law.hidden(CHANCE)
        told = {**law.describe(), "hidden": hidden, "delta": law.exclusion(hidden)}
        return self._charger.charging_centre(identity, law.guarantee, told)

    @property
    def entries(self) -> list[dict[str, str | int]]:
        """The entries of a ledger that charged the centres."""
        return self._charger.centres if isinstance(self._charger, LedgerCharger) else []


def hidden_places(
    locations: Locations,
    places: Sequence[HiddenPlace],
    centres: Path,
    hiding: Hiding,
    rules: Rules,
    keep: Sequence[str] | None,
    noise: Rho,
    near: Near | None,
) -> ZonesRelease:
    """Release tracks without what lies in zones around places; see `Locations.hide_places`."""
    if keep is not None and (isinstance(keep, str) or not all(isinstance(name, Hashable) for name in keep)):
        why = "Name each column: some, such as a distance from the start, tell what was cut off."
        raise InvalidParameter("keep", keep, "a list of columns", why)
    data = locations._rows.tracks()
    form = data.form
    if form.plane is None:
        remedy = Message("State it with {crs}: {crs:4326} for longitude and latitude, with {area}.")
        raise InvalidCoordinateSystem("x.crs", None, "a known coordinate system: zones are on the Earth", remedy)
    degrees = form.plane.longitudes_latitudes(form.own_coords())
    refuse_swapped(places, degrees)
    refuse_far(Centres(centres).new(places, near), degrees, hiding.within, "Correct it, or leave it out.")
    if noise is not None:
        rules.check_noise(noise)
    reasons = _columns(data, keep)
    derived = [str(name) for name, why in reasons.items() if why == "named" and not _DERIVED.isdisjoint(words(name))]
    if derived:
        warn(
            f"{', '.join(derived)}: if it was computed from neighbouring points or the whole track, it tells of "
            "points that are cut off. Leave it out, or compute it anew from the published points."
        )
    # Everything that can be refused was refused; from here on, centres are charged, drawn and stored.
    charging = locations._charging()
    zones = Centres(centres).zones(places, hiding, locations._source, charging, near=near)
    released = partial(
        ZonesRelease,
        zones=tuple(zones),
        rules=rules,
        inexact=locations._source.inexact,
        entries=() if charging is None else tuple(charging.entries),
    )
    kept = np.flatnonzero(kept_points(zones, degrees))
    if not len(kept):
        # No row is left to tell which columns hold times.
        stated = {name: why for name, why in reasons.items() if why != "time" or name == data.times}
        nobody = np.zeros(0, dtype=np.int64)
        return released(form.kept(kept, stated), degrees=degrees[kept], pieces=nobody, columns=(*stated,))
    # Times and types are told from the rows that are left, as if there had never been others.
    public = {
        "zones": sorted(zone.id for zone in zones),
        "where": form.condition,
        "outside": form.outside,
        "thin": locations._rows.step,
    }
    structure, step = locations._rows.structure, locations._rows.step
    wanted = {*(keep or ()), *structure, data.by if isinstance(data.by, str) else None, data.times}
    wanted |= {name for name in form.names if may_be_times(name)}
    left = locations._rows.some(data, kept, [name for name in form.names if name in wanted])
    data, degrees = left.tracks(), degrees[kept]
    reasons, form = _columns(data, keep), data.form
    seconds, tracks = seconds_of_tracks(data), track_numbers(data, structure)
    thinned = _thinned(data, step)
    thinned = thinned[time_order(None if seconds is None else seconds[thinned], tracks[thinned])]
    times = None if seconds is None else seconds[thinned]
    published = cut(
        zones, degrees[thinned], times, tracks[thinned], gap=rules.gap, trim=rules.trim, together=rules.together
    )
    rows, pieces = thinned[published.rows], published.pieces
    shown = degrees[rows]
    noisy = None
    if noise is not None:
        named = [str(name) for name, reason in reasons.items() if reason == "named"]
        outside = locations._of_rows(left.some(data, rows, [*reasons]), public)
        noisy = outside.points(rho=noise, keep=named or None)
        # Pieces follow from what is published, which is no longer where the points are.
        assert form.plane is not None
        shown = form.plane.degrees(noisy.placed_coords)
        times = None if seconds is None else seconds[rows]
        pieces = piece_numbers(zones, shown, times, tracks[rows], gap=rules.gap)
    value = form.kept(rows, reasons) if noisy is None else noisy.value
    return released(value, degrees=shown, pieces=pieces, columns=(*reasons,), noise=noisy)


def _columns(data: Intake, keep: Sequence[str] | None) -> dict[Hashable, Reason]:
    """Return the columns that are published beside positions, each with the reason."""
    reasons, _ = data.form.columns(data.by, keep)
    named = {data.times} if isinstance(data.times, str) else {*data.form.times} if data.times is None else set()
    return {name: why for name, why in reasons.items() if why != "time" or name in named}


def _thinned(data: Intake, step: int | None) -> NDArray[np.int64]:
    """Return the points that thinning keeps."""
    rows = np.arange(len(data.form.coords))
    if step is None:
        return rows
    persons = None if data.persons is None else data.persons.codes
    return rows[PointFacts(persons, rows, data.microseconds).kept_of_thinned(step)]


def seconds_of_tracks(data: Intake) -> Floats | None:
    """Return the time of each point in seconds; None without times."""
    if data.times is None and len(data.form.times) != 1:
        return None
    return np.asarray(data.microseconds / 1e6)


def track_numbers(data: Intake, structure: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of the track of each point: one for each person, or for each track of a file.

    Segments are left out: that one ended where points were removed is no reason for a new piece.
    """
    import pandas as pd

    names = [name for name in structure if name in data.form.names and name != "segment"]
    columns = [np.asarray(data.form.column(name)) for name in names]
    if data.persons is not None:
        columns.append(data.persons.codes)
    if not columns:
        return np.zeros(len(data.form.coords), dtype=np.int64)
    numbers = pd.DataFrame(dict(enumerate(columns))).groupby([*range(len(columns))], sort=False, dropna=False).ngroup()
    return np.asarray(numbers, dtype=np.int64)
