"""Attacks on releases, for owners who hold the truth: how far off an attacker is, and what the guarantee allows."""

from geoveil.attacks.attack import Attack, Attacks
from geoveil.attacks.bounds import most_linked, most_within
from geoveil.attacks.cut_tracks import attack_cut_tracks, attack_zones
from geoveil.attacks.linking import link
from geoveil.attacks.nearby import NearbyAnswer, find_nearby
from geoveil.attacks.points import attack_points
from geoveil.attacks.seen import Seen

__all__ = [
    "Attack",
    "Attacks",
    "NearbyAnswer",
    "Seen",
    "attack_cut_tracks",
    "attack_points",
    "attack_zones",
    "find_nearby",
    "link",
    "most_linked",
    "most_within",
]
