"""Random variables. The only place that draws randomness."""

from geoveil.noise.samplers import ball_product, gamma, gumbel, laplace, spherical_laplace
from geoveil.noise.source import Entropy, Experiment, Source, rehearsal, source_of

__all__ = [
    "Entropy",
    "Experiment",
    "Source",
    "ball_product",
    "gamma",
    "gumbel",
    "laplace",
    "rehearsal",
    "source_of",
    "spherical_laplace",
]
