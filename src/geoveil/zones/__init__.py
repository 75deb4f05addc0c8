"""Zones: tracks are shared as they are, except around places that their owner hides."""

from geoveil.zones.attacks import SHORTENED, Attempt, attempts
from geoveil.zones.centres import Centres, Charging, Near, backup_folder, holds_centres, own_centres
from geoveil.zones.certificate import (
    Rules,
    is_of_zones,
    words_of,
    zones_certificate,
    zones_problems,
    zones_stated,
)
from geoveil.zones.cutting import (
    GAP,
    Cut,
    cut,
    distances,
    kept_points,
    piece_numbers,
    shortened,
    time_order,
    travelled,
)
from geoveil.zones.places import (
    HiddenPlace,
    PlacesLike,
    ProposedPlace,
    places_of,
    places_of_tracks,
    propose_places,
    refuse_far,
    refuse_swapped,
)
from geoveil.zones.zone import CHANCE, MARGIN, NEAR, Hiding, Zone
from geoveil.zones.zones_release import ZonesRelease

__all__ = [
    "CHANCE",
    "GAP",
    "MARGIN",
    "NEAR",
    "SHORTENED",
    "Attempt",
    "Centres",
    "Charging",
    "Cut",
    "HiddenPlace",
    "Hiding",
    "Near",
    "PlacesLike",
    "ProposedPlace",
    "Rules",
    "Zone",
    "ZonesRelease",
    "attempts",
    "backup_folder",
    "cut",
    "distances",
    "holds_centres",
    "is_of_zones",
    "kept_points",
    "own_centres",
    "piece_numbers",
    "places_of",
    "places_of_tracks",
    "propose_places",
    "refuse_far",
    "refuse_swapped",
    "shortened",
    "time_order",
    "travelled",
    "words_of",
    "zones_certificate",
    "zones_problems",
    "zones_stated",
]
