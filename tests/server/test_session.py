"""Simple and extended protocol as conversations of bytes with a session."""

from __future__ import annotations

import random
import struct
from concurrent.futures import Future

from millpond.server.backend import TransactionStatus
from millpond.server.wire import Phase, Wait


def error_fields(body: bytes) -> dict[str, str]:
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


def code_of(replies: list[tuple[str, bytes]]) -> str:
    [body] = [body for kind, body in replies if kind == "E"]
    return error_fields(body)["C"]


def test_simple_statements_one_result_each(conversation, send) -> None:
    replies = conversation.send(send.query("select 1; insert a; select 22"))
    assert "".join(kind for kind, _ in replies) == "TDCCTDCZ"
    assert replies[1][1] == b"\0\1\0\0\0\0011"
    assert [body for kind, body in replies if kind == "C"] == [b"SELECT 1\0", b"INSERT 0 1\0", b"SELECT 1\0"]
    assert replies[-1][1] == b"I"
    assert conversation.backend.committed == ["a"]


def test_empty_query(conversation, send) -> None:
    assert conversation.kinds(send.query("")) == "IZ"
    assert conversation.kinds(send.query(" ; ;")) == "IZ"
    assert (
        conversation.kinds(send.parse("") + send.bind() + send.describe("P") + send.execute() + send.sync)
        == "12nIZ"
    )


def test_error_ends_the_string_and_its_implicit_transaction(conversation, send) -> None:
    replies = conversation.send(send.query("insert a; fail 22012 3; insert b"))
    assert "".join(kind for kind, _ in replies) == "CEZ"
    fields = error_fields(replies[1][1])
    assert fields["C"] == "22012" and fields["P"] == str(len("insert a; ") + 3)
    assert conversation.backend.committed == conversation.backend.written == []
    assert code_of(conversation.send(send.query("select 1; unlexable"))) == "42601"


def test_failed_block_stays_failed_until_its_end(conversation, send) -> None:
    assert conversation.send(send.query("begin"))[-1] == ("Z", b"T")
    assert conversation.send(send.query("syntax"))[-1] == ("Z", b"E")
    replies = conversation.send(send.query("select 1"))
    assert code_of(replies) == "25P02" and replies[-1] == ("Z", b"E")
    assert conversation.send(send.query("commit"))[0] == ("C", b"ROLLBACK\0")
    assert conversation.backend.status is TransactionStatus.IDLE


def test_commit_failure_takes_the_place_of_success(conversation, send) -> None:
    assert conversation.kinds(send.query("insert conflict")) == "EZ"
    raw = send.parse("insert conflict") + send.bind() + send.execute() + send.sync
    replies = conversation.send(raw)
    assert "".join(kind for kind, _ in replies) == "12EZ"
    assert code_of(replies) == "23505"
    assert conversation.kinds(send.query("insert fine")) == "CZ"


def test_nothing_is_told_before_the_commit(conversation, send) -> None:
    assert conversation.send(send.query("insert a"), patient=False) == []
    assert isinstance(conversation.wire.waiting, Future)
    assert [kind for kind, _ in conversation.send()] == ["C", "Z"]


def test_replies_keep_their_order_behind_a_slow_statement(conversation, send) -> None:
    raw = send.query("slow 1") + send.query("select 2") + send.query("slow 3")
    tags = [body for kind, body in conversation.send(raw) if kind == "C"]
    assert tags == [b"SLOW 1\0", b"SELECT 1\0", b"SLOW 3\0"]


def test_notices_and_parameters(conversation, send) -> None:
    replies = conversation.send(send.query("notice; set timezone utc; rollback"))
    assert "".join(kind for kind, _ in replies) == "NCSCNCZ"
    assert error_fields(replies[0][1])["S"] == "NOTICE"
    assert replies[2][1] == b"timezone\0utc\0"
    assert error_fields(replies[4][1])["S"] == "WARNING"


