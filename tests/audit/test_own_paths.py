"""Streams and the service keep what they claim, seen from outside: canaries go in, and places come out.

Noise in the service is the system's, so it is audited at a level of one in a billion. Each has a twin that is found.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.audit import Audit
from tests.audit import rules
from tests.audit.rules import Rule
from tests.serve.bodies import feature
from tests.serve.serving import now, running
from tests.systems import POSIX

pytestmark = pytest.mark.long

AREA = "37.77,-122.42,10km"
#: Minutes of a day at which a phone sends, from its beginning to its end.
MINUTES = range(0, 24 * 60 + 1, 10)


def audited(rule: Rule, folder: Path, level: float, canaries: int = 400) -> Audit:
    """The audit of a rule."""
    made, secret = folder / "canaries.csv", folder / "audit.json"
    rng = np.random.default_rng(4)
    gv.audit.make(made, secret=secret, hide=rules.HIDE, area=AREA, canaries=canaries, rng=rng)
    rule(pd.read_csv(made)).to_csv(folder / "released.csv", index=False)
    return gv.audit.read(folder / "released.csv", secret=secret, level=level)


def streamed(hide: float) -> Rule:
    """What streams know of each person after a day at one place."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        seen = []
        for number, row in enumerate(rows.itertuples()):
            rng = np.random.default_rng([5, number])
            stream = gv.Stream(hide=hide, protect="1 day", area="San Francisco", rng=rng)
            for minute in MINUTES:
                stream.update(1_777_881_600 + 60 * minute, lat=row.latitude, lon=row.longitude)
            seen.append(stream.now())
        return rows.assign(latitude=[each.lat for each in seen], longitude=[each.lon for each in seen])

    return rule


def served(hide: float, folder: Path) -> Rule:
    """What the service answers to each person after a day at one place, sent at once as an Overland queue."""
    rho = float(gv.CGP.hiding(distance=hide).rho)

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        folder.mkdir()
        path = folder / "geoveil.toml"
        head = f'[service]\nlisten = "127.0.0.1:0"\nledger = "{folder / "budget.db"}"\npublish = "every ping"\n'
        people = (
            f'[[person]]\nname = "{name}"\nrho = {rho!r}\nprotect = "1 day"\narea = "San Francisco"\n'
            f'[[person.device]]\nname = "phone"\n'
            for name in rows.person
        )
        path.write_text(head + "".join(people))
        path.chmod(0o600)
        seen, begin = [], now() - 86_400 - 60
        with running(path) as service:
            for row in rows.itertuples():
                place = row.latitude, row.longitude
                queue = {"locations": [feature(*place, begin + 60 * minute) for minute in MINUTES[:-1]]}
                assert service.ask("POST", "/overland", f"{row.person}/phone", json=queue).status_code == 200
                seen.append(service.ping(f"{row.person}/phone", begin + 86_400, place))
        return rows.assign(
            latitude=[each["place"]["lat"] for each in seen], longitude=[each["place"]["lon"] for each in seen]
        )

    return rule


def test_streams_keep_claims(tmp_path: Path) -> None:
    """A day of pings at one place gives away no more than the stream promises of any day."""
    found = audited(streamed(rules.HIDE), tmp_path, 0.01)
    assert found.persons == 400
    assert not found.found, found.verdict()


def test_loose_streams_are_found(tmp_path: Path) -> None:
    """A stream that hides a tenth of the distance is found."""
    assert audited(streamed(rules.HIDE / 10), tmp_path, 0.01).refuted


@POSIX
@pytest.mark.parametrize(("hide", "kept"), [(rules.HIDE, True), (rules.HIDE / 10, False)])
def test_service_keeps_claims(hide: float, kept: bool, tmp_path: Path, bits_of_the_system: Any) -> None:
    """What leaves a real server after a day of pings keeps the promise; a tenth of the distance is found."""
    found = audited(served(hide, tmp_path / "service"), tmp_path, 1e-9 if kept else 0.01, canaries=230)
    assert found.refuted != kept, found.verdict()
