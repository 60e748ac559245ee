"""Which addresses only this machine can reach, and binding to an address."""

from __future__ import annotations

import ipaddress
import socket
from functools import lru_cache

from remanence.errors import InvalidInput
from remanence.operating_system import allow_port_again

_LAST_PORT = 65_535


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


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket bound to this address, so that a server can say that it serves before it does. Port 0 is any free one.

    Raises:
        InvalidInput: The address cannot be used, or another program has the port.
    """
    if not 0 <= port <= _LAST_PORT:
        raise InvalidInput(f"port={port} is no port. Give one up to {_LAST_PORT}, or 0 for any that is free.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InvalidInput(f"The address {host!r} cannot be used: {error.strerror or error}.") from error
    allow_port_again(bound)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise InvalidInput(
            f"Port {port} of {host} cannot be used: {error.strerror or error}. "
            "Stop the program that has it, or choose another port with --port."
        ) from error
    return bound
