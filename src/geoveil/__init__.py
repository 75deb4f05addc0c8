"""Locations, trajectories and answers about them, released under concentrated geo-privacy."""

import lazy_loader

from geoveil._version import __version__ as __version__

# The public names are in __init__.pyi; the module of each is imported when the name is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
