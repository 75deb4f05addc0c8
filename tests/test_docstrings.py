"""Every public name has an example that runs; where examples hold locations, most are frames of geopandas."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

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


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_public_docstring_has_an_example(name: str) -> None:
    """Its section of examples has at least one line to run, which the doctests do."""
    _, _, section = EXAMPLES[name].partition("Examples\n")
    assert ">>> " in section


def test_at_least_half_of_the_examples_with_locations_use_geopandas() -> None:
    """Most users have frames. Examples of guarantees, metrics and ledgers alone have no locations."""
    asked = r"import (numpy|geopandas)|gv\.(points|nearest|hull|mean|center|answer|Session|read|load)\("
    located = {name: text for name, text in EXAMPLES.items() if re.search(asked, text.partition("Examples\n")[2])}
    frames = [name for name, text in located.items() if "geopandas" in text.partition("Examples\n")[2]]
    assert len(located) > 50
    assert 2 * len(frames) >= len(located), sorted(located.keys() - set(frames))
