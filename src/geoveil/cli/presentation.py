"""Present releases on the terminal, as JSON and as a report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil.cli.file_arguments import writable
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import Output
from geoveil.cli.terminal import bold, grid, say, state, styled, waiting
from geoveil.facts.wording import guarantee_line, heading, lines, protected
from geoveil.text.words import metres

if TYPE_CHECKING:
    import geopandas

    from geoveil import Release
    from geoveil.report import Report
    from geoveil.requests.accounts import ForeseenCharge
    from geoveil.requests.forecasts import Forecast, PublicNumbers

__all__ = [
    "describe",
    "drawable",
    "forecast_data",
    "forecast_lines",
    "in_degrees",
    "lines_of",
    "plain_report",
    "value_of",
    "write_report",
]


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


def value_of(release: Release) -> object:
    """Return the value as JSON: GeoJSON where it has locations, else rows."""
    frame = release.to_frame()
    if hasattr(frame, "geometry"):
        shapes = frame.set_geometry(in_degrees(frame.geometry))
        return json.loads(shapes.to_json(drop_id=True))
    return json.loads(frame.to_json(orient="records"))


def in_degrees(shapes: geopandas.GeoSeries) -> geopandas.GeoSeries:
    """Return a GeoSeries in WGS 84; across the antimeridian, longitudes go on beyond 180."""
    import geopandas

    from geoveil.geo.geometries import unwrap_longitudes

    degrees = shapes.to_crs(4326)
    return geopandas.GeoSeries(unwrap_longitudes(degrees.array), index=degrees.index, crs=4326)


def forecast_data(forecast: Forecast) -> dict[str, object]:
    """Return the cost and the error of a question for programs."""
    from geoveil.privacy import exact

    told: dict[str, object] = {
        "question": forecast.question,
        forecast.guarantee.symbol: str(forecast.guarantee.budget),
        "error_95": {"smallest": forecast.smallest, "largest": forecast.largest},
    }
    if forecast.charges:
        least = exact.written(min(charge.left for charge in forecast.charges))
        short = [charge.name for charge in forecast.charges if not charge.enough]
        told |= {"remaining": least, "too_little": short}
    return told


def forecast_lines(forecast: Forecast, numbers: PublicNumbers) -> list[tuple[str, str]]:
    """Return the cost and the error of a question as lines."""
    several = len(numbers.sizes) > 1
    shown = " to ".join(dict.fromkeys(metres(end) for end in (forecast.smallest, forecast.largest)))
    assumed = f", {forecast.assumes}" if forecast.assumes else ""
    told = [("guarantee", guarantee_line(forecast.guarantee, each=several))]
    told.append(("error", f"at most {shown} with probability 95%{assumed}"))
    if forecast.single is not None:
        whose = ", for the person with the most points" if several else ""
        if numbers.largest is not None:
            whose = ", for the points with the most noise"
        told.append(("", f"a single point at most {metres(forecast.single)}{whose}"))
    if forecast.remark:
        told.append(("note", forecast.remark))
    return [*told, ("ledger", _balance_line(forecast.charges))] if forecast.charges else told


def _balance_line(charges: Sequence[ForeseenCharge]) -> str:
    """Return the budget that is left in the accounts that would be charged."""
    from geoveil.privacy import exact

    least = exact.written(min(charge.left for charge in charges))
    short = [charge.name for charge in charges if not charge.enough]
    if len(charges) == 1:
        line = f"{charges[0].name} has {least} left" + (", which is not enough" if short else "")
    else:
        line = f"each of {len(charges):,} accounts has at least {least} left"
        line += f"; too little in {len(short):,} of them, such as {short[0]}" if short else ""
    unknown = [charge for charge in charges if charge.cost is None]
    if unknown:
        line += f"; it is for {protected(unknown[0].total.metric)}, and the release computes its cost"
    return line


def drawable(output: Output) -> None:
    """Refuse a map that cannot be drawn, before anything is charged."""
    if not output.drawn:
        return
    from geoveil.geo.formats.atomic import check_target
    from geoveil.report import check_basemap, check_path

    for option, path in output.drawn.items():
        check_path(path, option, figure=option == "--figure")
        writable(path)
        check_target(Path(path), overwrite=state().overwrite)
    if output.basemap is not None:
        check_basemap(output.basemap)


def plain_report(output: Output, title: str, release: Release) -> None:
    """Draw the report of a release that no file was asked for, if one was asked for."""
    if output.drawn:
        from geoveil.report import Report

        layers, facts, certificate = release.layers(), release.facts(), release.certificate()
        write_report(output, Report(title, layers, facts, certificate, basemap=output.basemap, width=output.width))


def write_report(output: Output, report: Report) -> None:
    """Write a report into the files that were named."""
    with waiting("Drawing the map"):
        for path in output.drawn.values():
            report.save(path, overwrite=state().overwrite)
    state().released = ", ".join(filter(None, (state().released, *output.drawn.values())))
