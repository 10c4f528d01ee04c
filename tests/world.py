"""A plain model of time, written from docs/time.md and docs/editing.md alone: what was told, and what holds when.

It knows no versions, no rows and no order of arrival: statements, whether each is still believed, and which of them
have met (were believed at the same time, so that one may have ended the other). Instants are integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

Chain = str
Number = int


@dataclass(frozen=True)
class Statement:
    """What one memory says: of which chain (one value at a time; "" excludes nothing), when said, since, until."""

    text: str
    chain: Chain
    value: str
    said: int
    start: int
    end: int | None = None

    def excludes(self, other: Statement) -> bool:
        return self.chain != "" and self.chain == other.chain and self.value != other.value

    def refutes(self, other: Statement) -> bool:
        """Whether, said later of an earlier time, it says that the other never held.

        What was yet to come when this was said stands, and so does all before which this tells that it ended.
        """
        later = other.said < self.said and other.start <= self.said
        return later and self.start < other.start and self.end is None


@dataclass(frozen=True)
class World:
    """All that was told, by number; which of it is believed; and the pairs that have met."""

    told: tuple[Statement, ...] = ()
    believed: frozenset[Number] = frozenset()
    met: frozenset[frozenset[Number]] = field(default_factory=frozenset)

    def tell(self, statement: Statement) -> World:
        return replace(self, told=(*self.told, statement)).restore(len(self.told))

    def delete(self, number: Number) -> World:
        """What it ended stays ended."""
        return replace(self, believed=self.believed - {number})

    def restore(self, number: Number) -> World:
        """Like a late arrival: it meets all that is believed by now."""
        met = {
            frozenset((number, other))
            for other in self.believed
            if self.told[number].excludes(self.told[other])
        }
        return replace(self, believed=self.believed | {number}, met=self.met | met)

    def correct(self, number: Number, text: str, value: str) -> World:
        """What was wrong holds at no time; another value stands in its place."""
        new = len(self.told)
        right = replace(self.told[number], text=text, value=value)
        met = {frozenset(new if one == number else one for one in pair) for pair in self.met}
        return replace(
            self,
            told=(*self.told, right),
            believed=self.believed - {number} | {new},
            met=frozenset(met),
        )

    def reword(self, number: Number, text: str) -> World:
        told = list(self.told)
        told[number] = replace(told[number], text=text)
        return replace(self, told=tuple(told))

    def back_to(self, before: World) -> World:
        """As before; what was told since is no longer believed."""
        return replace(before, told=(*before.told, *self.told[len(before.told) :]))

    def ever_held(self, number: Number) -> bool:
        one = self.told[number]
        return not any(self.told[other].refutes(one) for other in self._met_by(number))

    def until(self, number: Number) -> int | None:
        """Where a statement ends: by its own words, or where the first that takes its place begins."""
        one = self.told[number]
        ends = [
            self.told[other].start
            for other in self._met_by(number)
            if self.told[other].start > one.start and self.ever_held(other)
        ]
        return min([*ends, *([] if one.end is None else [one.end])], default=None)

    def holding(self, at: int) -> list[Number]:
        return [number for number in sorted(self.believed) if self._holds(number, at)]

    def texts(self, at: int) -> list[str]:
        """The texts that hold at an instant, as far as is known today."""
        return sorted({self.told[number].text for number in self.holding(at)})

    def edges(self) -> Iterable[int]:
        """Every instant at which something may begin or end."""
        return sorted({at for one in self.told for at in (one.start, one.end, one.said) if at is not None})

    def _holds(self, number: Number, at: int) -> bool:
        end = self.until(number)
        return self.told[number].start <= at and (end is None or at < end) and self.ever_held(number)

    def _met_by(self, number: Number) -> list[Number]:
        return [other for pair in self.met if number in pair for other in pair if other != number]
