"""What data can be used for: purposes, each with its error and the best settings found, from public numbers."""

from __future__ import annotations

from geoveil.advice.advice import Advice, Use, advise
from geoveil.advice.purposes import PURPOSES, Outlook, Purpose, smoothed_hopeless
from geoveil.advice.refusals import concerns_about, help_with_points

__all__ = [
    "PURPOSES",
    "Advice",
    "Outlook",
    "Purpose",
    "Use",
    "advise",
    "concerns_about",
    "help_with_points",
    "smoothed_hopeless",
]
