"""A stream: which pings are used, what they cost, what is shown, and what is refused."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyproj
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import geoveil as gv
from geoveil.errors import BudgetError, InvalidData, InvalidParameter
from geoveil.geo.tangent import rounding
from geoveil.live import stream as stream_module
from geoveil.live.fences import FenceEvent
from geoveil.live.positions import microseconds_of
from geoveil.live.store import LedgerStore, MemoryStore
from geoveil.noise import Reals
from tests.live.streams import AREA, DAY, HOME, MICROSECONDS, START, Draws, answers, reopened, stream
from tests.systems import POSIX

#: Gaps between pings in seconds, and what happens: an ordinary ping, one in a zone, a late one, a repeated one, a
#: crash while an answer is drawn, and a restart.
HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1e-6, 1.0, 59.999999, 60.0, 61.5, 600.0, 3599.999999, 3600.0, 3600.000001, 9000.0]),
        st.sampled_from(["ping", "ping", "ping", "zone", "late", "again", "crash", "restart"]),
    ),
    min_size=1,
    max_size=40,
)


class Crash(Exception):
    """The end of a process between a charge and its answer."""


def live(happenings: list[tuple[float, str]], monkeypatch: pytest.MonkeyPatch) -> Draws:
    """Let a stream that protects any hour live through all of this; return what it drew."""
    with monkeypatch.context() as patch:
        draws = Draws(patch)
        one, time = stream(5e-4, "1 hour"), START * MICROSECONDS
        hidden = one.zone("37.9,-122.3")
        for gap, what in happenings:
            time += round(gap * MICROSECONDS)
            if what == "restart":
                one = reopened(one)
            elif what == "late":
                draws.update(one, time - 1_800_000_000)
            elif what == "zone":
                before = len(draws.drawn)
                draws.update(one, time, lat=hidden.lat, lon=hidden.lon)
                assert len(draws.drawn) == before
            elif what == "crash":
                with patch.context() as inner, pytest.raises(Crash) if one._schedule.offer(time) else patch.context():
                    inner.setattr(MemoryStore, "answer", _crash)
                    draws.update(one, time)
                one = reopened(one)
            else:
                draws.update(one, time)
                if what == "again":
                    draws.update(one, time, lat=37.0, lon=-122.0)
    return draws


def _crash(*_: Any) -> None:
    raise Crash


ANYTHING = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


@pytest.mark.slow
@ANYTHING
@given(HAPPENINGS)
def test_stretches_keep_their_budget(monkeypatch: pytest.MonkeyPatch, happenings: list[tuple[float, str]]) -> None:
    """Late and repeated pings, crashes and restarts included: noise, not the account, is what is added up."""
    live(happenings, monkeypatch).check(Decimal("5e-4"), DAY // 24 * MICROSECONDS)


#: Pings every minute for some hours, then at the ends of stretches: what an off-by-one would need.
BUSY = [(60.0, "ping")] * 90 + [(600.0, "ping"), (0.0, "late"), (60.0, "crash"), (60.0, "again")] * 10


def test_crash_costs_one_ping() -> None:
    """A ping that was charged and never answered is not answered later, and its budget is spent."""
    one = stream()
    one.update(START, **HOME)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryStore, "answer", _crash)
        with pytest.raises(Crash):
            one.update(START + 60, **HOME)
    spent = one._schedule.accounts[0].spent
    seen = one.update(START + 60, **HOME)
    assert (seen.time, seen.age) == (datetime.fromtimestamp(START, UTC), 60.0)
    assert one._schedule.accounts[0].spent == spent
    assert [each.time for each in answers(one)] == [START * MICROSECONDS]


@pytest.mark.parametrize(
    ("time", "microseconds"),
    [
        ("2026-05-04T08:00:00.0000009Z", 0),
        (pd.Timestamp("2026-05-04T08:00:00.000000999Z"), 0),
        (START + 0.00000095, 0),
        (np.float64(START + 0.00000095), 0),
        (np.int64(START), 0),
        (np.longdouble(START) + np.longdouble("1.9e-6"), 1),
        ("2026-05-04T10:00:00.0000019+02:00", 1),
        (Fraction(-1, 2**22) + 0.0, -START * MICROSECONDS - 1),
        ("1969-12-31T23:59:59.9999999Z", -START * MICROSECONDS - 1),
    ],
)
def test_times_are_rounded_down(time: Any, microseconds: int) -> None:
    """However they are given: otherwise two pings of one stretch could be a microsecond farther apart than it is."""
    assert microseconds_of(time) == START * MICROSECONDS + microseconds


def test_times_are_taken_exactly() -> None:
    """A time is the same as a datetime in any zone, as a text, and in seconds."""
    one = stream()
    at = datetime(2026, 5, 4, 8, 0, 0, 250_000, tzinfo=UTC)
    seen = one.update(at, **HOME)
    assert seen.time == at
    zone = timezone(timedelta(hours=2))
    for again in (at.astimezone(zone), "2026-05-04T10:00:00.25+02:00", at.timestamp()):
        assert one.update(again, **HOME) == one.now(at).__class__(**{**vars(seen), "new": False})
    assert len(answers(one)) == 1


@pytest.mark.parametrize(
    "time",
    [
        "2026-05-04T08:00:00",
        "2026-05-04T08:00:00+00:00:00.0000009",
        "soon",
        datetime(2026, 5, 4),
        None,
        True,
        math.nan,
        1e300,
    ],
)
def test_uncertain_times_are_refused(time: Any) -> None:
    """A time without a zone, or that is none, is refused, and nothing is charged."""
    one = stream()
    with pytest.raises(InvalidParameter, match=r"time = .*2026-05-04T08:30:00Z"):
        one.update(time, **HOME)
    assert not answers(one)
    one.update("2026-05-04T08:30:00Z", **HOME)


def test_future_fixes_are_refused() -> None:
    """A fix from the future would make all later ones late."""
    one, ahead = stream(), datetime.now(UTC) + timedelta(hours=1)
    with pytest.raises(InvalidParameter, match="ten minutes ahead"):
        one.update(ahead, **HOME)
    assert one.update(START, **HOME).new


def test_set_back_clocks_are_late() -> None:
    """Pings from before the last one are answered with what is known, until the clock has caught up."""
    one = stream()
    last = one.update(START + 3600, **HOME)
    for back in (3599, 60, 0, -59):
        seen = one.update(START + 3600 - back, lat=37.0, lon=-122.0)
        assert (seen.lat, seen.lon, seen.time, seen.new) == (last.lat, last.lon, last.time, False)
    assert len(answers(one)) == 1
    assert one.update(START + 3660, **HOME).time != last.time


def test_first_ping_wins() -> None:
    """Of two pings at one time, at two places, the first is answered; one place at two times is two pings."""
    one = stream(rho=5e-2)
    first = one.update(START, **HOME)
    assert one.update(START, lat=37.6, lon=-122.3).lat == first.lat
    one.update(START + 60, **HOME)
    one.update(START + 120, **HOME)
    assert [each.time // MICROSECONDS - START for each in answers(one)] == [0, 60, 120]


@pytest.mark.slow
def test_old_queues_are_cheap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """100 000 old pings at once draw nothing, charge nothing and do not even ask the database."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=5e-5, protect="1 day")
    one = stream(ledger=ledger, subject="ann")
    last = one.update(START, **HOME)
    for name in ("_run", "charge", "answer"):
        monkeypatch.setattr(LedgerStore, name, _crash)
    before = one._schedule.accounts[0].spent
    seen = {one.update(START - 6.0 * back, **HOME) for back in range(100_000)}
    assert seen == {replace(last, new=False)}
    assert one._schedule.accounts[0].spent == before


