"""What an agent is asked to act on, checked: observations, and masks of legal actions."""

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete, MultiDiscrete
from torch import Tensor

from tricks.core.leaves import Leaf
from tricks.core.spaces import Spaces
from tricks.errors import InputError
from tricks.values import shown


def obs_arrays(spaces: Spaces, obs: Any, agents: int) -> tuple[list[np.ndarray], tuple[int, ...]]:
    """Each part of the observations as an array, and the axes that lead: (), (N,) or (S, N).

    Raises InputError unless they are finite numbers, of the space's shape and, if it is one of whole numbers, within
    it, unless all parts lead with the same axes, and unless several agents each have their own.
    """
    arrays, leads = zip(*(part_array(leaf, part_of(leaf, obs), agents) for leaf in spaces.leaves), strict=True)
    if len(set(leads)) > 1:
        raise InputError(f"the parts of observations of {spaces.env} lead with different axes, {shown(leads)}")
    return list(arrays), leads[0]


def part_of(leaf: Leaf, obs: Any) -> Any:
    """A part of an observation. Raises InputError if it does not have it."""
    try:
        return leaf.of(obs)
    except (KeyError, IndexError, TypeError):
        raise InputError(f"an observation of {leaf.env} needs {leaf.name}, and {shown(obs)} does not have it") from None


def part_array(leaf: Leaf, obs: Any, agents: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """One part of the observations as an array, and the axes that lead; raises InputError as `obs_arrays` does."""
    space, at = leaf.space, "".join(f"[{key!r}]" for key in leaf.path)
    shape = space.shape or ()
    array = number_array(f"observations{at}", obs)
    lead = array.ndim - len(shape)
    if not 0 <= lead <= 2 or array.shape[lead:] != shape:
        raise InputError(
            f"observations{at} of {leaf.env} are {list(shape)}, [N, ...] or [S, N, ...] of these; "
            f"not {list(array.shape)}"
        )
    if (agents > 1 and lead < 2) or (lead == 2 and len(array) != agents):
        raise InputError(
            f"observations of {agents} agents must be [S, N, ...], with S = {agents}, not {list(array.shape)}"
            + "; agent[k] picks one" * (agents > 1)
        )
    if not (np.abs(array) <= np.finfo(np.float32).max).all():  # nor NaN
        raise InputError(f"observations{at} must be finite, not {shown(array.tolist())}")
    if isinstance(space, Discrete | MultiDiscrete):
        first = np.asarray(space.start)
        last = first + (space.n if isinstance(space, Discrete) else space.nvec) - 1
        if ((array < first) | (array > last) | (array % 1 != 0)).any():
            raise InputError(
                f"observations{at} of {leaf.env} are whole numbers from {first} to {last}, not {shown(obs)}"
            )
    return array, array.shape[:lead]


def mask_array(spaces: Spaces, legal: Any, rows: tuple[int, ...]) -> np.ndarray:
    """The mask as booleans, [*rows, A]. Raises InputError if it does not fit, or leaves no action in a row."""
    if not spaces.discrete:
        raise InputError(f"{spaces.env} has Box actions, which are all legal; leave out legal")
    array, fitting = number_array("legal", one_mask(spaces, legal)), (*rows, spaces.actions)
    if array.shape != fitting:
        raise InputError(f"legal must be {list(fitting)}, one entry for each action, not {list(array.shape)}")
    mask = array.astype(bool)
    if not all(part.any(-1).all() for part in np.split(mask, np.cumsum(spaces.components)[:-1], -1)):
        raise InputError(f"legal leaves no action: {shown(array.tolist())}")
    return mask


def begin_array(begins: Any, rows: tuple[int, ...]) -> np.ndarray:
    """Where episodes begin as booleans, [S, N], from one bool or one for each row. Raises InputError if not so many."""
    array = number_array("begins", begins)
    if array.ndim > 0 and array.size != np.prod(rows):
        raise InputError(f"begins must be one bool, or one for each of {list(rows)} rows, not {list(array.shape)}")
    return np.broadcast_to(array.astype(bool), rows).copy() if array.ndim == 0 else array.astype(bool).reshape(rows)


def state_before(state: Tensor | None, begins: Any, rows: tuple[int, ...], size: int) -> Tensor:
    """A recurrent policy's state before it acts on rows [S, N], given that after its last ones: [S, N, 1, K = size].

    Zero where an episode begins. Raises InputError if there were other rows, unless all of these are the first.
    """
    first = torch.from_numpy(begin_array(begins, rows))
    if state is None or (first.all() and state.shape[:2] != rows):
        return torch.zeros(*rows, 1, size, dtype=torch.float32)
    if state.shape[:2] != rows:
        before = " × ".join(map(str, state.shape[:2]))
        raise InputError(f"this agent's episodes go on in {before} lanes; with other lanes, say begins=True")
    return state.masked_fill(first.view(*rows, 1, 1), 0)


def one_mask(spaces: Spaces, legal: Any) -> Any:
    """A mask [..., A]: itself, or the arrays [..., nₖ] of its K components, one after the other."""
    parts = legal if isinstance(legal, tuple | list) else ()
    sizes = [np.shape(part)[-1:] for part in parts if isinstance(part, np.ndarray)]
    whole = not spaces.components or sizes != [(size,) for size in spaces.components]
    return legal if whole else np.concatenate(parts, -1)


def number_array(name: str, given: Any) -> np.ndarray:
    """An array of numbers. Raises InputError for anything else, such as a string or rows of different lengths."""
    try:
        array = np.asarray(given)
    except (ValueError, TypeError, RuntimeError):  # ragged, or a tensor that numpy cannot read
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be an array of numbers, not {shown(given)}")
    return array
