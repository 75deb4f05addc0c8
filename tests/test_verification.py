"""Verification: what was changed is found, and what cannot be told is said to be open."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyogrio
import pytest
import shapely

import geoveil as gv
from geoveil import verification
from geoveil.certificates import signed
from geoveil.errors import FileUnavailable, GeoveilWarning, InvalidFile, InvalidParameter, LedgerTampered
from geoveil.geo.formats.fingerprints import digest
from tests.certificates.test_signatures import KEY
from tests.formats import BAY, FORMATS, make, people
from tests.questions import release_of


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A signed release of a CSV file, charged to a ledger, and an empty folder of trusted keys."""
    monkeypatch.setenv("GEOVEIL_TRUSTED_KEYS", str(tmp_path / "trusted"))
    path, told = make("trips.csv", tmp_path)
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("u0", "u1", "u2", rho=1)
        release_of("points", path, sign=KEY, ledger=ledger, to=tmp_path / "out.csv", rho=1e-4, **told)
    return tmp_path / "out.csv"


def beside(path: Path) -> Path:
    """The certificate of a file."""
    return path.with_name(f"{path.name}.certificate.json")


def edited(path: Path, edit: Callable[[dict[str, Any]], Any], *, sign: gv.SigningKey | None = None) -> None:
    """Change the certificate of a file, and sign it again if there is a key."""
    account = json.loads(beside(path).read_text())
    edit(account)
    if sign is not None:
        account.pop("signature", None)
        account = signed(account, sign)
    beside(path).write_text(json.dumps(account))


def outcomes(found: gv.Verification) -> dict[str, str]:
    """The outcome of each check."""
    return {check.name: check.outcome for check in found.checks}


def check_a_changed_file_is_found(path: Path) -> None:
    """One byte more, and the file is not the released one."""
    assert gv.verify(path)
    with path.open("a") as file:
        file.write("\n")
    assert not gv.verify(path)


def test_a_release_holds(released: Path) -> None:
    """With its ledger and the key, all checks hold; without, they are open."""
    with gv.Ledger(released.parent / "budget.db") as ledger:
        found = gv.verify(released, ledger=ledger, key=KEY.public)
    assert set(outcomes(found).values()) == {"holds"}
    assert found.signer == KEY.public
    assert found.trusted
    assert "Signed by test (SHA256:" in repr(found)
    assert "recorded this very file" in repr(found)
    alone = gv.verify(released)
    assert alone.holds
    assert not alone.trusted
    assert outcomes(alone) == {
        "certificate": "holds",
        "file": "holds",
        "noise": "holds",
        "ledger": "open",
        "signature": "open",
    }
    assert "have not confirmed" in repr(alone)
    assert json.loads(json.dumps(found.to_dict()))["signer"] == KEY.public.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_holds(name: str, tmp_path: Path) -> None:
    """The numbers of points, the columns and the noise are found again in every format."""
    path, told = make(name, tmp_path)
    target = tmp_path / ("out" if path.is_dir() else f"out{''.join(path.suffixes)}")
    release_of("points", path, to=target, rho=1e-4, **told)
    assert outcomes(gv.verify(target)) == {
        "certificate": "holds",
        "file": "holds",
        "noise": "holds",
        "ledger": "open",
        "signature": "open",
    }


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".geojson", ".gpkg", ".shp", ".parquet"])
@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"epsilon": 0.01}, {"rho": 1e-4, "method": "both", "metric": "2"}])
def test_written_releases_hold(ending: str, budget: dict[str, Any], tmp_path: Path) -> None:
    """Points under both notions, in the formats to which frames are written."""
    release = release_of("points", people(), person="user", area=BAY, **budget)
    path = release.to_file(tmp_path / f"out{ending}", sign=KEY)
    found = gv.verify(path, key=KEY.public)
    assert outcomes(found) == {
        "certificate": "holds",
        "file": "holds",
        "noise": "holds",
        "ledger": "open",
        "signature": "holds",
    }


