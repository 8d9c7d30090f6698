"""The parts of an export: the loop, the tricks, and around them the skeleton, with all questions answered."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import libcst as cst
import libcst.matchers as m

from tricks.ladder import FILES, Tricks
from tricks.reading.brief import Brief
from tricks.reading.decide import Decide, text
from tricks.reading.doors import DOORS, CloseDoors, closed_doors, without_unused
from tricks.reading.listing import answers, pure
from tricks.reading.parts import Definition, Part, defined, definitions

SKELETON = "tricks.reading.skeleton"
NAMES = {  # what an export has instead
    "Player": "Lanes",
    "Policy": "Callable",
    "Rollout": "Batch",
    "Run": "SimpleNamespace",
    "Env": "Lanes",
    "make_env": "Lanes",
    "Spaces": "Lanes",
    "spaces": "env",
    "env.spaces": "env",
    "player.env": "player",
    "agent.spaces.family": "agent.family",
    "agent.spaces.tasks": "1",
    "Number": "float",
    "config.rates": "[config.lr] * config.seeds",
    "config.seed_list": "range(config.seeds)",
}
CALLS = {
    "Player": "env",
    "argsort": "keys.argsort(1)",
    "agent.value_net.parameters": "[each for layer in agent.value_net.layers for each in layer]",
    "Run": "SimpleNamespace(config=config, agent=agent, curve=log.curve)",
}
DROPPED = ("tricks", "body")  # arguments that its functions do not take


@cache
def modules() -> tuple[str, ...]:
    """The modules that an export is made of, in the order in which one would read them."""
    core = [f"tricks.core.{name}" for name in ("seeds", "returns", "moments", "adam", "layers")]
    skeleton = [f"{SKELETON}.{name}" for name in ("averages", "family", "lanes", "agents")]
    tricks = [f"tricks.{name}" for name in dict.fromkeys(FILES.values())]
    curve, program = f"{SKELETON}.curve", f"{SKELETON}.program"
    return (f"{SKELETON}.settings", *core, *skeleton, *tricks, curve, "tricks.loop", program)


def is_trick(module: str) -> bool:
    """Whether this is the file of a trick."""
    return module.removeprefix("tricks.") in FILES.values()


def decided(tricks: Tricks) -> dict[str, Part]:
    """Every definition by its name, with the questions answered that these flags settle."""
    shares = tricks.shared_trunk or tricks.ppg
    decide = Decide(answers(tricks) | {"reads": shares or tricks.state_norm})
    parts = dict(_settled(shares, tricks.action_mask))
    for name, part in parts.items():
        if part.module == "tricks.loop" or part.module.startswith(SKELETON):
            parts[name] = _changed(part, [decide])
    loop = {
        name: cst.ensure_type(part.node, cst.FunctionDef)
        for name, part in parts.items()
        if part.module == "tricks.loop" and name not in ("train", "build_agent")
    }
    parts |= {name: Part("tricks.loop", node) for name, node in without_unused(loop, "train_in", pure).items()}
    return parts | {"train": _whole(parts["train_in"], parts["build_agent"])}


@cache
def _settled(shares: bool, masks: bool) -> Mapping[str, Part]:
    """Every definition, for observations that are vectors and closed doors; shares: whether two heads share a body."""
    known = closed_doors(DOORS) | {"shares": shares, "x.dtype == torch.uint8": False}
    known |= {"task is None": True, "stats.task is not None": False, "agent.spaces.tasks > 1": False}
    facts = ["task", *([] if masks else ["legal"])]
    if not shares:
        known["isinstance(given, Features)"] = False
    plain = _plain()
    callables = {name: function for name, part in plain.items() if (function := _called(part.node)) is not None}
    changes = [Decide(known), CloseDoors(callables), _Rewritten(shares), *map(_Without, facts)]
    return {name: _changed(part, changes) for name, part in plain.items()}


@cache
def _plain() -> Mapping[str, Part]:
    """Every definition as it stands; in `core` and the tricks, with docstrings in brief."""
    parts: dict[str, Part] = {}
    for module in modules():
        for name, part in definitions(module).items():
            assert name not in parts, f"two definitions of {name}"
            parts[name] = part if module.startswith((SKELETON, "tricks.loop")) else _changed(part, [Brief()])
    config = _changed(definitions("tricks.config")["Config"], [Brief()])
    return parts | {"Config": Part(parts["Config"].module, _numbers(config.node, parts["Config"].node))}


def _changed(part: Part, changes: Sequence[cst.CSTTransformer]) -> Part:
    """The part after these changes."""
    node = part.node
    for change in changes:
        node = cst.ensure_type(node.visit(change), type(part.node))
    return Part(part.module, node)


def _whole(loop: Part, build: Part) -> Part:
    """`train`: the loop, which here makes its environment, which ends with the program, and its agent itself."""
    node, built = (cst.ensure_type(part.node, cst.FunctionDef) for part in (loop, build))
    _, *params = node.params.params
    docstring, *body = node.body.body
    at = [defined(line) for line in body].index("agent")
    env = cst.parse_statement("env = Lanes(config)")
    body = [docstring, env, *body[:at], *built.body.body[1:-1], *body[at + 1 :]]
    changed = {"params": node.params.with_changes(params=params), "body": node.body.with_changes(body=body)}
    return Part(loop.module, node.with_changes(name=cst.Name("train"), **changed))


def _numbers(library: Definition, own: Definition) -> cst.ClassDef:
    """The library's numbers in their order, some of them as the skeleton's Config has them."""
    library, own = cst.ensure_type(library, cst.ClassDef), cst.ensure_type(own, cst.ClassDef)
    fields = {defined(member): member for member in own.body.body}
    members = [fields.get(defined(member), member) for member in library.body.body]
    members = [member for member in members if isinstance(member, cst.SimpleStatementLine) and defined(member)]
    docstring, first, *rest = (
        own.body.body[0],
        members[0].with_changes(leading_lines=[cst.EmptyLine(indent=False)]),
        *members[1:],
    )
    body = library.body.with_changes(body=[docstring, first, *rest])
    return library.with_changes(body=body, bases=(), lpar=cst.MaybeSentinel.DEFAULT, rpar=cst.MaybeSentinel.DEFAULT)


def _called(node: Definition) -> cst.FunctionDef | None:
    """What runs when this is called: a function, or a class's `__init__`."""
    if isinstance(node, cst.ClassDef):
        inits = [member for member in node.body.body if defined(member) == "__init__"]
        return cst.ensure_type(inits[0], cst.FunctionDef) if inits else None
    return node if isinstance(node, cst.FunctionDef) else None


