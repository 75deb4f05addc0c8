"""Names that people guess, or know from other libraries: errors about them show the line that works."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import ParamSpec, TypeVar

from geoveil.settings import LEVELS, own_name

__all__ = ["AMOUNTS", "DATA", "Answering"]
__all__ += ["foreign_names_refused", "guesses_answered", "own_question", "public_name_error"]

P = ParamSpec("P")
T = TypeVar("T")

#: The line that states data.
DATA = "gv.Locations('trips.csv', person='user', area='San Francisco')"
_BUDGET = "Give one of hide=200 (metres hidden at 75%), rho= (per square metre) and epsilon= (per metre)."
#: The guarantees, and the name of the budget of each.
_BUDGETS = {"CGP": "rho", "GP": "epsilon"}
#: Words for a budget that say neither the notion nor the unit.
AMOUNTS = ["privacy", "level", "privacy_level", "budget", "privacy_budget", "noise", "sigma", "scale", "std", "delta"]
_GROUPS = "geoveil adds noise and does not group people: `release.at_least(10)` blanks the numbers of a map below 10."
#: Arguments of questions that several settings share, by the names of these settings.
_SHARED = {"at": "p", "cell": "between", "regions": "between", "target": "to"}

_POINTS = "anonymize anonymise obfuscate perturb privatize privatise blur mask geomask jitter noise release protect"
_POINTS += " planar_laplace laplace gaussian geo_indistinguishability geoind donut"
#: The parameters of decorated functions, by the name under which they are called.
_PARAMETERS: dict[str, Mapping[str, inspect.Parameter]] = {}
#: What answers a guess, by the methods and functions that are looked for.
_QUESTIONS = {
    "points(hide=200)": _POINTS,
    "heatmap('1km', hide=200)": "heat_map density histogram hist2d hexbin kde hotspots map",
    "counts('districts.gpkg', hide=200)": "count count_by aggregate groupby zonal_statistics",
    "flows('2km', trip='trip', hide=200)": "flow od od_matrix origin_destination trips movements",
    "nearest('37.77, -122.42', 5, hide=200)": "knn neighbors neighbours nearest_neighbors k_nearest closest",
    "first_within('37.77, -122.42', 500, hide=200)": "within in_radius visits geofence",
    "hull(hide=200)": "convex_hull",
    "center(hide=200)": "centre centroid medoid middle",
    "radius(hide=200)": "radius_of_gyration rog spread",
    "bounds(hide=200)": "bbox bounding_box total_bounds extent envelope",
    "check()": "inspect analyze analyse advise explore suggest advice",
    "session(rho=1e-3)": "budget account with_budget accountant",
}
_RELEASE = {
    "to_file('released.csv')": "save write export to_csv to_geojson to_json to_parquet to_gpkg to_excel dump",
    "to_frame()": "to_pandas to_geopandas to_dataframe to_df to_gdf df gdf frame dataframe table data result results",
    "plot()": "map show draw view",
    "guarantee": "budget epsilon rho privacy cost_of",
    "error()": "accuracy sigma noise uncertainty std scale radius_95",
    "facts()": "info metadata summary describe report_facts",
}
_LINES = {"Locations": _QUESTIONS, "Release": _RELEASE}
_MODULE = {
    DATA: "read read_csv read_file read_parquet read_geojson open load_csv from_csv from_file Dataset DataFrame "
    "GeoDataFrame Trajectory Trajectories",
    "gv.CGP.hiding(200)": "hiding hide rho guarantee CGeoPrivacy Privacy privacy budget Budget",
    "gv.GP(epsilon=0.01)": "GeoInd GeoIndistinguishability epsilon GeoPrivacy Laplace PlanarLaplace",
    "gv.load('released.csv')": "load_release read_release open_release",
    "gv.local(lat=37.77, lon=-122.42, radius='20km')": "area circle disc bbox local_area",
}


def foreign_names_refused(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that an argument under a name that it does not have gives an error with the right one.

    Examples
    --------
    >>> gv.Locations("trips.csv", sep=";")
    Traceback (most recent call last):
    TypeError: Locations() has no argument 'sep'. It is called 'delimiter': give delimiter=';'.
    >>> gv.Locations("trips.csv", unit="day")
    Traceback (most recent call last):
    TypeError: Locations() has no argument 'unit'. It is called 'protect': give protect='1 day'.
    >>> gv.Locations(homes, area=bay).points(200)
    Traceback (most recent call last):
    TypeError: points() takes its arguments by name. Give one of hide=200 (metres hidden at 75%), \
rho= (per square metre) and epsilon= (per metre).
    """
    parameters = inspect.signature(function).parameters
    unnamed = sum(each.kind is not inspect.Parameter.KEYWORD_ONLY for each in parameters.values())
    called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    _PARAMETERS[called] = parameters

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        for name, value in given.items():
            if name not in parameters:
                right = _right_guarantee if called in _BUDGETS else _right_argument
                raise TypeError(f"{called}() has no argument {name!r}. {right(parameters, name, value)}")
        if len(args) > unnamed:
            own = [name for name in parameters if name != "self"]
            remedy = _BUDGET if "hide" in own else f"Its arguments are {', '.join(own)}."
            if called in _BUDGETS:
                meant = f"gv.{called}({_BUDGETS[called]}={args[-1]!r})"
                remedy = f"Did you mean {meant}, or by the metres that are hidden, gv.{called}.hiding(200)?"
            raise TypeError(f"{called}() takes its {'other ' * (unnamed > 1)}arguments by name. {remedy}")
        return function(*args, **given)

    return call


