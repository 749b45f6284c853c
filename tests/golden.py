"""Golden SQL scripts: `golden/sql/<feature>/*.slt`, in the manner of sqllogictest.

A script is a list of records, parted by blank lines; lines beginning with `#` are comments.

    statement ok                    a statement that succeeds
    statement count 3               … and says it touched three rows
    statement error 22012           one that fails so; after `----` its message, detail, hint, position
    query [rowsort]                 after `----` the columns' names and types, then the rows
    copy in                         COPY FROM STDIN; the input between `<<<<` and `----`
    copy out                        COPY TO STDOUT; after `----` its output
    connection b                    the records below run in session `b`
    restart                         the database is closed and opened
    check views [always]            every materialized view holds what its query gives from scratch;
                                    with `always`, after each statement that follows
    oracle                          from here on PostgreSQL runs the same, and must agree
    onlyif millpond                 the next record is not for PostgreSQL (or: onlyif postgres)

A value is shown as PostgreSQL's text, NULL as `NULL`, the empty string as `(empty)`, columns parted by ` | `.
`MILLPOND_GOLDEN_WRITE=1` writes what came out into the scripts, from PostgreSQL where it is the oracle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .golden_targets import Outcome, Target

COUNTED = re.compile(r"(?:INSERT 0|UPDATE|DELETE|COPY|MERGE) (\d+)$")
CREATES_VIEW = re.compile(
    r"CREATE MATERIALIZED VIEW (?:IF NOT EXISTS )?([\w.\"]+)\s+AS\s+(.*)", re.IGNORECASE | re.DOTALL
)
UNTOLD = ("HINT:",)
"""Parts of an error message that may differ from PostgreSQL's: advice."""


@dataclass(slots=True)
class Record:
    """One record of a script, as it stands in the file."""

    line: int
    comments: list[str]
    words: list[str]
    sql: str = ""
    data: str | None = None
    expected: list[str] | None = None

    @property
    def kind(self) -> str:
        return self.words[0] if self.words else ""

    def text(self) -> str:
        lines = [*self.comments]
        if self.words:
            lines.append(" ".join(self.words))
        if self.sql:
            lines.append(self.sql)
        if self.data is not None:
            lines += ["<<<<", *self.data.splitlines()]
        if self.expected is not None:
            lines += ["----", *self.expected]
        return "\n".join(lines)


def parse(text: str) -> list[Record]:
    """The records of a script."""
    records: list[Record] = []
    for line, block in _blocks(text):
        comments = [b for b in block if b.startswith("#")] if block[0].startswith("#") else []
        body = block[len(comments) :]
        assert all(comment in block[: len(comments)] for comment in comments), f"line {line}: comments first"
        record = Record(line, comments, body[0].split() if body else [])
        rest = "\n".join(body[1:])
        if "\n----" in "\n" + rest:
            rest, _, output = ("\n" + rest).partition("\n----")
            rest = rest[1:]
            record.expected = output[1:].split("\n") if output else []
        if "\n<<<<" in rest:
            rest, _, data = rest.partition("\n<<<<")
            record.data = data[1:] + "\n" if data else ""
        record.sql = rest
        records.append(record)
    return records


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    block: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def shown(value: str | None) -> str:
    if value is None:
        return "NULL"
    return value.replace("\\", "\\\\").replace("\n", "\\n") if value else "(empty)"


def row_lines(outcome: Outcome) -> list[str]:
    return [" | ".join(shown(value) for value in row) or "()" for row in outcome.rows]


def output(outcome: Outcome, record: Record) -> list[str]:
    """What stands under `----` for this outcome of a record."""
    if outcome.code:
        return outcome.message
    if outcome.copied is not None:
        return [line or "(empty)" for line in outcome.copied.splitlines()]
    if record.kind != "query":
        return []
    lines = row_lines(outcome)
    return [" | ".join(outcome.columns), *(sorted(lines) if "rowsort" in record.words else lines)]


def comparable(lines: list[str], like: list[str]) -> list[str]:
    """Without advice, and without a position where the other side tells none."""
    left_out = UNTOLD if any(line.startswith("POSITION:") for line in like) else (*UNTOLD, "POSITION:")
    return [line.rstrip() for line in lines if not line.startswith(left_out)]


