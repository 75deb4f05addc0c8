"""Filters of rows by public columns, written as the condition of an SQL query: ``mode = 'bike' and hour >= 7``.

A filter is parsed by sqlglot and evaluated by pyarrow. Only comparisons with values, `in`, `between`, `like`,
`is null`, `and`, `or` and `not` are allowed; nothing is executed.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidData, InvalidParameter, Message, warn
from geoveil.geo.columns import is_coordinate, tells_places
from geoveil.geo.geometries import RowName, position
from geoveil.geo.location_values import any_location_values
from geoveil.geo.plain_values import is_text, shows_places
from geoveil.geo.texts import first_other, plain

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

    from geoveil.geo.planes import Plane

__all__ = ["RowFilter"]

_ALLOWED = "a condition on public columns, such as \"mode = 'bike' and hour >= 7\""
_REMEDY = "Compare columns with values (=, !=, <, <=, >, >=, in, between, like, is null); join them with and, or, not."
#: Longest text of a filter, in characters.
_LONGEST = 10_000
#: Comparisons of pyarrow, and those with the two sides exchanged, by the name of sqlglot's expression.
_COMPARISONS = {
    "EQ": ("equal", "equal"),
    "NEQ": ("not_equal", "not_equal"),
    "LT": ("less", "greater"),
    "LTE": ("less_equal", "greater_equal"),
    "GT": ("greater", "less"),
    "GTE": ("greater_equal", "less_equal"),
}
_TRUTH = {"true": True, "false": False}


class RowFilter:
    """A condition on public columns that selects rows.

    Parameters
    ----------
    text : str
        The condition, in SQL.
    columns : mapping
        The pyarrow types of all columns that may be used, by name.
    places : collection of str
        Columns that hold locations, which may not be used.
    decimal : str
        The decimal mark of numbers in texts.

    Examples
    --------
    >>> import pyarrow as pa
    >>> trips = pa.table({"mode": ["bike", "car", "bike"], "hour": [7, 8, None]})
    >>> kinds = dict(zip(trips.column_names, trips.schema.types))
    >>> RowFilter("mode = 'bike' and hour < 9", kinds).rows(trips).tolist()
    [True, False, False]
    """

    def __init__(
        self, text: str, columns: Mapping[str, pa.DataType], places: Collection[str] = (), decimal: str = "."
    ) -> None:
        if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
            raise InvalidParameter("where", text, _ALLOWED, "Leave it out to use all rows.")
        self.text = " ".join(text.split())
        self._kinds, self._places, self._decimal = columns, places, decimal
        self._condition = self._parsed()
        #: The columns that the filter uses.
        self.columns = tuple(dict.fromkeys(self._name(found) for found in self._columns()))
        # Mistakes are found before any row is read.
        self.rows(self._empty())
        for name in filter(tells_places, self.columns):
            message = (
                f"The filter uses the column {name!r}, whose name suggests locations. "
                "Recipients learn that the released rows satisfy the filter."
            )
            warn(message)

    def rows(self, table: pa.Table, name: RowName = position, plane: Plane | None = None) -> NDArray[np.bool_]:
        """Return which rows of a table satisfy the condition; those for which it is unknown do not.

        Parameters
        ----------
        table : pyarrow.Table
            The rows, with at least the columns that the filter uses.
        name : callable
            Returns the name of a row in errors, given its position.
        plane : Plane, optional
            The plane of the area, by which columns that hold its coordinates under another name are recognised.
        """
        import pyarrow.compute as pc

        for column in self.columns:
            values = pc.unique(table[column]).to_pandas()
            if shows_places(table[column]) or any_location_values(values, plane):
                raise self._holds_places(column)
        condition = _Evaluation(self, table, name).condition(self._condition)
        return np.asarray(pc.fill_null(condition, False), dtype=bool)

    @cached_property
    def _by_folded_name(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for name in self._kinds:
            names.setdefault(name.casefold(), []).append(name)
        return names

    def _parsed(self) -> exp.Expr:
        import sqlglot
        from sqlglot.errors import SqlglotError

        try:
            parsed: exp.Expr = sqlglot.parse_one(self.text, into=sqlglot.exp.Condition)
            return parsed
        except (SqlglotError, RecursionError):
            raise InvalidParameter("where", self.text, _ALLOWED, _REMEDY) from None

    def _columns(self) -> list[exp.Column]:
        from sqlglot import exp

        return [found for found in self._condition.find_all(exp.Column) if not self.is_text_in_quotes(found)]

    def is_text_in_quotes(self, column: exp.Column) -> bool:
        """Return whether a name in double quotes is no column, but a text: ``mode = "bike"``."""
        from sqlglot import exp

        compared = isinstance(column.parent, exp.Binary | exp.In | exp.Between) and column.arg_key != "this"
        return compared and bool(column.this.args.get("quoted")) and self._find(_written(column)) is None

    def _find(self, name: str) -> str | None:
        """Return the column of a name, ignoring case."""
        if name in self._kinds:
            return name
        names = self._by_folded_name.get(name.casefold(), [])
        return names[0] if len(names) == 1 else None

    def _name(self, column: exp.Column) -> str:
        """Return the column that an expression names; refuse columns of locations and unknown ones."""
        written = _written(column)
        name = self._find(written) or written
        if name in self._places or is_coordinate(name):
            raise self._holds_places(name)
        if name not in self._kinds:
            usable = [each for each in self._kinds if each not in self._places and not is_coordinate(each)]
            near = difflib.get_close_matches(name, usable, n=1)
            remedy = (
                f"Did you mean {near[0]!r}?" if near else 'A name with spaces is written in double quotes: "my mode".'
            )
            allowed = f"a condition on columns of the data: {name!r} is not one of {usable}"
            raise InvalidParameter("where", self.text, allowed, remedy)
        return name

    def _holds_places(self, name: str) -> InvalidParameter:
        allowed = (
            f"a condition on public columns: {name!r} holds locations, and which rows it selects would reveal them"
        )
        remedy = Message("Filter by another column, or state the region with {area} and give {outside:clamp}.")
        return InvalidParameter("where", self.text, allowed, remedy)

    def _empty(self) -> pa.Table:
        import pyarrow as pa

        return pa.table({name: pa.array([], self._kinds[name]) for name in self.columns})

    def wrong(self, problem: str) -> InvalidParameter:
        """Return the error of a filter that cannot be evaluated."""
        return InvalidParameter("where", self.text, f"{_ALLOWED}: {problem}", _REMEDY)

    def kind(self, column: exp.Expr) -> tuple[str, pa.DataType]:
        """Return the name and the type of a column."""
        from sqlglot import exp

        if not isinstance(column, exp.Column) or self.is_text_in_quotes(column):
            raise self.wrong(f"{column.sql()} is not a column")
        name = self._name(column)
        kind = self._kinds[name]
        return name, getattr(kind, "value_type", kind)

    @property
    def decimal(self) -> str:
        """The decimal mark of numbers in texts."""
        return self._decimal


class _Evaluation:
    """The evaluation of a filter for the rows of one table."""

    def __init__(self, filter_: RowFilter, table: pa.Table, name: RowName) -> None:
        self._filter, self._table, self._row_name = filter_, table, name

    def condition(self, term: exp.Expr) -> pa.ChunkedArray:
        """Return whether each row satisfies a condition: true, false or null, as in SQL."""
        import pyarrow.compute as pc
        from sqlglot import exp

        if isinstance(term, exp.Paren):
            return self.condition(term.this)
        if isinstance(term, exp.Not):
            return pc.invert(self.condition(term.this))
        if isinstance(term, exp.And | exp.Or):
            join = pc.and_kleene if isinstance(term, exp.And) else pc.or_kleene
            return join(self.condition(term.this), self.condition(term.expression))
        if isinstance(term, exp.In) and not term.args.get("query") and term.expressions:
            return reduce(pc.or_kleene, (self._compared("equal", term.this, each) for each in term.expressions))
        if isinstance(term, exp.Between):
            low, high = term.args["low"], term.args["high"]
            least = self._compared("greater_equal", term.this, low)
            return pc.and_kleene(least, self._compared("less_equal", term.this, high))
        if isinstance(term, exp.Is):
            return self._is(term)
        if isinstance(term, exp.Like | exp.ILike):
            return self._like(term)
        if type(term).__name__ in _COMPARISONS:
            return self._comparison(term)
        if isinstance(term, exp.Column):
            return self._compared("equal", term, exp.true())
        raise self._filter.wrong(f"{term.sql()} is not allowed")

    def _comparison(self, term: exp.Expr) -> pa.ChunkedArray:
        from sqlglot import exp

        plain, exchanged = _COMPARISONS[type(term).__name__]
        left, right = term.this, term.expression
        if isinstance(right, exp.Column) and not self._filter.is_text_in_quotes(right):
            return self._compared(exchanged, right, left)
        return self._compared(plain, left, right)

    def _is(self, term: exp.Is) -> pa.ChunkedArray:
        import pyarrow.compute as pc
        from sqlglot import exp

        if isinstance(term.expression, exp.Boolean):
            return pc.fill_null(self._compared("equal", term.this, term.expression), False)
        if not isinstance(term.expression, exp.Null):
            raise self._filter.wrong(f"{term.sql()} is not allowed")
        return pc.is_null(self._values(self._filter.kind(term.this)[0]))

    def _like(self, term: exp.Expr) -> pa.ChunkedArray:
        import pyarrow.compute as pc
        from sqlglot import exp

        name, kind = self._filter.kind(term.this)
        pattern = self._value(term.expression)
        if not is_text(kind) or not isinstance(pattern, str):
            raise self._filter.wrong(f"{term.sql()}: like compares texts")
        return pc.match_like(self._values(name), pattern, ignore_case=isinstance(term, exp.ILike))

    def _compared(self, comparison: str, column: exp.Expr, value: exp.Expr) -> pa.ChunkedArray:
        """Compare a column with a value."""
        import pyarrow as pa
        import pyarrow.compute as pc

        name, kind = self._filter.kind(column)
        given: str | float | pa.Scalar = self._value(value)
        values = self._values(name)
        if isinstance(given, bool):
            values = self._truths(name, kind, values)
        elif isinstance(given, str) and pa.types.is_temporal(kind):
            given = self._time(given, kind)
        elif isinstance(given, str) != is_text(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            if isinstance(given, str) or not is_text(kind):
                raise self._filter.wrong(
                    f"the column {name!r} holds {_holds(kind)}, and {value.sql()} is none of them"
                )
            values = self._numbers(name, values)
        return getattr(pc, comparison)(values, given)

    def _values(self, name: str) -> pa.ChunkedArray:
        """Return a column; empty texts and numbers that are NaN count as missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if is_text(column.type):
            column = column.cast(pa.large_string())
            return pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        if pa.types.is_floating(column.type):
            return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        return column

    def _value(self, given: exp.Expr) -> str | float:
        """Return the value of a literal: a text, a number or a truth."""
        from sqlglot import exp

        if isinstance(given, exp.Column) and self._filter.is_text_in_quotes(given):
            return _written(given)
        if isinstance(given, exp.Boolean):
            return bool(given.this)
        if isinstance(given, exp.Neg) and isinstance(given.this, exp.Literal) and not given.this.is_string:
            number = self._value(given.this)
            assert not isinstance(number, str)
            return -number
        if not isinstance(given, exp.Literal):
            raise self._filter.wrong(f"{given.sql()} is not a text, a number, true or false")
        if given.is_string:
            if not given.this:
                raise self._filter.wrong("an empty text is written as: is null")
            return str(given.this)
        return int(given.this) if given.this.isdigit() and len(given.this) < 19 else float(given.this)

    def _numbers(self, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return texts as numbers."""
        import pyarrow as pa

        written = plain(values, self._filter.decimal)
        try:
            return written.cast(pa.float64())
        except pa.ArrowInvalid:
            row = first_other(written)
            raise InvalidData(
                f"{self._row_name(row)}, {name}",
                values[row].as_py(),
                "a number, as the filter compares it with one",
                "Correct it, leave the field empty, or write the value in the filter in single quotes.",
            ) from None

    def _truths(self, name: str, kind: pa.DataType, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return texts such as "true" and "False" as truths."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_boolean(kind):
            return values
        if not is_text(kind):
            raise self._filter.wrong(f"the column {name!r} holds {_holds(kind)}, not true and false")
        lower = pc.utf8_lower(pc.utf8_trim_whitespace(values)).to_pylist()
        return pa.chunked_array([pa.array([_TRUTH.get(text) for text in lower], pa.bool_())])

    def _time(self, text: str, kind: pa.DataType) -> pa.Scalar:
        """Return a text as a time of the type of a column; a text without a time zone is in the column's zone."""
        import pandas as pd
        import pyarrow as pa

        try:
            if pa.types.is_time(kind) or pa.types.is_duration(kind):
                return pa.scalar(text).cast(kind)
            when = pd.Timestamp(text)
            zone = getattr(kind, "tz", None)
            if zone is not None:
                when = when.tz_localize(zone) if when.tzinfo is None else when.tz_convert(zone)
            elif when.tzinfo is not None:
                when = when.tz_convert(None)
            return pa.scalar(when.date() if pa.types.is_date(kind) else when, kind)
        except (ValueError, pa.ArrowException) as problem:
            raise self._filter.wrong(f"{text!r} is not a time ({problem})") from None


def _written(column: exp.Column) -> str:
    """Return the name of a column as it is written, also one with dots: ``location.long``."""
    return ".".join(part.name for part in column.parts)


def _holds(kind: pa.DataType) -> str:
    import pyarrow as pa

    if is_text(kind):
        return "texts"
    if pa.types.is_boolean(kind):
        return "true and false"
    return "times" if pa.types.is_temporal(kind) else "numbers"