def test_pseudonyms_hold(tmp_path: Path) -> None:
    """The column of persons is then not unchanged, and the file is as certified."""
    path, told = make("trips.csv", tmp_path)
    release = release_of("points", path, pseudonyms=True, to=tmp_path / "out.csv", rho=1e-4, **told)
    assert "user" not in [column.name for column in release.unchanged]
    assert outcomes(gv.verify(tmp_path / "out.csv"))["noise"] == "holds"


def test_answers_and_smoothed(tmp_path: Path) -> None:
    """Summaries are recomputed; of other answers it is said that they are not."""
    frame = people().geometry
    for name, release in {
        "mean": gv.Locations(frame, area=BAY).mean(rho=1e-4),
        "diameter": gv.Locations(frame, area=BAY).diameter(epsilon=0.01),
        "hull": gv.Locations(frame, area=BAY).hull(rho=1e-2),
        "smooth": gv.Locations(frame, area=BAY).points(rho=1e-4).smooth("car", times=[60.0 * i for i in range(60)]),
    }.items():
        found = gv.verify(release.to_file(tmp_path / f"{name}.csv"))
        assert found.holds, found
        assert outcomes(found)["noise"] == ("open" if name == "hull" else "holds")


def test_changed_file_is_found(released: Path) -> None:
    """A changed file is found. By its digest."""
    check_a_changed_file_is_found(released)


