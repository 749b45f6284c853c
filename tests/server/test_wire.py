"""Message codec and state machine, without sockets."""

from __future__ import annotations

import struct

import pytest

from millpond.server import messages
from millpond.server.auth import Access, ScramExchange, build_verifier
from millpond.server.backend import ResultColumn
from millpond.server.login import Login
from millpond.server.traffic import Traffic
from millpond.server.wire import TRANSITIONS, Phase, Wire, as_sql_error
from millpond.storage.errors import (
    CharacterNotInRepertoire,
    InvalidPassword,
    ProtocolViolation,
    TooManyConnections,
    UniqueViolation,
)
from millpond.storage.types import INT4, numeric


def test_every_phase_but_closed_allows_something() -> None:
    assert set(TRANSITIONS) == set(Phase)
    assert all(TRANSITIONS[phase] for phase in Phase if phase is not Phase.CLOSED)
    assert TRANSITIONS[Phase.SKIPPING].keys() == TRANSITIONS[Phase.READY].keys()
    kept = {name for name in TRANSITIONS[Phase.SKIPPING].values() if name != "ignore"}
    assert kept == {"sync", "terminate"}


def test_parse_messages_round_trip(send) -> None:
    assert messages.parse_parse(send.parse("select $1", "s", [23, 0])[5:]) == ("s", "select $1", (23, 0))
    bind = messages.parse_bind(send.bind([b"1", None, b""], "s", "p", [0, 1, 0], [1])[5:])
    assert bind == ("p", "s", (0, 1, 0), [b"1", None, b""], (1,))
    assert messages.parse_execute(send.execute("p", 5)[5:]) == ("p", 5)
    assert messages.parse_target(send.describe("S", "x")[5:]) == ("S", "x")


