"""Releases: private answers with their guarantee, their error bounds and their certificate, and how they are shown."""

import lazy_loader

# A plan needs kinds of answers alone. The names are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
