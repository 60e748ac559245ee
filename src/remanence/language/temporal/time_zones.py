"""Time zones by their names: abbreviations, which dateparser knows, and the zones of cities and of America."""

from __future__ import annotations

from datetime import timedelta, timezone, tzinfo
from functools import lru_cache

from remanence.schema import UTC

_AMERICAN = {
    **dict.fromkeys(("et", "eastern"), "America/New_York"),
    **dict.fromkeys(("ct", "central"), "America/Chicago"),
    **dict.fromkeys(("mt", "mountain"), "America/Denver"),
    **dict.fromkeys(("pt", "pacific"), "America/Los_Angeles"),
}
"""These have summer time, so the offset depends on the day."""
_OTHER_CITIES = {
    **dict.fromkeys(("san francisco", "seattle", "la", "california"), "America/Los_Angeles"),
    **dict.fromkeys(("boston", "washington", "nyc", "miami"), "America/New_York"),
    **dict.fromkeys(("beijing", "shenzhen", "china"), "Asia/Shanghai"),
    **dict.fromkeys(("delhi", "new delhi", "mumbai", "bangalore", "india"), "Asia/Kolkata"),
    **dict.fromkeys(("uk", "british"), "Europe/London"),
    **dict.fromkeys(("munich", "hamburg", "cologne", "frankfurt", "german"), "Europe/Berlin"),
    **dict.fromkeys(("barcelona", "spanish"), "Europe/Madrid"),
    **dict.fromkeys(("milan", "italian"), "Europe/Rome"),
    **dict.fromkeys(("kyoto", "osaka", "japan"), "Asia/Tokyo"),
    "geneva": "Europe/Zurich",
}


@lru_cache
def zone_by_abbreviation(name: str) -> tzinfo:
    """The time zone with this abbreviation.

    >>> zone_by_abbreviation("EST")
    datetime.timezone(datetime.timedelta(days=-1, seconds=68400))
    """
    if name.lower() in _AMERICAN:
        return _zone(_AMERICAN[name.lower()]) or UTC
    from dateparser.timezone_parser import pop_tz_offset_from_string  # imported when needed: it takes half a second

    zone = pop_tz_offset_from_string(f"10:00 {name}")[1]
    offset = zone.utcoffset(None) if isinstance(zone, tzinfo) else None
    return timezone(offset) if offset else UTC


@lru_cache
def zone_by_place(name: str) -> tzinfo | None:
    """The time zone of a city, or "Pacific" and the like; None if it is unknown.

    >>> zone_by_place("new york"), zone_by_place("dinner")
    (zoneinfo.ZoneInfo(key='America/New_York'), None)
    """
    found = _AMERICAN.get(name) or _OTHER_CITIES.get(name) or _cities().get(name)
    return None if found is None else _zone(found)


def fixed_zone(hours: int, minutes: int = 0) -> tzinfo:
    return timezone(timedelta(hours=hours, minutes=minutes))


def _zone(key: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo  # imported when needed, as few texts name a zone

    try:
        return ZoneInfo(key)
    except (KeyError, OSError):  # a machine without the database of zones
        return None


@lru_cache(1)
def _cities() -> dict[str, str]:
    """The names of zones by the city in them."""
    from zoneinfo import available_timezones

    zones = sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/"))
    return {zone.rpartition("/")[2].replace("_", " ").lower(): zone for zone in zones}
