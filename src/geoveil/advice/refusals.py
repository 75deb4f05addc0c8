"""What is told of a release whose error is hopeless before it is made: public numbers alone decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from geoveil.advice.purposes import (
    PURPOSES,
    Outlook,
    best_of,
    count_outlook,
    planned_answer,
    points_outlook,
    summary_outlook,
)
from geoveil.answering.concerns import Concern
from geoveil.answering.public_rows import PublicRows
from geoveil.errors import Mention, Message
from geoveil.geo.geometries import Floats
from geoveil.privacy import CGP, GP, Guarantee

__all__ = ["concerns_about", "help_with_points"]

#: Smaller distances to hide, in metres.
_LESS = (1000, 500, 200, 100, 50, 20, 10)
_CHECK = Message("see with {gv.suggest_area} what else this data can be used for")


def concerns_about(
    question: str, rows: PublicRows, guarantee: Guarantee, *, districts: Floats | None = None, **options: Any
) -> list[Concern]:
    """Return the concern that a crowd's answer, or answers about each person, are hopeless, with what helps.

    Parameters
    ----------
    question : str
        "heatmap", "counts", "summary", or another question about each person.
    rows : PublicRows
        The public numbers of the data.
    guarantee : CGP or GP
        The guarantee for all points of a person together.
    districts : array, optional
        The areas of the regions of counts in m².
    **options : object
        The options of a question about each person, such as `k`.
    """

    def outlook(guarantee: Guarantee) -> Outlook:
        if question == "counts" and districts is not None:
            return count_outlook(rows, guarantee, districts)
        if question == "summary":
            return summary_outlook(rows, guarantee)
        for purpose in PURPOSES:
            if purpose.question == question:
                # The first offer is about what the request protects.
                return purpose.offers(rows, guarantee)[0]
        return planned_answer(question, rows, guarantee, **options)

    found = outlook(guarantee)
    if found.verdict != "hopeless":
        return []
    helps = [*_other_purpose(question, rows, guarantee), *_hiding_less(outlook, guarantee), _CHECK]
    return [Concern("This would be hopeless: {found}.", grave=True, hopeless=True, helps=helps, found=found.text)]


def help_with_points(rows: PublicRows, guarantee: Guarantee) -> list[Message]:
    """Return what helps where released points would be hopeless: settings, another question, or less that is hidden.

    Each is something that this data allows, and after which the error is not hopeless.

    Parameters
    ----------
    rows : PublicRows
        The public numbers of the data.
    guarantee : CGP or GP
        The guarantee for all points of a person together.
    """
    offers = [
        offer
        for each in PURPOSES
        if each.question == "points" and each.suits(rows)
        for offer in each.offers(rows, guarantee)
    ]
    helps = list[Message]()
    if offers and (best := best_of(offers)).verdict != "hopeless" and best.settings:
        settings = {name: Mention(name, str(value)) for name, value in best.settings.items()}
        listed = " ".join(f"{{{name}}}" for name in settings)
        helps.append(Message(f"give {listed} ({{text}})", text=best.text, **settings))

    def outlook(guarantee: Guarantee) -> Outlook:
        return points_outlook(rows, guarantee)

    return [*helps, *_other_purpose("points", rows, guarantee), *_hiding_less(outlook, guarantee), _CHECK]


def _other_purpose(question: str, rows: PublicRows, guarantee: Guarantee) -> Iterator[Message]:
    """Yield the first other purpose that the data serves."""
    for purpose in PURPOSES:
        if purpose.question in (question, "zones") or not purpose.suits(rows):
            continue
        other = purpose.outlook(rows, guarantee)
        if other.verdict != "hopeless":
            yield _instead(purpose.wish, other.asks or purpose.question, other)
            return


def _hiding_less(outlook: Callable[[Guarantee], Outlook], guarantee: Guarantee) -> Iterator[Message]:
    """Yield the largest of the usual distances to hide with which the error is not hopeless."""
    away, notion = guarantee.hidden(chance=0.75), CGP if isinstance(guarantee, CGP) else GP
    for less in _LESS:
        if less < away and outlook(notion.hiding(distance=less, chance=0.75)).verdict != "hopeless":
            yield Message("hide less, such as {hide}", hide=Mention("hide", str(less)))
            return


def _instead(wish: str, question: str, found: Outlook) -> Message:
    """Return another purpose that the data serves, with its settings."""
    function = {"summary": "locations.center"}.get(question, f"locations.{question}")
    given = {name: value if isinstance(value, str) else f"{value:g}" for name, value in found.question.items()}
    settings = {name: Mention(name, value) for name, value in {**found.data, **given}.items()}
    listed = "".join(f" {{{name}}}" for name in settings)
    template = f"{{wish}} with {{{function}}}{listed} ({{text}})"
    return Message(template, wish=wish, text=found.text, **settings)
