"""Attacks on tracks that were cut around places: circles, lines, headings and roads, with what bounds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geoveil.attacks.attack import Attack, Attacks
from geoveil.geo.geometries import Index
from geoveil.mechanisms.discs import STEPS, Disc, UniformDisc
from geoveil.noise.reals import Floats
from geoveil.text.words import counted
from geoveil.zones import HiddenPlace, Hiding, Rules, Zone, attempts, piece_numbers
from geoveil.zones.attacks import fit_circle, meet_lines, zone_ends
from geoveil.zones.cutting import distances

__all__ = ["attack_cut_tracks", "attack_zones"]

_DOES = {
    "centre": "takes the centre of the public disc",
    "circle": "fits a circle to the ends of tracks",
    "lines": "extends the ends of tracks as straight lines to where they meet",
    "headings": "knows the centre, and that tracks mostly head for the place",
    "roads": "knows the centre and the roads, and that travellers avoid detours",
}
#: Radii in metres of the circles that are fitted, where the radius is not public.
_RADII = np.geomspace(50, 3000, 25)
#: Metres beyond the nearest published point within which the ends of tracks are at an unknown disc.
_REACH = 400.0


def attack_zones(
    zones: Sequence[Zone],
    rules: Rules,
    places: Sequence[HiddenPlace],
    degrees: Floats,
    seconds: Floats | None,
    tracks: Index,
) -> Attacks:
    """Attack tracks that were cut by zones, as `hide_places` does.

    Parameters
    ----------
    zones, rules
        The public discs, and the rules of the cut.
    places : sequence of HiddenPlace
        The hidden places; each is in the disc whose centre is nearest to it.
    degrees, seconds, tracks
        The true tracks, as for `cut`.
    """
    found: dict[str, list[float]] = {}
    spreads, labels = [], []
    for place in places:
        zone = min(zones, key=lambda each: float(distances(each, np.array([[place.lon, place.lat]]))[0]))
        (attempt,) = attempts(zone, place, degrees, seconds, tracks, zones=zones, rules=[rules])
        for name, away in attempt.metres.items():
            found.setdefault(name, []).append(away)
        spreads.append(_spread(zone.hiding.law))
        labels.append(f"{place.lat:.4f},{place.lon:.4f}")
    # Only the centre is random. What tracks show outside of the disc is not what the theorem is about.
    bound = float(np.sqrt(np.mean(np.square(spreads))))
    bounds = {"centre": bound, "circle": bound}
    done = [
        Attack(n, _DOES[n], np.array(off), labels, bounds.get(n))
        for n, off in found.items()
        if len(off) == len(labels)
    ]
    return Attacks(tuple(done), _about(places), of="place")


def _about(places: Sequence[HiddenPlace]) -> str:
    """Return what was attacked, in words."""
    return f"tracks around {counted(len(places), 'hidden place')}"


def _spread(law: Disc) -> float:
    """Return the root mean square distance of the centre from the place."""
    radii = np.linspace(0, law.reach, 2001)[1:]
    density = law.density(radii) * radii
    return float(np.sqrt((density * radii**2).sum() / density.sum()))


def attack_cut_tracks(
    places: Sequence[HiddenPlace], degrees: Floats, seconds: Floats | None, tracks: Index
) -> Attacks:
    """Attack tracks that any tool has cut around places, by the ends of tracks at a hole of unknown size."""
    circles, lines, labels = [], [], []
    for place in places:
        around = Zone("true", (round(place.lat * STEPS), round(place.lon * STEPS)), Hiding(UniformDisc(10), 50))
        away = distances(around, degrees)
        # An attacker sees a hole in the map; its size shows where to look.
        nearest = float(away.min())
        reach = nearest + _REACH
        disc = Zone(around.id, around.steps, Hiding(UniformDisc(10), max(round(reach) - 111, 50)))
        pieces = piece_numbers([], degrees, seconds, tracks, gap=600.0)
        ends = zone_ends(disc, degrees, pieces)
        labels.append(f"{place.lat:.4f},{place.lon:.4f}")
        if len(ends) < 3:
            # No track ends there: the nearest published point is the best guess.
            circles.append(nearest)
            lines.append(nearest)
            continue
        fits = [(fit_circle(ends, float(radius)), float(radius)) for radius in _RADII]
        at = np.array([path[0] for path in ends])
        middle, _ = min(fits, key=lambda fit: float(np.median(np.abs(np.hypot(*(at - fit[0]).T) - fit[1]))))
        circles.append(float(np.hypot(*middle)))
        lines.append(float(np.hypot(*meet_lines(ends))))
    done = (
        Attack("circle", _DOES["circle"], np.array(circles), labels),
        Attack("lines", _DOES["lines"], np.array(lines), labels),
    )
    return Attacks(done, _about(places), of="place")
