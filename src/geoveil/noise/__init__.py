"""Random variables. The only place that draws randomness."""

from geoveil.noise.reals import Ball, Reals, as_reals, double, largest, ranked, settled, smallest, stacked
from geoveil.noise.rounding import grid, released
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
    "ranked",
    "rehearsal",
    "released",
    "settled",
    "smallest",
    "source_of",
    "spherical_laplace",
    "stacked",
]