def test_extended_statement_with_parameters(conversation, send) -> None:
    raw = send.parse("select $1::int4, $2::text", "s") + send.describe("S", "s") + send.sync
    replies = conversation.send(raw)
    assert "".join(kind for kind, _ in replies) == "1tTZ"
    assert replies[1][1] == struct.pack("!HII", 2, 23, 25)
    raw = (
        send.bind([b"\0\0\0\7", b"x"], "s", formats=[1, 0], results=[1, 0])
        + send.describe("P")
        + send.execute()
    )
    replies = conversation.send(raw + send.sync)
    assert "".join(kind for kind, _ in replies) == "2TDCZ"
    assert replies[2][1] == b"\0\2" + b"\0\0\0\4\0\0\0\7" + b"\0\0\0\1x"
    assert (
        replies[1][1].endswith(struct.pack("!h", 0))
        and struct.pack("!IhihH", 23, 4, -1, 1, 0)[:4] in replies[1][1]
    )
    replies = conversation.send(send.bind([None, None], "s") + send.execute() + send.sync)
    assert replies[1] == ("D", b"\0\2\xff\xff\xff\xff\xff\xff\xff\xff")


def test_parameters_that_cannot_be(conversation, send) -> None:
    def bind(text: str, values, **options) -> str:
        replies = conversation.send(
            send.parse(text) + send.bind(values, **options) + send.execute() + send.sync
        )
        assert "".join(kind for kind, _ in replies) == "1EZ"
        return code_of(replies)

    assert bind("select $1::int4", [b"x"]) == "22P02"
    assert bind("select $1::int4", [b"99999999999"]) == "22003"
    assert bind("select $1::text", [b"\xff"]) == "22021"
    assert bind("select $1::int4", [b"\0\0\0\0\0"], formats=[1]) == "22P03"
    assert bind("select $1::int4", []) == "08P01"
    assert bind("select $1::int4", [b"1"], formats=[0, 0]) == "08P01"
    assert bind("select $1::int4", [b"1"], results=[0, 0]) == "08P01"
    conversation.send(send.query("begin"))
    bind("select $1::int4", [b"x"])
    assert conversation.backend.status is TransactionStatus.FAILED


def test_error_skips_to_sync(conversation, send) -> None:
    raw = send.parse("fail 22012") + send.bind() + send.execute()
    ignored = (
        send.query("insert q") + send.parse("insert p") + send.flush + send.execute() + send.copy_data(b"x")
    )
    assert conversation.kinds(raw + ignored) == "12E"
    assert conversation.session.phase is Phase.SKIPPING
    assert conversation.kinds(send.sync + send.query("select 1")) == "ZTDCZ"
    assert conversation.backend.committed == []


def test_pipeline_is_one_implicit_transaction(conversation, send) -> None:
    def insert(text: str) -> bytes:
        return send.parse(f"insert {text}") + send.bind() + send.execute()

    assert conversation.kinds(insert("a") + insert("b") + send.sync) == "12C12CZ"
    assert conversation.backend.committed == ["a", "b"]
    assert conversation.kinds(insert("c") + insert("d") + send.parse("syntax") + send.sync) == "12C12CEZ"
    assert conversation.backend.committed == ["a", "b"]


def test_portal_with_a_row_limit(conversation, send) -> None:
    conversation.send(send.query("begin"))
    raw = send.parse("series 7 3") + send.bind(portal="p") + send.execute("p", 2)
    assert conversation.kinds(raw + send.sync) == "12DDsZ"
    assert conversation.kinds(send.execute("p", 4) + send.sync) == "DDDDsZ"
    replies = conversation.send(send.execute("p", 1) + send.execute("p", 5) + send.execute("p") + send.sync)
    assert [kind for kind, _ in replies] == ["D", "s", "C", "C", "Z"]
    assert replies[2][1] == b"SELECT 0\0"
    assert conversation.backend.rows_closed
    replies = conversation.send(send.close("P", "p") + send.execute("p") + send.sync)
    assert code_of(replies) == "34000"