def test_ignored_digest_is_caught(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above fails if digests are not compared."""
    stated = json.loads(beside(released).read_text())["file"]["sha256"]
    monkeypatch.setattr(verification, "digest", lambda path: stated)
    with pytest.raises(AssertionError):
        check_a_changed_file_is_found(released)


EDITS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a smaller budget": (lambda a: a.update(rho="0.000001"), "noise"),
    "another metric": (lambda a: a.update(metric="dist_2"), "noise"),
    "less noise": (lambda a: a["mechanism"][0]["scale"].update(smallest=10.0), "noise"),
    "another mechanism": (lambda a: a["mechanism"][0].update(name="Laplace"), "noise"),
    "fewer points": (lambda a: a.update(n=59), "noise"),
    "more persons": (lambda a: a.update(persons=4), "noise"),
    "a smaller error": (lambda a: a["radius_95"].update(largest=1.0), "noise"),
    "fewer columns": (lambda a: a.update(unchanged=a["unchanged"][:1]), "noise"),
    "another distance": (lambda a: a.update(words=a["words"].replace(" m", " km")), "noise"),
    "a flatter area": (lambda a: a["area"].update(shrink=1.0), "noise"),
    "another unit": (lambda a: a.update(unit="per metre"), "certificate"),
    "another notion": (lambda a: a.update(notion="GP"), "certificate"),
    "both budgets": (lambda a: a.update(epsilon="1"), "certificate"),
    "no words": (lambda a: a.pop("words"), "certificate"),
    "a new field": (lambda a: a.update(audited=True), "certificate"),
    "an old schema": (lambda a: a.update(schema=1), "certificate"),
    "no schema": (lambda a: a.pop("schema"), "certificate"),
    "no file": (lambda a: a.pop("file"), "certificate"),
    "another digest": (lambda a: a["file"].update(sha256="0" * 64), "file"),
    "a digest of another kind": (lambda a: a["file"].update(sha256="x"), "certificate"),
    "another time": (lambda a: a.update(version="9.9"), "signature"),
    "another id": (lambda a: a.update(id="f" * 32), "signature"),
    "another file name": (lambda a: a["file"].update(name="other.csv"), "signature"),
    "no warnings": (lambda a: a["unchanged"][0].update(warnings=["none"]), "signature"),
    "a signature of nothing": (lambda a: a["signature"].update(value="A" * 86 + "=="), "signature"),
    "another algorithm": (lambda a: a["signature"].update(algorithm="none"), "certificate"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITS)
def test_changed_certificate_is_found(name: str, released: Path) -> None:
    """A changed certificate is found. By what it contradicts; and anything by its signature."""
    edit, check = EDITS[name]
    edited(released, edit)
    found = gv.verify(released, key=KEY.public)
    assert outcomes(found)[check] == "fails"
    if check != "certificate":
        assert outcomes(found)["signature"] == "fails"


@pytest.mark.parametrize("name", [name for name, (_, check) in EDITS.items() if check == "noise"])
def test_contradictions_are_found(name: str, released: Path) -> None:
    """A signature does not make a wrong certificate right."""
    edited(released, EDITS[name][0], sign=KEY)
    found = gv.verify(released, key=KEY.public)
    assert outcomes(found)["signature"] == "holds"
    assert outcomes(found)["noise"] == "fails"
    assert not found


def test_another_files_certificate(released: Path) -> None:
    """The certificate of another file. Each file has a certificate of its own."""
    other = released.with_name("other.csv")
    gv.Locations(released.with_name("trips.csv"), person="user", area=BAY).points(to=other, rho=1e-4)
    shutil.copy(beside(other), beside(released))
    assert outcomes(gv.verify(released))["file"] == "fails"
    assert gv.verify(other)
    assert gv.verify(other, certificate=beside(released))


def test_renamed_file_holds(released: Path) -> None:
    """A file that was renamed holds. Its old name is told."""
    moved = released.rename(released.with_name("moved.csv"))
    found = gv.verify(moved, certificate=beside(released))
    assert found
    assert "It was called out.csv then" in repr(found)


def test_missing_certificate(released: Path) -> None:
    """A missing or damaged certificate. It is not verified then."""
    text = beside(released).read_text()
    for content in (text[:-20], text.replace("{", '{"n": 1, ', 1), "[]"):
        beside(released).write_text(content)
        assert outcomes(gv.verify(released)) == {"certificate": "fails"}
    beside(released).unlink()
    found = gv.verify(released)
    assert not found
    assert "certificate not found" in repr(found)


def test_another_ledger(released: Path, tmp_path: Path) -> None:
    """Nor a ledger that was changed, nor a release that no ledger charged."""
    with gv.Ledger(tmp_path / "other.db") as other:
        other.create("u0", rho=1)
        assert "another ledger" in repr(gv.verify(released, ledger=other))
    free = released.with_name("free.csv")
    gv.Locations(released.with_name("trips.csv"), person="user", area=BAY).points(to=free, rho=1e-4)
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        assert outcomes(gv.verify(free, ledger=ledger))["ledger"] == "fails"
        assert outcomes(gv.verify(released, ledger=ledger))["ledger"] == "holds"
        # The budget is one that the ledger did not charge.
        edited(released, lambda a: a.update(rho="0.00001"))
        assert outcomes(gv.verify(released, ledger=ledger))["ledger"] == "fails"


def test_keys(released: Path, tmp_path: Path) -> None:
    """The key that is given must have signed; a trusted one is named as the user named it."""
    assert outcomes(gv.verify(released, key=gv.SigningKey.create("other").public))["signature"] == "fails"
    unsigned = released.with_name("unsigned.csv")
    gv.Locations(released.with_name("trips.csv"), person="user", area=BAY).points(to=unsigned, rho=1e-4)
    assert outcomes(gv.verify(unsigned))["signature"] == "open"
    assert outcomes(gv.verify(unsigned, key=KEY.public))["signature"] == "fails"
    (tmp_path / "trusted").mkdir()
    KEY.public.save(tmp_path / "trusted" / "the lab.pem")
    found = gv.verify(released)
    assert found.trusted
    assert "Signed by the lab (" in repr(found)


def test_signer_chooses_no_name(released: Path, tmp_path: Path) -> None:
    """Who signs as "test" with another key is told apart."""
    edited(released, lambda a: None, sign=gv.SigningKey.create("test"))
    found = gv.verify(released)
    assert not found.trusted
    assert "calls itself 'test'" in repr(found)
    assert not gv.verify(released, key=KEY.public)


def test_unchecked_is_an_error(released: Path, tmp_path: Path) -> None:
    """What cannot be checked is an error. A file or key that is not there, and a path as a ledger."""
    with pytest.raises(FileUnavailable, match="file not found"):
        gv.verify(tmp_path / "no.csv")
    with pytest.raises(FileUnavailable, match="file not found"):
        gv.verify(released, key=tmp_path / "no.pem")
    with pytest.raises(InvalidFile, match="Ed25519 public key"):
        gv.verify(released, key=released)
    with pytest.raises(InvalidParameter, match="ledger"):
        gv.verify(released, ledger=tmp_path / "budget.db")  # type: ignore[arg-type]


def test_forged_files_fail(released: Path) -> None:
    """A changed file whose digest was put into the certificate is not the file that the ledger recorded."""
    rows = released.read_text().splitlines()
    released.write_text("\n".join([*rows[:-1], rows[-1].replace("2024", "2023")]) + "\n")

    def forge(account: dict[str, Any]) -> None:
        account["file"]["sha256"] = digest(released)
        account.pop("signature")

    edited(released, forge)
    assert gv.verify(released), "without the ledger nothing tells them apart"
    with gv.Ledger(released.parent / "budget.db") as ledger:
        found = gv.verify(released, ledger=ledger)
    assert found.outcome == "fails"
    assert outcomes(found)["ledger"] == "fails"


@pytest.mark.parametrize("edit", [{"version": "99"}, {"where": "user = 'u1'"}, {"signature": None}])
def test_ledgers_know_certificates(edit: dict[str, Any], released: Path) -> None:
    """A certificate with another field than the one that was recorded fails, also in the ledger's own check."""

    def change(account: dict[str, Any]) -> None:
        account.update(edit)
        account.pop("signature")

    edited(released, change)
    account = json.loads(beside(released).read_text())
    with gv.Ledger(released.parent / "budget.db") as ledger:
        assert outcomes(gv.verify(released, ledger=ledger))["ledger"] == "fails"
        with pytest.raises(LedgerTampered, match="recorded another certificate"):
            ledger.verify([account])


@pytest.mark.parametrize("first", ["in memory", "to="])
def test_all_files_are_known(first: str, tmp_path: Path) -> None:
    """A release that is written again, in another format or after processing, is known; a forgery fails."""
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("all", rho=1)
        session = gv.Locations(people(), area=BAY).session(ledger=ledger, subject="all")
        to: dict[str, Any] = {} if first == "in memory" else {"to": tmp_path / "first.csv"}
        release = session.points(rho=1e-4, **to)
        files = [release.to_file(tmp_path / name) for name in ("again.csv", "again.gpkg")]
        smooth = release.smooth("taxi", times=np.arange(len(release.value)) * 60.0)
        files.append(smooth.to_file(tmp_path / "smooth.csv"))
        for path in [*files, *to.values()]:
            assert gv.verify(path, ledger=ledger).outcome == "holds", path
        ledger.verify([release.certificate()])
        copy = tmp_path / "forged.csv"
        copy.write_text(files[0].read_text().replace("-122.", "-123."))
        account = json.loads(beside(files[0]).read_text())
        account["file"]["sha256"] = digest(copy)
        beside(copy).write_text(json.dumps(account))
        assert outcomes(gv.verify(copy, ledger=ledger))["ledger"] == "fails"


def test_stored_answer_files(tmp_path: Path) -> None:
    """An answer that the ledger returns at no cost may be written to another file, which it records."""
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("all", rho=1)
        session = gv.Locations(people(), area=BAY).session(ledger=ledger, subject="all")
        for name in ("one.gpkg", "two.gpkg"):
            session.points(rho=1e-4, key="march", to=tmp_path / name)
            assert gv.verify(tmp_path / name, ledger=ledger).outcome == "holds"


def test_vanished_ledger(tmp_path: Path) -> None:
    """A release that was paid for is written although its ledger cannot be reached, with a warning."""
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("all", rho=1)
        release = gv.Locations(people(), area=BAY).session(ledger=ledger, subject="all").points(rho=1e-4)
    (tmp_path / "budget.db").unlink()
    with pytest.warns(GeoveilWarning, match="not recorded in the ledger"):
        path = release.to_file(tmp_path / "late.gpkg")
    assert gv.verify(path)


def test_answers_stay_open(tmp_path: Path) -> None:
    """A ledger that holds an answer cannot tell a file of an unpickled release: neither success nor failure."""
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("all", rho=1)
        session = gv.Locations(people(), area=BAY).session(ledger=ledger, subject="all")
        for release in (session.hull(rho=1e-4), session.points(rho=1e-4)):
            path = pickle.loads(pickle.dumps(release)).to_file(tmp_path / f"{release.query}.gpkg")
            found = gv.verify(path, ledger=ledger)
            assert (found.outcome, outcomes(found)["ledger"]) == ("open", "open")
            assert not found
            assert found.summary == "NOT KNOWN to be as certified: ledger"
            assert "an answer and no file" in repr(found)
            assert gv.verify(path), "nobody asked about the ledger"


def test_processed_files_stay_open(released: Path) -> None:
    """A file that was smoothed later, or says so, is not one that the ledger recorded."""
    smooth = gv.load(released).smooth("taxi", times="time").to_file(released.with_name("smooth.csv"))
    with gv.Ledger(released.parent / "budget.db") as ledger:
        assert gv.verify(smooth, ledger=ledger).outcome == "open"
        edited(released, lambda account: (account.pop("signature"), account.update(processed=["smoothed"])))
        assert gv.verify(released, ledger=ledger).outcome != "holds"


@pytest.mark.parametrize("persons", ["none", "pseudonyms", "labels"])
def test_folders_hide_labels(persons: str, tmp_path: Path) -> None:
    """A released folder names a taxi only if its certificate lists the name; otherwise its files have numbers."""
    taxis = tmp_path / "taxis"
    taxis.mkdir()
    for name in ("alice", "bob", "carol"):
        (taxis / f"new_{name}.txt").write_text("37.78 -122.41 0 1213084687\n37.77 -122.42 0 1213084747\n")
    (taxis / "new_bob.txt").write_text("")
    ways: dict[str, Any] = {
        "none": {},
        "pseudonyms": {"person": "cab", "pseudonyms": True},
        "labels": {"person": "cab"},
    }
    how = ways[persons]
    release = release_of("points", taxis, area=BAY, to=tmp_path / "out", rho=1e-4, **how)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    listed = [column["name"] for column in release.certificate()["unchanged"]]
    assert gv.verify(tmp_path / "out")
    assert ("cab" in listed) == (persons == "labels")
    assert (names == ["new_alice.txt", "new_carol.txt"]) == (persons == "labels")
    if persons == "none":
        assert names == ["new_1.txt", "new_2.txt"]
        again = gv.load(tmp_path / "out").smooth("taxi", times="time").to_file(tmp_path / "again")
        assert gv.verify(again)


def test_layers_hide_labels(tmp_path: Path) -> None:
    """A layer that is named after a person is released under the name of the target."""
    people().to_file(tmp_path / "all.gpkg", layer="alice")
    people().to_file(tmp_path / "all.gpkg", layer="bob")
    target = tmp_path / "out.gpkg"
    gv.Locations(tmp_path / "all.gpkg", person="user", layer="alice", area=BAY).points(to=target, rho=1e-4)
    assert [name for name, _ in pyogrio.list_layers(target)] == ["out"]
    assert b"alice" not in target.read_bytes()


CROWD_EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "less noise": lambda a: a["mechanism"][0].update(scale=0.99 * a["mechanism"][0]["scale"]),
    "a smaller budget": lambda a: a.update(rho="0.00005"),
    "another mechanism": lambda a: a["mechanism"][0].update(name="Laplace"),
    "a smaller blur": lambda a: a["crowd_noise"]["kernel"].update(cell=0.9 * a["crowd_noise"]["kernel"]["cell"]),
    "another stated blur": lambda a: a["crowd_noise"].update(blur=1.0),
    "heavier persons": lambda a: a["crowd_noise"]["kernel"].update(weight=2.0),
    "lighter persons": lambda a: a["crowd_noise"]["kernel"].update(weight=0.5),
}


