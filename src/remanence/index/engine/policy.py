"""What a space does with what it is told: whom it trusts, what it takes out, and whether it signs and encrypts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput
from remanence.index.engine.signing import LedgerSignatures, Signer, parse_public_keys
from remanence.index.engine.trust import TrustRules, parse_trust_rules
from remanence.ledger.encryption import Encryption
from remanence.text.redaction import Redactor
from remanence.text.redaction import redact as redact_secrets

if TYPE_CHECKING:
    from remanence.ports import Ledger


@dataclass(frozen=True, slots=True)
class Policy:
    """Trust, redaction, signatures and encryption, for `remanence.open(policy=...)`.

    Attributes:
        trust: How far each `source` and `observed_by` is trusted: a dict such as `{"crawler*": "web"}`, or
            `TrustRules`.
        redact: True removes keys, passwords and card numbers from texts and metadata before they are stored, and
            records in `meta["redacted"]` how many there were. Or a function from a text to a `Redaction`.
        signing_key: An Ed25519 private key (extra `sign`). Every entry that is written is signed with it.
        signers: The public keys of known writers, by name, for the report of `verify`.
        encryption: The key that the folder is encrypted with (extra `encryption`): `remanence.Encryption(key)`. A new
            folder is encrypted from the start; `remanence encrypt` does it for another one.

    Raises:
        InvalidInput: One of them is not what it should be; the message names it.

    Example:
        >>> import remanence
        >>> with remanence.open(None, policy=Policy(redact=True)) as space:
        ...     space.add("My password is hunter2.").text
        'My password is [redacted password].'
    """

    trust: TrustRules | Mapping[str, str | float] | None = None
    redact: bool | Redactor = False
    signing_key: Any = field(default=None, repr=False)
    signers: Mapping[str, Any] | None = None
    encryption: Encryption | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.redact, bool) and not callable(self.redact):
            raise InvalidInput(f"redact={self.redact!r} is neither True, False nor a function of a text.")
        if self.encryption is not None and not isinstance(self.encryption, Encryption):
            # Without the value: it may be the key itself.
            raise InvalidInput("encryption= is not an Encryption. Give remanence.Encryption(key).")
        self.trust_rules()
        self._signer()
        parse_public_keys(self.signers)

    def trust_rules(self) -> TrustRules:
        """The rules that `trust` stands for.

        Returns:
            The rules; without `trust`, those by which everything is trusted.
        """
        return parse_trust_rules(self.trust)

    def redactor(self) -> Redactor | None:
        """What takes secrets out of a text.

        Returns:
            A function from a text to a `Redaction`; None if nothing is taken out.
        """
        if isinstance(self.redact, bool):
            return redact_secrets if self.redact else None
        return self.redact

    def signatures(self, ledger: Ledger) -> LedgerSignatures:
        """What signs the entries of a ledger, and checks them.

        Args:
            ledger: The ledger.

        Returns:
            The signatures, without a signer if there is no `signing_key`.
        """
        return LedgerSignatures(ledger, self._signer(), parse_public_keys(self.signers))

    def _signer(self) -> Signer | None:
        return None if self.signing_key is None else Signer(self.signing_key)