def test_few_rows_are_sent_once_with_limits_and_without(conversation, send) -> None:
    conversation.send(send.query("begin"))
    replies = conversation.send(send.parse("few 3") + send.bind(portal="p") + send.execute("p") + send.sync)
    assert [kind for kind, _ in replies] == ["1", "2", "D", "D", "D", "C", "Z"]
    assert replies[-2][1] == b"SELECT 3\0"
    assert conversation.send(send.execute("p") + send.sync)[0][1] == b"SELECT 0\0"
    assert (
        conversation.kinds(send.bind(portal="q") + send.execute("q", 2) + send.execute("q") + send.sync)
        == "2DDsDCZ"
    )
    assert conversation.kinds(send.parse("few 0") + send.bind() + send.execute() + send.sync) == "12CZ"


def test_portals_end_with_their_transaction(conversation, send) -> None:
    raw = send.parse("series 9") + send.bind(portal="p") + send.execute("p", 2)
    assert conversation.kinds(raw + send.sync) == "12DDsZ"
    assert conversation.backend.rows_closed
    assert code_of(conversation.send(send.execute("p") + send.sync)) == "34000"
    conversation.send(send.query("begin") + raw + send.sync)
    assert conversation.kinds(send.query("commit")) == "CZ"
    assert code_of(conversation.send(send.execute("p") + send.sync)) == "34000"


def test_suspended_portal_in_a_failed_block(conversation, send) -> None:
    conversation.send(send.query("begin"))
    conversation.send(send.parse("series 9") + send.bind(portal="p") + send.execute("p", 2) + send.sync)
    conversation.send(send.parse("fail 22012") + send.bind() + send.execute() + send.sync)
    assert code_of(conversation.send(send.execute("p") + send.sync)) == "25P02"


def test_limit_on_a_statement_without_rows(conversation, send) -> None:
    raw = send.parse("insert a") + send.bind() + send.execute("", 1) + send.execute("", 1) + send.sync
    replies = conversation.send(raw)
    assert [kind for kind, _ in replies] == ["1", "2", "C", "E", "Z"]
    assert code_of(replies) == "55000"


def test_names(conversation, send) -> None:
    assert conversation.kinds(send.parse("select 1", "s") + send.sync) == "1Z"
    assert code_of(conversation.send(send.parse("select 1", "s") + send.sync)) == "42P05"
    assert (
        conversation.kinds(send.close("S", "s") + send.close("S", "s") + send.close("P", "none") + send.sync)
        == "333Z"
    )
    assert code_of(conversation.send(send.bind(name="s") + send.sync)) == "26000"
    assert code_of(conversation.send(send.bind() + send.sync)) == "26000"
    assert code_of(conversation.send(send.describe("P", "x") + send.sync)) == "34000"
    assert conversation.kinds(send.describe("P", "declared") + send.sync) == "TZ"
    raw = send.parse("select 1") + send.bind(portal="p") + send.bind(portal="p") + send.sync
    assert code_of(conversation.send(raw)) == "42P03"
    assert code_of(conversation.send(send.parse("select 1; select 2") + send.sync)) == "42601"
    assert code_of(conversation.send(send.describe("Z") + send.sync)) == "08P01"
    assert code_of(conversation.send(send.parse("select $1", "", [999999]) + send.sync)) == "42704"


def test_sql_deallocates_what_parse_prepared(conversation, send) -> None:
    conversation.send(send.parse("select 1", "a") + send.parse("select 2", "b") + send.sync)
    conversation.send(send.query("deallocate a"))
    assert code_of(conversation.send(send.bind(name="a") + send.sync)) == "26000"
    assert conversation.kinds(send.bind(name="b") + send.execute() + send.sync) == "2DCZ"
    conversation.send(send.query("deallocate all"))
    assert (
        conversation.kinds(send.parse("select 3", "b") + send.bind(name="b") + send.execute() + send.sync)
        == "12DCZ"
    )


def test_simple_query_replaces_the_unnamed_ones(conversation, send) -> None:
    conversation.send(send.query("begin") + send.parse("series 9") + send.bind() + send.sync)
    conversation.send(send.query("select 1"))
    assert code_of(conversation.send(send.execute() + send.sync)) == "34000"


