"""Files with damage of every kind."""

from collections.abc import Iterator


def flips(whole: bytes) -> Iterator[bytes]:
    """The bytes with one bit flipped, one for every byte, the bits in turn."""
    for i, byte in enumerate(whole):
        yield whole[:i] + bytes([byte ^ 1 << i % 8]) + whole[i + 1 :]