@pytest.mark.parametrize(("lat", "lon"), [(91, 0), (0, 361), (math.nan, 0), (None, 0), ("north", 0), (0, math.inf)])
def test_bad_places_are_refused(lat: Any, lon: Any) -> None:
    """What is no latitude and longitude is refused before anything is charged."""
    one = stream()
    with pytest.raises(InvalidData, match="lat, lon"):
        one.update(START, lat=lat, lon=lon)
    assert one._schedule.accounts[0].spent == 0


#: The latitude south of the area, on its meridian, beyond which the Earth is on its far side.
LIMB = -52.23
OPPOSITE = (-37.77, 57.58)


@pytest.mark.parametrize(
    ("lat", "lon"),
    [(37.0, -121.0), (48.2, 16.4), (-90, 0), (90, 0), *((LIMB + d * 1e-5, -122.42) for d in range(-3, 4)), OPPOSITE],
)
def test_every_place_is_answered(lat: float, lon: float) -> None:
    """A ping from another continent, either side of the limb, or the far side of the Earth costs the same."""
    one = stream(rho=5e-1)
    one.update(START, lat=lat, lon=lon)
    (answer,) = answers(one)
    assert one._schedule.accounts[0].spent == 600 * MICROSECONDS
    edge = 0.0 if (lat, lon) == OPPOSITE else AREA.radius
    # At the opposite point the vertical of an ellipsoid misses the centre of the Earth.
    assert math.hypot(answer.x, answer.y) == pytest.approx(edge, abs=45_000 if edge == 0 else 6 * answer.scale)


