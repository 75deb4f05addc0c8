"""Every public name has an example that runs; where examples hold locations, most are frames."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import geoveil as gv


def documented(owner: Any) -> Iterator[tuple[str, str]]:
    """The name and the docstring of each public method that a class defines or inherits; overrides may have none."""
    for name in dir(owner):
        found = inspect.getattr_static(owner, name)
        method = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        if name.startswith("_") or not inspect.isfunction(method) or not method.__module__.startswith("geoveil"):
            continue
        plain = inspect.unwrap(method)
        defined = plain.__doc__ or inspect.getdoc(getattr(owner, name))
        yield f"{plain.__module__}.{plain.__qualname__}", defined or ""


def examples() -> dict[str, str]:
    """The docstring of each public class, function and method."""
    found = {}
    for name in gv.__all__:
        thing = getattr(gv, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            found[f"gv.{name}"] = inspect.unwrap(thing).__doc__ or ""
        if inspect.isclass(thing):
            found.update(documented(thing))
    return found


EXAMPLES = examples()


def test_docstrings_have_examples() -> None:
    """Its section of examples has at least one line to run, which the doctests do."""
    assert not [name for name, text in EXAMPLES.items() if ">>> " not in text.partition("Examples\n")[2]]


def test_most_examples_have_frames() -> None:
    """Most users have frames. Examples of guarantees, metrics and ledgers alone have no locations."""
    asked, framed = r"\b(gv\.(Locations|load)|np\.|homes|bay)\b", r"\b(geopandas|pd|homes)\b"
    shown = {name: text.partition("Examples\n")[2] for name, text in EXAMPLES.items()}
    located = {name: text for name, text in shown.items() if re.search(asked, text)}
    frames = [name for name, text in located.items() if re.search(framed, text)]
    assert len(located) > 50
    assert 2 * len(frames) >= len(located), sorted(located.keys() - set(frames))
