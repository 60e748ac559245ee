"""Plans of upkeep between their preview and `apply`: kept for a while, for each opened folder."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from remanence.errors import NotFound
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import new_id
from remanence.space.space import Space
from remanence.upkeep.plans import Plan

_MAX_PLANS = 64
_PLANS: WeakKeyDictionary[Engine, dict[tuple[str, str], Plan]] = WeakKeyDictionary()
"""By engine, then by space and id; the oldest first."""
_LOCK = threading.Lock()


def store_plan(space: Space, plan: Plan) -> str:
    """Keep a plan and return its id. Of many plans, the oldest are dropped."""
    plan_id = new_id()
    with _LOCK:
        plans = _PLANS.setdefault(space._engine, {})
        plans[space.name, plan_id] = plan
        for oldest in list(plans)[:-_MAX_PLANS]:
            del plans[oldest]
    return plan_id


def get_plan(space: Space, plan_id: str) -> Plan:
    """The plan with this id.

    Raises:
        NotFound: There is none, or it was dropped.
    """
    with _LOCK:
        plan = _PLANS.get(space._engine, {}).get((space.name, plan_id))
    if plan is None:
        raise NotFound(
            f"space {space.name!r} has no plan {plan_id!r}: only the last {_MAX_PLANS} are kept, and none after a "
            "restart. Preview again."
        )
    return plan


def delete_plan(space: Space, plan_id: str) -> None:
    """Forget a plan that was applied."""
    with _LOCK:
        _PLANS.get(space._engine, {}).pop((space.name, plan_id), None)
