"""When a schedule is due: the five fields of cron, read in a time zone.

A field is `*`, a number, a range `1-5`, a step `*/15` or `8-18/2`, or several of these with commas between. Days of the
week are 0 (Sunday) to 7, or `sun` to `sat`; months may be `jan` to `dec`. If neither the day of the month nor that of
the week begins with `*`, a day that fits one of them is due, as cron has it.

A time that a change of clocks leaves out is due when the clock goes on; one that comes twice is due the first time.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from tildone.base import UsageError, shortened, value

MAX_YEARS = 8
"""A time that does not come within these years, such as 30 February, never comes. A leap day comes within eight."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, ("", *_MONTHS)),
    ("day of the week", 0, 7, _DAYS),
)


@value
class Cron:
    """The numbers that each field allows, and whether the fields of days begin with `*`."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    def fits(self, day: datetime) -> bool:
        """Return whether a day is one of the days."""
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month and in_week if self.any_day or self.any_weekday else in_month or in_week


def parse_cron(text: str) -> Cron:
    """Return the times of a text. Raises UsageError if it has another form."""
    fields = text.lower().split()
    if len(fields) != len(_FIELDS):
        raise UsageError(f"a schedule has {len(_FIELDS)} fields, such as `0 3 * * *`, not {shortened(text)!r}")
    minutes, hours, days, months, weekdays = (
        _numbers(field, *form) for field, form in zip(fields, _FIELDS, strict=True)
    )
    weekdays = frozenset(day % 7 for day in weekdays)
    return Cron(minutes, hours, days, months, weekdays, fields[2].startswith("*"), fields[4].startswith("*"))


def next_time(cron: Cron, after: int, zone: tzinfo = UTC) -> int:
    """Return the first time after a time, both in milliseconds since 1970. Raises UsageError if there is none."""
    local = datetime.fromtimestamp(after / 1000, zone)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None, fold=0)
    last = day + timedelta(days=366 * MAX_YEARS)
    while day < last:
        if cron.fits(day):
            for at in _times_of(cron, day, zone):
                if at > after:
                    return at
        day += timedelta(days=1)
    raise UsageError("the schedule has no time that ever comes")


def _times_of(cron: Cron, day: datetime, zone: tzinfo) -> list[int]:
    """Return the times of a day, in their order."""
    moments = (day.replace(hour=hour, minute=minute, tzinfo=zone) for hour in cron.hours for minute in cron.minutes)
    return sorted({int(moment.timestamp()) * 1000 for moment in moments})


def _numbers(field: str, name: str, low: int, high: int, words: Sequence[str]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step = part.partition("/")
        begin, dash, end = span.partition("-")
        if span == "*":
            first, last = low, high
        else:
            first = _number(begin, name, low, high, words)
            last = _number(end, name, low, high, words) if dash else high if slash else first
        width = _number(step, name, 1, high, ()) if slash else 1
        if first > last:
            raise UsageError(f"the {name} of a schedule has a range that ends before it begins: {shortened(part)!r}")
        found.update(range(first, last + 1, width))
    return frozenset(found)


def _number(text: str, name: str, low: int, high: int, words: Sequence[str]) -> int:
    if text and text in words:
        return words.index(text)
    if text.isascii() and text.isdecimal() and low <= int(text[:4]) <= high:
        return int(text[:4])
    raise UsageError(f"the {name} of a schedule is {low} to {high}, not {shortened(text)!r}")
