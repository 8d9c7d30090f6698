"""One file to take home: the training loop with its flags decided, and all that it calls.

An export is the library's own source. The loop is decided as in a listing; other modules give the definitions that are
then still reached, and classes the members that are used. What one file does not need is taken out: devices,
checkpoints, listeners, other backends. `skeleton/` holds what an export has of its own. Executing it defines a
`train(config)` with the same curve, to the last bit, as the library's on the backend `gymnasium`.
"""

import sys
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from importlib import resources

import libcst as cst
import libcst.matchers as m

from tricks.ladder import FILES, Tricks
from tricks.reading.dead import without_dead_stores
from tricks.reading.decide import CloseDoors, Decide, closed_doors, reads, text
from tricks.reading.listing import answers, pure
from tricks.reading.parts import Definition, Mentions, Part, defined, definitions, imports, parsed
from tricks.reading.shake import shaken
from tricks.reading.source import Code

SKELETON = "tricks.reading.skeleton"
VECTORS = {  # the answers for observations that are vectors
    "self.spaces.pixels": False,
    "spaces.pixels": False,
    "self.pixels": False,
    "rollout.obs.is_floating_point()": True,
    "x.dtype == torch.uint8": False,
}
CLOSED = ("checkpoints", "keep", "on_update", "body")  # of DOORS, those that are no name of anything else
NAMES = {"Env": "Lanes", "make_env": "Lanes", "InputError": "ValueError"}  # what an export has instead
GONE = {
    "Agent": ("register_load_state_dict_post_hook",),
    "Categorical": ("dtype",),
    "Config": ("__post_init__",),
    "DiagonalGaussian": ("dtype",),
    "Player": ("_check",),
    "Spaces": ("__post_init__", "shape"),
    "Step": ("to",),
}
BASES = ("tricks.envs.gymnasium", "tricks.runs.log")  # whose classes the skeleton inherits from


def export(tricks: Tricks) -> Code:
    """One self-contained file that trains with these flags, on observations that are vectors.

    It imports torch, numpy and gymnasium only; `python FILE --env CartPole-v1 --seeds 4 --steps 20000` trains, and
    prints how it goes.
    """
    parts = _parts(tricks)
    left = shaken(parts, ["train", "main"], pure)
    body = "".join(_section(module, nodes) for module, nodes in _in_order(parts, left))
    named = ", ".join(tricks.on) or "none: this is REINFORCE"
    about = textwrap.fill(f"Deep reinforcement learning in one file, with these tricks: {named}.", 100)
    call = "    python FILE --env CartPole-v1 --seeds 4 --steps 20000"
    head = f'"""{about}\n\n{LETTERS}\n{call}\n"""\n\n{_imports(list(left.values()))}'
    return Code(f'{head}{_joined(body)}\n\nif __name__ == "__main__":\n    main(train)\n')


LETTERS = """All seeds train at once: every tensor leads with S, and seeds share nothing. The letters of the shapes are
S seeds, T steps of a rollout, N lanes (environments of a seed), B rows of a batch, D features of an observation,
and A actions. To train:
"""


@cache
def _modules() -> tuple[str, ...]:
    """The modules that an export is made of, in the order in which one would read them."""
    core = sorted(
        path.name[:-3] for path in resources.files("tricks").joinpath("core").iterdir() if path.name[0] != "_"
    )
    tricks = dict.fromkeys(FILES.values())
    return (
        "tricks.config",
        *(f"tricks.core.{name}" for name in core if name.isidentifier()),
        f"{SKELETON}.lanes",
        *(f"tricks.{name}" for name in tricks),
        f"{SKELETON}.curve",
        "tricks.loop",
        f"{SKELETON}.program",
    )


def _parts(tricks: Tricks) -> dict[str, Part]:
    """Every definition by its name, with its questions answered."""
    plain = _library(tricks.state_norm, tricks.return_norm or tricks.ppg)
    loop = {name: part for name, part in plain.items() if part.module == "tricks.loop"}
    decide, loops = Decide(answers(tricks)), {}
    for name, part in loop.items():
        node = part.node.visit(decide)
        if isinstance(node, cst.FunctionDef):
            loops[name] = Part(part.module, without_dead_stores(node, pure))
    return plain | loops


@cache
def _library(standardizes: bool, normalizes: bool) -> dict[str, Part]:
    """Every definition with those questions answered that are not the loop's.

    They are those of VECTORS, of doors, which are all closed, and whether observations are ever standardized and
    returns ever normalized.
    """
    parts: dict[str, Part] = {}
    for module in _modules():
        for name, part in definitions(module).items():
            assert name not in parts, f"two definitions of {name}"
            parts[name] = Part(module, _flat(part) if isinstance(part.node, cst.ClassDef) else part.node)
    callables = {name: function for name, part in parts.items() if (function := _called(part.node)) is not None}
    known = VECTORS | ({} if standardizes else {"self.standardizes": False})
    brief = _Brief()
    parts = {name: part if _is_trick(part.module) else _changed(part, brief) for name, part in parts.items()}
    changes = [Decide(known | closed_doors(CLOSED)), CloseDoors(callables), _Plain(identity=not normalizes)]
    parts = {name: _changed(part, *changes) for name, part in parts.items()}
    inline = _Inline({name for part in parts.values() for name in _identities(part.node)})
    return {name: _changed(part, inline) for name, part in parts.items()}


