"""Tokens of an identity provider, checked with its public keys: each user has a space of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from mcp.server.auth.provider import AccessToken, TokenVerifier

from remanence import InvalidInput

_REQUIRED = ("exp", "iss", "aud", "sub")
_MIN_RSA_BITS = 2_048
_ALGORITHM_OF_CURVE = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


class _Key(NamedTuple):
    """A public key, its id if it has one, and the algorithms that it may be used with: never one with a shared secret,
    which would take the public key for the secret."""

    key: Any
    id: str | None
    algorithms: tuple[str, ...]


class UserTokens(TokenVerifier):
    """JSON web tokens (JWT) of one identity provider. A token must be signed with one of its keys, must not have
    expired, and must name the provider (`iss`), this server (`aud`) and the user (`sub`).

    Args:
        keys: A file with the public keys: PEM, or a JSON web key set as providers publish it.
        issuer: The provider, as its tokens name it.
        audience: This server, as the tokens name it.

    Raises:
        InvalidInput: The file cannot be read, or has no public key that is safe to use.
    """

    def __init__(self, keys: str | Path, *, issuer: str, audience: str) -> None:
        self._keys = _read_keys(Path(keys).expanduser())
        self._issuer, self._audience = issuer, audience

    async def verify_token(self, token: str) -> AccessToken | None:
        """The user of a token; None if it is not valid."""
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
        except jwt.PyJWTError:
            return None
        for key in self._keys:
            if key_id is None or key.id is None or key.id == key_id:
                claims = self._claims(token, key)
                if claims is not None:
                    return _access_token(token, claims)
        return None

    def _claims(self, token: str, key: _Key) -> dict[str, Any] | None:
        try:
            return jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                audience=self._audience,
                issuer=self._issuer,
                leeway=10,
                options={"require": list(_REQUIRED)},
            )
        except jwt.PyJWTError:
            return None


def _access_token(token: str, claims: dict[str, Any]) -> AccessToken | None:
    subject = claims["sub"]
    if not isinstance(subject, str) or not subject.strip() or len(subject) > 200:
        return None
    scope = claims.get("scope")
    # The id differs for each user, as sessions belong to the client that opened them.
    return AccessToken(
        token=token,
        client_id=f"user:{subject}",
        scopes=scope.split() if isinstance(scope, str) else [],
        expires_at=int(claims["exp"]),
        subject=subject,
    )


def _read_keys(path: Path) -> list[_Key]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"the file of keys {path} cannot be read: {error.strerror}.") from None
    found: list[tuple[Any, str | None]]
    try:
        if content.lstrip().startswith(b"{"):
            found = [(key.key, key.key_id) for key in jwt.PyJWKSet.from_dict(json.loads(content)).keys]
        else:
            found = [(load_pem_public_key(content), None)]
    except (ValueError, jwt.PyJWTError, UnsupportedAlgorithm):
        raise InvalidInput(
            f"{path} has no public key. Give a PEM file that begins with -----BEGIN PUBLIC KEY-----, or the JSON web "
            "key set of your identity provider."
        ) from None
    return [_checked(key, key_id, path) for key, key_id in found]


def _checked(key: Any, key_id: str | None, path: Path) -> _Key:
    if isinstance(key, rsa.RSAPublicKey) and key.key_size >= _MIN_RSA_BITS:
        return _Key(key, key_id, ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"))
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _ALGORITHM_OF_CURVE:
        return _Key(key, key_id, (_ALGORITHM_OF_CURVE[key.curve.name],))
    if isinstance(key, ed25519.Ed25519PublicKey):
        return _Key(key, key_id, ("EdDSA",))
    raise InvalidInput(
        f"{path} has a key that is not a public key for RSA with {_MIN_RSA_BITS:,} bits or more, ECDSA (P-256, P-384, "
        "P-521) or Ed25519."
    )