def entered_apart() -> float:
    """The largest ratio of the distance of two entered places to that on the ground, by the side of the Earth."""
    rng, one, earth = np.random.default_rng(1), stream(), pyproj.Geod(ellps="WGS84")
    limb = [LIMB + 10 ** rng.uniform(-7, -1) * sign for sign in (-1, 1) for _ in range(50)]
    starts = [(-122.42, lat) for lat in limb]
    for far in [*rng.uniform(0, 2e7, 150), *rng.uniform(1.99e7, 2.0004e7, 150), *rng.uniform(49_900, 50_100, 50)]:
        starts.append(earth.fwd(-122.42, 37.77, rng.uniform(0, 360), far)[:2])
    worst = 0.0
    for lon, lat in starts:
        other = earth.fwd(lon, lat, rng.uniform(0, 360), 10 ** rng.uniform(-1, 6))
        places = [one._entered(x, y).values[0] for x, y in ((lon, lat), other[:2])]
        ground = earth.inv(lon, lat, *other[:2])[2]
        worst = max(worst, (math.hypot(*(places[0] - places[1])) - 2 * rounding(AREA.radius)) / ground)
    return worst


def test_entering_never_separates(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two places are entered farther apart.

    Anywhere on Earth, as on the ground; moving the far side to the edge would tear places apart.
    """
    assert entered_apart() <= 1 + 1e-9

    def pushed(points: Reals, radius: float) -> Reals:
        values = points.values * radius / np.hypot(*points.values.T)[:, None]
        return replace(points, values=values)

    monkeypatch.setattr(stream_module, "clamp_to_disc", pushed)
    assert entered_apart() > 1.5


def test_noise_follows_elapsed_time() -> None:
    """The variance is (T + c)/(2ρh) for a ping h after the last, at most c = 10 minutes: never less."""
    one = stream()
    for after in (0, 60, 180, 400, 2000):
        one.update(START + after, **HOME)
    for answer, passed in zip(answers(one), (600, 60, 120, 220, 600), strict=True):
        exactly = Fraction(87_000) / (2 * Fraction("5e-5") * passed)
        assert 1 <= Fraction(answer.scale) ** 2 / exactly < 1 + Fraction(1, 10**9)


@pytest.mark.statistical
@pytest.mark.slow
def test_noise_has_stated_scale() -> None:
    """Released minus true is normal with the stated scale; noise that is 10% smaller would be noticed."""
    one = stream(every="1 s")
    tangent = AREA.tangent
    assert tangent is not None
    for second in range(1500):
        one.update(START + second, **HOME)
    ((x, y),) = tangent.forward(np.array([[HOME["lon"], HOME["lat"]]]), AREA.radius).values
    z = np.array([[(each.x - x) / each.scale, (each.y - y) / each.scale] for each in answers(one)])
    square, freedom = float(np.square(z).sum()), z.size
    assert abs(square - freedom) < 5 * math.sqrt(2 * freedom)
    assert abs(square * 0.81 - freedom) > 5 * math.sqrt(2 * freedom)


def test_the_published_place_rests() -> None:
    """It changes now and then while the person stays, and soon after they leave; then it is near them."""
    one = stream(rho=5e-3, rng=np.random.default_rng(4))
    stay = [one.update(START + 60 * minute, **HOME) for minute in range(300)]
    assert sum(seen.new for seen in stay[60:]) < 12
    places = {(seen.lat, seen.lon) for seen in stay}
    assert len(places) == sum(seen.new for seen in stay)
    away = [one.update(START + 60 * minute, lat=37.7793, lon=-122.30) for minute in range(300, 400)]
    assert any(seen.new for seen in away[:15])
    assert abs(away[-1].lon + 122.30) < 0.02


def test_remaining_budget_is_exact() -> None:
    """What is left of the present stretch is the promise less what was spent, and all of it after a pause."""
    one = stream()
    first = one.update(START, **HOME)
    assert float(first.remaining) == pytest.approx(5e-5 * 86_400 / 87_000)
    later = one.update(START + DAY + 1, **HOME).remaining
    assert float(later) == pytest.approx(5e-5 - 1 / (2 * answers(one)[-1].scale ** 2))


def test_looking_ahead_is_free() -> None:
    """Looking ahead changes nothing, and the radius grows with the time without a ping."""
    one = stream(rho=5e-3)
    for minute in range(60):
        one.update(START + 60 * minute, **HOME)
    before = one._belief.filter.state()
    radii = [one.now(START + 3600 * hours).radius_95 for hours in (1, 2, 6)]
    assert radii == sorted(radii)
    assert one._belief.filter.state() == before
    assert one.now() == one.now(START)


def test_position_before_pings() -> None:
    """The position is the middle of the area, with a radius as wide as the area."""
    seen = stream().now()
    assert (round(seen.lat, 6), round(seen.lon, 6), seen.time, seen.age) == (37.77, -122.42, None, math.inf)
    assert seen.radius_95 > AREA.radius
    assert seen.remaining == Decimal("0.00005")


def test_threads_share_a_stream() -> None:
    """Threads that send at once get one answer for each time."""
    one = stream(every="1 s")
    threads = [
        threading.Thread(target=lambda: [one.update(START + second, **HOME) for second in range(40)]) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    times = [each.time for each in answers(one)]
    assert times == sorted(set(times))


@POSIX
def test_forks_cannot_spend() -> None:
    """A stream in memory refuses to go on in a forked process."""
    one = stream()
    one._store._process = (0, b"another")  # type: ignore[attr-defined]
    with pytest.raises(BudgetError, match="ledger="):
        one.update(START, **HOME)


@pytest.mark.slow
def test_several_promises_are_kept() -> None:
    """A limit for any week binds where days would allow more, and the stream goes on."""
    one = stream(5e-5, "1 hour", within={"1 day": 2e-4}, every="10 min")
    for each in range(3 * 144):
        one.update(START + 600 * each, **HOME)
    told = [(each.time, 1 / (2 * Fraction(each.scale) ** 2)) for each in answers(one)]
    assert len(told) == 3 * 144
    last = sum(cost for at, cost in told if at >= told[-1][0] - DAY * MICROSECONDS)
    assert Fraction("1.5e-4") < last < Fraction("2e-4")
    assert [each.metric.name for each in one.guarantees] == ["1 hour", "1 day"]


def test_card_states_a_year() -> None:
    """The card states how well a home is known after a year: less well if the year has a limit."""
    assert "a year at one place  tells it to within 5.24 m" in repr(stream())
    assert stream(within={"365 days": 2e-3}).repeated() == pytest.approx(1 / math.sqrt(2 * 2e-3))


def test_units_of_time_are_required() -> None:
    """A number of days would be taken for seconds, after which nothing is known yet."""
    untyped: Any = stream()
    with pytest.raises(InvalidParameter, match='Write its unit, such as "365 days"'):
        untyped.repeated(365)
    assert stream().repeated("365 days") == stream().repeated(timedelta(days=365))


def test_swapped_times_are_refused() -> None:
    """A track that ends before it begins is refused; swapped it is returned."""
    one = stream()
    with pytest.raises(InvalidParameter, match="Swap them"):
        one.track(START + 60, START)
    assert len(one.track(START, START + 60)) == 0


def test_unnamed_degrees_are_refused() -> None:
    """Degrees that are not named may be swapped; truth values are no degrees."""
    one: Any = stream()
    with pytest.raises(TypeError, match=r"by name\. Its arguments are time, lat, lon"):
        one.update(START, 37.77, -122.4)
    places: list[Any] = [{"lat": True, "lon": 0.0}, {"lat": 0.0, "lon": np.True_}]
    for place in places:
        with pytest.raises(InvalidData, match="lat, lon"):
            one.update(START, **place)


def test_fences_are_crossed() -> None:
    """A disc and a polygon around the home tell once each that it was left, and that it was entered again."""
    one = stream(rho=5e-2, rng=np.random.default_rng(3))
    one.update(START, **HOME)
    disc = one.fence("37.7793,-122.4193,500m", name="home")
    box = one.fence(shapely.box(-122.43, 37.77, -122.41, 37.79))
    seen: list[FenceEvent] = []
    for minute in range(1, 200):
        away = 0.1 if 60 <= minute < 120 else 0.0
        seen += one.update(START + 60 * minute, lat=HOME["lat"], lon=HOME["lon"] + away).events
    told = [(each.fence, each.entered) for each in seen]
    assert [entered for name, entered in told if name == "home"] == [False, True]
    assert [entered for name, entered in told if name == "fence 2"] == [False, True]
    assert disc.inside
    assert box.inside
    assert seen[0].time == datetime.fromtimestamp(START + 3600, UTC)


def test_fences_wait_for_evidence() -> None:
    """As long as it is neither likely nor unlikely, a fence says neither, and makes no event."""
    fence = stream().fence("37.77,-122.42,60km")
    assert fence.inside is None
    assert 0.3 < fence.chance < 0.7


@pytest.mark.slow
def test_track_beats_live_view() -> None:
    """Yesterday's track is smoothed from what was released, and cut to the time asked for."""
    one = stream(rho=5e-4, rng=np.random.default_rng(5))
    true, seen = [], []
    for minute in range(240):
        lon = HOME["lon"] + 0.003 * min(max(minute - 100, 0), 30)
        true.append(lon)
        one.update(START + 60 * minute, lat=HOME["lat"], lon=lon)
        seen.append(one.now().lon)
    track = one.track(since=START + 3600)
    assert len(track) == 180
    off = [
        float(np.mean(np.square(np.array(each[60:]) - true[60:])))
        for each in (seen, [0] * 60 + list(track.geometry.x))
    ]
    assert off[1] < 0.6 * off[0]
    assert len(one.track(until=START - 1)) == 0


@pytest.mark.parametrize(
    ("given", "message", "remedy"),
    [
        ({"protect": "point"}, "protect = 'point'", {"protect": "1 day"}),
        ({"protect": "day one"}, 'such as "1 day": a stream has no end', {"protect": "1 day"}),
        ({"protect": None}, 'such as "1 day"', {"protect": "1 day"}),
        ({"within": {"year one": 1e-3}}, "within = 'year one'", {"within": {"365 days": 1e-3}}),
        ({"rho": None}, "exactly one of them", {"rho": 5e-5}),
        ({"hide": 200}, "exactly one of them", {"rho": None, "hide": 200}),
        ({"motion": "walking"}, "'person' or 'vehicle'", {"motion": "person"}),
        ({"area": 32610}, "a disc", {"area": AREA}),
        ({"within": {"1 hour": 1e-3}}, "longer than 1 day", {"within": {"365 days": 1e-3}}),
        ({"subject": "ann"}, "both or neither", {"subject": None}),
    ],
)
def test_refusals_name_the_allowed(given: dict[str, Any], message: str, remedy: dict[str, Any]) -> None:
    """Each refusal says what is allowed, and that is accepted."""
    asked: dict[str, Any] = {"rho": 5e-5, "protect": "1 day", "area": AREA}
    with pytest.raises(InvalidParameter, match=message):
        gv.Stream(**{**asked, **given})
    gv.Stream(**{**asked, **given, **remedy})


def test_fences_need_regions() -> None:
    """A text that is no disc, or an empty polygon, is refused."""
    one = stream()
    regions: list[Any] = [shapely.Polygon(), 7, 32610]
    for region in regions:
        with pytest.raises(InvalidParameter, match="a disc or a polygon"):
            one.fence(region)
    one.fence(gv.local(lat=37.78, lon=-122.42, radius=300))


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ("37.7793,-122.4193", "37.7793,-122.4193,500m"),
        ("-122.4193,37.7793,200m", "37.7793,-122.4193,200m"),
        ("37.7793, -122.4193, -5m", "37.7793,-122.4193,500m"),
        ("the hall", "37.78,-122.42,500m"),
    ],
)
def test_mistyped_fences_name_remedies(given: str, remedy: str) -> None:
    """The error is about the region, and the disc that it names is accepted."""
    with pytest.raises(InvalidParameter, match=r"^region = ") as told:
        stream().fence(given)
    assert f'"{remedy}"' in str(told.value)
    assert "city" not in str(told.value)
    assert repr(stream().fence(remedy, name="hall")).startswith("Fence('hall', inside=None, chance=0.")


