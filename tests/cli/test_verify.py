"""`geoveil verify` and `geoveil key`: plain words, exit codes, and keys that stay secret."""

from __future__ import annotations

import json
import pickle
import stat
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geoveil as gv
from tests.command_line import LOCAL


@pytest.fixture(autouse=True)
def nobody_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder of trusted keys, and no passphrase."""
    monkeypatch.setenv("GEOVEIL_TRUSTED_KEYS", str(tmp_path / "trusted"))
    monkeypatch.delenv("GEOVEIL_KEY_PASSPHRASE", raising=False)


def release(run: Any, *more: str) -> Any:
    """Release the trips into out.csv."""
    done = run("points", "trips.csv", "-o", "out.csv", "--person", "user", *LOCAL, "--rho", "1e-3", *more)
    assert done.code == 0, done.err
    return done


def test_signed_release_is_verified(run: Any, tmp_path: Path) -> None:
    """A key is made, a release is signed, and everyone with the public key can check it."""
    made = json.loads(run("key", "create", "city-lab", "--json").out)
    if sys.platform != "win32":
        assert stat.S_IMODE((tmp_path / "city-lab.pem").stat().st_mode) == 0o600
    release(run, "--sign", "city-lab.pem")
    done = run("verify", "out.csv", "--key", "city-lab.pub.pem")
    assert done.code == 0
    assert f"Signed by city-lab ({made['fingerprint'][:23]}…)" in " ".join(done.out.split())
    assert "out.csv: as certified, not checked: ledger." in done.out
    told = json.loads(run("verify", "out.csv", "--json").out)
    assert (told["holds"], told["trusted"], told["signer"]) == (True, False, made["fingerprint"])
    assert "--key" in next(check["text"] for check in told["checks"] if check["name"] == "signature")
    assert run("key", "trust", "city-lab.pub.pem").code == 0
    assert "is trusted already" in run("key", "trust", "city-lab.pub.pem").out
    assert json.loads(run("verify", "out.csv", "--json").out)["trusted"]
    assert made["fingerprint"] in run("key", "show", "city-lab.pub.pem").out


def test_missing_file_named_as_typed(run: Any) -> None:
    """Names of files keep their letters, also at the beginning of a message."""
    assert "geoveil: nowhere.csv: file not found" in run("verify", "nowhere.csv").err


def test_every_command_signs(run: Any, tmp_path: Path) -> None:
    """Whatever writes a certificate signs it: answers, smoothed releases and heat maps; the JSON shows it, too."""
    run("key", "create", "lab")
    how = ["--sign", "lab.pem"]
    told = json.loads(release(run, "--json", *how).out)
    assert told["certificate"] == json.loads((tmp_path / "out.csv.certificate.json").read_text())
    lines = [
        ["hull", "trips.csv", "-o", "hull.geojson", *LOCAL, "--rho", "1e-2"],
        ["nearest", "trips.csv", "-o", "near.csv", "-k", "2", "--at", "37.77,-122.42", *LOCAL, "--rho", "1e-2"],
        ["smooth", "out.csv", "-o", "smooth.csv", "--motion", "car"],
        ["density", "out.csv", "-o", "heat.geojson", "--cell", "5km"],
        ["points", "trips.csv", "-o", "taxi.csv", "--smooth", "taxi", "--person", "user", *LOCAL, "--rho", "1e-3"],
    ]
    for line in lines:
        assert run(*line, *how).code == 0, line
        found = gv.verify(tmp_path / line[3], key=tmp_path / "lab.pub.pem")
        assert found, found
        assert found.trusted


@pytest.mark.parametrize("sign", [False, True])
def test_wrong_ends_with_one(sign: bool, run: Any, tmp_path: Path) -> None:
    """What is wrong ends with one. A changed file, in plain words and as JSON."""
    run("key", "create", "lab")
    release(run, *(["--sign", "lab.pem"] if sign else []))
    with (tmp_path / "out.csv").open("a") as file:
        file.write("\n")
    done = run("verify", "out.csv")
    assert done.code == 1
    assert "out.csv: NOT as certified: file." in done.out
    assert "The file was changed" in done.out
    assert run("verify", "out.csv", "--json").code == 1
    assert run("verify", "out.csv", "--key", "lab.pub.pem").code == 1


def test_a_ledger_confirms(run: Any, tmp_path: Path) -> None:
    """With --ledger, the entry and the whole history are checked."""
    for name in ("a.db", "b.db"):
        run("budget", "create", name, "u0", "u1", "u2", "--rho", "1")
    release(run, "--ledger", "a.db")
    assert run("verify", "out.csv", "--ledger", "a.db").code == 0
    other = run("verify", "out.csv", "--ledger", "b.db")
    assert other.code == 1
    assert "another ledger" in " ".join(other.out.split())


def test_unchecked_ends_with_two(run: Any, tmp_path: Path) -> None:
    """What cannot be checked ends with two. A file, a key or a ledger that is not there; no ledger is made by that."""
    release(run)
    for more in (["no.csv"], ["out.csv", "--key", "no.pem"], ["out.csv", "--ledger", "no.db"], ["out.csv", "--kee"]):
        done = run("verify", *more)
        assert done.code == 2, more
        assert done.err
    assert not (tmp_path / "no.db").exists()
    (tmp_path / "out.csv.certificate.json").unlink()
    done = run("verify", "out.csv")
    assert done.code == 1
    assert "certificate not found" in " ".join(done.out.split())


def test_revealing_columns_are_shown(run: Any, tmp_path: Path) -> None:
    """The certificate's warnings are shown whenever it is verified."""
    release(run, "--keep", "address")
    assert "Warning: the column address is released unchanged" in " ".join(run("verify", "out.csv").out.split())


