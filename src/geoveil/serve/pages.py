"""Pages with released places: for the owner with budgets, links and targets, and for the holder of a link."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import HTMLResponse, Response

from geoveil.privacy import CGP, duration_words
from geoveil.report import Layer, compose
from geoveil.report.page import drawing, templates
from geoveil.serve.links import ReaderLink
from geoveil.serve.published import PublishedPlace, iso
from geoveil.text.words import metres

if TYPE_CHECKING:
    from geoveil.serve.service import Service

__all__ = ["owner_page", "reader_page"]

#: Seconds after which a page is loaded again.
_AGAIN = 60


def owner_page(service: Service, *, made: str = "", notice: str = "") -> Response:
    """Return the live page: places, radii, budgets, links, targets and warnings."""
    now = int(clock.time() * 10**6)
    persons = []
    for name, person in service.persons.items():
        stream = service.promises[name]
        remaining = service.desk.remaining.get(name)
        persons.append(
            {
                "name": name,
                "paused": name in service.desk.paused,
                "place": _row(service.desk.latest.get(name), now),
                "promise": _words(stream.guarantee),
                "left": None if remaining is None else float(remaining / stream.guarantee.rho),
                "remaining": "" if remaining is None else f"{remaining:.3g}",
                "year": metres(stream.repeated("365 days"))
                + " outside of zones" * bool(person.zones or service.desk.unnamed.get(name)),
                "devices": [each.name for each in person.devices],
            }
        )
    latest = {name: [place] for name in service.persons if (place := service.shown(name)) is not None}
    return _page(
        "live.html",
        service,
        persons=persons,
        links=[(link, link.state(now), iso(link.expires)) for link in service.links.values()],
        targets=service.target_states(),
        warnings=service.warnings(),
        publish=duration_words(service.config.publish) if service.config.publish else "",
        map=_map(latest),
        made=made,
        notice=notice,
        total=int(service.metrics.value("geoveil_pings_total")),
        answered=int(service.metrics.value("geoveil_pings_total", outcome="answered")),
    )


def reader_page(
    service: Service, link: ReaderLink, closed: str, shown: Mapping[str, Sequence[PublishedPlace]]
) -> Response:
    """Return the page of a link."""
    now = int(clock.time() * 10**6)
    persons = [(name, _row(places[-1] if places else None, now)) for name, places in shown.items()]
    return _page(
        "reader.html",
        service,
        link=link,
        closed=closed,
        persons=persons,
        expires=iso(link.expires),
        map=_map(shown),
    )


def _page(name: str, service: Service, **shown: Any) -> Response:
    text = templates("geoveil.serve").get_template(name).render(again=_AGAIN, **shown)
    return HTMLResponse(text)


def _words(guarantee: CGP) -> str:
    return f"{metres(guarantee.hidden(chance=0.75))} hidden at 75%, in any {guarantee.metric.name}"


def _row(place: PublishedPlace | None, now: int) -> dict[str, str] | None:
    if place is None:
        return None
    return {
        "lat": f"{place.lat:.4f}",
        "lon": f"{place.lon:.4f}",
        "radius": metres(place.radius),
        "time": f"{iso(place.time)[:16].replace('T', ' ')} UTC",
        "ago": f"{max(now - place.time, 0) // 60_000_000} min ago",
    }


def _map(shown: Mapping[str, Sequence[PublishedPlace]]) -> str:
    """Return a map of released places with their radii, drawn from the program's own ground; empty without any."""
    layers: list[Layer] = []
    for name, places in shown.items():
        if len(places) > 1:
            layers.append(Layer(f"{name} before", _degrees(places), "lines", "released"))
        if places:
            radius = float(places[-1].radius)
            layers.append(Layer(name, _degrees(places[-1:]), "marks", "released", radius=radius, texts=(name,)))
    scene = compose(layers, beyond=False) if layers else None
    return "" if scene is None else drawing(scene, "Released places, each with the circle that holds 95%")


def _degrees(places: Sequence[PublishedPlace]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([[place.lon, place.lat] for place in places])
