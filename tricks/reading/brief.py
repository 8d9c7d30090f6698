"""Docstrings in brief, for an export."""

import libcst as cst
import libcst.matchers as m

from tricks.reading.decide import text


class Brief(cst.CSTTransformer):
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
