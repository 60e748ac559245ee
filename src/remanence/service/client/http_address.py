"""How to reach a server: its address, over TLS or not, through a proxy or not."""

from __future__ import annotations

import base64
import re
import ssl
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from remanence.errors import InvalidInput
from remanence.service.hosting.network import is_loopback

_PATH_CHARACTERS = "/%:!$&'()*+,;=~"
"""What else than letters, digits, dots, hyphens and underscores may be in a path."""


class ServerAddress:
    """The address of a server.

    Proxies are those of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), certificates those that OpenSSL
    trusts (SSL_CERT_FILE, SSL_CERT_DIR).

    Args:
        url: The address, as http://127.0.0.1:8765 or https://host/path.

    Raises:
        InvalidInput: It is not an address, or the proxy for it cannot be used.

    Example:
        >>> address = ServerAddress("http://127.0.0.1:8765/memory/")
        >>> address.url, address.path, address.host, address.is_local
        ('http://127.0.0.1:8765/memory', '/memory', '127.0.0.1:8765', True)
    """

    def __init__(self, url: str) -> None:
        parts = _split_server(url)
        self.path = quote(parts.path.rstrip("/"), safe=_PATH_CHARACTERS)
        self.host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
        """What the Host header has."""
        self.url = f"{parts.scheme}://{parts.netloc}{self.path}"
        self.is_local = is_loopback(parts.hostname or "")
        self._name, self._port = parts.hostname or "", parts.port
        self._proxy = _find_proxy(parts)
        self._secure = parts.scheme == "https"
        self._tls = ssl.create_default_context() if self._secure else None

    @property
    def origin(self) -> str:
        """What a request writes before its path: a proxy without a tunnel has to be told the server."""
        return f"http://{self.host}" if self._proxy is not None and not self._secure else ""

    @property
    def headers(self) -> dict[str, str]:
        """What every request needs in order to get there."""
        through_proxy = self._proxy is not None and not self._secure
        return {"host": self.host, **(_authorization(self._proxy) if through_proxy else {})}

    def connect(self, timeout: float) -> HTTPConnection:
        """Open a connection, with a tunnel through the proxy where it is needed.

        Raises:
            OSError: The server or the proxy cannot be reached.
        """
        proxy = self._proxy
        host, port = (self._name, self._port) if proxy is None else (proxy.hostname or "", proxy.port or 80)
        if self._secure:
            connection: HTTPConnection = HTTPSConnection(host, port or 443, timeout=timeout, context=self._tls)
        else:
            connection = HTTPConnection(host, port or 80, timeout=timeout)
        if proxy is not None and self._secure:
            connection.set_tunnel(self._name, self._port or 443, _authorization(proxy))
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        return connection


def _split_server(url: object) -> SplitResult:
    """The parts of the address of a server."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        parts.netloc.encode("ascii" if parts.netloc.isascii() else "idna")
        is_address = is_address and not re.search(r"\s", parts.geturl())
    except ValueError:  # a port that is no number, half of an IPv6 address, or letters that no name has
        is_address = False
    if isinstance(url, str) and "@" in url:  # it is not shown: a password may be in it
        raise InvalidInput("the address of the server has a user name in it. Give a token: connect(url, token=...).")
    if not is_address:
        raise InvalidInput(f"url={url!r} is not the address of a server. Give for example http://127.0.0.1:8765.")
    if parts.query or parts.fragment:
        raise InvalidInput(f"url={url!r} ends with a query or a fragment. Leave it out.")
    return parts


def _find_proxy(server: SplitResult) -> SplitResult | None:
    """The proxy of the environment for a server; None if there is none."""
    proxies = getproxies()
    given = proxies.get(server.scheme) or proxies.get("all")
    if not given or proxy_bypass(server.netloc):
        return None
    proxy = urlsplit(given if "://" in given else f"http://{given}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise InvalidInput(
            f"{proxy.scheme}://{proxy.hostname or ''} is the proxy of the environment for {server.scheme} addresses, "
            f"and only http:// proxies can be used. Name another one, or let NO_PROXY contain {server.hostname}."
        )
    return proxy


def _authorization(proxy: SplitResult | None) -> dict[str, str]:
    """The header by which a proxy knows its user."""
    if proxy is None or proxy.username is None:
        return {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}
