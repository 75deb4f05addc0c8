"""`geoveil zones`: share tracks as they are, except where their owner lives."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import command, gathered, setting
from geoveil.cli.file_arguments import distinct, private_key, writable
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import PRINTING, Output, output_of
from geoveil.requests.accounts import ChargedAccounts
from geoveil.settings import READING
from geoveil.text.typed_values import read_place
from geoveil.text.words import counted, hidden, metres

if TYPE_CHECKING:
    from geoveil.requests.shared_tracks import CutTracks
    from geoveil.requests.zones_request import ZonesRequest
    from geoveil.zones import Attempt, ProposedPlace

__all__ = ["show_attacks", "zones"]

#: Headings of the help page.
_HIDDEN, _RELEASED = "Places to hide", "What is released"
#: How many places are proposed.
_PROPOSED = 6
#: The attacks that are shown, and their columns.
_ATTACKS = {
    **{"centre": "the centre", "circle": "a circle", "lines": "straight lines"},
    **{"headings": "headings", "roads": "roads"},
}


@command(
    "A year of rides, without the surroundings of home:",
    "geoveil zones rides/*.gpx --at 47.37,8.54 --hide 200m --centres centres.json -o shared/",
    "The next month, with the same disc:",
    "geoveil zones july.fit --at 47.37,8.54 --hide 200m --centres centres.json -o july-shared.fit",
)
@click.argument("source", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@setting(
    "at",
    type=str,
    multiple=True,
    metavar="LAT,LON|FILE",
    heading=_HIDDEN,
    help="A place to hide, such as 47.37,8.54; or a file of places. May be repeated. A place within 100 m of a known "
    "one has its disc. Without it, places where tracks begin and end are proposed: in a terminal, or with --dry-run.",
)
@setting("centres", required=True)
@setting(
    "hide",
    heading=_HIDDEN,
    help="Hide each place at this distance, such as 200m: from even odds, a guess between two places this far apart "
    "is right at most 75% of the time.",
)
@setting("rho", heading=_HIDDEN, help="In place of --hide, where budgets add up: ρ per square metre.")
@setting("margin")
@setting("near")
@setting("shorten")
@setting(
    "keep",
    heading=_RELEASED,
    help="Something to release of each point besides its place and time: ele, hr, cad, power or temp of a recording, "
    "or a column of a table. May be repeated.",
)
@setting("same_names", heading=_RELEASED)
@setting("gap", heading=_RELEASED)
@setting("noise", heading=_RELEASED)
@setting("area")
@gathered("account", lambda **given: ChargedAccounts(given["ledger"] or "", given["subject"]), ("ledger", "subject"))
@setting("times", multiple=False, help="The column of times of a table, if it is not recognised.")
@gathered("reading", lambda **given: {name: text for name, text in given.items() if text}, READING)
@setting("target", help="The released file, or a folder of released files.")
@setting("sign")
@setting(
    "dry_run", help="Only show what would be left, and how near attacks come. Nothing is charged, kept or released."
)
@click.option(
    "--roads",
    metavar="FILE",
    type=click.Path(dir_okay=False, exists=True),
    help="With --dry-run: a file of lines that an attacker may have as a map of roads.",
)
@click.option("--yes", "-y", "accepted", is_flag=True, help="Hide a place even if no track comes near it.")
@gathered("output", output_of, ("report", "basemap", "with_truth", *PRINTING))
def zones(source: tuple[str, ...], output: Output, dry_run: bool, roads: str | None, **given: Any) -> None:
    """Share tracks as they are, except around places such as your home.

    FILE are recordings (.gpx, .fit, .tcx, .kml), GeoJSON, tables, or folders of them. Points inside a disc around
    each place are left out, and new files are made of the others, in the same format. The centre of a disc is drawn
    at random once, and kept in your file of centres for all later releases.
    """
    from geoveil.geo.formats.atomic import certificate_path, check_target
    from geoveil.report import check_basemap
    from geoveil.report.zones_report import check_page

    if roads is not None and not dry_run:
        raise click.UsageError("--roads goes with --dry-run, which shows how near attacks come.")
    chosen, asking = bool(given["at"]), terminal.interactive() and not output.json
    if not (chosen or asking or dry_run):
        told = "Say what to hide with --at LAT,LON, such as --at 47.37,8.54; it may be repeated."
        raise click.UsageError(f"{told} With --dry-run, places where your tracks begin and end are proposed.")
    request = _request(source, output.drawn, **given)
    for path in output.drawn.values():
        check_page(Path(path))
        writable(path)
        check_target(Path(path), overwrite=terminal.state().overwrite)
    if output.basemap is not None:
        check_basemap(output.basemap)
    overwrite = terminal.state().overwrite
    with terminal.state().charges.opened(request.account.place) as ledger:
        request.check(overwrite=overwrite)
        with terminal.progress("Reading") as bar:
            files = request.read(bar)
        if not chosen:
            proposed = files.proposed()
            if not asking:
                _show_proposed(proposed, as_json=output.json)
                return
            request = replace(request, places=_confirmed(proposed))
        with terminal.waiting("Cutting"):
            request.check_places(files)
            zones_drawn, entries = (request.rehearsed(), []) if dry_run else request.zones(ledger)
            cut = request.cut(files, zones_drawn)
        certificate, attacked = None, []
        if dry_run:
            with terminal.progress("Attacking the tracks that would be left") as bar:
                attacked = request.attacked(files, zones_drawn, None if roads is None else Path(roads), bar)
        else:
            with terminal.waiting("Writing"):
                certificate = request.write(cut, entries, overwrite=overwrite)
            terminal.state().released = request.target
            report = request.report(cut, certificate, basemap=output.basemap, with_truth=output.with_truth)
            for path in output.drawn.values():
                report.save(path, overwrite=overwrite)
    if output.json:
        if certificate is None:
            # Centres of several runs would average out, and so would a disc that was drawn for this one.
            private: dict[str, object] = {"attacks": [[_attempt(each) for each in attempts] for attempts in attacked]}
            terminal.json({"for_you_only": private | _numbers(cut), "radii": [zone.radius for zone in zones_drawn]})
            return
        discs = [{"lat": zone.lat, "lon": zone.lon, "radius": zone.radius} for zone in zones_drawn]
        terminal.json({"output": request.target, "certificate": certificate, **_numbers(cut), "discs": discs})
        return
    if certificate is None:
        terminal.say(
            "Nothing was released or kept. What follows is for you only: in a release, a new place gets another disc."
        )
        _show(request, cut, request.columns(cut), [])
        show_attacks(attacked, roads=roads is not None)
        return
    beside = str(certificate_path(Path(request.target)))
    kept = f"{request.centres}: keep it to yourself, and keep a copy"
    _show(request, cut, certificate["columns"], [("certificate", beside), *output.lines, ("centres", kept)])


def _request(source: Sequence[str], drawn: Mapping[str, str], **given: Any) -> ZonesRequest:
    """Return the request that options state."""
    from geoveil.requests.zones_request import ZonesRequest
    from geoveil.zones import MARGIN, Hiding, Rules

    account, target = given["account"], given["target"]
    if account.subject is not None and not account.place:
        raise click.UsageError("--subject needs --ledger, the ledger that is charged.")
    if target is None or target == "-":
        raise click.UsageError("Name the released file or folder with -o.")
    distinct({**{path: path for path in source}, "--centres": given["centres"], "-o": target.rstrip("/\\"), **drawn})
    terminal.state().account = account
    margin = MARGIN if given["margin"] is None else given["margin"]
    return ZonesRequest(
        tuple(path for each in source for path in _matching(each)),
        given["at"],
        Path(given["centres"]),
        Hiding.of(given["hide"], given["rho"], margin),
        Rules.of(given["gap"], given["shorten"]),
        target,
        keep=given["keep"],
        time=given["times"],
        reading=given["reading"],
        same_names=given["same_names"],
        account=account,
        near=given["near"],
        accepted=given["accepted"],
        noise=given["noise"],
        area=given["area"],
        key=None if given["sign"] is None else private_key(given["sign"]),
    )


def _attempt(attempt: Attempt) -> dict[str, object]:
    """Return an attack for programs."""
    near = {name: round(away) for name, away in attempt.metres.items()}
    return {
        "shorten": attempt.rules.shortened,
        "ends": attempt.ends,
        "metres": near,
        "length": round(attempt.published),
    }


def _show_proposed(proposed: Sequence[ProposedPlace], *, as_json: bool) -> None:
    """Print places where tracks begin and end, for their owner to confirm."""
    if as_json:
        places = [{"lat": each.place.lat, "lon": each.place.lon, **_counts(each)} for each in proposed[:_PROPOSED]]
        terminal.json({"for_you_only": {"proposed": places}})
        return
    if not proposed:
        terminal.say(
            "Fewer than three tracks begin or end near each other: name the places to hide with --at LAT,LON."
        )
        return
    rows = [[_at(each), *map(str, _counts(each).values())] for each in proposed[:_PROPOSED]]
    terminal.say(terminal.bold("For you only: where your tracks begin and end"))
    terminal.say(terminal.table(["--at", "times", "at night"], rows))
    terminal.say("Nothing is hidden by itself. Name the places that you want to hide, exactly as you know them.")


def _confirmed(proposed: Sequence[ProposedPlace]) -> tuple[str, ...]:
    """Ask the owner which of the proposed places to hide, and for others."""
    places = []
    for each in proposed[:_PROPOSED]:
        ends, nights = _counts(each).values()
        told = (
            f"{counted(ends, 'time')}, {nights} of them at night, your tracks begin or end near {_at(each)}. Hide it?"
        )
        if click.confirm(told, default=False, err=True):
            places.append(_at(each))
    while given := click.prompt("Another place to hide, as LAT,LON", default="", show_default=False, err=True):
        if read_place(given) is None:
            terminal.complain("It is a latitude and a longitude in degrees, such as 47.37,8.54.")
        else:
            places.append(given)
    if not places:
        raise click.UsageError("No place is hidden, so that nothing is released.")
    return tuple(places)


def _counts(proposed: ProposedPlace) -> dict[str, int]:
    return {"ends": proposed.ends, "nights": proposed.nights}


def _at(proposed: ProposedPlace) -> str:
    """Return a place as it is typed, to about a metre."""
    return f"{proposed.place.lat:.5f},{proposed.place.lon:.5f}"


def show_attacks(attacked: Sequence[Sequence[Attempt]], *, roads: bool = False) -> None:
    """Print how near attacks on the tracks come to each place, and what shortening them changes."""
    for number, (as_it_is, *others) in enumerate(attacked, start=1):
        which = f" to place {number}" if len(attacked) > 1 else ""
        rows = [
            [
                f"--shorten '{option}'" if (option := each.rules.shortened) else "as above",
                *(f"{each.metres[name]:,.0f} m" if name in each.metres else "-" for name in _ATTACKS),
                metres(each.published),
            ]
            for each in (as_it_is, *others)
            if each.published
        ]
        terminal.say("", terminal.bold(f"For you only: how near attacks come{which}"))
        terminal.say(terminal.table(["", *_ATTACKS.values(), "published"], rows))
        terminal.say(as_it_is.told(others, roads=roads).worded(OPTIONS))


def _matching(pattern: str) -> list[Path]:
    """Return the files that a pattern such as *.gpx matches; the shells of Windows pass it on as it is typed."""
    import glob

    paths = [] if Path(pattern).exists() else sorted(glob.glob(pattern))
    return [*map(Path, paths or [pattern])]


def _numbers(cut: CutTracks) -> dict[str, object]:
    """Return what is released, in numbers. In a dry run they are private: they follow from a centre drawn anew."""
    return {
        "files": len(cut.shared),
        "pieces": len(cut.pieces),
        "points": cut.points,
        **({"length": round(cut.length)} if cut.noise is None else {}),
    }


def _head(request: ZonesRequest, cut: CutTracks) -> str:
    """Return what is released in a line."""
    files = "" if request.single else f"{counted(len(cut.shared), 'file')}, "
    pieces = counted(len(cut.pieces), "piece")
    # A line from one noisy point to the next is many times as long as the track.
    length = f" of {metres(cut.length)} together" if cut.noise is None else ""
    return f"{os.path.normpath(request.target)}: {files}{pieces}{length}"


def _hidden(request: ZonesRequest, cut: CutTracks) -> str:
    """Return what is hidden in a line."""
    radii = ", ".join(dict.fromkeys(metres(zone.radius) for zone in cut.zones))
    return f"{hidden(request.hidden)} at 75%, inside {counted(len(cut.zones), 'disc')} of radius {radii} alone"


def _removed(cut: CutTracks) -> str:
    """Return what is removed in a sentence."""
    removed, inside = len(cut.files) - cut.points, len(cut.files.sources) - len(cut.shared)
    gone = f", and nothing is left of {counted(inside, 'file')}" if inside else ""
    told = f"For you only: {removed:,} of {counted(len(cut.files), 'point')} are removed{gone}."
    if cut.passed:
        return told
    return f"{told} No track enters a disc: if they begin or end at your home, check the places after --at."


def _show(request: ZonesRequest, cut: CutTracks, columns: Sequence[str], more: Sequence[tuple[str, str]]) -> None:
    """Print what is released, and what its owner alone should see."""
    places = "places" if request.noise is None else f"places with noise (ρ = {request.noise} per m²)"
    lines = [("hidden", _hidden(request, cut)), ("released", ", ".join([places, *columns]))]
    terminal.say(terminal.bold(_head(request, cut)), terminal.grid([*lines, *more]))
    terminal.say(_removed(cut))
