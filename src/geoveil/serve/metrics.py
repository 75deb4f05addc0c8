"""Counts for Prometheus and for the live page: of requests and pings by outcome, and never of places."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping

__all__ = ["Metrics"]

_HELP = {
    "geoveil_requests_total": ("counter", "Requests and MQTT messages, by format and status."),
    "geoveil_pings_total": ("counter", "Pings, by format and outcome."),
    "geoveil_deliveries_total": ("counter", "Requests to targets, by target and outcome."),
    "geoveil_waiting_places": ("gauge", "Published places that a target has not received."),
    "geoveil_budget_left": ("gauge", "Share of the budget that is left in the present stretch, by person."),
    "geoveil_stopped_targets": ("gauge", "1 if a target was stopped after repeated refusals."),
    "geoveil_turns_total": ("counter", "Commits of the desk, by outcome."),
    "geoveil_answer_seconds": ("summary", "Time to answer a device."),
}
#: The number of the last answers of which quantiles are told.
_KEPT = 2048


class Metrics:
    """Counts, whose labels are names from the configuration and words of the program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self._gauges: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        self._seconds: deque[float] = deque(maxlen=_KEPT)
        self._answered, self._total = 0, 0.0

    def count(self, name: str, times: int = 1, **labels: str) -> None:
        """Count something."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += times

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set what is measured."""
        with self._lock:
            self._gauges[name, tuple(sorted(labels.items()))] = value

    def answered(self, seconds: float) -> None:
        """Note the time that an answer took."""
        with self._lock:
            self._seconds.append(seconds)
            self._answered, self._total = self._answered + 1, self._total + seconds

    def value(self, name: str, **labels: str) -> float:
        """Return what was counted with these labels, whatever the others are."""
        with self._lock:
            wanted = set(labels.items())
            found = [*self._counts.items(), *self._gauges.items()]
            return sum(value for (each, having), value in found if each == name and wanted <= set(having))

    def text(self, outcomes: Mapping[str, Iterable[tuple[str, int]]]) -> str:
        """Return everything in the format of Prometheus, with further counts by outcome."""
        with self._lock:
            samples = [*self._counts.items(), *self._gauges.items()]
            seconds, answered, total = sorted(self._seconds), self._answered, self._total
        samples += [
            ((name, (("outcome", outcome),)), value) for name, rows in outcomes.items() for outcome, value in rows
        ]
        lines: list[str] = []
        for name, (kind, about) in _HELP.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            for (each, labels), value in sorted(samples):
                if each == name:
                    named = ",".join(f'{label}="{text}"' for label, text in labels)
                    lines.append(f"{name}{{{named}}} {value:g}")
            if kind == "summary":
                for share in (0.5, 0.99) if seconds else ():
                    at = min(int(share * len(seconds)), len(seconds) - 1)
                    lines.append(f'{name}{{quantile="{share}"}} {seconds[at]:.6f}')
                lines += [f"{name}_sum {total:.6f}", f"{name}_count {answered}"]
        return "\n".join(lines) + "\n"
