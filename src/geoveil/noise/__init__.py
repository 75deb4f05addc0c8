"""Exact random variables and their rounding to a grid. The only package that draws randomness."""

from geoveil.noise.keystream import random_bytes
from geoveil.noise.reals import Ball, Reals, as_reals, double, largest, ranked, settled, smallest, stacked
from geoveil.noise.rounding import grid, round_to_grid
from geoveil.noise.samplers import Blocks, ball_product, gamma, laplace, normal, spherical_laplace
from geoveil.noise.source import Entropy, Experiment, Source, rehearsal, source_of

__all__ = [
    "Ball",
    "Blocks",
    "Entropy",
    "Experiment",
    "Reals",
    "Source",
    "as_reals",
    "ball_product",
    "double",
    "gamma",
    "grid",
    "laplace",
    "largest",
    "normal",
    "random_bytes",
    "ranked",
    "rehearsal",
    "round_to_grid",
    "settled",
    "smallest",
    "source_of",
    "spherical_laplace",
    "stacked",
]
