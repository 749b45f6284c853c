"""I2: a reader never sees a sum that does not add up, nor two views of different moments."""

from __future__ import annotations

import random
import threading

import psycopg

from .server_process import ServerProcess

ACCOUNTS = 1000
VIEWS = {
    "debits": "SELECT from_account AS account, sum(amount) AS amount FROM transfer GROUP BY from_account",
    "credits": "SELECT to_account AS account, sum(amount) AS amount FROM transfer GROUP BY to_account",
    "balance": "SELECT a.id, coalesce(c.amount, 0) - coalesce(d.amount, 0) AS balance FROM account a "
    "LEFT JOIN credits c ON c.account = a.id LEFT JOIN debits d ON d.account = a.id",
    "total": "SELECT sum(balance) AS total, count(*) AS accounts FROM balance",
    "movements": "SELECT count(*) AS n, sum(amount) AS amount FROM transfer",
}


def prepare(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE account (id int PRIMARY KEY, held bigint NOT NULL)")
    connection.execute(
        "CREATE TABLE transfer (id bigint PRIMARY KEY, from_account int NOT NULL, to_account int NOT NULL, "
        "amount bigint NOT NULL)"
    )
    with connection.cursor().copy("COPY account FROM STDIN") as copy:
        copy.write("".join(f"{i}\t0\n" for i in range(ACCOUNTS)))
    for name, query in VIEWS.items():
        connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")


class Writer(threading.Thread):
    """Random transfers, one to five in a transaction, each moving money in `account` too."""

    def __init__(self, server: ServerProcess, number: int, stop: threading.Event) -> None:
        super().__init__()
        self.server, self.number, self.stop = server, number, stop
        self.committed = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        chance = random.Random(self.number)
        try:
            with self.server.connect() as connection:
                while not self.stop.is_set():
                    self._transfer(connection, chance)
        except BaseException as error:
            self.failure = error

    def _transfer(self, connection: psycopg.Connection, chance: random.Random) -> None:
        try:
            with connection.transaction():
                for _ in range(chance.randint(1, 5)):
                    source, target = chance.sample(range(ACCOUNTS), 2)
                    amount = chance.randint(1, 100)
                    number = chance.randrange(1 << 60)
                    connection.execute(
                        "INSERT INTO transfer VALUES (%s, %s, %s, %s)", (number, source, target, amount)
                    )
                    connection.execute("UPDATE account SET held = held - %s WHERE id = %s", (amount, source))
                    connection.execute("UPDATE account SET held = held + %s WHERE id = %s", (amount, target))
            self.committed += 1
        except psycopg.errors.SerializationFailure:
            pass


LOOK = (
    "SELECT t.total, t.accounts, (SELECT sum(balance) FROM balance), (SELECT sum(held) FROM account), "
    "(SELECT sum(amount) FROM debits), (SELECT sum(amount) FROM credits), m.amount, "
    "(SELECT count(*) FROM balance b JOIN account a USING (id) WHERE a.held <> b.balance) "
    "FROM total t, movements m"
)


def check(row: tuple[object, ...] | None) -> None:
    assert row is not None
    total, accounts, sum_of_balances, held, debits, credits, moved, wrong = row
    assert (total, accounts, sum_of_balances, held, wrong) == (0, ACCOUNTS, 0, 0, 0), row
    assert debits == credits == moved, row


def test_i2_readers_see_one_moment(server: ServerProcess) -> None:
    with server.connect() as reader:
        prepare(reader)
        stop = threading.Event()
        writers = [Writer(server, number, stop) for number in range(2)]
        for writer in writers:
            writer.start()
        try:
            for number in range(10_000):
                if number % 50:
                    row = reader.execute("SELECT total FROM total").fetchone()
                    assert row == (0,)
                else:
                    check(reader.execute(LOOK).fetchone())
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        assert all(writer.failure is None for writer in writers), [w.failure for w in writers]
        assert sum(writer.committed for writer in writers) > 50
        check(reader.execute(LOOK).fetchone())


def test_i2_a_read_only_block_sees_one_snapshot(server: ServerProcess) -> None:
    with server.connect() as writer, server.connect() as reader:
        prepare(writer)
        with reader.transaction():
            before = reader.execute("SELECT * FROM movements").fetchall()
            writer.execute("INSERT INTO transfer VALUES (1, 1, 2, 5)")
            assert writer.execute("SELECT n FROM movements").fetchone() == (1,)
            assert reader.execute("SELECT * FROM movements").fetchall() == before
            assert reader.execute("SELECT count(*) FROM transfer").fetchone() == (0,)
        assert reader.execute("SELECT n FROM movements").fetchone() == (1,)
