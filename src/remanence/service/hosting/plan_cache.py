"""Plans of upkeep between their preview and `apply`: kept for a while, for each opened folder."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from remanence.api.space import Space
from remanence.core.engine import Engine
from remanence.core.identity import new_id
from remanence.errors import NotFound
from remanence.upkeep.plans import Plan

_MAX_PLANS = 64


@dataclass
class _Plans:
    lock: threading.Lock = field(default_factory=threading.Lock)
    by_id: OrderedDict[tuple[str, str], Plan] = field(default_factory=OrderedDict)


_PLANS: WeakKeyDictionary[Engine, _Plans] = WeakKeyDictionary()
_LOCK = threading.Lock()


def store_plan(space: Space, plan: Plan) -> str:
    """Keep a plan and return its id. Of many plans, the oldest are dropped."""
    plans, plan_id = _plans(space), new_id()
    with plans.lock:
        plans.by_id[space.name, plan_id] = plan
        while len(plans.by_id) > _MAX_PLANS:
            plans.by_id.popitem(last=False)
    return plan_id


def get_plan(space: Space, plan_id: str) -> Plan:
    """The plan with this id.

    Raises:
        NotFound: There is none, or it was dropped.
    """
    plans = _plans(space)
    with plans.lock:
        plan = plans.by_id.get((space.name, plan_id))
    if plan is None:
        raise NotFound(
            f"space {space.name!r} has no plan {plan_id!r}: only the last {_MAX_PLANS} are kept, and none after a "
            "restart. Preview again."
        )
    return plan


def delete_plan(space: Space, plan_id: str) -> None:
    """Forget a plan that was applied."""
    plans = _plans(space)
    with plans.lock:
        plans.by_id.pop((space.name, plan_id), None)


def _plans(space: Space) -> _Plans:
    with _LOCK:
        return _PLANS.setdefault(space._engine, _Plans())
