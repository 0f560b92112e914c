"""States that were last used in one stretch of time, laid out flat: as objects in a dict they would take twice the memory."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from struct import Struct

KEY_BYTES = 16
"""Length of a key."""
_LENGTH = Struct("<I")
_GONE = 2**64 - 1


class Generation:
    """Packed states under their keys.

    Records stand one behind the other, each after its length. A key's entry, numbered as it came, says where its record begins;
    an open-addressed table, at most half full, leads from the key to its entry.

    Args:
        began: When, by the monotonic clock, in seconds.
        most: How many keys it takes.
    """

    def __init__(self, began: float, most: int) -> None:
        self.began = began
        self._most = most
        self._mask = (1 << (2 * most - 1).bit_length()) - 1
        self._table = array("H" if most < 2**16 else "I", [0]) * (self._mask + 1)
        """Numbers of entries from 1 on; 0 where there is none."""
        self._keys = bytearray()
        self._places = array("Q")
        self._records = bytearray()
        self._put = self._gone = 0

    def __len__(self) -> int:
        return len(self._places) - self._gone

    @property
    def room(self) -> int:
        """How many keys it still takes; a key that is put again counts again, as its record does."""
        return self._most - self._put

    def get(self, key: bytes) -> bytes | None:
        """Return the packed state under a key, or None."""
        entry = self._table[self._slot(key)]
        if not entry or (place := self._places[entry - 1]) == _GONE:
            return None
        return self._record(place)

    def put(self, keys: Sequence[bytes], packed: bytes) -> None:
        """Keep a packed state under keys for which there is room."""
        place = len(self._records)
        self._records += _LENGTH.pack(len(packed)) + packed
        self._put += len(keys)
        for key in keys:
            slot = self._slot(key)
            if entry := self._table[slot]:
                self._gone -= self._places[entry - 1] == _GONE
                self._places[entry - 1] = place
            else:
                self._keys += key
                self._places.append(place)
                self._table[slot] = len(self._places)

    def drop(self, key: bytes) -> None:
        """Let go of a key that is there."""
        self._drop(self._table[self._slot(key)] - 1)

    def forget(self, named: bytes, is_meant: Callable[[bytes], bool]) -> set[bytes]:
        """Overwrite the packed states that are meant, also those that no key leads to any more, and return the keys that did.

        Args:
            named: What stands in each of them, which is quickly looked for.
            is_meant: Tells whether one is.
        """
        if named not in self._records:
            return set()
        meant = {
            place
            for place in self._starts()
            if named in (packed := self._record(place)) and any(packed) and is_meant(packed)  # not what is overwritten
        }
        for place in meant:
            start, end = self._bounds(place)
            self._records[start:end] = bytes(end - start)
        entries = [entry for entry, place in enumerate(self._places) if place in meant]
        for entry in entries:
            self._drop(entry)
        return {self._key(entry) for entry in entries}

    def _drop(self, entry: int) -> None:
        self._places[entry] = _GONE
        self._gone += 1

    def _slot(self, key: bytes) -> int:
        """Return where in the table a key stands, or would."""
        table, mask = self._table, self._mask
        slot = hash(key) & mask  # salted: a client who can guess keys cannot guess which of them share a place
        while (entry := table[slot]) and not self._keys.startswith(key, (entry - 1) * KEY_BYTES):
            slot = (slot + 1) & mask
        return slot

    def _key(self, entry: int) -> bytes:
        return bytes(self._keys[entry * KEY_BYTES : (entry + 1) * KEY_BYTES])

    def _record(self, place: int) -> bytes:
        start, end = self._bounds(place)
        return bytes(self._records[start:end])

    def _bounds(self, place: int) -> tuple[int, int]:
        start = place + _LENGTH.size
        return start, start + _LENGTH.unpack_from(self._records, place)[0]

    def _starts(self) -> Iterator[int]:
        place = 0
        while place < len(self._records):
            yield place
            _, place = self._bounds(place)