def _right_argument(parameters: Mapping[str, inspect.Parameter], name: str, value: object) -> str:
    """Return the sentence that names the right argument of a function."""
    own = own_name(name) or name
    for right in (own, _SHARED.get(own, "")):
        if right in parameters:
            return f"It is called {right!r}: give {_with_value(right, value)}."
    asks = "hide" in parameters
    if name in AMOUNTS and asks:
        level = LEVELS.get(value) if isinstance(value, str) else None
        return f"Give hide={level:g}: {value!r} hides {level:g} m." if level is not None else _BUDGET
    if name == "metric" and asks:
        return f"It belongs to a guarantee: give rho=gv.CGP(rho=..., metric={value!r})."
    if name in ("k", "k_anonymity", "min_count"):
        return _GROUPS
    if asks and own in _PARAMETERS["Locations"]:
        return f"It is stated with the data: gv.Locations(..., {_with_value(own, value)})."
    if own in ("hide", "rho", "epsilon", "keep", "target", *AMOUNTS):
        return "It is an argument of questions, such as locations.points(hide=200, to='released.csv')."
    import difflib

    if similar := difflib.get_close_matches(name, parameters, 1):
        return f"Did you mean {_with_value(similar[0], value)}?"
    return f"Its arguments are {', '.join(each for each in parameters if each != 'self')}."


def _right_guarantee(parameters: Mapping[str, inspect.Parameter], name: str, value: object) -> str:
    """Return the sentence that names the right argument of a guarantee."""
    own = own_name(name) or name
    notion, *other = sorted(_BUDGETS, key=lambda each: _BUDGETS[each] not in parameters)
    if own == "hide":
        return f"Did you mean gv.{notion}.hiding({value!r})?"
    if own == _BUDGETS[other[0]]:
        return f"Did you mean gv.{other[0]}({own}={value!r})?"
    return _right_argument(parameters, name, value)


def _with_value(own: str, value: object) -> str:
    """Return an argument with a value that was given under another name, such that it is accepted."""
    if own == "protect" and value in ("week", "day", "hour", "minute"):
        return f"{own}='1 {value}'"
    if own == "protect" and value != "point" and not str(value)[:1].isdigit():
        # Other libraries protect a user, which is what happens here without this argument.
        return f"{own}='1 day' or {own}='point', or leave it out to protect all points of a person"
    if own == "p":
        return _place(value)
    if own == "rng":
        return f"{own}=..., a generator of numpy, in tests alone"
    if isinstance(value, str | int | float):
        return f"{own}={value!r}"
    return f"{own}={value!r}" if isinstance(value, list | tuple) and len(repr(value)) < 60 else f"{own}=..."


