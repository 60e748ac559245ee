"""What the hooks of middleware show in traces."""

from __future__ import annotations

from typing import Any

try:
    from langgraph.types import TracePolicy, omit_payload
except ImportError:  # a langgraph that has none records nothing but what its tracers are told to
    NO_PAYLOADS: Any = None
else:
    NO_PAYLOADS = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)
"""Records that a hook ran and how long it took, without the messages and memories that it was given and returned."""
