"""Which tensors a line of the loop touches, and their shapes: a tiny run of the listing, watched line by line."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

import torch

from tricks import Config, Tricks, listing

S, T, N, H = 3, 5, 7, 13  # unlike each other, and unlike the 2 features and 14 actions of this world, which has masks
LETTERS = {N: "N", H: "H", 2: "D", 14: "A"}
BOX_LETTERS = {N: "N", H: "H", 3: "D", 1: "A", 2: "2A"}  # of Pendulum
SUMS_LETTERS = {N: "N", H: "H", 77: "D", 7: "A"}  # 11 places for 7 words
TINY = Config(
    "tricks/Grid10-v0", seeds=S, lanes=N, horizon=T, hidden=(H,), steps=N * T, minibatches=1, epochs=1, group=N
)


def shapes(tricks: Tricks) -> dict[int, str]:
    """The tensors on each line of `listing(tricks)`: line number -> `advantage [S, B], ratio [S, B]`."""
    config, letters = (replace(TINY, env="Pendulum-v1"), BOX_LETTERS) if tricks.squash else (TINY, LETTERS)
    if tricks.imitate:
        config, letters = replace(TINY, env="tricks/Sums-v0"), SUMS_LETTERS
    source = str(listing(tricks))
    named = dict(_expressions(ast.parse(source)))
    found: dict[int, dict[str, str]] = {line: {} for line in named}
    before: dict[int, int] = {}  # the line that each frame is on

    def look(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != "<loop>":
            return None
        last = 0 if event == "call" else before[id(frame)]
        for line in {last, frame.f_lineno} & named.keys():  # what it made, and what it is about to use
            found[line] |= _seen(named[line], frame, letters)
        before[id(frame)] = frame.f_lineno
        return look

    space: dict[str, Any] = {}
    exec(compile(source, "<loop>", "exec"), space)
    sys.settrace(look)
    try:
        space["train"](config)
    finally:
        sys.settrace(None)
    return {line: ", ".join(f"{name} {shape}" for name, shape in seen.items()) for line, seen in found.items() if seen}


def _expressions(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """The names and attributes on each simple statement's first line, as in `rollout.valid`, in their order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.For):
            parts = [node.target, node.iter] if isinstance(node, ast.For) else [node]
            inside = [inner for part in parts for inner in ast.walk(part)]
            chains = [ast.unparse(each) for each in inside if isinstance(each, ast.Name | ast.Attribute)]
            yield node.lineno, list(dict.fromkeys(chains))


def _seen(expressions: list[str], frame: FrameType, letters: dict[int, str]) -> dict[str, str]:
    """The shapes of those expressions that are tensors now."""
    found, agent = {}, frame.f_locals.get("agent")
    parameters = sum(each[0].numel() for each in agent.parameters()) if agent else 0
    for expression in expressions:
        first, *rest = expression.split(".")
        value = frame.f_locals.get(first)
        for name in rest:
            value = vars(value).get(name) if hasattr(value, "__dict__") else None
        if isinstance(value, torch.Tensor) and value.dim():
            found[expression] = in_letters(tuple(value.shape), parameters, letters)
    return found


def in_letters(shape: tuple[int, ...], parameters: int = 0, letters: dict[int, str] = LETTERS) -> str:
    """`[S, T, N]`, `[S, B, D]`: the letters that the loop's comments use. parameters: of one seed, the P in [S, P]."""
    if shape[0] != S:
        return str(list(shape))
    last = letters.get(shape[-1], "")
    if len(shape) == 2:
        return f"[S, {'P' if shape[1] == parameters else last or 'B'}]"
    return {1: "[S]", 3: "[S, T, N]" if last == "N" else f"[S, B, {last}]", 4: f"[S, T, N, {last}]"}[len(shape)]
