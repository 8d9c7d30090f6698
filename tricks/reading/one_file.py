"""The parts of an export: the loop, the tricks, and around them the skeleton, with all questions answered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import libcst as cst

from tricks.config import Config
from tricks.envs.lane import CHANGES
from tricks.ladder import FILES, Tricks
from tricks.reading.brief import Brief
from tricks.reading.decide import Decide
from tricks.reading.doors import DOORS, CloseDoors, closed_doors, without_unused
from tricks.reading.listing import answers, pure
from tricks.reading.parts import Definition, Part, defined, definitions
from tricks.reading.rewriting import Facts, Rewritten, Without, WithoutOwners

SKELETON = "tricks.reading.skeleton"
CORE = ("seeds", "reductions", "returns", "moments", "adam", "policies", "layers", "sequences", "nets", "images")
WHOLE = ("train", "build_agent")  # an export's `train` is the loop with these in it


@cache
def modules() -> tuple[str, ...]:
    """The modules that an export is made of, in the order in which one would read them."""
    core = [f"tricks.core.{name}" for name in CORE]
    tricks = [f"tricks.{name}" for name in dict.fromkeys(FILES.values())]
    settings, lanes, curve, program = (f"{SKELETON}.{name}" for name in ("settings", "lanes", "curve", "program"))
    return (
        settings,
        *core,
        lanes,
        "tricks.core.agent",
        "tricks.core.recurrent_state",
        *tricks,
        curve,
        "tricks.loop",
        program,
    )


def is_trick(module: str) -> bool:
    """Whether this is the file of a trick."""
    return module.removeprefix("tricks.") in FILES.values()


def decided(tricks: Tricks, config: Config, images: bool) -> Mapping[str, Part]:
    """Every definition by its name, with the questions answered that these flags settle, and these numbers."""
    facts, decide = Facts.of(tricks, images), Decide(answers(tricks))

    def part(name: str) -> Part:
        settled = _settled(name, facts)
        ours = settled.module == "tricks.loop" or settled.module.startswith(SKELETON)
        return _changed(settled, [decide, WithoutOwners()]) if ours else settled

    named = [name for name, plain in _plain().items() if plain.module == "tricks.loop"]
    loop = {name: cst.ensure_type(part(name).node, cst.FunctionDef) for name in named if name not in WHOLE}
    parts = {name: Part("tricks.loop", node) for name, node in without_unused(loop, "train_in", pure).items()}
    numbers = part("Config")
    parts["Config"] = Part(numbers.module, _numbered(numbers.node, config))
    parts["train"] = _whole(parts["train_in"], part("build_agent"))
    return Parts(part, parts)


class Parts(Mapping[str, Part]):
    """The definitions of an export by name, each made when it is asked for: most never are."""

    def __init__(self, make: Callable[[str], Part], made: dict[str, Part]) -> None:
        self.make, self.made = make, made

    def __getitem__(self, name: str) -> Part:
        if name not in self.made:
            self.made[name] = self.make(name)
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_plain())

    def __len__(self) -> int:
        return len(_plain())


@cache
def _settled(name: str, facts: Facts) -> Part:
    """A definition with closed doors, for agents like these."""
    return _changed(_plain()[name], _changes(facts))


@cache
def _changes(facts: Facts) -> Sequence[cst.CSTTransformer]:
    known = closed_doors(DOORS) | {"images": facts.images, "spaces.pixels": facts.images, "spaces.tasks == 1": True}
    known |= {"spaces.images": facts.images, "spaces.bytes": True}
    known |= {"self.mask is None": not facts.masks, "legal is None": False}
    known |= {"self.obs_stats is None": not facts.standardizes}
    known |= {"task is None": True, "stats.task is not None": False, "agent.spaces.tasks > 1": False}
    gone = ["task", *([] if facts.masks else ["legal"])]
    if not facts.recurs:
        known |= {"isinstance(obs, Sequences)": False, "rollout.state is not None": False}
    if not facts.shares:
        known["isinstance(given, Features)"] = False
    callables = {name: called for name, part in _plain().items() if (called := _called(part.node)) is not None}
    return [Decide(known), CloseDoors(callables), Rewritten(facts), *map(Without, gone)]


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
    members = [member for member in members if defined(member) not in CHANGES]  # torch has a `stack`, too
    docstring, first, *rest = (
        own.body.body[0],
        members[0].with_changes(leading_lines=[cst.EmptyLine(indent=False)]),
        *members[1:],
    )
    body = library.body.with_changes(body=[docstring, first, *rest])
    return library.with_changes(body=body, bases=(), lpar=cst.MaybeSentinel.DEFAULT, rpar=cst.MaybeSentinel.DEFAULT)


def _numbered(node: Definition, config: Config) -> cst.ClassDef:
    """The class of the numbers, with those of `config` as defaults."""
    node = cst.ensure_type(node, cst.ClassDef)
    members = []
    for member in node.body.body:
        small = member.body[0] if isinstance(member, cst.SimpleStatementLine) else None
        own = getattr(config, defined(member), None)
        if isinstance(small, cst.AnnAssign) and own != getattr(Config(), defined(member)):
            said = f"{own:_}" if type(own) is int else f'"{own}"' if isinstance(own, str) else repr(own)
            small = small.with_changes(value=cst.parse_expression(said))
            member = cst.ensure_type(member, cst.SimpleStatementLine).with_changes(body=[small])
        members.append(member)
    return node.with_changes(body=node.body.with_changes(body=members))


def _called(node: Definition) -> cst.FunctionDef | None:
    """What runs when this is called: a function, or a class's `__init__`."""
    if isinstance(node, cst.ClassDef):
        inits = [member for member in node.body.body if defined(member) == "__init__"]
        return cst.ensure_type(inits[0], cst.FunctionDef) if inits else None
    return node if isinstance(node, cst.FunctionDef) else None
