"""The smallest change of a number that starts a job sooner, by the method's own answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .what_if import Outlook

#: Below this share of what was asked a change is hardly what anybody wants.
USEFUL = 0.1
#: Starts for which a change is looked for, of the useful values.
MOST_STARTS = 2
#: Up to this number every smaller value is tried.
FEW = 16


def fewer(number: int) -> list[int]:
    """Smaller values in falling order: all where they are few, else by about a tenth.

    For numbers of which a smaller one may also be worse, as slots with a shape.
    """
    found: list[int] = []
    while number > 1:
        number = number - 1 if number <= FEW else min(number - 1, number * 9 // 10)
        found.append(number)
    return found


def more(number: int, most: int) -> list[int]:
    """Larger values up to `most` in rising order: all where they are few, else by about a tenth."""
    found: list[int] = []
    while number < most:
        number = number + 1 if number < FEW else min(most, number + number // 10)
        found.append(number)
    return found


def ladder(number: int) -> list[int]:
    """A few smaller values in falling order, for numbers of which a smaller one is never worse."""
    halves = (number >> power for power in range(1, number.bit_length()))
    useful = -(-number // round(1 / USEFUL))
    return sorted({number - 1, number * 3 // 4, useful, *halves} - {0, number}, reverse=True)


def is_useful(value: int, asked: int) -> bool:
    """Whether enough is left of what was asked."""
    return value >= asked * USEFUL


def smallest_changes(
    asked: int, values: Sequence[int], outlook_of: Callable[[int], Outlook], limit: int
) -> Iterator[tuple[int, Outlook]]:
    """For the best starts before `limit` (seconds) the value nearest to `asked` that gives each.

    values: to be tried, from the nearest to the farthest. outlook_of: what the method says of a
    value. Between the last value that does not give a start and the first that does, the edge is
    found by bisection: the next value on the way to `asked` does not give it.
    """
    known = {value: _start(outlook_of(value), limit) for value in values}
    useful = sorted({start for value, start in known.items() if is_useful(value, asked)})
    wanted = [*useful[:MOST_STARTS], min(known.values(), default=limit)]
    for start in dict.fromkeys(start for start in wanted if start < limit):
        at = next(at for at, value in enumerate(values) if known[value] <= start)
        fails, gives = asked if at == 0 else values[at - 1], values[at]
        while abs(fails - gives) > 1:
            middle = (fails + gives) // 2
            if _start(outlook_of(middle), limit) <= start:
                gives = middle
            else:
                fails = middle
        yield gives, outlook_of(gives)


def _start(outlook: Outlook, limit: int) -> int:
    return limit if outlook.start is None else min(outlook.start, limit)
