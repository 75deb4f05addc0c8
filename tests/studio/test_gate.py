"""Who may talk to the studio: whoever knows the token, from its own pages."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from geoveil.studio.server import Studio
from tests.studio.driving import asked, running


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One for all tests."""
    with running(tmp_path_factory.mktemp("studio")) as found:
        yield found


def test_token_opens_the_page(studio: Studio) -> None:
    """The address with the token leads to the first step, and no page may load anything from elsewhere."""
    first = asked(studio.address)
    assert (first.status, first.headers["location"]) == (303, f"/{studio.token}/data")
    page = asked(studio.address, "data")
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert b"geoveil" in page.body


def test_missing_token_gets_403(studio: Studio) -> None:
    """Whoever lacks the token gets 403.

    Neither pages, files nor forms are given to a request without the token, or with a part of it.
    """
    root = f"http://{urlsplit(studio.address).netloc}/"
    for path in ("", "data", "static/studio.js", f"{studio.token[:-1]}/data", f"x{studio.token}/", "%00/data"):
        refused = asked(root, path)
        assert refused.status == 403, path
        assert studio.token.encode() not in refused.body


def test_dns_rebinding_is_refused(studio: Studio) -> None:
    """DNS rebinding: the Host header of another site's name gets 403, even with the token."""
    port = urlsplit(studio.address).port
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1.evil.example:{port}",
        f"[::1]:{port}",
    ):
        assert asked(studio.address, "data", headers={"Host": host}).status == 403
    assert asked(studio.address, "data", headers={"Host": f"localhost:{port}"}).status == 200


def test_other_sites_are_refused(studio: Studio) -> None:
    """A form from another origin, a hidden one or none gets 403; so does a foreign script that only reads."""
    own = f"http://{urlsplit(studio.address).netloc}"
    form = {"unit": "point", "planned": "2"}
    for origin in ("https://evil.example", "null", own.replace("http", "https"), f"{own}0", "http://127.0.0.1"):
        assert asked(studio.address, "protection", form=form, headers={"Origin": origin}).status == 403
        assert asked(studio.address, "status", headers={"Origin": origin}).status == 403
    assert asked(studio.address, "protection", form=form).status == 403
    assert studio.project.choices.unit is None
    assert asked(studio.address, "protection", form=form, headers={"Origin": own}).status == 303
    assert studio.project.choices.unit == "point"


def test_received_files_are_private(studio: Studio) -> None:
    """A file that is sent lies in the studio's folder under its own name, for its owner, until the next one."""
    own = {"Origin": f"http://{urlsplit(studio.address).netloc}"}
    for name in ("..%2F..%2Fescaped.csv", "plain.csv"):
        assert asked(studio.address, f"upload?as=data&name={name}", form={"a": "1"}, headers=own).status == 200
        [path] = studio.project.folder.rglob("*.csv")
        assert path.name == name.rpartition("%2F")[2]
        assert path.parent.parent == studio.project.folder
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for bad in ("upload?as=data&name=", "upload?as=data&name=.hidden", "upload?as=elsewhere&name=x.csv"):
        assert asked(studio.address, bad, form={"a": "1"}, headers=own).status == 400


def test_nothing_else_is_served(studio: Studio) -> None:
    """Files of the machine, files that were not released and unknown pages are not there."""
    for path in (
        "static/..%2Fserver.py",
        "static/studio.css.bak",
        "files/plain.csv",
        "files/..%2Fplain.csv",
        "files/0/plain.csv",
        "files/1/plain.csv",
        "files/1/..%2Fplain.csv",
        "nothing",
    ):
        assert asked(studio.address, path).status == 404, path
    assert not Path("/tmp/escaped.csv").exists()