def test_fences_elsewhere_are_refused() -> None:
    """A region outside of the area, as a swapped polygon is, would never be entered; one that meets it may be."""
    box = shapely.box(-122.43, 37.77, -122.41, 37.79)
    swapped = shapely.transform(box, lambda of: of[:, ::-1])
    places: list[Any] = [swapped, shapely.box(8.5, 47.3, 8.6, 47.4), "47.37,8.54,5km", "38.5,-122.42,5km"]
    for region in [*places, "-37.8,57.6,5km"]:
        with pytest.raises(InvalidParameter, match="meets the area of the stream, 50 km around"):
            stream().fence(region)
    stream().fence("38.25,-122.42,5km")
    one = stream()
    one.fence(box, name="hall")
    one.fence(box, name="hall")
    others: list[Any] = ["37.78,-122.42,500m", shapely.box(-122.43, 37.77, -122.41, 37.80)]
    for region in others:
        with pytest.raises(InvalidParameter, match="no other fence has"):
            one.fence(region, name="hall")


def one_early(patch: pytest.MonkeyPatch) -> None:
    """Costs leave the account a microsecond early, and pings may cost more than time has passed."""
    from geoveil.live.account import SlidingAccount

    def left(account: SlidingAccount, time: int) -> int:
        while account._held and account._held[0][0] <= time - account.stretch:
            account.spent -= account._held.popleft()[1]
            account.active = account.stretch
        return account.capacity - account.spent

    patch.setattr(SlidingAccount, "left", left)
    patch.setattr(stream_module, "mechanism_of", _whole_budget)


