"""A stream of live locations that stays private."""

from __future__ import annotations

import math
import threading
import time as clock
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from geoveil._types import Hide, Region, Rho
from geoveil._types import Path as PathLike
from geoveil.errors import InvalidParameter, LedgerError, Message
from geoveil.geo.areas import Area, AreaLike, area_of
from geoveil.geo.tangent import Tangent, clamp_to_disc
from geoveil.host.arithmetic import steady
from geoveil.live.belief import Belief
from geoveil.live.fences import Fence, FenceEvent, in_plane
from geoveil.live.positions import LivePosition, When, degrees_of, instant_of, microseconds_of
from geoveil.live.promises import concentrated, limit, mechanism_of, refuse_budgets, stretch_metric, stretch_of
from geoveil.live.schedule import Paid, Schedule
from geoveil.live.store import LedgerStore, MemoryStore, ReleasedPing, StreamStore
from geoveil.live.tracks import track_of
from geoveil.live.zones import StreamZone, ZoneGroup, drawn_zone, groups_of, zone_at
from geoveil.movement.habits import PERSON, VEHICLE, Habits
from geoveil.noise import Reals, source_of
from geoveil.privacy import CGP, Duration, as_duration, exact
from geoveil.privacy.durations import MICROSECONDS, duration_words
from geoveil.settings.other_names import foreign_names_refused
from geoveil.text.cards import Card, Rows
from geoveil.text.words import metres

if TYPE_CHECKING:
    import geopandas

    from geoveil.budget.ledger import Ledger
    from geoveil.zones import Near, PlacesLike, Zone

__all__ = ["Stream"]

_HABITS = {"person": PERSON, "vehicle": VEHICLE}
#: Pings from times later than this after the clock of this machine, in seconds, are refused: all later pings of a
#: stream that has seen one would be late.
_AHEAD = 600
#: Pings after which the whole state of a stream is stored; a process that opens it learns the rest again.
_CHECKPOINT = 64
#: Attempts to charge a ping while other processes charge the same stream.
_ATTEMPTS = 20
#: Microseconds after a ping in a zone for which somebody is taken to be in it still.
_STAYS = 600 * MICROSECONDS
_DAY = 86_400 * MICROSECONDS


