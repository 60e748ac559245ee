"""Numbers about requests, in the text format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import accumulate

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts of requests by operation and status, and how long they took.

    Example:
        >>> metrics = Metrics()
        >>> metrics.observe("recall", 200, 0.004)
        >>> 'remanence_requests_total{operation="recall",status="200"} 1' in metrics.text({})
        True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(_BUCKETS) + 1))
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def observe(self, operation: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._requests[operation, status] += 1
            self._buckets[operation][bisect_left(_BUCKETS, seconds)] += 1
            self._seconds[operation] += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """All numbers, with these of the present moment."""
        with self._lock:
            lines = [*self._counters(), *self._histogram()]
        for name, value in gauges.items():
            family = name.partition("{")[0]
            lines += [] if f"# TYPE {family} gauge" in lines else [f"# TYPE {family} gauge"]
            lines.append(f"{name} {value:g}")
        return "\n".join(lines) + "\n"

    def _counters(self) -> Iterator[str]:
        yield "# HELP remanence_requests_total Requests by operation and status."
        yield "# TYPE remanence_requests_total counter"
        for (operation, status), count in sorted(self._requests.items()):
            yield f'remanence_requests_total{{operation="{operation}",status="{status}"}} {count}'

    def _histogram(self) -> Iterator[str]:
        name = "remanence_request_seconds"
        yield f"# HELP {name} How long requests took."
        yield f"# TYPE {name} histogram"
        for operation, counts in sorted(self._buckets.items()):
            for limit, count in zip((*map(str, _BUCKETS), "+Inf"), accumulate(counts), strict=True):
                yield f'{name}_bucket{{operation="{operation}",le="{limit}"}} {count}'
            yield f'{name}_sum{{operation="{operation}"}} {self._seconds[operation]:.6f}'
            yield f'{name}_count{{operation="{operation}"}} {sum(counts)}'
