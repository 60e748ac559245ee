"""How many examples the tests of properties try: few in `make test`, many every night.

`REMANENCE_TEST_EXAMPLES=20 make test` tries twenty times as many.
"""

from __future__ import annotations

import os

_TIMES = int(os.environ.get("REMANENCE_TEST_EXAMPLES", "1"))


def examples(count: int) -> int:
    """So many in `make test`, and a multiple of it where that is asked for."""
    return count * _TIMES