class _Rewritten(cst.CSTTransformer):
    """Without devices, and with the names that an export has."""

    def __init__(self, shares: bool) -> None:
        self.shares = shares  # whether two heads share a body, so that there is something to be asked once for both

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        func, args = updated_node.func, updated_node.args
        if text(func) == "config.each":
            return cst.parse_expression(f"[config.{text(args[0].value)[1:-1]}] * config.seeds")
        if text(func) == "per_seed":
            return args[0].value
        if (instead := CALLS.get(text(original_node.func))) is not None:
            return cst.parse_expression(instead)
        if isinstance(func, cst.Attribute):
            moves = func.attr.value == "to" and args and text(args[0].value).endswith("device")
            if moves or (func.attr.value == "cpu" and not args):
                return func.value
            if text(func) in ("stats.of", "agent.return_stats.of"):
                return func.value
            if func.attr.value == "features" and not self.shares:
                return args[0].value
        left = [arg for arg in args if text(arg.value) not in DROPPED and not m.matches(arg, m.Arg(keyword=DEVICE))]
        return updated_node if len(left) == len(args) else updated_node.with_changes(args=_closed(left))

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        if self.shares or text(updated_node.annotation) != "Tensor | Features":
            return updated_node
        return updated_node.with_changes(annotation=cst.Name("Tensor"))

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if original_node.attr.value == "columns":
            return cst.Call(cst.Name("vars"), [cst.Arg(updated_node.value)])
        instead = NAMES.get(text(original_node))
        return updated_node if instead is None else cst.parse_expression(instead)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return cst.parse_expression(NAMES.get(updated_node.value, updated_node.value))


DEVICE = m.Name("device")


class _Without(cst.CSTTransformer):
    """Takes a fact out everywhere: as a parameter and an argument, as a field, and from tuples."""

    def __init__(self, fact: str) -> None:
        self.fact = fact

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        left = [arg for arg in updated_node.args if not self._is(arg.value)]
        return updated_node if len(left) == len(updated_node.args) else updated_node.with_changes(args=_closed(left))

    def leave_Parameters(self, original_node: cst.Parameters, updated_node: cst.Parameters) -> cst.Parameters:
        left = [param for param in updated_node.params if param.name.value != self.fact]
        same = len(left) == len(updated_node.params)
        return updated_node if same else updated_node.with_changes(params=_closed(left))

    def leave_Tuple(self, original_node: cst.Tuple, updated_node: cst.Tuple) -> cst.Tuple:
        left = [element for element in updated_node.elements if not self._is(element.value)]
        same = len(left) == len(updated_node.elements)
        return updated_node if same else updated_node.with_changes(elements=_closed(left))

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        return cst.RemoveFromParent() if defined(original_node) == self.fact else updated_node

    def _is(self, value: cst.BaseExpression) -> bool:
        return text(value) == self.fact or f".{self.fact}" in text(value)


def _closed(items: list[Any]) -> list[Any]:
    """The items of a list, the last one without a comma."""
    return [*items[:-1], *(last.with_changes(comma=cst.MaybeSentinel.DEFAULT) for last in items[-1:])]
