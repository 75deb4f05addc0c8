"""Present releases on the terminal, as JSON and as a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geoveil.cli.file_arguments import writable
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import ChargedAccount, Output
from geoveil.cli.terminal import bold, grid, say, state, styled, waiting
from geoveil.wording import guarantee_line, heading, lines, protected
from geoveil.words import metres

if TYPE_CHECKING:
    from geoveil import Ledger, Release
    from geoveil.certificates import Certificate
    from geoveil.cli.file_questions import Foreseen
    from geoveil.privacy import Guarantee
    from geoveil.report import Balance, Layer

__all__ = [
    "balances_of",
    "cost_and_error",
    "describe",
    "drawable",
    "in_degrees",
    "lines_of",
    "public_place",
    "report",
    "truth_of",
    "value_of",
]


#: The largest number of plans made for a file: planning a hull takes a while.
_NUMBERS = 32


def lines_of(release: Release) -> list[tuple[str, str]]:
    """Return the facts of a release line by line, in the words of the command line."""
    return lines(release.facts(every_error=False), OPTIONS)


def describe(release: Release, head: str | None = None, more: Sequence[tuple[str, str]] = ()) -> None:
    """Show the facts of a release."""
    shown = [
        (styled(name, "bold red"), styled(text, "red")) if name == "warning" else (name, text)
        for name, text in lines_of(release)
    ]
    say(bold(head or heading(release.facts(every_error=False))), grid([*shown, *more]))


def value_of(release: Release) -> Any:
    """Return the value as JSON: GeoJSON where it has locations, else rows."""
    import json

    found = release.to_frame()
    if hasattr(found, "geometry"):
        shapes = found.set_geometry(in_degrees(found.geometry))
        return json.loads(shapes.to_json(drop_id=True))
    return json.loads(found.to_json(orient="records"))


def in_degrees(shapes: Any) -> Any:
    """Return a GeoSeries in WGS 84; across the antimeridian, longitudes go on beyond 180."""
    import geopandas

    from geoveil.geo.geometries import unwrap_longitudes

    found = shapes.to_crs(4326)
    return geopandas.GeoSeries(unwrap_longitudes(found.array), index=found.index, crs=4326)


def public_place(at: tuple[float, float]) -> Any:
    """Return a location in degrees as an argument of a question."""
    import geopandas

    return geopandas.GeoSeries.from_xy([at[1]], [at[0]], crs=4326)


def cost_and_error(
    name: str,
    foreseen: Foreseen,
    guarantee: Guarantee,
    ledger: Ledger | None,
    account: ChargedAccount,
    **how: Any,
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the cost and the error of a question, as data and as lines; nothing is charged."""
    from geoveil import plan

    sizes, largest = foreseen.sizes, foreseen.largest

    def error(size: tuple[int, int | None], **more: Any) -> Any:
        n, most = size
        given: dict[str, Any] = {guarantee.symbol: guarantee, **how, **more}
        return plan(name, n=n, largest=most, area=foreseen.area, **given)

    # Errors need not grow with the number of points, so several numbers are planned for: if there are very many, an
    # evenly spread selection.
    held: Sequence[int | None] = largest or [None] * len(sizes)
    numbers = sorted({*zip(sizes, held, strict=True)}, key=lambda each: each[1] or each[0])
    plans = [error(n) for n in numbers[:: -(-len(numbers) // _NUMBERS)] + numbers[-1:]]
    errors = [found.error for found in plans]
    shown = " to ".join(dict.fromkeys(metres(end) for end in (min(errors), max(errors))))
    assumed = f", {plans[0].assumes}" if plans[0].assumes else ""
    lines = [("guarantee", guarantee_line(guarantee, each=len(sizes) > 1))]
    lines.append(("error", f"at most {shown} with probability 95%{assumed}"))
    if name == "points":
        each = error(numbers[-1], each=True).error
        if largest is not None:
            whose = ", for the points with the most noise"
        else:
            whose = ", for the person with the most points" if len(sizes) > 1 else ""
        lines.append(("", f"a single point at most {metres(each)}{whose}"))
    if plans[-1].remark:
        lines.append(("note", plans[-1].remark))
    told = {
        "question": name,
        guarantee.symbol: str(guarantee.budget),
        "error_95": {"smallest": min(errors), "largest": max(errors)},
    }
    if ledger is not None:
        balance, line = _balance_left(ledger, account.names(foreseen.persons), guarantee)
        told |= balance
        lines.append(("ledger", line))
    return told, lines


def _balance_left(ledger: Ledger, names: Sequence[str], guarantee: Guarantee) -> tuple[dict[str, Any], str]:
    """Return the budget that is left in the accounts that would be charged, as data and as a line."""
    from geoveil.privacy import exact

    accounts = ledger.accounts(names)
    least = exact.written(min(account.remaining for account in accounts.values()))
    prices = {name: _price(guarantee, account.total) for name, account in accounts.items()}
    short = [name for name, price in prices.items() if price is not None and price > accounts[name].remaining]
    if len(names) == 1:
        line = f"{names[0]} has {least} left" + (", which is not enough" if short else "")
    else:
        line = f"each of {len(names):,} accounts has at least {least} left"
        if short:
            line += f"; too little in {len(short):,} of them, such as {short[0]}"
    unknown = [name for name, price in prices.items() if price is None]
    if unknown:
        protects = protected(accounts[unknown[0]].metric)
        line += f"; it is for {protects}, and the release computes its cost"
    return {"remaining": least, "too_little": short}, line


def _price(guarantee: Guarantee, total: Guarantee) -> Any:
    """Return the largest amount that a guarantee may cost an account; None if it depends on the points' times."""
    from geoveil.budget import price

    own = guarantee.metric.of_one_person
    return price(guarantee.under_unit(total.metric), total).budget if own.is_at_most(total.metric) else None


def balances_of(ledger: Ledger | None, account: ChargedAccount) -> tuple[Balance, ...]:
    """Return the balances of the accounts that were charged."""
    from geoveil.report import Balance

    costs = account.costs
    if ledger is None or not costs:
        return ()
    accounts = ledger.accounts([*costs])
    return tuple(
        Balance(name, account.total.symbol, account.total.budget, account.spent, costs[name])
        for name, account in accounts.items()
    )


def truth_of(path: Path, reading: dict[str, Any], release: Release) -> Layer:
    """Return a layer of the true locations in a file; a report with it must not be shared."""
    from geoveil import Locations
    from geoveil.geo.coordinate_systems import offline
    from geoveil.release.as_layers import truth_layer

    with offline():
        return truth_layer(Locations(path, **reading).frame(), release)


def drawable(output: Output) -> None:
    """Refuse a map that cannot be drawn, before anything is charged."""
    if not output.drawing.files:
        return
    from geoveil.geo.formats.atomic import check_target
    from geoveil.report import check_basemap, check_path

    for option, path in output.drawing.files.items():
        check_path(path, option, figure=option == "--figure")
        writable(path)
        check_target(Path(path), overwrite=state().overwrite)
    if output.drawing.basemap is not None:
        check_basemap(output.drawing.basemap)


def report(
    output: Output,
    title: str,
    releases: Sequence[Release],
    *,
    truth: tuple[Path, dict[str, Any]] | None = None,
    balances: Sequence[Balance] = (),
    whole: Release | None = None,
    more: Certificate | None = None,
    remarks: Sequence[str] = (),
) -> None:
    """Draw a report, if one was asked for.

    The certificate is that of the first release, or of `whole` if it is given, with the entries of `more`.
    """
    drawing = output.drawing
    if not drawing.files:
        return
    from geoveil.report import Report

    with waiting("Drawing the map"):
        drawn = [layer for release in releases for layer in release.layers()]
        if output.with_truth and truth is not None:
            # The true locations are drawn first, below the released ones.
            drawn.insert(0, truth_of(*truth, releases[0]))
        told = whole or releases[0]
        account = told.certificate()
        account.update(more or {})
        whole_report = Report(
            title,
            tuple(drawn),
            told.facts(),
            account,
            tuple(balances),
            tuple(remarks),
            basemap=drawing.basemap,
            width=drawing.width,
        )
        for path in drawing.files.values():
            whole_report.save(path, overwrite=state().overwrite)
    state().released = ", ".join(filter(None, (state().released, *drawing.files.values())))