@pytest.mark.parametrize(
    ("parse", "body"),
    [
        (messages.parse_query, b"no end"),
        (messages.parse_query, b"a\0b\0"),
        (messages.parse_parse, b"n\0text\0"),
        (messages.parse_parse, b"n\0text\0\0\1"),
        (messages.parse_parse, b"n\0text\0\0\0more"),
        (messages.parse_bind, b"\0\0\0\0\0\1\0\0\0\5abc\0\0"),
        (messages.parse_bind, b"\0\0\0\0\0\1\xff\xff\xff\xfe\0\0"),
        (messages.parse_bind, b"\0\0\0\1\0\2\0\0\0\0"),
        (messages.parse_bind, b"\0\0\0\0\0\0\0\0x"),
        (messages.parse_execute, b"\0\0\0"),
        (messages.parse_target, b"S"),
    ],
)
def test_malformed_messages(parse, body: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        parse(body)


def test_text_that_is_not_utf8() -> None:
    with pytest.raises(CharacterNotInRepertoire, match='for encoding "UTF8": 0xff'):
        messages.parse_query(b"select '\xff'\0")


def test_row_description() -> None:
    body = messages.row_description(
        [ResultColumn("é", INT4, 16384, 2), ResultColumn("n", numeric(10, 2))], (0, 1)
    )
    assert body == (
        b"T" + struct.pack("!IH", 47, 2)
        + "é".encode() + b"\0" + struct.pack("!IhIhih", 16384, 2, 23, 4, -1, 0)
        + b"n\0" + struct.pack("!IhIhih", 0, 0, 1700, -1, 655366, 1)
    )  # fmt: skip


def test_error_has_all_fields() -> None:
    error = UniqueViolation(
        "dup\0licate",
        position=7,
        detail="d",
        hint="h",
        schema="s",
        table="t",
        column="c",
        constraint="n",
        context="w",
    )
    fields = {part[:1]: part[1:] for part in messages.error_response(error)[5:].split(b"\0") if part}
    assert fields == {
        b"S": b"ERROR", b"V": b"ERROR", b"C": b"23505", b"M": b"duplicate", b"D": b"d", b"H": b"h",
        b"P": b"7", b"W": b"w", b"s": b"s", b"t": b"t", b"c": b"c", b"n": b"n",
    }  # fmt: skip


def test_options_of_startup() -> None:
    assert messages.parse_options("-c a=1 -cb=2 --some-name=x\\ y\\\\") == {
        "a": "1",
        "b": "2",
        "some_name": "x y\\",
    }
    for wrong in ("-x", "--novalue", "word"):
        with pytest.raises(ProtocolViolation):
            messages.parse_options(wrong)


def test_messages_cut_anywhere_give_the_same_replies(conversation, send) -> None:
    raw = (
        send.query("select 1")
        + send.parse("select $1::text")
        + send.bind([b"x" * 300])
        + send.execute()
        + send.sync
    )
    whole = conversation.send(raw)
    for step in (1, 3, 7, 64):
        pieces = [conversation.send(raw[at : at + step]) for at in range(0, len(raw), step)]
        assert [reply for piece in pieces for reply in piece] == whole


class Door:
    """A gate that lets in whoever knows the password."""

    def __init__(self, connect, **verifiers: str) -> None:
        self.access = Access(verifiers)
        self.connect = connect
        self.offers_tls = False
        self.traffic = Traffic()
        self.cancelled: list[tuple[int, int]] = []

    def cancel(self, process: int, secret: int) -> None:
        self.cancelled.append((process, secret))


@pytest.fixture
def door(conversation) -> Door:
    return Door(lambda parameters: conversation.backend.__class__(parameters))


def knock(door: Door, admit=lambda: (11, 22), address: str = "127.0.0.1") -> Wire:
    out: list[bytes] = []
    entered: list[Wire] = []
    login = Login(door, address, out, admit, lambda session: setattr(entered[0], "speaker", session))
    entered.append(Wire(login, out))
    return entered[0]


def reply(wire: Wire, raw: bytes) -> bytes:
    wire.receive(raw)
    wire.advance()
    answer = b"".join(wire.out)
    wire.out.clear()
    return answer


def test_login_reports_parameters_key_and_readiness(door, send) -> None:
    wire = knock(door)
    assert reply(wire, send.untagged(struct.pack("!I", messages.GSS_REQUEST))) == b"N"
    assert reply(wire, send.untagged(struct.pack("!I", messages.SSL_REQUEST))) == b"N"
    answer = reply(wire, send.startup(user="u", application_name="me") + send.query("select 1"))
    assert answer.startswith(messages.AUTHENTICATION_OK)
    assert answer.count(b"S\0\0\0") >= 13 and b"application_name\0me\0" in answer
    assert b"K\0\0\0\x0c\0\0\0\x0b\0\0\0\x16Z\0\0\0\5I" in answer
    assert answer.endswith(b"C\0\0\0\rSELECT 1\0Z\0\0\0\5I")


def test_newer_protocol_is_negotiated_down(door, send) -> None:
    answer = reply(knock(door), send.startup(3 << 16 | 2, user="u", **{"_pq_.feature": "1"}))
    body = struct.pack("!II", 3 << 16, 1) + b"_pq_.feature\0"
    assert answer.startswith(messages.message(b"v", body) + messages.AUTHENTICATION_OK)


def test_cancel_request_is_passed_on(door, send) -> None:
    wire = knock(door)
    assert reply(wire, send.untagged(struct.pack("!III", messages.CANCEL_REQUEST, 5, 6))) == b""
    assert door.cancelled == [(5, 6)]
    assert wire.speaker.phase is Phase.CLOSED


def test_errors_before_login_are_fatal(door, send) -> None:
    def full() -> tuple[int, int]:
        raise TooManyConnections("sorry, too many clients already")

    for wire, raw, code in (
        (knock(door), send.startup(2 << 16, user="u"), b"C0A000"),
        (knock(door), send.startup(database="d"), b"C28000"),
        (knock(door, full), send.startup(user="u"), b"C53300"),
        (knock(door, address="10.1.1.1"), send.startup(user="u"), b"C28000"),
        (knock(door), b"\0\1\0\0aaaaa", b"C08P01"),
    ):
        answer = reply(wire, raw)
        assert b"SFATAL" in answer and code in answer
        assert wire.speaker.phase is Phase.CLOSED
        assert reply(wire, send.query("select 1")) == b""


def test_a_message_other_than_the_password_is_refused(conversation, send) -> None:
    door = Door(None, u=build_verifier("x", iterations=1))
    wire = knock(door)
    assert reply(wire, send.startup(user="u")) == b"R\0\0\0\x17\0\0\0\nSCRAM-SHA-256\0\0"
    assert b"C08P01" in reply(wire, send.query("select 1"))


def test_scram_as_in_rfc_7677() -> None:
    """The example exchange of section 3, with its server nonce."""
    import base64

    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    exchange = ScramExchange("user", {"user": build_verifier("pencil", salt)})
    exchange.first(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    exchange._nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    exchange._server_first = f"r={exchange._nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = f"c=biws,r={exchange._nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    assert exchange.final(final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    with pytest.raises(InvalidPassword):
        exchange.final(final.replace(b"p=d", b"p=e"))
    for broken in (b"x", b"c=biws,r=other,p=AAAA", final.replace(b"biws", b"eSws")):
        with pytest.raises(ProtocolViolation):
            exchange.final(broken)
    for broken in (b"", b"p=tls-unique,,n=,r=x", b"n,,n=user"):
        with pytest.raises(ProtocolViolation):
            ScramExchange("user", {}).first(broken)


def test_too_deep_a_statement_is_no_internal_error() -> None:
    assert as_sql_error(RecursionError("maximum recursion depth exceeded")).code == "54001"
    assert as_sql_error(ValueError("ours")).code == "XX000"
