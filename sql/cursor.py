"""A place in the tokens, and what every grammar function asks of it.

Grammar functions are called with a `Cursor`, take what is theirs and leave the cursor behind it. They
never look for errors: what cannot go on calls `fail`, which says so as PostgreSQL's parser does, at the
first token that has no place.
"""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from ..storage.errors import SyntaxFault
from .dialect import place
from .keywords import NOT_COLUMN, NOT_FUNCTION, RESERVED
from .lexer import END, NUMBER, QUOTED, STRING, SYMBOL, WORD, Tokens
from .statements import ColumnName, ObjectName


class Cursor:
    """`words[i]` is what the current token is compared with (see `Tokens`).

    `labels`: an expression of an output list is being read, behind which a label may stand.
    """

    __slots__ = ("closing", "ends", "i", "kinds", "labels", "starts", "text", "values", "words")

    def __init__(self, tokens: Tokens) -> None:
        self.text = tokens.text
        self.kinds = tokens.kinds
        self.words = tokens.words
        self.values = tokens.values
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.i = 0
        self.closing: dict[int, int] | None = None
        self.labels = False

    # Looking.
    @property
    def word(self) -> str:
        return self.words[self.i]

    @property
    def kind(self) -> int:
        return self.kinds[self.i]

    @property
    def start(self) -> int:
        """0-based offset of the current token."""
        return self.starts[self.i]

    @property
    def position(self) -> int:
        """1-based offset of the current token, as errors and statements count."""
        return self.starts[self.i] + 1

    def ahead(self, steps: int = 1) -> str:
        """The word `steps` tokens further on, "" beyond the end."""
        index = self.i + steps
        return self.words[index] if index < len(self.words) else ""

    def at(self, *sequence: str) -> bool:
        """Whether these words come next."""
        i = self.i
        return self.words[i : i + len(sequence)] == list(sequence)

    def at_end(self) -> bool:
        return self.kinds[self.i] == END

    def since(self, start: int) -> str:
        """The source text from the 0-based `start` to the end of the last token taken."""
        return self.text[start : self.ends[self.i - 1]] if self.ends[self.i - 1] > start else ""

    # Taking.
    def accept(self, *sequence: str) -> bool:
        """Takes these words if they come next."""
        i = self.i
        if self.words[i] != sequence[0]:
            return False
        if len(sequence) > 1 and self.words[i : i + len(sequence)] != list(sequence):
            return False
        self.i = i + len(sequence)
        return True

    def accept_start(self, *sequence: str, of: int = 1) -> bool:
        """Takes these words if the first `of` come next; the others must follow then."""
        if not self.at(*sequence[:of]):
            return False
        self.expect(*sequence)
        return True

    def accept_any(self, *words: str) -> str:
        """Takes the next word if it is one of these, and gives it; else ""."""
        word = self.words[self.i]
        if word in words and word:
            self.i += 1
            return word
        return ""

    def expect(self, *sequence: str) -> None:
        for word in sequence:
            if self.words[self.i] != word:
                self.fail()
            self.i += 1

    def expect_any(self, *words: str) -> str:
        return self.accept_any(*words) or self.fail()

    def fail(self, ahead: int = 0) -> NoReturn:
        """Raises the syntax error at the current token (or one further on)."""
        self.complain("syntax error", ahead)

    def complain(self, what: str, ahead: int = 0) -> NoReturn:
        """Raises a SyntaxFault `what at or near "token"`."""
        index = min(self.i + ahead, len(self.kinds) - 1)
        start, end = self.starts[index], self.ends[index]
        if self.kinds[index] == END:
            if self.text[start : start + 1] != ";":
                raise SyntaxFault(f"{what} at end of input", position=start + 1)
            end = start + 1
        raise SyntaxFault(f'{what} at or near "{self.text[start:end]}"', position=start + 1)

    # Names.
    def is_name(self, forbidden: frozenset[str] = NOT_COLUMN, ahead: int = 0) -> bool:
        index = min(self.i + ahead, len(self.kinds) - 1)
        kind = self.kinds[index]
        return kind == QUOTED or (kind == WORD and self.words[index] not in forbidden)

    def name(self, forbidden: frozenset[str] = NOT_COLUMN) -> str:
        """A name of a column, table or the like (gram.y's ColId); `forbidden` for other kinds."""
        if not self.is_name(forbidden):
            self.fail()
        self.i += 1
        return str(self.values[self.i - 1])

    def label(self) -> str:
        """Any word at all (ColLabel)."""
        return self.name(frozenset())

    def accept_name(self, forbidden: frozenset[str] = NOT_COLUMN) -> str:
        return self.name(forbidden) if self.is_name(forbidden) else ""

    def nonreserved(self) -> str:
        """A word that is not reserved (NonReservedWord): a role, a channel, an option's value."""
        return self.name(RESERVED)

    def function_name(self) -> str:
        return self.name(NOT_FUNCTION)

    def identifier(self, forbidden: frozenset[str] = NOT_COLUMN) -> exp.Expr:
        """`name` as a tree."""
        quoted, start = self.kinds[self.i] == QUOTED, self.starts[self.i]
        return place(exp.Identifier(this=self.name(forbidden), quoted=quoted), start)

    def object_name(self) -> ObjectName:
        """`a`, `a.b` or `a.b.c`."""
        position = self.position
        parts = [self.name()]
        while self.accept("."):
            parts.append(self.label())
        return ObjectName(tuple(parts), position)

    def column_name(self) -> ColumnName:
        position = self.position
        return ColumnName(self.name(), position)

    def column_names(self) -> tuple[ColumnName, ...]:
        """`(a, b, …)`."""
        self.expect("(")
        names = [self.column_name()]
        while self.accept(","):
            names.append(self.column_name())
        self.expect(")")
        return tuple(names)

    def accept_column_names(self) -> tuple[ColumnName, ...]:
        return self.column_names() if self.word == "(" else ()

    # Constants.
    def string(self) -> str:
        if self.kinds[self.i] != STRING:
            self.fail()
        self.i += 1
        return str(self.values[self.i - 1])

    def integer(self) -> int:
        """An unsigned integer."""
        text = str(self.values[self.i])
        if self.kinds[self.i] != NUMBER or not text.isdigit():
            self.fail()
        self.i += 1
        return int(text)

    def signed_integer(self) -> int:
        sign = self.accept_any("-", "+")
        return -self.integer() if sign == "-" else self.integer()

    # Parentheses.
    def close_of(self, opening: int) -> int:
        """The index of the `)` for the `(` at index `opening`; the END token when there is none."""
        if self.closing is None:
            self.closing = _pairs(self.words)
        return self.closing.get(opening, len(self.words) - 1)

    def is_symbol(self) -> bool:
        return self.kinds[self.i] == SYMBOL


def _pairs(words: list[str]) -> dict[int, int]:
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for index, word in enumerate(words):
        if word == "(":
            opened.append(index)
        elif word == ")" and opened:
            pairs[opened.pop()] = index
    return pairs
