"""Words for times, read as half-open UTC windows: "last May" and a reference time, and what they mean.

A small grammar finds the phrases and owns what people say in chats and questions; dateparser is asked
for isolated dates the grammar does not own, and imported only then.
"""

from remanence.language.temporal.find_times import TimePhrase, find_times
from remanence.language.temporal.moments import parse_moment, parse_window

__all__ = ["TimePhrase", "find_times", "parse_moment", "parse_window"]
