"""The studio's page on which tracks are shared, except where their owner lives."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from geoveil.studio import pages
from geoveil.studio.project import Project
from tests import rides
from tests.studio.test_refusals import GARBLED, sent
from tests.worlds import HOME, commute

pytestmark = pytest.mark.slow

AT = f"{HOME[1]}, {HOME[0]}"
FIELDS = {"places": AT, "hide": "200 m", "centres": "centres.json", "shorten": "", "keep": "", "target": "shared"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A studio in a folder with rides."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "rides").mkdir()
    for name, ride in commute():
        rides.make("gpx", ride, tmp_path / "rides", name)
    return Project(tmp_path / "workspace")


def asked(project: Project, do: str, **fields: str) -> str:
    """Fill in the form, wait for its work, and return the page in words."""
    assert sent(project, "tracks", **{**FIELDS, "files": "rides", "do": do, **fields}) == ""
    assert project.tracks.job is not None
    assert project.tracks.job.wait(60)
    return read(pages.render("tracks", project))


def read(page: str) -> str:
    """Return the words of a page."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))).replace("\N{NO-BREAK SPACE}", " ")


def test_look_keeps_nothing(project: Project, tmp_path: Path) -> None:
    """The map has what would be shared, what would be removed and the disc, for the owner alone; no centre is kept."""
    page = asked(project, "look")
    for told in ("What would be shared", "1, of radius 599 m", "of 120 points are removed", "for you alone"):
        assert told in page
    assert project.tracks.found is not None
    assert [layer.role for layer in project.tracks.found.layers] == ["truth", "released", "public"]
    assert not (tmp_path / "centres.json").exists()
    assert not (tmp_path / "shared").exists()


def test_a_release_draws_once(project: Project, tmp_path: Path) -> None:
    """What is shared is written with its certificate; another release, and the command shown, have the same disc."""
    page = asked(project, "share")
    assert f"Written to {tmp_path / 'shared'}" in page
    assert "geoveil zones rides" in page
    before = (tmp_path / "centres.json").read_bytes()
    asked(project, "share", target="again")
    assert (tmp_path / "centres.json").read_bytes() == before
    discs = [json.loads((tmp_path / f"{name}.certificate.json").read_text())["zones"] for name in ("shared", "again")]
    assert discs[0] == discs[1]


def test_shown_command_runs(project: Project, tmp_path: Path) -> None:
    """The command gives the same files as the page."""
    import shlex

    from geoveil.cli import main

    asked(project, "share", keep="ele hr")
    assert project.tracks.found is not None
    words = shlex.split(project.tracks.found.command.replace("-o shared", "-o typed"))
    with pytest.raises(SystemExit) as left:
        main(words[1:])
    assert not left.value.code
    contents = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("shared", "typed")]
    assert contents[0] == contents[1]
    assert b"<ele>" in next(iter(contents[0].values()))


def test_look_shows_attacks(project: Project) -> None:
    """The owner reads how near somebody comes with these tracks, in the words of the page; what helps is a field."""
    page = asked(project, "look")
    assert "comes within" in page
    assert "measured, and not promised" in page
    assert not GARBLED.search(page)
    assert "--" not in page.partition("The same as a command")[0]
    shorter = asked(project, "look", shorten="200 m")
    assert "--shorten 200m" in shorter
    assert project.tracks.request().rules.trim == 200


def test_nearby_place_is_asked(project: Project) -> None:
    """The refusal names a field of the page, with which the place is hidden; then nothing is said of it any more."""
    asked(project, "share")
    nearby = {"places": f"{HOME[1] + 0.001}, {HOME[0]}", "target": "again"}
    told = asked(project, "share", **nearby)
    assert "Say “same” under “A place near a known one” if it is the known place" in told
    assert '<option value="same">' in pages.render("tracks", project)
    done = asked(project, "share", **nearby, near="another")
    assert "within 100 m of a known one" not in done
    assert "--near another" in done
    said = sent(project, "tracks", **{**FIELDS, "files": "rides", "do": "share", "target": "again"})
    assert said.endswith("again exists. Type another name for the released file or folder.")


def test_places_are_confirmed(project: Project, tmp_path: Path) -> None:
    """Where tracks begin and end is listed; a place is hidden if its owner presses its button, and not before."""
    page = asked(project, "find", places="")
    assert project.tracks.proposed is not None
    [(place, often)] = project.tracks.proposed.places
    assert often == "3 times, 0 of them at night"
    assert place in page
    assert "for you alone" in page
    assert project.tracks.fields["places"] == ""
    assert sent(project, "tracks", **{**FIELDS, "files": "rides", "places": "", "confirmed": place}) == ""
    assert project.tracks.fields["places"] == place
    assert not (tmp_path / "centres.json").exists()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"files": ""}, "No tracks are chosen yet. Drop a file or a folder"),
        ({"places": ""}, "What to hide is not stated yet. Type a place as 47.37, 8.54"),
        ({"places": "home"}, "What to hide is not stated yet."),
        ({"hide": "far"}, "“far” is no length."),
        ({"centres": ""}, "The path of the file of centres is missing."),
        ({"target": ""}, "The path of the released file or folder is missing."),
        ({"files": "nowhere.gpx"}, "file not found"),
    ],
)
def test_missing_is_named(project: Project, fields: dict[str, str], told: str) -> None:
    """The page says what to fill in, in words that are on it."""
    said = sent(project, "tracks", **{**FIELDS, "files": "rides", "do": "share", **fields})
    assert told in said
    assert not GARBLED.search(said), said


def test_first_page_links_here(project: Project) -> None:
    """The first page has a link to the page of tracks, which can be opened before anything is chosen."""
    assert 'href="tracks"' in pages.render("data", project)
    assert "Share tracks as they are, but hide where you live." in pages.render("tracks", project)