def test_flush_asks_for_what_there_is(conversation, send) -> None:
    raw = send.parse("select 1") + send.flush + send.query("slow 1")
    assert [kind for kind, _ in conversation.send(raw, patient=False)] == ["1"]
    assert conversation.wire.waiting is Wait.DRAIN
    assert [kind for kind, _ in conversation.send()] == ["C", "Z"]


def test_rows_then_an_error(conversation, send) -> None:
    replies = conversation.send(send.query("broken"))
    assert "".join(kind for kind, _ in replies) == "T" + "D" * 10 + "EZ"
    assert code_of(replies) == "22012"


def test_our_own_mistake_is_an_internal_error(conversation, send) -> None:
    assert code_of(conversation.send(send.query("crash"))) == "XX000"
    assert (
        code_of(conversation.send(send.parse("crash") + send.bind() + send.execute() + send.sync)) == "XX000"
    )
    assert conversation.kinds(send.query("select 1")) == "TDCZ"


def test_function_call_is_refused(conversation, send) -> None:
    replies = conversation.send(send.message("F", b"\0\0\0\1\0\0\0\0\0\0"))
    assert [kind for kind, _ in replies] == ["E", "Z"] and code_of(replies) == "0A000"


def test_copy_in_simple_protocol(conversation, send) -> None:
    assert conversation.send(send.query("insert a; copy in text; select 1")) == [
        ("C", b"INSERT 0 1\0"), ("G", b"\0\0\2\0\0\0\0"),
    ]  # fmt: skip
    data = send.copy_data(b"1\tx\n2") + send.copy_data(b"\t\\N\n") + send.flush + send.sync
    assert conversation.send(data) == []
    replies = conversation.send(send.copy_done)
    assert [kind for kind, _ in replies] == ["C", "T", "D", "C", "Z"]
    assert replies[0][1] == b"COPY 2\0"
    [rows] = conversation.backend.copies[0].rows
    assert [column.to_pylist() for column in rows] == [[1, 2], ["x", None]]


def test_copy_in_extended_protocol(conversation, send) -> None:
    raw = send.parse("copy in binary") + send.bind() + send.describe("P") + send.execute() + send.sync
    assert [kind for kind, _ in conversation.send(raw)] == ["1", "2", "n", "G"]
    header = b"PGCOPY\n\xff\r\n\0" + bytes(8)
    row = struct.pack("!hiqi", 2, 8, 5, -1)
    data = send.copy_data(header + row + b"\xff\xff") + send.copy_done + send.sync
    assert [kind for kind, _ in conversation.send(data)] == ["C", "Z"]
    assert conversation.backend.copies[0].rows[0][0].to_pylist() == [5]


def test_copy_fails_by_client_row_and_message(conversation, send) -> None:
    replies = conversation.send(send.query("copy in") + send.copy_data(b"1\ta\n") + send.copy_fail("no more"))
    assert code_of(replies) == "57014" and replies[-1][0] == "Z"
    assert conversation.backend.copies[-1].failed == "COPY from stdin failed: no more"
    replies = conversation.send(send.query("copy in") + send.copy_data(b"x\ta\n") + send.copy_done)
    assert code_of(replies) == "22P02"
    assert error_fields(replies[1][1])["W"] == 'COPY t, line 1, column n: "x"'
    assert conversation.kinds(send.copy_data(b"late") + send.copy_done + send.query("select 1")) == "TDCZ"
    raw = send.parse("copy in") + send.bind() + send.execute() + send.copy_data(b"1\n") + send.copy_done
    assert conversation.kinds(raw + send.execute() + send.sync) == "12GEZ"
    assert conversation.session.phase is Phase.READY
    assert conversation.kinds(send.query("copy in") + send.query("select 1")) == "GE"
    assert conversation.session.phase is Phase.CLOSED


