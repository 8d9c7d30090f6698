"""Numbers as JSON, and back. Nothing that is read back is run: it becomes numbers, tuples, and lists, or an error."""

from functools import partial
from typing import Any

import numpy as np
import torch

MOST = 100_000  # numbers in a result
DTYPES = {f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)} | {"bool"}


def encoded(value: Any) -> Any:
    """Numbers, and tuples and lists of them, as JSON. Of a function, where it is; of anything else, its type's name."""
    if isinstance(value, torch.Tensor | np.ndarray):
        array = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        if array.size <= MOST and str(array.dtype) in DTYPES:
            kind = "tensor" if isinstance(value, torch.Tensor) else "array"
            return {kind: array.tolist(), "dtype": str(array.dtype), "shape": array.shape}
    if isinstance(value, bool | int | float | np.bool | np.integer | np.floating):
        return {"number": value if isinstance(value, bool | int | float) else value.item()}
    if isinstance(value, tuple | list) and len(value) <= MOST:
        return {"list" if type(value) is list else "tuple": [encoded(each) for each in value]}
    if value is None or value is Ellipsis:
        return {"nothing": value is None}
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, partial):
        return {"function": (value.func.__module__, value.func.__name__), "with": value.keywords}
    if callable(value) and hasattr(value, "__name__"):
        return {"function": (value.__module__, value.__name__), "with": {}}
    return {"other": type(value).__name__}


def decoded(result: dict[str, Any]) -> Any:
    """What `encoded` made JSON of; of anything but numbers, an object of no use. Raises an error for other JSON."""
    ((kind, value),) = ((k, v) for k, v in result.items() if k not in ("dtype", "shape", "with"))
    if kind in ("tensor", "array"):
        if result["dtype"] not in DTYPES:
            raise ValueError(f"no numbers: {result['dtype']}")
        array = np.array(value, dtype=result["dtype"]).reshape(result["shape"])
        return torch.from_numpy(array) if kind == "tensor" else array
    if kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](decoded(each) for each in value)
    if kind in ("number", "text"):
        return value
    return (None if value else ...) if kind == "nothing" else type(str(value), (), {})()