def _changed(part: Part, *changes: cst.CSTTransformer) -> Part:
    """The part after these changes."""
    node = part.node
    for change in changes:
        node = cst.ensure_type(node.visit(change), type(part.node))
    return Part(part.module, node)


def _flat(part: Part) -> cst.ClassDef:
    """A class of the skeleton with what it inherits from the library."""
    node = cst.ensure_type(part.node, cst.ClassDef)
    base = node.bases[0].value if node.bases else None
    found = imports(part.module).get(text(base).split(".")[0]) if base is not None else None
    if base is None or found is None or not part.module.startswith(SKELETON) or not found[0].startswith("tricks"):
        return node
    module, name = found if isinstance(base, cst.Name) else (".".join(found), text(base).split(".")[1])
    inherited = cst.ensure_type(definitions(module)[name].node, cst.ClassDef)
    own = {defined(member): member for member in node.body.body if defined(member)}
    docstring, *rest = node.body.body
    others = [member for member in inherited.body.body if defined(member) and defined(member) not in own]
    body = node.body.with_changes(body=[docstring, *rest, *others])
    return node.with_changes(body=body, bases=inherited.bases, lpar=inherited.lpar, rpar=inherited.rpar)


def _called(node: Definition) -> cst.FunctionDef | None:
    """What runs when this is called: a function, or a class's `__init__`."""
    if isinstance(node, cst.ClassDef):
        inits = [member for member in node.body.body if defined(member) == "__init__"]
        return cst.ensure_type(inits[0], cst.FunctionDef) if inits else None
    return node if isinstance(node, cst.FunctionDef) else None


def _is_trick(module: str) -> bool:
    return module.removeprefix("tricks.") in FILES.values()


class _Brief(cst.CSTTransformer):
    """Docstrings cut down to their first paragraph, and those of fields to a comment on the line.

    What the parts around the tricks do beyond it is mostly for others than one file.
    """

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body: list[cst.BaseStatement] = []
        for i, line in enumerate(updated_node.body):
            said = _said(line)
            if said is None:
                body.append(line)
            elif i == 0:
                first = said.split("\n\n")[0]
                body.append(cst.parse_statement(f'"""{first}"""').with_changes(leading_lines=[]))
            else:
                body[-1] = _with_comment(body[-1], " ".join(said.split()))
        return updated_node.with_changes(body=body)


def _said(line: cst.CSTNode) -> str | None:
    """The text of a docstring, if that is what this is."""
    if m.matches(line, m.SimpleStatementLine([m.Expr(m.SimpleString())])):
        string = m.findall(line, m.SimpleString())[0]
        return str(cst.ensure_type(string, cst.SimpleString).evaluated_value)
    return None


def _with_comment(line: cst.BaseStatement, said: str) -> cst.BaseStatement:
    """A field with its description behind it, as much of it as fits: whole clauses."""
    room = 120 - len(text(line).strip()) - 8
    while len(said) > room and ("; " in said or ". " in said or ": " in said or ", " in said or "(" in said):
        said = said[: max(said.rfind(end) for end in ("; ", ". ", ": ", ", ", " ("))]
    comment = cst.TrailingWhitespace(cst.SimpleWhitespace("  "), cst.Comment(f"# {said.rstrip('.')}"))
    return line.with_changes(trailing_whitespace=comment)


class _Plain(cst.CSTTransformer):
    """Takes out devices, and names that an export does not have.

    identity: the return statistics never move, so that values are what the value net puts out.
    """

    def __init__(self, identity: bool) -> None:
        self.identity = identity

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        dropped = GONE.get(original_node.name.value, ())
        body = [member for member in updated_node.body.body if defined(member) not in dropped]
        return updated_node.with_changes(body=updated_node.body.with_changes(body=body))

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        dropped = {f"self.{name}" for names in GONE.values() for name in names}
        body = []
        for line in updated_node.body:
            calls = [text(cst.ensure_type(call, cst.Call).func) for call in m.findall(line, m.Call())]
            if not (isinstance(line, cst.SimpleStatementLine) and dropped & set(calls)):
                body.append(line)
        return updated_node.with_changes(body=body)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        func, args = updated_node.func, updated_node.args
        if isinstance(func, cst.Attribute):
            moves = func.attr.value == "to" and args and text(args[0].value).endswith("device")
            if moves or (func.attr.value == "cpu" and not args):
                return func.value
        if self.identity and text(func) == "denormalize" and text(args[1].value) == "self.returns":
            return args[0].value
        left = [arg for arg in args if text(arg.value) != "tricks" and not _is_device(arg)]
        if len(left) < len(args) and left:
            left[-1] = left[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return updated_node.with_changes(args=left)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=NAMES.get(updated_node.value, updated_node.value))

    def leave_Comment(self, original_node: cst.Comment, updated_node: cst.Comment) -> cst.Comment:
        return updated_node.with_changes(value=updated_node.value.partition("  # type: ignore")[0])

    def leave_TrailingWhitespace(
        self, original_node: cst.TrailingWhitespace, updated_node: cst.TrailingWhitespace
    ) -> cst.TrailingWhitespace:
        if updated_node.comment is None or not updated_node.comment.value.startswith("# type: ignore"):
            return updated_node
        return updated_node.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))