class Stream(Card):
    """Live locations of one person, under one promise: any stretch of time of a given length costs at most a budget.

    Every ping is answered with noise whose budget follows the time since the last ping. What was released is then
    filtered, which is free, and several times as accurate as the noise.

    Parameters
    ----------
    hide, rho : optional
        How much; exactly one of them.
    protect : str or timedelta
        The length of time that is protected, such as "1 day": any stretch of this length, beginning at any moment.
    area : Area, str
        Where the person may be, from public knowledge: a disc such as `gv.local(...)`, or the name of a city. Pings
        from outside are moved to its edge.
    within : dict, optional
        Further limits, each the `rho` of a longer stretch of time, such as {"365 days": 2e-3}. All are kept.
    motion : {"person", "vehicle"}
        How they move, from public knowledge.
    every : str or timedelta
        Pings that come sooner after the last are not used; the accuracy hardly depends on it.
    ledger : Ledger, optional
        Keeps the stream, so that it survives the process. By default it is kept in memory, and ends with it.
    subject : str, optional
        The account in the ledger that pays, once, when the stream is opened; also the name of the stream there.
    outside : {"noisy", "precise"}
        What is shown outside of zones. "precise" shows true places as they are and promises nothing about them: then
        there is no budget, no `protect` and no ledger, and at least one zone must be declared.
    rng : numpy.random.Generator, optional
        For tests and experiments only; then there is no promise.

    Notes
    -----
    If the budgets of all releases whose inputs are in any stretch of this length add up to at most ρ, whatever was
    answered before, then the whole endless stream is ρ-CGP under the metric of such stretches
    (docs/understand/live.md has the proof).

    A promise for any day does not protect what is repeated every day: whoever keeps the releases of a year at one home
    can average them. `repr` says how well.

    Examples
    --------
    >>> stream = gv.Stream(rho=5e-5, protect="1 day", area=bay)
    >>> first = stream.update("2026-05-04T08:00:00Z", lat=37.7793, lon=-122.4193)
    >>> first.new, first.age, first.time.isoformat()
    (True, 0.0, '2026-05-04T08:00:00+00:00')
    >>> stream.update("2026-05-04T08:00:20Z", lat=37.7793, lon=-122.4193).age   # too soon: nothing is drawn
    20.0
    >>> stream.guarantee
    CGP(rho=5e-05, metric='1 day')
    """

    def __init__(
        self,
        *,
        hide: Hide = None,
        rho: Rho = None,
        protect: str | timedelta | None = None,
        area: AreaLike,
        within: Mapping[str, Rho] | None = None,
        motion: Literal["person", "vehicle"] = "person",
        every: Duration = "1 min",
        ledger: Ledger | None = None,
        subject: str | None = None,
        outside: Literal["noisy", "precise"] = "noisy",
        rng: np.random.Generator | None = None,
    ) -> None:
        if outside not in ("noisy", "precise"):
            raise InvalidParameter("outside", outside, "'noisy' or 'precise'", "Leave it out for noise.")
        self._promised: CGP | None = None
        self.limits: tuple[CGP, ...] = ()
        if outside == "precise":
            refuse_budgets(hide=hide, rho=rho, protect=protect, within=within, ledger=ledger, subject=subject)
        else:
            self._promised = concentrated(hide, rho, stretch_metric("protect", protect))
            self.limits = tuple(limit(self._promised, name, given) for name, given in (within or {}).items())
        self.area = area_of(area)
        if self.area.disc is None:
            remedy = Message("Give {area:gv.local}, which takes in pings from any distance.")
            raise InvalidParameter("area", self.area.name, "a disc", remedy)
        if motion not in _HABITS:
            raise InvalidParameter("motion", motion, "'person' or 'vehicle'", "Say who is followed.")
        self._motion = motion
        self._habits = _habits(motion, self.area)
        self._every = as_duration("every", every)
        self._source = source_of(rng)
        self._fences: list[Fence] = []
        #: The zones by their ids.
        self._zones: dict[str, StreamZone] = {}
        #: The groups of those that meet, and the group of each by its id.
        self._discs: list[ZoneGroup] = []
        self._groups: dict[str, ZoneGroup] = {}
        self._lock = threading.Lock()
        #: Whether what this process believes may differ from what is stored, so that it must be loaded again.
        self._doubtful = True
        if (ledger is None) != (subject is None):
            remedy = Message("Give both {ledger} and {subject}, or neither to keep the stream in memory.")
            raise InvalidParameter("ledger, subject", (ledger, subject), "both or neither", remedy)
        if ledger is None or subject is None:
            self._store: StreamStore = MemoryStore()
        else:
            self._store = LedgerStore(ledger, subject, self._promise(), self.guarantees)
        #: The place of the plane that was converted last, and where it is on Earth: the published one rarely changes.
        self._located = (math.nan, math.nan), (math.nan, math.nan)
        self._load()

    @property
    def guarantee(self) -> CGP:
        """The promise of `protect`.

        Examples
        --------
        >>> gv.Stream(rho=5e-5, protect="1 day", area=bay).guarantee
        CGP(rho=5e-05, metric='1 day')
        """
        if self._promised is None:
            remedy = "Look at its zones: outside of them nothing is promised."
            raise InvalidParameter("outside", "precise", "'noisy' where a guarantee is asked for", remedy)
        return self._promised

    @property
    def guarantees(self) -> tuple[CGP, ...]:
        """All promises of the stream: that of `protect`, and those of `within`.

        Examples
        --------
        >>> stream = gv.Stream(rho=5e-5, protect="1 day", area=bay, within={"365 days": 2e-3})
        >>> stream.guarantees[1]
        CGP(rho=0.002, metric='365 days')
        """
        return () if self._promised is None else (self._promised, *self.limits)

    @foreign_names_refused
    @steady()
    def update(self, time: When, *, lat: float, lon: float) -> LivePosition:
        """Take in a ping, and return what the world may see now.

        A ping that is late, repeated, or too soon after the last one is not used: nothing is drawn, and the position
        is the present one. Which pings are used depends on their times alone.

        Parameters
        ----------
        time : datetime, str or float
            The time of the fix: with a time zone, or in seconds since 1970.
        lat, lon : float
            The true place in degrees.

        Examples
        --------
        >>> stream = gv.Stream(rho=5e-4, protect="1 day", area=bay)
        >>> times = [1_777_881_600 + 60.0 * minute for minute in range(30)]
        >>> seen = [stream.update(time, lat=37.7793, lon=-122.4193) for time in times]
        >>> seen[-1].radius_95 < seen[0].radius_95
        True
        >>> stream.update(times[3], lat=37.7793, lon=-122.4193) == stream.update(times[-1], lat=37.0, lon=-122.0)
        True
        """
        at = microseconds_of(time)
        if at > (clock.time() + _AHEAD) * MICROSECONDS:
            remedy = "The device's clock is wrong: correct it, or leave the ping out."
            raise InvalidParameter("time", time, "at most ten minutes ahead of this machine's clock", remedy)
        degrees = degrees_of(lat, lon)
        if self._promised is None and not self._zones:
            remedy = "Hide one first: stream.zone(place, hide=200)."
            raise InvalidParameter("outside", "precise", "a stream in which at least one place is hidden", remedy)
        with self._lock:
            for _ in range(_ATTEMPTS):
                if self._doubtful:
                    self._load()
                used = self._schedule.takes(at)
                inside = zone_at(self._discs, *degrees) if used else None
                free = Paid(at, 0, 0) if used else None
                paid = free if inside is not None or self._promised is None else self._schedule.offer(at)
                if paid is None:
                    return self._seen(at)
                place = self._entered(*degrees) if inside is None else inside
                self._doubtful = True
                if self._store.charge(self._number + 1, paid):
                    return self._answer(paid, place)
            raise LedgerError("Other processes keep charging the stream.", "Let one process update it.")

    def now(self, time: When | None = None) -> LivePosition:
        """Return the best estimate for a time, which is free and changes steadily, unlike the published place.

        Parameters
        ----------
        time : datetime, str or float, optional
            Not before the last ping that was answered; by default its time. For ten minutes after a ping in a zone the
            estimate is its disc.

        Examples
        --------
        >>> stream = gv.Stream(rho=5e-4, protect="1 day", area=bay)
        >>> _ = stream.update("2026-05-04T08:00:00Z", lat=37.7793, lon=-122.4193)
        >>> soon, later = stream.now(), stream.now("2026-05-04T09:00:00Z")
        >>> soon.radius_95 < later.radius_95, later.age
        (True, 3600.0)
        """
        with self._lock:
            if self._doubtful:
                self._load()
            at = self._belief.answered if time is None else microseconds_of(time)
            if self._belief.zone is not None and (at is None or at <= (self._belief.answered or 0) + _STAYS):
                return self._seen(at)
            x, y, radius = self._belief.ahead(at)
            lat, lon = self._on_earth(x, y)
            radius = self.area.ground(radius)
            return replace(self._seen(at), lat=lat, lon=lon, radius_95=radius, zone=None)

    def track(self, since: When | None = None, until: When | None = None) -> geopandas.GeoDataFrame:
        """Return the track of a time that has passed, smoothed from what was released; it is free.

        It is about twice as accurate as what could be seen at the time, as later pings tell about earlier places.

        Parameters
        ----------
        since, until : datetime, str or float, optional
            The beginning and the end; by default those of the stream.

        Returns
        -------
        geopandas.GeoDataFrame
            A row for each ping that was answered: `time`, `radius_95` and the place, in longitude and latitude. In a
            zone that is its centre, with its radius.

        Examples
        --------
        >>> stream = gv.Stream(rho=5e-4, protect="1 day", area=bay)
        >>> for minute in range(30):
        ...     _ = stream.update(1_777_881_600 + 60.0 * minute, lat=37.7793, lon=-122.4193)
        >>> track = stream.track(until=1_777_881_600 + 600.0)
        >>> len(track), track.columns.tolist(), track.crs.to_epsg()
        (11, ['time', 'radius_95', 'geometry'], 4326)
        """
        low = -(2**62) if since is None else microseconds_of(since)
        high = 2**62 if until is None else microseconds_of(until)
        if low > high:
            raise InvalidParameter("since, until", (since, until), "a beginning and an end after it", "Swap them.")
        # Later pings tell about the end of the track.
        answers = self._store.answers(low - self._schedule.stretch, high + self._schedule.stretch)
        habits = None if self._promised is None else self._habits
        return track_of(answers, (low, high), self._groups, (self.area, self._tangent), habits)

    def fence(self, region: Area | str | Region, name: str = "") -> Fence:
        """Watch a public region: updates then say when it was entered and left. It is free.

        Parameters
        ----------
        region : Area, str or shapely Polygon
            A disc, as `gv.local(...)` or a text such as "37.78,-122.42,300m", or a polygon in longitude and latitude;
            from public knowledge.
        name : str
            Its name in events.

        Returns
        -------
        Fence
            With `chance`, the probability of being inside, and `inside`, which changes to True at 70% and to False at
            30%. At the start, and as long as it is in between, `inside` is None.

        Examples
        --------
        >>> stream = gv.Stream(rho=5e-2, protect="1 day", area=bay)
        >>> hall = stream.fence("37.7793,-122.4193,500m", name="city hall")
        >>> _ = stream.update("2026-05-04T08:00:00Z", lat=37.7793, lon=-122.4193)
        >>> hall.inside
        True
        """
        where = in_plane(region, self.area, self._tangent)
        if name and any(each.name == name and not each.is_around(*where) for each in self._fences):
            raise InvalidParameter("name", name, "a name that no other fence has", "Choose another one.")
        fence = Fence(name or f"fence {len(self._fences) + 1}", *where)
        if self._belief.answered is not None:
            fence.look(self._belief.filter.parts)
        self._fences.append(fence)
        return fence

    def zone(
        self,
        place: PlacesLike,
        *,
        hide: Hide = 200,
        name: str = "",
        centres: PathLike | None = None,
        margin: float | str = 250,
        near: Near | None = None,
    ) -> Zone:
        """Hide a place to which the person returns: inside of a disc, nothing is told but that they are in it.

        The centre of the disc is drawn at random once, near the place, and kept. Pings in the disc cost no budget, and
        a year there tells nothing beyond the disc. That a ping is in it is shown exactly, and so is when. Zones whose
        discs meet are shown as one, with a disc around them all: which of them somebody is in would tell more.

        Parameters
        ----------
        place : str or pair
            The place, such as "37.78,-122.41" or (37.78, -122.41). It is not kept in the stream or its ledger.
        hide : float or str
            The distance in metres that is hidden at 75%.
        name : str
            The name of the zone, which is public.
        centres : path, optional
            The owner's file of centres, as for tracks that are shared; by default one in the user's own folder.
        margin : float or str
            Metres around the place within which nothing that happens changes what is shown.
        near : {"same", "another"}, optional
            What a place 100 to 300 m from a known one is: that one, or another one.

        Returns
        -------
        Zone
            The disc, which is public.

        Examples
        --------
        >>> stream = gv.Stream(rho=5e-4, protect="1 day", area=bay)
        >>> home = stream.zone("37.7793,-122.4193", hide=200, name="home", centres=folder / "centres.json")
        >>> seen = stream.update("2026-05-04T08:00:00Z", lat=37.7793, lon=-122.4193)
        >>> seen.zone, seen.radius_95 == home.radius, (seen.lat, seen.lon) == (home.lat, home.lon)
        ('home', True, True)
        >>> seen.remaining == stream.guarantee.rho
        True
        """
        with self._lock:
            taken = [each.zone for each in self._zones.values() if name and each.name == name]
            known = drawn_zone(
                place, hide, name, self._source, self.area, taken, centres=centres, margin=margin, near=near
            )
            if not name:
                before = self._zones.get(known.zone.id)
                known = before or known._replace(name=f"zone {len(self._zones) + 1}")
            self._store.add_zone(known.zone.id, known.text())
            self._zones[known.zone.id] = known
            self._regroup()
            self._position = self._published()
        return known.zone

    @property
    def zones(self) -> tuple[Zone, ...]:
        """The zones of the stream, in the order of their ids.

        Examples
        --------
        >>> gv.Stream(rho=5e-4, protect="1 day", area=bay).zones
        ()
        """
        return tuple(self._zones[each].zone for each in sorted(self._zones))

    def repeated(self, duration: str | timedelta = "365 days") -> float:
        """Return how well whoever keeps all releases knows a place, in metres, after so much time spent there.

        It is the standard deviation of a coordinate of the best estimate, given the whole budget of that time.

        Examples
        --------
        >>> round(gv.Stream(rho=5e-5, protect="1 day", area=bay).repeated("365 days"), 1)
        5.2
        """
        if not isinstance(duration, str | timedelta):
            # A number would be in seconds, and is meant in days.
            remedy = f'Write its unit, such as "{duration} days".'
            raise InvalidParameter("duration", duration, 'a length of time such as "365 days"', remedy)
        length = as_duration("duration", duration)
        if self._promised is None:
            return 0.0
        spent = min(each.rho * -(-length // stretch_of(each)) for each in self.guarantees)
        return exact.float_up(exact.divide_up(Decimal(1), exact.sqrt_down(2 * spent)))

    def _card(self) -> tuple[str, Rows]:
        last = self._position.time
        seen = "no ping yet" if last is None else f"{last:%Y-%m-%d %H:%M:%S} UTC"
        rows = [("promise", f"{each!r}: any {each.metric.name}") for each in self.guarantees]
        if not rows:
            rows = [("promise", "none outside of zones: places there are shown as they are")]
        return "Stream of live locations", [
            *rows,
            ("area", self.area.name),
            *((each.name, each.words()) for each in self._discs),
            ("last ping", seen),
            (
                f"a year at one place{' outside of zones' * bool(self._zones)}",
                f"tells it to within {metres(self.repeated())} to whoever keeps every release",
            ),
            ("exact", "yes" if self._source.exact else f"no: {self._source.inexact}"),
        ]

    def _promise(self) -> dict[str, Any]:
        """Return what the stream promises and what its state depends on, to be recognised when it is opened again."""
        return {
            "promises": {each.metric.name: str(each.rho) for each in self.guarantees},
            "area": list(self.area.disc or ()),
            "motion": self._motion,
            "every": duration_words(self._every),
        }

    def _load(self) -> None:
        """Take over what is stored."""
        first, longer = _DAY, []
        if self._promised is not None:
            first = stretch_of(self._promised)
            quantum = Fraction(self._promised.rho) / Schedule(first, self._every).capacity
            longer = [(stretch_of(each), int(Fraction(each.rho) / quantum)) for each in self.limits]
        self._schedule = Schedule(first, self._every, longer)
        saved = self._store.load([(each.stretch, each.grain) for each in self._schedule.accounts])
        self._number = saved.last
        self._zones = {each.zone.id: each for each in map(StreamZone.read, saved.zones)}
        self._regroup()
        self._belief = Belief(self._habits, saved.checkpoint)
        if saved.last:
            self._schedule.restore(saved.held, saved.latest)
        for answer in saved.since:
            self._belief.learn(answer, self._groups)
        self._position = self._published()
        self._doubtful = False

    def _regroup(self) -> None:
        """Find which zones have one answer."""
        self._discs = groups_of(self._zones.values())
        self._groups = {each.zone.id: group for group in self._discs for each in group.members}

    def _entered(self, lon: float, lat: float) -> Reals:
        """Return a true place in metres of the plane, moved to the edge of the area if it is outside.

        All places on Earth are taken in, and no two farther apart than they are on the ground (docs/understand/live.md
        has the proof): whether a ping is answered must not depend on the place.
        """
        flat = self._tangent.forward_through(np.array([[lon, lat]]), self.area.radius)
        return clamp_to_disc(flat, self.area.radius)

    def _answer(self, paid: Paid, place: Reals | ZoneGroup) -> LivePosition:
        """Draw the answer of a ping that was charged, store it, and only then show it; in a zone nothing is drawn."""
        self._number += 1
        self._schedule.pay(paid)
        if isinstance(place, Reals) and self._promised is None:
            ((x, y),) = place.values.tolist()
            answer = ReleasedPing(paid.time, x, y, 0.0)
        elif isinstance(place, Reals):
            mechanism = mechanism_of(self.guarantee, self._schedule.capacity, paid.cost)
            ((x, y),) = mechanism.sample(place, self._source).tolist()
            answer = ReleasedPing(paid.time, x, y, mechanism.scale)
        else:
            ((x, y),) = self._entered(place.lon, place.lat).values.tolist()
            # The deviation of a coordinate in a disc.
            answer = ReleasedPing(paid.time, x, y, place.radius / 2, place.id)
        new = self._belief.learn(answer, self._groups)
        checkpoint = self._belief.text() if self._number % _CHECKPOINT == 0 else None
        self._store.answer(self._number, answer, checkpoint)
        self._position = self._published()
        self._doubtful = False
        events = tuple(
            FenceEvent(fence.name, entered, instant_of(paid.time))
            for fence in self._fences
            if (entered := fence.look(self._belief.filter.parts)) is not None
        )
        return replace(self._position, new=new, events=events)

    def _published(self) -> LivePosition:
        """Return the published position as of the last ping that was answered."""
        account = self._schedule.accounts[0]
        promised = Decimal(0) if self._promised is None else self._promised.rho
        left = exact.multiply(promised, Decimal(account.capacity - account.spent))
        lat, lon = self._on_earth(*(self._belief.shown or (0.0, 0.0))[:2])
        radius, inside = self.area.ground(self._belief.radius), self._groups.get(self._belief.zone or "")
        if inside is not None:
            lat, lon, radius = inside.lat, inside.lon, inside.radius
        return LivePosition(
            lat=lat,
            lon=lon,
            radius_95=radius,
            time=None if self._belief.answered is None else instant_of(self._belief.answered),
            age=math.inf if self._belief.answered is None else 0.0,
            new=False,
            remaining=exact.divide_down(left, Decimal(account.capacity)),
            zone=None if inside is None else inside.name,
        )

    def _seen(self, at: int | None) -> LivePosition:
        """Return the published position as of a time in microseconds."""
        if self._belief.answered is None or at is None:
            return self._position
        return replace(self._position, age=max(at - self._belief.answered, 0) / MICROSECONDS)

    def _on_earth(self, x: float, y: float) -> tuple[float, float]:
        """Return the latitude and the longitude of a place of the plane, or of the nearest one in the area."""
        if (x, y) != self._located[0]:
            ((lon, lat),) = self._tangent.inverse(self.area.nearest(np.array([[x, y]]))).tolist()
            self._located = (x, y), (lat, lon)
        return self._located[1]

    @cached_property
    def _tangent(self) -> Tangent:
        tangent = self.area.tangent
        assert tangent is not None
        return tangent


def _habits(motion: str, area: Area) -> Habits:
    """Return how somebody moves, who may at first be anywhere in the area."""
    habits = _HABITS[motion]
    return replace(habits, spread=max(habits.spread, area.radius / 2))
