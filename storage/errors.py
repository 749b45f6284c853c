"""The one error family.

Every error a user can meet is a `SqlError` subclass with its SQLSTATE; defining a class with
`code=` registers it, so that `error_class("22012")` finds it. Our own mistakes are `assert`s,
never a `SqlError`. Errors are caught in two places only: the session (to answer the client) and
the engine (to reject a submission or to stall one view).

A vectorised kernel that fails on some rows of a batch raises with `rows` set to the positions of
the failing rows (int64, ascending, within the arrays the kernel was given). A view drops those
rows into `millpond.errors` and carries on with the others; a one-off SELECT reports the error.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

_BY_CODE: dict[str, type[SqlError]] = {}


def forget_frames(error: BaseException) -> None:
    """Lets go of the frames an error came through, once it has been answered: their variables hold rows.

    Whoever waits for a future has it in a variable, the future has its error, and the error's traceback has
    that frame: a cycle, so all of it would stay until a garbage collection.
    """
    left, known = [error], set[int]()
    while left:
        one = left.pop()
        known.add(id(one))
        one.__traceback__ = None
        left += [o for o in (one.__cause__, one.__context__) if o is not None and id(o) not in known]


class SqlError(Exception):
    """An error answered to the client, with PostgreSQL's fields.

    `position` is 1-based, in characters of the statement text, 0 when unknown. `context` says where
    in the data it happened (`COPY t, line 3, column a: "x"`).
    """

    code: ClassVar[str] = "XX000"

    def __init__(
        self,
        message: str,
        *,
        position: int = 0,
        detail: str = "",
        hint: str = "",
        schema: str = "",
        table: str = "",
        column: str = "",
        constraint: str = "",
        context: str = "",
        rows: npt.NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.detail = detail
        self.hint = hint
        self.schema = schema
        self.table = table
        self.column = column
        self.constraint = constraint
        self.context = context
        self.rows = rows

    def __init_subclass__(cls, *, code: str = "", **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if code:
            cls.code = code
            _BY_CODE.setdefault(code, cls)

    def at(self, position: int) -> SqlError:
        """This error, located at `position` unless it already knows better."""
        if not self.position:
            self.position = position
        return self


def error_class(code: str) -> type[SqlError]:
    """The class registered for a SQLSTATE, `SqlError` itself when there is none."""
    return _BY_CODE.get(code, SqlError)


# The user's fault: syntax and names.
class SyntaxFault(SqlError, code="42601"): ...


class UndefinedTable(SqlError, code="42P01"): ...


class UndefinedColumn(SqlError, code="42703"): ...


class UndefinedFunction(SqlError, code="42883"): ...


class UndefinedObject(SqlError, code="42704"): ...


class UndefinedParameter(SqlError, code="42P02"): ...


class InvalidSchemaName(SqlError, code="3F000"): ...


class InvalidCatalogName(SqlError, code="3D000"): ...


class DuplicateTable(SqlError, code="42P07"): ...


class DuplicateColumn(SqlError, code="42701"): ...


class DuplicateObject(SqlError, code="42710"): ...


class DuplicateAlias(SqlError, code="42712"): ...


class DuplicateSchema(SqlError, code="42P06"): ...


class DuplicatePreparedStatement(SqlError, code="42P05"): ...


class DuplicateCursor(SqlError, code="42P03"): ...


class AmbiguousColumn(SqlError, code="42702"): ...


class AmbiguousFunction(SqlError, code="42725"): ...


class AmbiguousParameter(SqlError, code="42P08"): ...


class IndeterminateDatatype(SqlError, code="42P18"): ...


class DatatypeMismatch(SqlError, code="42804"): ...


class WrongObjectType(SqlError, code="42809"): ...


class CannotCoerce(SqlError, code="42846"): ...


class GroupingError(SqlError, code="42803"): ...


class WindowingError(SqlError, code="42P20"): ...


class InvalidColumnReference(SqlError, code="42P10"): ...


class InvalidTableDefinition(SqlError, code="42P16"): ...


class InvalidRecursion(SqlError, code="42P19"): ...


class InvalidObjectDefinition(SqlError, code="42P17"): ...


class ReservedName(SqlError, code="42939"): ...


class GeneratedAlways(SqlError, code="428C9"): ...


class InsufficientPrivilege(SqlError, code="42501"): ...


class FeatureNotSupported(SqlError, code="0A000"): ...


class DependentObjects(SqlError, code="2BP01"): ...


class InvalidStatementName(SqlError, code="26000"): ...


class InvalidCursorName(SqlError, code="34000"): ...


# The user's fault: values.
class DataException(SqlError, code="22000"): ...


class StringTooLong(SqlError, code="22001"): ...


class NumericOutOfRange(SqlError, code="22003"): ...


class NullNotAllowed(SqlError, code="22004"): ...


class InvalidDatetime(SqlError, code="22007"): ...


class DatetimeOverflow(SqlError, code="22008"): ...


class DivisionByZero(SqlError, code="22012"): ...


class InvalidTimeZoneDisplacement(SqlError, code="22009"): ...


class IntervalOverflow(SqlError, code="22015"): ...


class InvalidEscape(SqlError, code="22025"): ...


class InvalidRegex(SqlError, code="2201B"): ...


class InvalidArgumentForLog(SqlError, code="2201E"): ...


class InvalidArgumentForPower(SqlError, code="2201F"): ...


class InvalidLimit(SqlError, code="2201W"): ...


class InvalidOffset(SqlError, code="2201X"): ...


class InvalidParameterValue(SqlError, code="22023"): ...


class SubstringError(SqlError, code="22011"): ...


class InvalidTextRepresentation(SqlError, code="22P02"): ...


class InvalidBinaryRepresentation(SqlError, code="22P03"): ...


class BadCopyFormat(SqlError, code="22P04"): ...


class CharacterNotInRepertoire(SqlError, code="22021"): ...


class UntranslatableCharacter(SqlError, code="22P05"): ...


class CardinalityViolation(SqlError, code="21000"): ...


# The user's fault: constraints.
class NotNullViolation(SqlError, code="23502"): ...


class ForeignKeyViolation(SqlError, code="23503"): ...


class UniqueViolation(SqlError, code="23505"): ...


class CheckViolation(SqlError, code="23514"): ...


# Transactions; the client may retry.
class InFailedTransaction(SqlError, code="25P02"): ...


class ActiveTransaction(SqlError, code="25001"): ...


class NoActiveTransaction(SqlError, code="25P01"): ...


class ReadOnlyTransaction(SqlError, code="25006"): ...


class IdleInTransactionTimeout(SqlError, code="25P03"): ...


class TransactionTimeout(SqlError, code="25P04"): ...


class InvalidSavepoint(SqlError, code="3B001"): ...


class SerializationFailure(SqlError, code="40001"): ...


class QueryCanceled(SqlError, code="57014"): ...


class CannotConnectNow(SqlError, code="57P03"): ...


class AdminShutdown(SqlError, code="57P01"): ...


# Connections and protocol.
class IdleSessionTimeout(SqlError, code="57P05"): ...


class ConnectionFailure(SqlError, code="08006"): ...


class ProtocolViolation(SqlError, code="08P01"): ...


class InvalidAuthorization(SqlError, code="28000"): ...


class InvalidPassword(SqlError, code="28P01"): ...


# The machine's or its operator's fault.
class TooManyConnections(SqlError, code="53300"): ...


class DiskFull(SqlError, code="53100"): ...


class OutOfMemory(SqlError, code="53200"): ...


class ConfigurationLimitExceeded(SqlError, code="53400"): ...


class StatementTooComplex(SqlError, code="54001"): ...


class ProgramLimitExceeded(SqlError, code="54000"): ...


class ObjectNotReady(SqlError, code="55000"): ...


class ObjectInUse(SqlError, code="55006"): ...


class LockNotAvailable(SqlError, code="55P03"): ...


class UnknownSetting(UndefinedObject): ...


class IoError(SqlError, code="58030"): ...


class DataCorrupted(SqlError, code="XX001"): ...


class InternalError(SqlError, code="XX000"): ...


class StartupError(Exception):
    """The server cannot start: said on one line, exit status 1 (directory in use, newer format, …)."""
