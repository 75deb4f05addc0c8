"""The preview of an answer: the question asked about made-up data, and the expected error."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import shapely

import geoveil as gv
from geoveil._types import Progress
from geoveil.city import generator
from geoveil.facts.wording import error_line
from geoveil.geo.formats.location_columns import CoordinatePairs
from geoveil.report import Layer
from geoveil.report.formatting import lengths
from geoveil.requests.file_request import FileRequest, ReadingOptions, ask_summary, one_or_several
from geoveil.requests.made_up import MadeUp, make_up
from geoveil.requests.opened_data import OpenedData, tracks

__all__ = ["Preview", "preview"]


#: The names of the answers in the table of errors.
_NAMES = {
    "points": "a released point, after smoothing",
    "heatmap": "the number in a cell",
    "counts": "the number in a region",
    "flows": "the number between two cells",
    "hull": "the hull of a person",
}


@dataclass(frozen=True, eq=False)
class Preview:
    """An answer about made-up data."""

    #: The made-up data and the answer.
    layers: tuple[Layer, ...]
    #: The name of each answer, and its error in words.
    errors: list[tuple[str, str]]
    #: How the made-up data differs from the file; empty if it has the same number of persons.
    remark: str


def preview(request: FileRequest, data: OpenedData, progress: Progress) -> Preview:
    """Ask a question about made-up data of the same public shape; nothing true is used, and nothing is charged."""
    request.check()
    made_up = make_up(data, request.settings, crowd=request.crowd, trip=request.options.trip)
    releases = _answers(request, made_up, progress)
    progress(1.0)
    shown = [layer for release in releases for layer in release.layers()]
    errors = [row for release in releases for row in _errors(release)]
    remark = "" if made_up.whole else f"It shows {made_up.persons:,} of {made_up.all_persons:,} persons."
    return Preview((*_made_up_layers(request, made_up), *shown), errors, remark)


def _errors(release: gv.Release) -> list[tuple[str, str]]:
    """Return the error of an answer; for points, that of any one point and that of all points of a person at once."""
    name, sure = _NAMES.get(release.query, release.query), "with probability 95%"
    if release.query == "points" and release.processing.bounded:
        one, all_of_them = (lengths(np.atleast_1d(release.error(0.05, each=each))) for each in (True, False))
        return [
            ("any one released point", f"at most {one} {sure}"),
            ("all released points of a person at once", f"at most {all_of_them} {sure}"),
        ]
    if release.query == "hull":
        edges = lengths(np.atleast_1d(release.error(0.05)))
        told = f"the edge is off by at most {edges} {sure} on this made-up data"
        return [(name, f"{told}; the error of a hull depends on the answer, and the release states its own")]
    return [(name, error_line(release.facts(every_error=False)))]


def _answers(request: FileRequest, made_up: MadeUp, progress: Progress) -> list[gv.Release]:
    """Ask the question about the made-up data, with noise from a seeded generator."""
    frame, located, reading = made_up.frame, request.file.located, ReadingOptions()
    if isinstance(located, CoordinatePairs) and located.points > 1:
        # As in the file, the places of a row have columns of their own.
        numbers = shapely.get_coordinates(frame.geometry.array).reshape(len(frame), -1)
        lon, lat = ([*names] for names in zip(*located.pairs, strict=True))
        reading = ReadingOptions(crs=frame.crs.to_string(), lat=lat, lon=lon)
        frame = frame.drop(columns=frame.geometry.name).assign(**dict(zip(located.names, numbers.T, strict=True)))
    # Made-up rows are whole: nothing is read from a file, left out or renamed.
    settings = replace(request.settings, missing="refuse", where=None, pseudonyms=False, reading=reading)
    locations = settings.locations(frame, progress=progress, rng=generator())
    if request.question == "summary":
        return ask_summary(locations, request.guarantee)
    release = request.ask(locations)
    motion = request.options.motion
    return [release if motion is None else release.smooth(motion, times=one_or_several(request.times))]


def _made_up_layers(request: FileRequest, made_up: MadeUp) -> tuple[Layer, ...]:
    """Return the made-up data as a layer of tracks, points or trips; no layer for an answer in shades."""
    if request.question in ("heatmap", "counts"):
        return ()
    places = shapely.get_coordinates(made_up.frame.geometry.array)
    by = request.settings.person
    if len(places) > len(made_up.frame):
        name = "made-up trips" if request.trips else "made-up tracks"
        rows = np.repeat(np.arange(len(made_up.frame)), shapely.get_num_coordinates(made_up.frame.geometry.array))
        return (Layer(name, places, "lines", "public", rows),)
    if by is not None and request.file.time_columns and not request.crowd:
        return (tracks("made-up tracks", places, made_up.frame[by], "public"),)
    return (Layer("made-up locations", places, "points", "public"),)
