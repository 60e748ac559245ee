"""Which addresses only this machine can reach."""

from __future__ import annotations

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether a name or an address is that of this machine alone.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("[::1]"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