@pytest.fixture(params=["heatmap", "counts", "counts with Laplace noise", "flows"])
def crowd_released(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A release about a crowd."""
    frame = people()
    data = gv.Locations(frame, person="user", area=BAY)
    regions = [shapely.box(-122.6, 37.6, -122.45, 37.9), shapely.box(-122.45, 37.6, -122.3, 37.9)]
    release: gv.CrowdRelease
    if request.param == "heatmap":
        release = data.heatmap(5000, rho=1e-4)
    elif request.param == "flows":
        release = data.flows(regions, trip="user", rho=1e-4)
    else:
        release = data.counts(regions, rho=1e-4, method="both" if "Laplace" in request.param else "best")
    return release.to_file(tmp_path / "out.csv")


@pytest.mark.slow
def test_noise_of_crowds(crowd_released: Path) -> None:
    """The noise of maps, counts and flows is computed again from the kernel, and changes of it are found."""
    assert outcomes(gv.verify(crowd_released))["noise"] == "holds"
    whole = beside(crowd_released).read_text()
    mechanism = json.loads(whole)["mechanism"][0]["name"]
    for name, edit in CROWD_EDITS.items():
        if name == "another mechanism" and mechanism == "Laplace":
            continue
        beside(crowd_released).write_text(whole)
        edited(crowd_released, edit)
        assert outcomes(gv.verify(crowd_released))["noise"] == "fails", name


#: What rewrites a text file, what is left of it, and how it is named.
REWRITTEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "line ends": (lambda text: text.replace(b"\n", b"\r\n"), "Only its line ends or its byte order mark"),
    "old line ends": (lambda text: text.replace(b"\n", b"\r"), "Only its line ends or its byte order mark"),
    "no last line end": (lambda text: text.rstrip(b"\n"), "Only its line ends or its byte order mark"),
    "byte order mark": (lambda text: b"\xef\xbb\xbf" + text, "Only its line ends or its byte order mark"),
    "separators": (lambda text: text.replace(b",", b";"), "as if a spreadsheet had saved it anew"),
    "a workbook": (lambda text: b"PK\x03\x04" + text, "a spreadsheet saved it anew"),
    "numbers and line ends": (
        lambda text: text.replace(b"5e-05", b"0.00005").replace(b"0.0001", b"1E-04").replace(b"\n", b"\r\n"),
        "as if a spreadsheet had saved it anew",
    ),
    "a digit": (lambda text: text.replace(b"1", b"2"), "their SHA-256 differ."),
}


@pytest.mark.parametrize("how", REWRITTEN)
def test_rewritten_files_are_named(how: str, released: Path) -> None:
    """A file that a program rewrote is not as certified, and what rewrote it is named; another change is only that."""
    rewrite, said = REWRITTEN[how]
    content = released.read_bytes()
    released.write_bytes(rewrite(content))
    assert released.read_bytes() != content
    found = gv.verify(released).checks[1]
    assert (found.name, found.outcome) == ("file", "fails")
    assert said in str(found.text)
    assert how != "a digit" or str(found.text).endswith(said)


def test_untold_is_stated(released: Path, run: Any) -> None:
    """Every verification says what it cannot tell.

    In one fixed line: in Python, as JSON, on the command line, and on the page for officers.
    """
    fixed = verification.CANNOT_TELL
    found = gv.verify(released)
    assert repr(found).splitlines()[-1].strip() == fixed
    assert found.to_dict()["cannot_tell"] == fixed
    assert fixed in " ".join(run("verify", str(released)).out.split())
    docs = Path(__file__).parents[1] / "docs"
    assert all(fixed in (docs / page).read_text() for page in ("decide/for-officers.md", "do/certificates.md"))
