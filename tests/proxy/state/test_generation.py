"""States laid out flat: what is kept comes back, under whatever keys, and what is forgotten is overwritten."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.state.generation import KEY_BYTES, Generation

MOST = 20
KEYS = [bytes([n]) * KEY_BYTES for n in range(20)]
Step = tuple[str, list[bytes], bytes]

steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "drop", "forget"]),
        st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True),
        st.binary(min_size=1, max_size=40).filter(any),
    ),
    max_size=30,
)


def having(byte: int) -> Callable[[bytes], bool]:
    return lambda packed: byte in packed


@given(steps)
def test_keeps_what_a_dict_would(done: list[Step]) -> None:
    """After whatever was put, dropped and forgotten, keys that share their place included."""
    generation, wanted = Generation(0, MOST), dict[bytes, bytes]()
    entered = 0
    for what, keys, packed in done:
        if what == "put":
            generation.put(keys, packed)
            wanted |= dict.fromkeys(keys, packed)
            entered += len(keys)
        elif what == "drop":
            for key in set(keys) & wanted.keys():
                generation.drop(key)
                del wanted[key]
        else:
            meant = {key for key, kept in wanted.items() if packed[0] in kept}
            assert generation.forget(packed[:1], having(packed[0])) == meant
            wanted = {key: kept for key, kept in wanted.items() if key not in meant}
        assert len(generation) == len(wanted)
        assert generation.room == MOST - entered
        assert {key: kept for key in KEYS if (kept := generation.get(key)) is not None} == wanted


@pytest.mark.parametrize("most", [1, 1_000, 2**16 - 1, 2**16])
def test_takes_as_many_keys_as_it_says(most: int) -> None:
    """Every one of them is found again, and others are not."""
    generation = Generation(0, most)
    for n in range(most):
        generation.put([n.to_bytes(KEY_BYTES, "big")], b"%d" % n)
    assert generation.room == 0
    assert [generation.get(n.to_bytes(KEY_BYTES, "big")) for n in range(most + 1)] == [
        *(b"%d" % n for n in range(most)),
        None,
    ]


def test_forgotten_is_overwritten() -> None:
    """No record keeps it, not even one that its keys have left."""
    generation = Generation(0, MOST)
    generation.put(KEYS[:2], b"a secret")
    generation.put(KEYS[:1], b"a newer secret")
    generation.put(KEYS[2:3], b"another's")
    generation.drop(KEYS[0])
    assert generation.forget(b"s", having(b"s"[0])) == {KEYS[1], KEYS[2]}
    generation.put(KEYS[3:4], b"more")
    assert not any(b"secret" in piece for piece in pieces(generation))


def pieces(generation: Generation) -> list[bytes]:
    """All that a generation holds."""
    return [bytes(held) for held in vars(generation).values() if isinstance(held, bytearray)]