def _whole_budget(guarantee: gv.CGP, capacity: int, cost: int) -> Any:
    from geoveil.mechanisms import Gaussian

    return Gaussian(gv.CGP(rho=guarantee.rho * cost / (capacity - 600 * MICROSECONDS), metric=guarantee.metric), 2)


def charge_after_draw(patch: pytest.MonkeyPatch) -> None:
    """An answer is drawn, and charged only then."""
    right = MemoryStore.charge
    waiting: list[Any] = []

    def charge(store: MemoryStore, number: int, paid: Any) -> bool:
        waiting.append((number, paid))
        return True

    patch.setattr(MemoryStore, "charge", charge)
    patch.setattr(MemoryStore, "answer", lambda store, number, *_: right(store, *waiting.pop()) and None)


def dedupe_by_place(patch: pytest.MonkeyPatch) -> None:
    """A ping is a repetition if its place is that of an earlier one, not if its time is."""
    from geoveil.live.schedule import Paid, Schedule

    def offer(schedule: Schedule, time: int) -> Paid:
        return Paid(time, MICROSECONDS, MICROSECONDS)

    patch.setattr(Schedule, "offer", offer)
    patch.setattr(Schedule, "pay", lambda schedule, paid: schedule._note(paid.time))


def restart_forgets(patch: pytest.MonkeyPatch) -> None:
    """A process that goes on takes over what was answered, and not what was spent."""
    from geoveil.live.schedule import Schedule

    patch.setattr(Schedule, "restore", lambda *_: None)


