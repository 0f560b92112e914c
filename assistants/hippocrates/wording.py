"""Pure: how ages, rules and windows are said, wherever a cohort is."""

from assistants.hippocrates.slots import Age, Count, Days


def age_words(age: Age) -> str:
    if age.least is not None and age.most is not None:
        return f"Age at entry: {age.least} to {age.most}"
    return f"Age at entry: {age.least} or older" if age.least is not None else f"Age at entry: {age.most} or younger"


def rule_words(count: Count, event: str, window: Days) -> str:
    """Say a rule: `no GI bleeding any time before entry`."""
    how_many = "no" if count.n == 0 else f"{count.bound} {count.n}"
    return f"{how_many} {event} {window_words(window)}"


def window_words(window: Days) -> str:
    """Say a window in words that the grammar reads again, where it has a phrase for it."""
    match window:
        case Days(None, None):
            return "at any time"
        case Days(None, -1):
            return "any time before entry"
        case Days(1, None):
            return "any time after entry"
        case Days(None, 0):
            return "on or before entry"
        case Days(0, None):
            return "on or after entry"
        case Days(0, 0):
            return "on entry"
        case Days(int(start), -1):
            return f"in the {day_words(-start)} before entry"
        case Days(1, int(end)):
            return f"in the {day_words(end)} after entry"
        case Days(int(start), int(end)) if start == -end:
            return f"within {day_words(end)} of entry"
        case Days(int(start), int(end)) if end < 0:
            return f"between {-end} and {-start} days before entry"
        case Days(int(start), int(end)) if start > 0:
            return f"between {start} and {end} days after entry"
    return f"from {_side(window.start, 'the beginning')} to {_side(window.end, 'the end')}"


def _side(day: int | None, unbounded: str) -> str:
    if day is None:
        return unbounded
    return "entry" if day == 0 else f"{day_words(abs(day))} {'after' if day > 0 else 'before'} entry"


def day_words(n: int) -> str:
    return "1 day" if n == 1 else f"{n} days"
