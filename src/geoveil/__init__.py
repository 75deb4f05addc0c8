"""Locations, trajectories and answers about them, released under concentrated geo-privacy."""

import lazy_loader

from geoveil._version import __version__ as __version__

# The public names are in __init__.pyi; the module of each is imported when the name is first used.
_public_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        return _public_name(name)
    except AttributeError:
        from geoveil.settings.other_names import public_name_error

        raise public_name_error(name, __all__) from None
