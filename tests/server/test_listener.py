"""The listener with real clients: psycopg, asyncpg, psql; TLS, SCRAM, cancel, limits, back-pressure."""

from __future__ import annotations

import asyncio
import base64
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import asyncpg
import psycopg
import pytest

from millpond.server.auth import Access, build_verifier, is_local, load_users
from millpond.server.listener import WRITE_BYTES_MAX, tls_context
from millpond.storage.errors import InvalidAuthorization, StartupError

from ..psql_program import PSQL


def wait_until(condition: Callable[[], bool], seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


def psql(server, *arguments: str, **options) -> subprocess.CompletedProcess:
    command = [PSQL, "-X", "-At", server.uri(), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, **options)


def test_psycopg_simple_extended_and_binary(server) -> None:
    with server.connect(application_name="x") as connection:
        assert connection.info.server_version == 150000
        assert connection.info.parameter_status("application_name") == "x"
        assert connection.execute("select 42").fetchall() == [(42,)]
        assert connection.execute("select %s::int4, %s::text", (7, "ä\n")).fetchone() == (7, "ä\n")
        assert connection.execute("select %s::int8", (None,)).fetchone() == (None,)
        with connection.cursor(binary=True) as cursor:
            assert cursor.execute("select %s::int8, %s::bool", (1 << 40, True)).fetchone() == (1 << 40, True)
        for _ in range(7):  # becomes a named statement after the fifth
            assert connection.execute("select %s::int4", (5,)).fetchone() == (5,)
        assert len(server.backend.statements) == 1


def test_psycopg_rows_in_both_formats(server) -> None:
    with server.connect() as connection:
        for binary in (False, True):
            rows = connection.execute("series 50000 7777", binary=binary).fetchall()
            assert len(rows) == 50000
            assert rows[49999] == (49999, "49999")


def test_psycopg_transactions_and_pipeline(server) -> None:
    with psycopg.connect(server.uri()) as connection:
        connection.execute("insert a")
        assert connection.info.transaction_status.name == "INTRANS"
        connection.commit()
        with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
            connection.execute("fail 23505")
        assert connection.info.transaction_status.name == "IDLE"
    with server.connect() as connection:
        with connection.pipeline():
            cursors = [connection.execute("select %s::int4", (number,)) for number in range(50)]
            slow = connection.execute("slow 3")
        assert [cursor.fetchone() for cursor in cursors] == [(number,) for number in range(50)]
        assert slow.statusmessage == "SLOW 3"
        with pytest.raises(psycopg.errors.DivisionByZero), connection.pipeline():
            connection.execute("fail 22012")
            connection.execute("select 1")
        assert connection.execute("select 1").fetchone() == (1,)


def test_psycopg_async(server) -> None:
    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(server.uri(), autocommit=True) as connection:
            cursor = await connection.execute("select %s::int4", (3,))
            assert await cursor.fetchone() == (3,)
            cursor = await connection.execute("series 10")
            assert len(await cursor.fetchall()) == 10

    asyncio.run(run())


def test_psycopg_copy_both_ways(server) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        for form in ("text", "binary"):
            with cursor.copy(f"copy in {form}") as copy:
                copy.set_types(["int8", "text"])
                for number in range(1000):
                    copy.write_row((number, f"tab\there {number}" if number % 7 else None))
            assert cursor.statusmessage == "COPY 1000"
            rows = server.backend.copies[-1].rows[0]
            assert rows[0].to_pylist() == list(range(1000))
            assert rows[1][:2].to_pylist() == [None, "tab\there 1"]
            with cursor.copy(f"copy out {form}") as copy:
                copy.set_types(["int8", "text"])
                assert list(copy.rows())[2400] == (2400, "2400")
        with pytest.raises(RuntimeError), cursor.copy("copy in text") as copy:
            copy.write("1\ta\n")
            raise RuntimeError("the client gives up")
        assert "the client gives up" in server.backend.copies[-1].failed
        with pytest.raises(psycopg.errors.BadCopyFileFormat) as caught, cursor.copy("copy in text") as copy:
            copy.write("1\ta\n2\n")
        assert caught.value.diag.context == 'COPY t, line 2: "2"'
        assert cursor.execute("select 1").fetchone() == (1,)


def test_asyncpg(server) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=server.port, user="fake", database="x", ssl=False
        )
        try:
            assert await connection.fetchval("select $1::int4", 12) == 12
            assert await connection.fetchrow("select $1::int8, $2::text", 1, "b") == (1, "b")
            assert len(await connection.fetch("series 3000")) == 3000
            async with connection.transaction():
                seen = 0
                async for record in connection.cursor("series 105", prefetch=10):
                    assert record["n"] == seen
                    seen += 1
                assert seen == 105
            with pytest.raises(asyncpg.UniqueViolationError) as caught:
                await connection.execute("fail 23505")
            assert caught.value.as_dict()["detail"] == "the detail"
            with pytest.raises(asyncio.TimeoutError):
                await connection.fetch("sleep", timeout=0.2)
            assert await connection.fetchval("select 5") == 5
        finally:
            await connection.close()

    asyncio.run(run())
    assert server.backend.cancelled == 1