def _place(value: object) -> str:
    """Return a place as a text of latitude and longitude, if it is a pair of numbers."""
    if isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(part, int | float) for part in value):
        return f"p='{value[0]}, {value[1]}' (latitude, longitude)"
    return f"p={value!r}" if isinstance(value, str) else "p='37.77, -122.42' (latitude, longitude)"


def _suggestion(guesses: Iterable[tuple[str, str]], name: str) -> str | None:
    """Return what answers a guess."""
    folded = name.lower()
    return next((line for line, words in guesses if folded in words.lower().split()), None)


class Answering(type):
    """The type of a class whose own attributes are guessed as well, such as `gv.Locations.from_csv`."""


def guesses_answered(owner: type[T]) -> type[T]:
    """Decorate a class: its questions refuse foreign names, and names that it does not have are answered.

    Examples
    --------
    >>> gv.Locations(homes, area=bay).heat_map
    Traceback (most recent call last):
    AttributeError: 'Locations' object has no attribute 'heat_map'. Use `locations.heatmap('1km', hide=200)`.
    """
    for name, method in [*vars(owner).items()]:
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(owner, name, foreign_names_refused(method))
    kind = owner.__name__
    guesses = {f"{kind.lower()}.{line}": words for line, words in _LINES[kind].items()}

    def missing(self: object, name: str) -> object:
        said = f"{type(self).__name__!r} object has no attribute {name!r}"
        # Python and notebooks look for many names with an underscore.
        hint = "" if name.startswith("_") else _hint(guesses, name, dir(type(self)))
        raise AttributeError(said + hint, name=name)

    def missing_in_class(cls: type, name: str) -> object:
        said = f"type object {cls.__name__!r} has no attribute {name!r}"
        hint = "" if name.startswith("_") else _hint(_MODULE, name, dir(cls))
        raise AttributeError(said + hint, name=name)

    # Not methods in the source: with them, type checkers would take any name for an attribute.
    owner.__getattr__ = missing  # type: ignore[attr-defined]
    if isinstance(owner, Answering):
        setattr(Answering, "__getattr__", missing_in_class)  # noqa: B010
    return owner


def own_question(name: str) -> str | None:
    """Return the command of the question that a guess means.

    Examples
    --------
    >>> own_question("anonymize"), own_question("od-matrix"), own_question("cloak")
    ('points', 'flows', None)
    """
    suggestion = _suggestion(_QUESTIONS.items(), name.replace("-", "_"))
    return None if suggestion is None else suggestion.partition("(")[0].replace("first_within", "within")


def public_name_error(name: str, known: Iterable[str]) -> AttributeError:
    """Return the error about a name that geoveil does not have.

    Examples
    --------
    >>> gv.points("trips.csv", hide=200)
    Traceback (most recent call last):
    AttributeError: geoveil has no attribute 'points'. \
Use `gv.Locations('trips.csv', person='user', area='San Francisco').points(hide=200)`.
    """
    said = f"geoveil has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(said, name=name)
    asked = {line.partition("(")[0]: line for line in _QUESTIONS}
    guesses = dict(_MODULE)
    guesses |= {f"{DATA}.{line}": f"{asked_for} {_QUESTIONS[line]}" for asked_for, line in asked.items()}
    guesses |= {"gv.load('released.csv').smooth('walking')": "smooth"}
    return AttributeError(said + _hint(guesses, name, known), name=name)


def _hint(guesses: Mapping[str, str], name: str, known: Iterable[str]) -> str:
    """Return the end of an error: what answers a guess, or a name like it."""
    if line := _suggestion(guesses.items(), name):
        return f". Use `{line}`."
    import difflib

    similar = difflib.get_close_matches(name, [each for each in known if not each.startswith("_")], 1)
    return f". Did you mean {similar[0]!r}?" if similar else "."