def test_copy_error_in_the_middle_of_much_data(conversation, send) -> None:
    """The COPY ends at the first bad piece; the rest of the data is dropped."""
    chunk = send.copy_data(b"1\tabcdefgh\n" * 10_000)
    replies = conversation.send(
        send.query("copy in"), chunk * 3, send.copy_data(b"7\n"), chunk * 30, send.copy_done
    )
    assert code_of(replies) == "22P04"
    assert error_fields(replies[1][1])["W"] == 'COPY t, line 30001: "7"'
    assert replies[-1][0] == "Z"


def test_copy_out(conversation, send) -> None:
    replies = conversation.send(send.query("copy out csv header"))
    kinds = "".join(kind for kind, _ in replies)
    assert kinds == "H" + "d" * 2501 + "cCZ"
    assert replies[1:3] == [("d", b"n,name\n"), ("d", b"0,0\n")]
    assert replies[-2][1] == b"COPY 2500\0"
    replies = conversation.send(send.query("copy out binary"))
    assert replies[0] == ("H", b"\1\0\2\0\1\0\1")
    assert replies[1][1].startswith(b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\0\2\0\0\0\x08")
    assert replies[-4] == ("d", b"\xff\xff")


def test_endless_result_pauses_and_can_be_interrupted(conversation, send) -> None:
    first = conversation.send(send.query("endless"), patient=False)
    assert conversation.wire.waiting is Wait.DRAIN
    assert 0 < sum(len(body) for _, body in first) < 1 << 20
    assert conversation.wire.interrupt()
    replies = conversation.send()
    assert code_of(replies) == "57014" and replies[-1] == ("Z", b"I")
    assert conversation.backend.rows_closed and conversation.backend.cancelled == 1
    assert not conversation.wire.interrupt()


def test_subscription_waits_and_can_be_interrupted(conversation, send) -> None:
    conversation.send(send.query("subscribe"), patient=False)
    waiting = conversation.wire.waiting
    assert isinstance(waiting, Future)
    waiting.result(5)
    assert [kind for kind, _ in conversation.send(patient=False)] == ["D"]
    assert conversation.wire.interrupt()
    assert code_of(conversation.send()) == "57014"
    assert conversation.backend.rows_closed


def test_portal_over_a_subscription_suspends_at_its_limit(conversation, send) -> None:
    conversation.send(send.query("begin"))
    raw = send.parse("subscribe") + send.bind(portal="s") + send.execute("s", 2) + send.sync
    assert conversation.kinds(raw) == "12DDsZ"
    assert conversation.kinds(send.execute("s", 1) + send.sync) == "DsZ"


def test_closing_gives_up_what_is_under_way(conversation, send) -> None:
    conversation.send(send.query("endless"), patient=False)
    conversation.wire.close()
    assert conversation.backend.closed and conversation.backend.rows_closed


def test_any_order_of_messages_is_answered(conversation, send) -> None:
    """Random conversations: a ReadyForQuery for each Sync, and for each Query that is not skipped."""
    pick = random.Random(7)
    pieces = [
        send.parse("select $1::int4", "s"),
        send.parse("series 5"),
        send.parse("insert a"),
        send.parse("fail 22012"),
        send.bind([b"1"], "s"),
        send.bind(),
        send.bind(portal="p"),
        send.execute(),
        send.execute("p", 2),
        send.describe("P"),
        send.describe("S", "s"),
        send.close("P", "p"),
        send.close("S", "s"),
        send.flush,
        send.query("begin"),
        send.query("commit"),
        send.query("select 1; syntax"),
        send.query("insert conflict"),
        send.copy_data(b"1\tx\n"),
        send.copy_done,
        send.copy_fail("no"),
        send.sync,
        send.message("B", b"\0"),
    ]
    for _ in range(300):
        conversation = type(conversation)()
        for _ in range(12):
            chosen = [pick.choice(pieces) for _ in range(pick.randrange(1, 6))] + [send.sync]
            replies = conversation.send(*chosen)
            due = chosen.count(send.sync)
            ready = sum(kind == "Z" for kind, _ in replies)
            assert due <= ready <= due + sum(piece[:1] == b"Q" for piece in chosen)
            assert replies[-1][0] == "Z" and conversation.session.phase is Phase.READY
