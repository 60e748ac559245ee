"""What a space does with what it is told: whom it trusts, what it takes out, and whether it signs and encrypts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput
from remanence.index.engine.signing import LedgerSignatures, Signer, parse_public_keys
from remanence.ledger.encryption import Encryption
from remanence.text.redaction import Redactor
from remanence.text.redaction import redact as redact_secrets

if TYPE_CHECKING:
    from remanence.ports import Ledger

LEVELS: Mapping[str, float] = MappingProxyType({"trusted": 1.0, "user": 0.8, "tool": 0.5, "web": 0.2})
"""The names of levels. A memory without a level is trusted."""


@dataclass(frozen=True, slots=True)
class TrustRules:
    """The trust of sources and observers, for `remanence.Policy(trust=...)`.

    Attributes:
        sources: The trust of a `source` (for chat turns: of the conversation) or of an `observed_by`: the name of a
            level, or a number from 0 to 1. A `*` in a name matches anything. If both match, the lower one counts.
        levels: Levels of your own, in addition to `LEVELS`.
        default: The trust of what no rule matches.

    Example:
        >>> rules = TrustRules({"crawler*": "web", "Bob": "partner"}, levels={"partner": 0.6})
        >>> rules.trust_of("crawler-7", "Bob"), rules.trust_of("crm", "Bob"), rules.trust_of(None, None)
        (0.2, 0.6, 1.0)
    """

    sources: Mapping[str, str | float] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)
    default: str | float = "trusted"

    def __post_init__(self) -> None:
        if not isinstance(self.sources, Mapping) or not isinstance(self.levels, Mapping):
            raise InvalidInput("the sources and the levels of TrustRules are dicts: {'crawler*': 'web'}.")
        for name, level in self.levels.items():
            if _number(level) is None:
                raise InvalidInput(f"the level {name!r} is {level!r}. Give a number from 0 to 1.")
        for value in (*self.sources.values(), self.default):
            self.level(value, "trust")

    def level(self, value: object, what: str) -> float:
        """The number of a level, given by its name or as a number.

        Args:
            value: The name of a level, or a number from 0 to 1.
            what: The name of the argument, for the error.

        Returns:
            The trust, from 0 to 1.

        Raises:
            InvalidInput: There is no such level.
        """
        if isinstance(value, str):
            named = self.levels.get(value, LEVELS.get(value))
            if named is not None:
                return float(named)
        elif (number := _number(value)) is not None:
            return number
        known = ", ".join({**LEVELS, **self.levels})
        raise InvalidInput(f"{what}={value!r} is neither a number from 0 to 1 nor one of {known}.")

    def trust_of(self, source: str | None, observed_by: str | None, override: object = None) -> float:
        """The trust of a memory.

        Args:
            source: Where it comes from.
            observed_by: Who said or saw it.
            override: The trust given with the memory itself, which counts more than the rules.

        Returns:
            The trust, from 0 to 1.

        Raises:
            InvalidInput: `override` is not valid.
        """
        if override is not None:
            return self.level(override, "trust")
        if not self.sources:
            return 1.0 if self.default == "trusted" else self.level(self.default, "trust")
        levels = [
            self.level(trust, "trust")
            for name in (source, observed_by)
            if name is not None
            for pattern, trust in self.sources.items()
            if pattern == name or fnmatchcase(name, pattern)
        ]
        return min(levels, default=self.level(self.default, "trust"))


NO_RULES = TrustRules()


def parse_trust_rules(value: object) -> TrustRules:
    """The rules that a caller gives: `TrustRules`, the dict of its sources, or None."""
    if value is None:
        return NO_RULES
    if isinstance(value, TrustRules):
        return value
    if isinstance(value, Mapping):
        return TrustRules(value)
    raise InvalidInput(f"trust={value!r} is neither TrustRules nor a dict such as {{'crawler*': 'web'}}.")


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    return None


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

        Returns:
            The signatures, without a signer if there is no `signing_key`.
        """
        return LedgerSignatures(ledger, self._signer(), parse_public_keys(self.signers))

    def _signer(self) -> Signer | None:
        return None if self.signing_key is None else Signer(self.signing_key)