def test_psql(server) -> None:
    found = psql(server, "-c", "select 1; select 2; notice", "-c", "set application_name y")
    assert found.stdout.split() == ["1", "2", "NOTICE", "SET"]
    assert "NOTICE:  already there" in found.stderr
    found = psql(server, "-c", "select 1; fail 42703 6")
    assert found.stdout == "1\n"
    assert (
        "ERROR:  failed with 42703\nLINE 1: select 1; fail 42703 6\n                       ^" in found.stderr
    )
    assert psql(server, "-c", "").returncode == 0
    found = psql(server, "-c", "copy in csv", input='1,a\n2,"b,c"\n')
    assert found.stdout == "COPY 2\n"
    assert server.backend.copies[-1].rows[0][1].to_pylist() == ["a", "b,c"]
    assert psql(server, "-c", "copy out csv header").stdout.splitlines()[:2] == ["n,name", "0,0"]


def test_cancel_a_statement_an_endless_result_and_a_subscription(server) -> None:
    for text in ("sleep", "endless", "subscribe"):
        with server.connect() as connection:
            with pytest.raises(psycopg.errors.QueryCanceled):
                if text == "sleep":
                    threading.Timer(0.1, connection.cancel_safe).start()
                    connection.execute(text)
                else:
                    for number, _ in enumerate(connection.cursor().stream(text)):
                        if number == 3:
                            connection.cancel_safe()
            assert connection.execute("select 1").fetchone() == (1,)
            assert text == "sleep" or server.backend.rows_closed


def test_cancel_with_a_wrong_secret_does_nothing(server, send) -> None:
    with server.connect() as connection:
        request = send.untagged(struct.pack("!III", 80877102, connection.info.backend_pid, 12345))
        with socket.create_connection(("127.0.0.1", server.port)) as other:
            other.sendall(request)
            assert other.recv(10) == b""
        assert server.backend.cancelled == 0


def test_endless_result_waits_for_the_client(server, send) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(send.startup(user="u") + send.query("endless"))
        produced, before, deadline = 0, -1, time.monotonic() + 30
        while not produced or produced != before:
            assert time.monotonic() < deadline
            time.sleep(0.5)
            produced, before = server.backend.produced if server.backends else 0, produced
        # The kernel's socket buffers hold some, we hold no more than the bound.
        assert produced * 30 < WRITE_BYTES_MAX + (16 << 20)
        for _ in range(200):
            client.recv(1 << 18)
        assert server.backend.produced > produced
    assert wait_until(lambda: server.backend.closed)
    assert server.backend.rows_closed


def test_client_that_leaves_a_subscription_is_noticed(server, send) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(send.startup(user="u") + send.query("subscribe"))
        client.recv(1000)
        time.sleep(0.05)
    assert wait_until(lambda: server.backend.closed and server.backend.rows_closed)
    assert wait_until(lambda: server.listener.client_count == 0)