def test_passphrases(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the environment, for programs; without it and without a terminal, the error tells where to put it."""
    refused = run("key", "create", "lab", "--passphrase")
    assert (refused.code, "GEOVEIL_KEY_PASSPHRASE" in refused.err) == (2, True)
    assert not (tmp_path / "lab.pem").exists()
    monkeypatch.setenv("GEOVEIL_KEY_PASSPHRASE", "correct horse")
    assert run("key", "create", "lab", "--passphrase").code == 0
    assert "ENCRYPTED" in (tmp_path / "lab.pem").read_text()
    release(run, "--sign", "lab.pem")
    for wrong in (None, "wrong horse"):
        if wrong is None:
            monkeypatch.delenv("GEOVEIL_KEY_PASSPHRASE")
        else:
            monkeypatch.setenv("GEOVEIL_KEY_PASSPHRASE", wrong)
        line = ["points", "trips.csv", "-o", "no.csv", *LOCAL, "--rho", "1e-3", "--sign", "lab.pem"]
        done = run(*line)
        assert done.code == 3
        assert "GEOVEIL_KEY_PASSPHRASE" in done.err or "passphrase is wrong" in done.err
        assert "horse" not in done.err
        assert not (tmp_path / "no.csv").exists()


def test_keys_are_not_overwritten(run: Any, tmp_path: Path) -> None:
    """Nor are they made with names that are paths; a signature needs a file."""
    assert run("key", "create", "lab").code == 0
    before = (tmp_path / "lab.pem").read_bytes()
    assert run("key", "create", "lab").code == 3
    assert (tmp_path / "lab.pem").read_bytes() == before
    assert run("key", "create", "../lab").code == 2
    done = run("hull", "trips.csv", *LOCAL, "--rho", "1e-2", "--sign", "lab.pem")
    assert (done.code, "--sign goes with -o" in done.err) == (2, True)


def test_no_private_key_shown(run: Any, tmp_path: Path) -> None:
    """Neither making a key nor giving the wrong one prints it."""
    done = [run("key", "create", "lab")]
    secret = (tmp_path / "lab.pem").read_text().splitlines()[1]
    done += [run("key", "show", "lab.pem"), run("key", "trust", "lab.pem"), release(run, "--sign", "lab.pem")]
    done += [run("verify", "out.csv", "--key", "lab.pem"), run("--debug", "verify", "out.csv", "--key", "lab.pem")]
    assert not any(secret in each.out + each.err for each in done)
    assert secret not in (tmp_path / "out.csv.certificate.json").read_text()


@pytest.mark.filterwarnings("always::geoveil.errors.GeoveilWarning")
def test_check_refuses_revealing_columns(run: Any, tmp_path: Path) -> None:
    """As a release with --keep all does, which refuses them and names both ways on."""
    table = pd.read_csv(tmp_path / "trips.csv")
    table.assign(a=table["latitude"], note="x").drop(columns="address").to_csv(tmp_path / "more.csv", index=False)
    found = json.loads(run("check", "more.csv", "--person", "user", *LOCAL, "--json").out)["findings"]
    (told,) = [line for line in found if "The column 'a'" in line["what"]]
    assert "its values look like latitudes of the area" in told["what"]
    assert "--keep a" in told["remedy"]
    line = ["points", "more.csv", "-o", "out.csv", "--person", "user", *LOCAL, "--rho", "1e-3"]
    refused = run(*line, "--keep", "all")
    assert refused.code == 2
    assert "'a': its values look like latitudes" in " ".join(refused.err.split())
    assert not (tmp_path / "out.csv").exists()
    named = run(*line, "--keep", "all", "--keep", "a")
    assert named.code == 0
    assert "note: The column 'a' is released unchanged, since it was named" in " ".join(named.err.split())
    assert "the column a is released unchanged, and its values look like latitudes" in " ".join(named.out.split())
    assert "note (named)" in " ".join(named.out.split())


def test_warnings_are_red(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With colours, the name and the text of the warning are red."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = release(run, "--keep", "address")
    assert "\x1b[1;31mwarning" in done.out.replace("\x1b[2m", "") or "\x1b[1;2;31mwarning" in done.out
    assert "\x1b[31mthe column address" in done.out


def test_unknown_files_end_three(run: Any, tmp_path: Path) -> None:
    """A ledger that recorded an answer and other files makes no success: the exit code is 3, and it says why."""
    run("budget", "create", "a.db", "all", "--rho", "1")
    charged = ["--ledger", "a.db", "--subject", "all", "--label", "may"]
    for name in ("first.geojson", "second.geojson"):
        assert run("hull", "trips.csv", "-o", name, *LOCAL, "--rho", "1e-4", *charged).code == 0
        assert run("verify", name, "--ledger", "a.db").code == 0
    with gv.Ledger(tmp_path / "a.db") as ledger:
        trips = gv.Locations(tmp_path / "trips.csv", area=LOCAL[1]).session(ledger=ledger, subject="all")
        pickle.loads(pickle.dumps(trips.hull(rho=1e-4))).to_file(tmp_path / "hull.geojson")
    done = run("verify", "hull.geojson", "--ledger", "a.db")
    assert done.code == 3
    said = " ".join(done.out.split())
    assert "not known ledger: Entry" in said
    assert "hull.geojson: NOT KNOWN to be as certified: ledger." in said
    assert run("verify", "hull.geojson").code == 0


@pytest.mark.slow
def test_existing_outputs_are_refused(run: Any, tmp_path: Path) -> None:
    """An output, a certificate or a map that exists is refused before a charge; --overwrite replaces all."""
    run("budget", "create", "a.db", "all", "--rho", "1")
    asked = ["points", "trips.csv", "-o", "out.csv", "--certificate", "told.json", "--report", "map.html"]
    asked += [*LOCAL, "--rho", "1e-4", "--yes", "--ledger", "a.db", "--subject", "all"]
    for name in ("out.csv", "told.json", "map.html"):
        (tmp_path / name).write_text("mine")
        done = run(*asked)
        assert done.code == 3
        assert f"{name}: it exists. Choose another name, or replace it with --overwrite." in done.err
        assert (tmp_path / name).read_text() == "mine"
        assert run("budget", "show", "a.db").out.count("0.0001") == 0
        (tmp_path / name).unlink()
    (tmp_path / "out.csv").write_text("mine")
    (tmp_path / "told.json").write_text("mine")
    assert run(*asked, "--overwrite").code == 0
    assert run("verify", "out.csv", "--certificate", "told.json", "--ledger", "a.db").code == 0
    assert not (tmp_path / "out.csv.certificate.json").exists()


def test_summaries_are_replaced(run: Any, tmp_path: Path) -> None:
    """The folder of a summary is replaced with --overwrite, as its refusal says, and verified as a whole."""
    asked = ["summary", "trips.csv", *LOCAL, "--rho", "1e-4", "-o", "sums"]
    assert run(*asked).code == 0
    names = {path.name for path in (tmp_path / "sums").iterdir()}
    assert len(names) == 6
    before = (tmp_path / "sums" / "center.geojson").read_bytes()
    refused = run(*asked)
    assert refused.code == 2
    assert "--overwrite" in refused.err
    assert (tmp_path / "sums" / "center.geojson").read_bytes() == before
    assert run(*asked, "--overwrite").code == 0
    assert (tmp_path / "sums" / "center.geojson").read_bytes() != before
    assert {path.name for path in (tmp_path / "sums").iterdir()} == names
    done = run("verify", "sums")
    assert done.code == 0
    assert done.out.count("as certified") == 3
    assert len(json.loads(run("verify", "sums", "--json").out)["files"]) == 3
    (tmp_path / "sums" / "radius.csv").write_text("forged")
    assert run("verify", "sums").code == 1
    (tmp_path / "sums" / "radius.csv").unlink()
    assert run("verify", "sums").code == 2
    (tmp_path / "other").write_text("a file")
    assert run(*asked[:-1], "other", "--overwrite").code == 2
