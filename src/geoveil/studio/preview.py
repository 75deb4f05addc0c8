"""The preview of an answer: the question asked about made-up data, and the expected error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from geoveil.city import generator
from geoveil.report import Layer
from geoveil.report.formatting import lengths
from geoveil.studio.file_request import FileRequest
from geoveil.studio.made_up import MadeUp, make_up
from geoveil.studio.opened_data import tracks
from geoveil.wording import error_line

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
    """An answer about made-up data.

    Parameters
    ----------
    layers : tuple of Layer
        The made-up data and the answer.
    errors : list of (str, str)
        The name of each answer, and its error in words.
    remark : str
        How the made-up data differs from the file; empty if it has the same number of persons.
    """

    layers: tuple[Layer, ...]
    errors: list[tuple[str, str]]
    remark: str


def preview(request: FileRequest) -> Preview:
    """Ask a question about made-up data of the same public shape; nothing true is used, and nothing is charged."""
    request.check()
    made_up = make_up(request.data, request.choices, crowd=request.crowd)
    releases = _answers(request, made_up)
    shown = [layer for release in releases for layer in release.layers()]
    errors = [row for release in releases for row in _errors(release)]
    remark = "" if made_up.whole else f"It shows {made_up.persons:,} of {made_up.all_persons:,} persons."
    return Preview((*_made_up_layers(request, made_up), *shown), errors, remark)


def _errors(release: Any) -> list[tuple[str, str]]:
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


def _answers(request: FileRequest, made_up: MadeUp) -> list[Any]:
    """Ask the question about the made-up data, with noise from a seeded generator."""
    frame, rng = made_up.frame, generator()
    if request.question == "flows" and not request.options.get("trip"):
        origins, destinations = (shapely.get_point(frame.geometry.array, end) for end in (0, 1))
        locations = request.made_up(frame.set_geometry(origins, crs=frame.crs), rng)
        ends = request.made_up(frame.set_geometry(destinations, crs=frame.crs), rng)
        return [request.answer(locations, trip=ends)]
    releases = request.ask(request.made_up(frame, rng))
    motion = request.motion
    return [release.smooth(motion, times=request.time) if motion else release for release in releases]


def _made_up_layers(request: FileRequest, made_up: MadeUp) -> tuple[Layer, ...]:
    """Return the made-up data as a layer of tracks, points or trips; no layer for an answer in shades."""
    if request.question in ("heatmap", "counts"):
        return ()
    places = shapely.get_coordinates(made_up.frame.geometry.array)
    by = request.choices.by
    if len(places) > len(made_up.frame):
        name = "made-up trips" if request.data.trips else "made-up tracks"
        rows = np.repeat(np.arange(len(made_up.frame)), shapely.get_num_coordinates(made_up.frame.geometry.array))
        return (Layer(name, places, "lines", "public", rows),)
    if by is not None and request.data.times and not request.crowd:
        return (tracks("made-up tracks", places, made_up.frame[by], "public"),)
    return (Layer("made-up locations", places, "points", "public"),)
