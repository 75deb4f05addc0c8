"""Keys that sign, and the report with the true locations: both only where their owner asks for them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import geoveil as gv
from geoveil.errors import GeoveilError
from geoveil.report.formatting import WARNING
from geoveil.requests.file_request import TRUE_REPORT
from geoveil.studio import pages
from geoveil.studio.project import Project
from tests.studio.deciding import release, send, ticket_of

pytestmark = [pytest.mark.deep, pytest.mark.slow]


def test_a_key_signs(project: Project, tmp_path: Path) -> None:
    """A key that is chosen by its path signs the certificate, which verifies; keys beside the file are offered."""
    key = gv.SigningKey.create("city-lab")
    path = key.save(tmp_path / "city-lab.pem")
    key.public.save(tmp_path / "city-lab.pub.pem")
    page = pages.render("release", project)
    assert f'<option value="{path}">' in page
    assert "pub.pem" not in page
    assert "nobody can tell later who wrote the certificate" in page
    send(project, "release", do="key", sign=str(path))
    assert f"by {key.public}" in pages.render("release", project)
    outcome = release(project)
    assert gv.verify(outcome.files[0], key=key.public).signer == key.public
    assert outcome.checks[0].signer == key.public
    assert f"--sign {path}" in outcome.request.command()
    project.prepare_another()
    send(project, "release", do="key", sign="")
    assert gv.verify(release(project).files[0]).signer is None


def test_key_with_passphrase(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An encrypted key needs its passphrase, which is on no page, in no command and in no file."""
    monkeypatch.delenv("GEOVEIL_KEY_PASSPHRASE", raising=False)
    key = gv.SigningKey.create("city-lab")
    path = str(key.save(tmp_path / "city-lab.pem", passphrase="correct horse"))
    with pytest.raises(GeoveilError, match=r"city-lab\.pem is encrypted\. Type its passphrase"):
        send(project, "release", do="key", sign=path)
    with pytest.raises(GeoveilError, match=r"The passphrase is wrong, or .* is no key"):
        send(project, "release", do="key", sign=path, passphrase="wrong horse")
    with pytest.raises(GeoveilError, match="file not found"):
        send(project, "release", do="key", sign="nothing.pem")
    assert project.key is None
    send(project, "release", do="key", sign=path, passphrase="correct horse")
    assert "correct horse" not in pages.render("release", project) + repr(project.choices)
    outcome = release(project)
    assert outcome.checks[0].signer == key.public
    assert not any(b"correct horse" in file.read_bytes() for file in outcome.files)


def test_changed_key_releases_nothing(project: Project, tmp_path: Path) -> None:
    """A page that was shown before the key was changed releases nothing."""
    ticket = ticket_of(project)
    path = gv.SigningKey.create("city-lab").save(tmp_path / "city-lab.pem")
    send(project, "release", do="key", sign=str(path))
    with pytest.raises(GeoveilError, match="another page has changed"):
        send(project, "release", do="release", looked="yes", ticket=ticket)


@pytest.mark.parametrize("asked", [False, True])
def test_true_locations_on_request(asked: bool, project: Project, trips: Path) -> None:
    """The box is not ticked; where it is, one more report has true locations and says so, and no other file has."""
    page = pages.render("release", project)
    assert '<input type="checkbox" name="truth" value="yes">' in page
    outcome = release(project, **({"truth": "yes"} if asked else {}))
    names = [path.name for path in outcome.files]
    assert (TRUE_REPORT in names) == asked
    assert ("--with-truth" in outcome.request.command()) == asked
    true = pd.read_csv(trips)
    secrets = [*map(str, true["longitude"]), *map(str, true["latitude"])]
    for path in outcome.files:
        text = path.read_bytes().decode("latin-1")
        if path.name == TRUE_REPORT:
            assert WARNING in path.read_text()
            assert "true locations" in text
        else:
            assert WARNING.encode().decode("latin-1") not in text, path.name
            assert not any(secret in text for secret in secrets), path.name
    assert ("TRUE locations: for you alone" in pages.render("release", project)) == asked
    # The next release has to be asked again.
    project.prepare_another()
    assert not project.request().with_truth
