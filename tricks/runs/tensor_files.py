"""Tensors in files, written and read as bytes. Reading builds tensors and plain values, and never runs code."""

import io
import pickle
import re
import warnings
from typing import Any

import torch

from tricks.runs.about import digest

SEAL = b"\ntricks sha256 "  # before the checksum, at the end of the file
END = b"PK\5\6"  # begins the last 22 bytes of a PyTorch file


def tensor_bytes(content: Any) -> bytes:
    """A dict of tensors and plain values as the bytes of a PyTorch file."""
    box = io.BytesIO()
    torch.save(content, box)
    return box.getvalue()


def tensors_in(content: bytes) -> Any:
    """The inverse of `tensor_bytes`. Raises ValueError, with a one-line reason, for anything else.

    A file with other pickled objects is refused before any of them is built or imported.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's remarks on pickles that it refuses
            return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        found = re.search(r"GLOBAL (\S+)|type (\S+)", str(error))
        what = f"pickled Python code ({found[1] or found[2]})" if found else "pickled objects that are not tensors"
        raise ValueError(f"it contains {what}; only tensors are loaded") from None
    except Exception:  # unpickling a file that is not a pickle can raise anything
        raise ValueError("it is not a PyTorch file, or only a part of one") from None


def sealed(content: bytes) -> bytes:
    """The content with its checksum at the end."""
    return content + SEAL + digest(content).encode()


def unsealed(content: bytes) -> bytes:
    """The inverse of `sealed`. Raises ValueError if the checksum is missing or does not match."""
    body, seal, checksum = content.rpartition(SEAL)
    if not seal:
        raise ValueError("it has no checksum: it was cut off, or an older version of this package wrote it")
    if digest(body).encode() != checksum:
        raise ValueError("it does not match its checksum")
    return body


def seals_nothing(content: bytes) -> bool:
    """Whether this is a whole PyTorch file without a checksum, as early versions wrote them."""
    return content[-22:].startswith(END)