def test_pipelined_flood_is_bounded(server, send) -> None:
    """A client that sends without reading: reading from it stops."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(send.startup(user="u") + send.query("sleep"))
        client.settimeout(0.5)
        flood = send.query("select 1") * 10_000
        with pytest.raises(TimeoutError):
            for _ in range(200):
                client.sendall(flood)
        [connection] = server.listener._clients.values()
        assert connection._wire.pending < 4 << 20


def test_other_clients_are_served_meanwhile(server) -> None:
    with server.connect() as busy, server.connect() as other:
        stream = busy.cursor().stream("endless")
        next(stream)
        times = []
        for _ in range(50):
            begin = time.perf_counter()
            assert other.execute("select 1").fetchone() == (1,)
            times.append(time.perf_counter() - begin)
        assert sorted(times)[25] < 0.05
        busy.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            for _ in stream:
                pass


def test_connection_limit(serve) -> None:
    server = serve(connections_max=2)
    refused = pytest.raises(psycopg.OperationalError, match="sorry, too many clients already")
    with server.connect(), server.connect(), refused:
        server.connect()
    assert wait_until(lambda: server.listener.client_count == 0)
    with server.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_scram(serve) -> None:
    access = Access({"anna": build_verifier("pässword ", iterations=4096), "bob": build_verifier("x")})
    server = serve(access)
    with psycopg.connect(server.uri(password="'pässword '").replace("user=fake", "user=anna")) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    for user, password in (("anna", "wrong"), ("nobody", "x")):
        with pytest.raises(
            psycopg.OperationalError, match=f'password authentication failed for user "{user}"'
        ):
            psycopg.connect(server.uri(password=password).replace("user=fake", f"user={user}"))

    async def run() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=server.port, user="bob", password="x", database="d", ssl=False
        )
        assert await connection.fetchval("select 9") == 9
        await connection.close()

    asyncio.run(run())


def test_postgres_and_we_agree_on_verifiers(postgres) -> None:
    postgres.execute("SET password_encryption = 'scram-sha-256'")
    postgres.execute("CREATE ROLE verifier_probe PASSWORD 'sécret'")
    try:
        [stored] = postgres.execute(
            "SELECT rolpassword FROM pg_authid WHERE rolname = 'verifier_probe'"
        ).fetchone()
    finally:
        postgres.execute("DROP ROLE verifier_probe")
    salt = base64.b64decode(stored.split("$")[1].partition(":")[2])
    assert build_verifier("sécret", salt) == stored


def test_access_rules(tmp_path: Path) -> None:
    assert is_local("127.0.0.1") and is_local("::1") and is_local("") and not is_local("10.0.0.1")
    assert not Access().needs_password("u", "127.0.0.1")
    with pytest.raises(InvalidAuthorization):
        Access().needs_password("u", "10.0.0.1")
    assert not Access(trust_remote=True).needs_password("u", "10.0.0.1")
    users = tmp_path / "users"
    verifier = build_verifier("q")
    users.write_text(f"# comment\n\nanna:secret:with colon\nbob:{verifier}\n")
    loaded = load_users(users)
    assert loaded["bob"] == verifier and loaded["anna"].startswith("SCRAM-SHA-256$4096:")
    users.write_text("nonsense\n")
    with pytest.raises(StartupError, match="line 1"):
        load_users(users)
    with pytest.raises(StartupError):
        load_users(tmp_path / "none")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost"
    command = [*command.split(), "-days", "2", "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(command, check=True, capture_output=True)
    return files


def test_tls(serve, certificate) -> None:
    server = serve(tls=tls_context(*certificate))
    with server.connect(sslmode="require") as connection:
        assert connection.pgconn.ssl_in_use
        assert len(connection.execute("series 30000").fetchall()) == 30000
        threading.Timer(0.1, connection.cancel_safe).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("sleep")
    with server.connect(sslmode="disable") as connection:
        assert not connection.pgconn.ssl_in_use

    async def run() -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = await asyncpg.connect(
            host="127.0.0.1", port=server.port, user="u", database="d", ssl=context
        )
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetch("sleep", timeout=0.2)
        await connection.close()

    asyncio.run(run())


def test_tls_refuses_bytes_sent_ahead(serve, certificate, send) -> None:
    server = serve(tls=tls_context(*certificate))
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(send.untagged(struct.pack("!I", 80877103)) + send.startup(user="u"))
        answer = b"".join(iter(lambda: client.recv(1000), b""))
        assert answer.startswith(b"SE") and b"received unencrypted data after SSL request" in answer


def test_tls_files_that_do_not_serve(tmp_path: Path) -> None:
    with pytest.raises(StartupError):
        tls_context(tmp_path / "none", tmp_path / "none")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"08P01"),
        (struct.pack("!II", 8, 0x00020000), b"0A000"),
        (struct.pack("!II", 9, 0x00030000) + b"\0", b"28000"),
        (struct.pack("!II", 20, 0x00030000) + b"user\0u\0names", b"08P01"),
    ],
)
def test_bad_beginnings_end_only_that_connection(server, raw: bytes, code: bytes) -> None:
    with server.connect() as witness:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(raw)
            answer = client.recv(1000)
            assert b"SFATAL\0" in answer and b"C" + code in answer
            assert client.recv(10) == b""
        assert witness.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("raw", [b"!\0\0\0\4", b"Q\0\0\0\0", b"Q\xff\xff\xff\xff", b"p\0\0\0\4"])
def test_bad_messages_end_only_that_connection(server, send, raw: bytes) -> None:
    with server.connect() as witness:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(send.startup(user="u"))
            time.sleep(0.05)
            client.recv(10000)
            client.sendall(raw)
            assert b"C08P01" in client.recv(1000)
            assert client.recv(10) == b""
        assert witness.execute("select 1").fetchone() == (1,)


def test_stop_tells_the_clients(serve) -> None:
    server = serve()
    connection = server.connect()
    asyncio.run_coroutine_threadsafe(server.listener.stop(), server.loop).result(10)
    with pytest.raises(psycopg.errors.AdminShutdown):
        connection.execute("select 1")
    with pytest.raises(psycopg.OperationalError):
        server.connect()


def test_address_in_use(server, serve) -> None:
    with pytest.raises(StartupError, match="cannot listen on"):
        from millpond.server.listener import Listener

        asyncio.run(Listener(server.listener.connect, port=server.port).start())


def test_startup_parameters(server) -> None:
    with server.connect(options="'-c search_path=a\\\\ b --work-mem=4'") as connection:
        assert server.backend.startup["search_path"] == "a b"
        assert server.backend.startup["work_mem"] == "4"
        assert server.backend.startup["_pid"] == str(connection.info.backend_pid)
        assert server.backend.startup["_address"] == "127.0.0.1"