@dataclass(slots=True)
class Run:
    """One script on its way through a target, and through PostgreSQL where it asks for that."""

    target: Target
    oracle: Target | None = None
    write: bool = False
    session: str = "main"
    uses_oracle: bool = False
    checks_always: bool = False
    only: str = ""
    views: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def script(self, records: list[Record]) -> None:
        for record in records:
            if record.words:
                self._record(record)

    def _record(self, record: Record) -> None:
        match record.words:
            case ["connection", name]:
                self.session = name
            case ["restart"]:
                self.target.restart()
                if self.oracle is not None and self.uses_oracle:
                    self.oracle.restart()
            case ["oracle"]:
                self.uses_oracle = True
            case ["onlyif", name]:
                self.only = name
            case ["check", "views", *always]:
                self.checks_always = self.checks_always or bool(always)
                self._check_views(record)
            case ["statement" | "query" | "copy", *_]:
                self._execute(record)
                self.only = ""
                if self.checks_always and record.kind != "query":
                    self._check_views(record)
            case _:
                raise AssertionError(f"line {record.line}: {' '.join(record.words)}")

    def _execute(self, record: Record) -> None:
        said: Outcome | None = None
        if self.oracle is not None and self.uses_oracle and self.only != "millpond":
            said = self.oracle.run(self.session, record.sql, record.data)
        if self.only == "postgres":
            return
        outcome = self.target.run(self.session, record.sql, record.data)
        if said is not None:
            self._compare(record, outcome, said)
        expected = said or outcome
        kind_of = "error" if expected.code else "ok"
        if record.kind == "statement" and (record.words[1] == "error") != (kind_of == "error"):
            self._fail(record, f"{expected.code or expected.tag} {' '.join(expected.message)}")
            return
        if record.kind != "statement" and expected.code:
            self._fail(record, f"{expected.code} {' '.join(expected.message)}")
            return
        if self.write:
            self._rewrite(record, expected)
        else:
            self._verify(record, outcome)
        created = CREATES_VIEW.match(record.sql)
        if created and not outcome.code:
            self.views[created[1]] = created[2]

    def _compare(self, record: Record, outcome: Outcome, said: Outcome) -> None:
        """With PostgreSQL's answer."""
        ours, theirs = output(outcome, record), output(said, record)
        ours, theirs = comparable(ours, theirs), comparable(theirs, theirs)
        tags = (outcome.tag, said.tag) if COUNTED.match(said.tag) else ("", "")
        if (outcome.code, ours, tags[0]) != (said.code, theirs, tags[1]):
            self._fail(
                record,
                f"PostgreSQL: {said.code} {tags[1]}",
                *(f"    {line}" for line in theirs),
                f"millpond: {outcome.code} {tags[0]}",
                *(f"    {line}" for line in ours),
            )

    def _verify(self, record: Record, outcome: Outcome) -> None:
        """Against what stands in the script."""
        wanted = record.expected or []
        found, wanted = comparable(output(outcome, record), wanted), comparable(wanted, wanted)
        words = self._words(record, outcome)
        if found != wanted or words[: len(record.words)] != record.words:
            self._fail(record, f"expected: {' '.join(record.words)}", *(f"    {line}" for line in wanted),
                       f"got: {' '.join(words)}", *(f"    {line}" for line in found))  # fmt: skip

    def _words(self, record: Record, outcome: Outcome) -> list[str]:
        if outcome.code:
            return ["statement", "error", outcome.code]
        if record.kind != "statement":
            return record.words
        counted = COUNTED.match(outcome.tag)
        if counted and record.words != ["statement", "ok"]:
            return ["statement", "count", counted[1]]
        return ["statement", "ok"]

    def _rewrite(self, record: Record, outcome: Outcome) -> None:
        counted = COUNTED.match(outcome.tag)
        if record.kind == "statement":
            ok = ["count", counted[1]] if counted else ["ok"]
            record.words = ["statement", *(["error", outcome.code] if outcome.code else ok)]
        record.expected = output(outcome, record)
        if record.kind == "statement" and not outcome.code:
            record.expected = None
        if record.words == ["copy", "in"]:
            record.expected = None

    def _check_views(self, record: Record) -> None:
        """Every materialized view equals its query from scratch, and PostgreSQL's view."""
        for name, query in list(self.views.items()):
            kept = self.target.run("checks views", f"SELECT * FROM {name}")
            if kept.code == "42P01":
                del self.views[name]
                continue
            scratch = self.target.run("checks views", query)
            self._equal(record, f"view {name}", kept, scratch, "its query from scratch")
            if self.oracle is not None and self.uses_oracle:
                said = self.oracle.run("checks views", f"SELECT * FROM {name}")
                self._equal(record, f"view {name}", kept, said, "PostgreSQL's")

    def _equal(self, record: Record, what: str, kept: Outcome, other: Outcome, whose: str) -> None:
        ours, theirs = sorted(row_lines(kept)), sorted(row_lines(other))
        if (kept.code, ours) != (other.code, theirs):
            more, less = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
            self._fail(record, f"{what} is not {whose}: {kept.code} {kept.message} {other.code}",
                       *(f"    + {line}" for line in more), *(f"    - {line}" for line in less))  # fmt: skip

    def _fail(self, record: Record, *lines: str) -> None:
        self.failures.append(
            "\n".join([f"line {record.line}: {record.sql or ' '.join(record.words)}", *lines])
        )


def run_script(path: Path, target: Target, oracle: Target | None, write: bool) -> list[str]:
    """Runs one script; the failures. With `write` its expected output is replaced."""
    records = parse(path.read_text())
    run = Run(target, oracle, write)
    run.script(records)
    if write:
        path.write_text("\n\n".join(record.text() for record in records) + "\n")
    return [f"{path.name} {failure}" for failure in run.failures]