def crash_refunds(patch: pytest.MonkeyPatch) -> None:
    """A ping that was charged and not answered is charged and answered again."""
    right = MemoryStore.load

    def load(store: MemoryStore, *stretches: Any) -> Any:
        answered = {each.time for each in store._answers}
        store._paid = [paid for paid in store._paid if paid.time in answered]
        return right(store, *stretches)

    patch.setattr(MemoryStore, "load", load)


BUGS = [one_early, charge_after_draw, dedupe_by_place, restart_forgets, crash_refunds]
RESTARTS = [
    (60.0, "ping"),
    (600.0, "restart"),
    (0.0, "again"),
    (60.0, "crash"),
    (0.0, "ping"),
    (0.0, "late"),
    (60.0, "zone"),
] * 12


@pytest.mark.slow
@pytest.mark.parametrize("plant", [None, *BUGS], ids=lambda plant: plant.__name__ if plant else "none")
def test_planted_bugs_are_caught(monkeypatch: pytest.MonkeyPatch, plant: Any) -> None:
    """What is looked at from outside of the account shows each bug, and nothing without one."""

    def check() -> None:
        for happenings in (BUSY, RESTARTS):
            live(happenings, monkeypatch).check(Decimal("5e-4"), DAY // 24 * MICROSECONDS)

    if plant is None:
        check()
        return
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check()
