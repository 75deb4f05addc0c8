"""Logs of receivers: each fix is a row with its time."""

from __future__ import annotations

from functools import reduce
from operator import xor
from pathlib import Path

import pytest

import geoveil as gv
from geoveil.errors import InvalidFile
from geoveil.geo.formats import open_locations, targets


def rmc(minute: int, status: str = "A", *, wrong: int = 0) -> str:
    """A sentence with its checksum."""
    body = f"GPRMC,12{minute:02d}00.50,{status},5231.2000,N,01324.0000,W,0.5,54.7,010324,,"
    return f"${body}*{reduce(xor, body.encode()) ^ wrong:02X}\r\n"


@pytest.mark.parametrize("name", ["log.nmea", "log", "receiver.log", "log.txt"])
def test_nmea_is_read(name: str, tmp_path: Path) -> None:
    """Sentences with a fix and a right checksum are rows, with their date, whatever the name and the comments."""
    other = "$GPGGA,120000,5231.2,N,01324.0,W,1,08,0.9,545.4,M,46.9,M,,\r\n"
    (tmp_path / name).write_text(
        "# Name: a receiver\n#\n" + rmc(0) + other + rmc(1, "V") + rmc(2, wrong=1) + rmc(3), newline=""
    )
    frame = gv.Locations(tmp_path / name).frame()
    assert [*map(str, frame["time"])] == [f"2024-03-01 12:0{i}:00.500000+00:00" for i in (0, 3)]
    assert [*zip(frame.geometry.x, frame.geometry.y, strict=True)] == [(-13.4, 52.52)] * 2


@pytest.mark.parametrize("name", ["flight.igc", "flight"])
def test_igc_is_read(name: str, tmp_path: Path) -> None:
    """Fixes of a flight recorder are rows; past midnight they are of the next day."""
    fixes = "".join(f"B{clock}5231200N01324000EA0058700688\r\n" for clock in ("235900", "000100"))
    (tmp_path / name).write_text(f"AXXXABC FLIGHT:1\r\nHFDTEDATE:290224,01\r\n{fixes}", newline="")
    path = tmp_path / name
    frame = gv.Locations(path).frame()
    assert [*map(str, frame["time"])] == ["2024-02-29 23:59:00+00:00", "2024-03-01 00:01:00+00:00"]
    assert frame.geometry.y.tolist() == [52.52, 52.52]
    if path.suffix:
        assert targets(path)[0] == ".geojson"


def test_wrong_logs_are_refused(tmp_path: Path) -> None:
    """Logs without a fix, without a date, with impossible numbers or endless lines are refused with a message."""
    bad = {
        "none.nmea": rmc(1, "V"),
        "none.log": rmc(1, "V") * 2,
        "minute.nmea": rmc(0).partition("*")[0].replace("120000", "129900") + "\n",
        "long.nmea": "$GPRMC," * 2000,
        "undated.igc": "AXXX\nB1200005231200N01324000EA0058700688\n",
        "clock.igc": "AXXX\nHFDTE010324\nB1299005231200N01324000EA0058700688\n",
        "none.igc": "AXXX\nHFDTE010324\n",
    }
    for name, text in bad.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidFile, match=name) as refused:
            open_locations(tmp_path / name)
        assert "Rename" not in str(refused.value)
