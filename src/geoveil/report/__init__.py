"""Reports of a release: a page with a map, the guarantee and the cost; the map alone as a figure; a small map.

`compose` decides what a map shows; the page and the figure draw the scene that it returns.
"""

import lazy_loader

# A release needs layers alone: what draws them is imported when something is drawn. The names are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