def _is_device(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == "device"


def _identities(node: Definition) -> list[str]:
    """The methods that return what they are given."""
    found = []
    for member in node.body.body if isinstance(node, cst.ClassDef) else ():
        if isinstance(member, cst.FunctionDef) and len(member.params.params) == 2:
            last = member.body.body[-1]
            only = len(member.body.body) == 1 + (member.get_docstring() is not None)
            given = member.params.params[1].name.value
            if only and m.matches(last, m.SimpleStatementLine([m.Return(m.Name(given))])):
                found.append(member.name.value)
    return found


class _Inline(cst.CSTTransformer):
    """Calls of methods that return what they are given, in place."""

    def __init__(self, identities: set[str]) -> None:
        self.identities = identities

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        dropped = set(_identities(original_node))
        body = [member for member in updated_node.body.body if defined(member) not in dropped]
        return updated_node.with_changes(body=updated_node.body.with_changes(body=body))

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        func = updated_node.func
        if isinstance(func, cst.Attribute) and func.attr.value in self.identities and len(updated_node.args) == 1:
            return updated_node.args[0].value
        return updated_node


def _in_order(parts: Mapping[str, Part], left: Mapping[str, Definition]) -> list[tuple[str, list[Definition]]]:
    """The modules with what is left of them, each after those that it uses."""
    home = {name: parts[name].module for name in left}
    uses: dict[str, set[str]] = {module: set() for module in home.values()}
    for name, node in left.items():
        quoted = Mentions.of([node])
        uses[home[name]] |= {home[other] for other in quoted.names - quoted.strings if other in home} - {home[name]}
    sorter = TopologicalSorter(uses)
    sorter.prepare()
    ranks = {module: rank for rank, module in enumerate(_modules())}
    ready, order = set[str](), []
    while sorter.is_active():
        ready |= set(sorter.get_ready())
        order.append(min(ready, key=ranks.__getitem__))
        ready.remove(order[-1])
        sorter.done(order[-1])
    within = {name: place for module in order for place, name in enumerate(definitions(module))}
    return [
        (module, [left[name] for name in sorted(left, key=within.__getitem__) if home[name] == module])
        for module in order
    ]


def _section(module: str, nodes: Sequence[Definition]) -> str:
    """The definitions of one module, under the first sentence of what its docstring says of it."""
    docstring = parsed(module).get_docstring() or ""
    title = textwrap.fill(
        " ".join(docstring.split("\n\n")[0].split()), 118, initial_indent="# ", subsequent_indent="# "
    )
    lines = ["\n\n", title, "\n"]
    for before, node in zip((None, *nodes), nodes, strict=False):
        constants = isinstance(before, cst.SimpleStatementLine) and isinstance(node, cst.SimpleStatementLine)
        gap = "" if constants or before is None else "\n\n"
        lines.append(gap + cst.Module([node.with_changes(leading_lines=[])]).code)
    return "".join(lines)


def _joined(code: str) -> str:
    """Brackets that were opened because a line was too long, closed where it no longer is."""
    lines: list[str] = []
    for line in code.split("\n"):
        lines.append(line)
        if len(lines) > 2 and line.strip()[:1] in (")", "]", "}") and lines[-3].endswith(("(", "[", "{")):
            one = lines[-3] + lines[-2].strip() + line.strip()
            if len(one) <= 120 and not lines[-2].endswith(",") and "#" not in lines[-2]:
                lines[-3:] = [one]
    return "\n".join(lines)


def _imports(nodes: Sequence[Definition]) -> str:
    """The imports that these need, in the order of isort: first the standard library's, then the others."""
    known = {name: source for module in (*_modules(), *BASES) for name, source in imports(module).items()}
    used = {(*known[name], name) for node in nodes for name in reads(node) if name in known}
    plain = [(module, f"import {module}" + f" as {name}" * (name != module)) for module, of, name in used if not of]
    named: dict[str, list[str]] = {}
    for module, of, _ in used:
        if of and not module.startswith("tricks"):
            named.setdefault(module, []).append(of)
    froms = [(module, f"from {module} import {', '.join(sorted(of, key=_kind))}") for module, of in named.items()]
    lines = [*sorted(plain), *sorted(froms)]
    blocks = [
        [line for module, line in lines if (module.split(".")[0] in sys.stdlib_module_names) is ours]
        for ours in (True, False)
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _kind(name: str) -> tuple[int, str]:
    """isort's order of names: CONSTANTS, Classes, functions."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name
