"""Look up PyTorch devices."""

import torch

from tricks.errors import InputError


def find_device(name: str) -> torch.device:
    """The device with this name. Raises InputError if PyTorch does not know it or this machine does not have it."""
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda"):  # others lack float64, or hold no data (meta)
            raise NotImplementedError
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        known = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        raise InputError(f"no device {name!r}; PyTorch {torch.__version__} finds {', '.join(known)}") from error
    return device
