"""The way to PostgreSQL: secrets that nobody sees, TLS, one moment for all tables, and ends that tell nothing."""

from __future__ import annotations

import datetime
import itertools
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from discreet.curator.refreshing import refresh
from discreet.engines import postgres as module
from discreet.engines.copy import private_copy
from discreet.engines.postgres import INTERRUPTED, Snapshot, as_text
from discreet.engines.problems import SourceError
from discreet.engines.staging import Staging
from discreet.owner.check import check
from discreet.policy import Policy
from discreet.policy.layout import UNIT
from tests.cli.runs import run
from tests.postgres.cluster import OWNER, Cluster, until
from tests.postgres.worlds import copied, table, visits, world

COLUMNS = 'ward = { type = "text" }\ncost = { min = 0, max = 100 }'
CANARY = "canary-7f3a"
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def reader(postgres: Cluster) -> str:
    """A role that may connect with a password, and read what it is allowed to."""
    postgres.run(f"CREATE ROLE visitor LOGIN PASSWORD '{CANARY}'")
    hba = postgres.folder / "data" / "pg_hba.conf"
    hba.write_text(f"host all visitor localhost scram-sha-256\n{hba.read_text()}", encoding="ascii")

    def asked_for_password() -> bool:
        try:
            psycopg.connect(host="localhost", port=postgres.port, user="visitor", dbname="postgres").close()
        except psycopg.OperationalError:
            return True
        return False

    postgres.reload(asked_for_password)
    return "visitor"


def allowed(postgres: Cluster, reader: str, schema: str) -> None:
    postgres.run(
        f"GRANT USAGE ON SCHEMA {schema} TO {reader}", f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader}"
    )


def failure(policy: Policy) -> str:
    with pytest.raises(SourceError) as told:
        private_copy(policy, 1)
    assert CANARY not in repr(told.value)
    assert not list((policy.state / "data").glob("*.duckdb*"))
    return str(told.value)


class TestSecrets:
    def test_a_role_that_may_only_read_is_enough_and_its_password_is_named_not_written(
        self, postgres: Cluster, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        visits(postgres, "secrets", ("ann", "A", 1.5))
        allowed(postgres, reader, "secrets")
        address = f"postgresql://{reader}@localhost:{postgres.port}/postgres"
        named = table(f"{address}?password_variable=CLINIC_PASSWORD", "secrets.visits", COLUMNS)
        policy = world(tmp_path, named)
        assert failure(policy) == "visits: the variable CLINIC_PASSWORD has no password → set it, and export it"
        monkeypatch.setenv("CLINIC_PASSWORD", f"{CANARY}-wrong")
        assert "password authentication failed" in failure(policy)
        monkeypatch.setenv("CLINIC_PASSWORD", CANARY)
        assert copied(policy, f"SELECT {UNIT} FROM visits") == [("ann",)]
        assert not [finding for finding in check(policy) if "role" in finding.message]
        passwords = tmp_path / "passwords"
        passwords.write_text(f"localhost:{postgres.port}:postgres:{reader}:{CANARY}\n", encoding="ascii")
        passwords.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(passwords))
        filed = world(tmp_path, table(address, "secrets.visits", COLUMNS), name="filed")
        assert refresh(filed, "read anew") == 2
        passwords.unlink()
        for path in tmp_path.rglob("*"):
            assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path

    def test_a_role_that_may_do_more_is_warned_of(self, postgres: Cluster, tmp_path: Path) -> None:
        visits(postgres, "rights", ("ann", "A", 1.5))
        policy = world(tmp_path, table(postgres.address(), "rights.visits", COLUMNS))
        (finding,) = [finding for finding in check(policy) if "role" in finding.message]
        assert finding.severity == "warning"
        assert "is a superuser, makes roles, replicates, may INSERT, may UPDATE, may DELETE" in finding.message

    def test_what_a_role_may_not_read_is_said_before_anything_is_read(
        self, postgres: Cluster, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLINIC_PASSWORD", CANARY)
        visits(postgres, "closed", ("ann", "A", 1.5))
        address = f"postgresql://{reader}@localhost:{postgres.port}/postgres?password_variable=CLINIC_PASSWORD"
        policy = world(tmp_path, table(address, "closed.visits", COLUMNS))
        assert "this role may not read it → GRANT SELECT" in failure(policy)
        postgres.run(
            "GRANT USAGE ON SCHEMA closed TO visitor", "GRANT SELECT (person, ward) ON closed.visits TO visitor"
        )
        assert "this role may not read the column 'cost'" in failure(policy)
        postgres.run("GRANT SELECT (cost) ON closed.visits TO visitor")
        assert copied(policy, "SELECT ward, cost FROM visits") == [("A", 1.5)]

    def test_rows_hidden_by_row_level_security_are_warned_of(
        self, postgres: Cluster, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLINIC_PASSWORD", CANARY)
        visits(postgres, "hidden", ("ann", "A", 1.5), ("bob", "B", 2))
        allowed(postgres, reader, "hidden")
        postgres.run(
            "ALTER TABLE hidden.visits ENABLE ROW LEVEL SECURITY",
            "CREATE POLICY those ON hidden.visits USING (ward = 'A')",
        )
        address = f"postgresql://{reader}@localhost:{postgres.port}/postgres?password_variable=CLINIC_PASSWORD"
        policy = world(tmp_path, table(address, "hidden.visits", COLUMNS))
        assert copied(policy, f"SELECT {UNIT} FROM visits") == [("ann",)]
        assert [finding for finding in check(policy) if "row-level security" in finding.message]


@pytest.fixture(scope="module")
def certificate(postgres: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's certificate, signed by itself, for the name localhost and no other."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(named)
        .issuer_name(named)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = made.public_bytes(serialization.Encoding.PEM)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    for name, content in (("server.crt", public), ("server.key", secret)):
        path = postgres.folder / "data" / name
        path.write_bytes(content)
        path.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(path, OWNER)
    postgres.run("ALTER SYSTEM SET ssl = on")

    def encrypts() -> bool:
        with postgres.connect() as connection:
            return connection.execute("SHOW ssl").fetchall() == [("on",)]

    postgres.reload(encrypts)
    trusted = tmp_path_factory.mktemp("trusted") / "root.crt"
    trusted.write_bytes(public)
    return trusted


class TestTls:
    def test_other_hosts_must_be_whom_the_policy_names(
        self, postgres: Cluster, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        visits(postgres, "tls", ("ann", "A", 1.5))
        monkeypatch.setattr("discreet.policy.databases.is_local", lambda _: False)
        monkeypatch.setattr("discreet.owner.database_lints.is_local", lambda _: False)
        for host, more, said in (
            ("localhost", "", "root certificate file"),
            ("localhost", f"?sslrootcert={certificate}", ""),
            ("127.0.0.1", f"?sslrootcert={certificate}", "does not match host name"),
            ("127.0.0.1", "?sslmode=require", ""),
        ):
            address = f"postgresql://{OWNER}@{host}:{postgres.port}/postgres{more}"
            policy = world(tmp_path, table(address, "tls.visits", COLUMNS), name=f"w{host[0]}{len(more)}")
            monkeypatch.setenv("HOME", str(tmp_path))
            if said:
                assert said in failure(policy)
            else:
                assert copied(policy, f"SELECT {UNIT} FROM visits") == [("ann",)]
        assert [finding for finding in check(policy) if "sslmode" in finding.message]


class TestOneMoment:
    def test_all_tables_are_read_as_they_were_at_once(
        self, postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between two tables somebody adds a row to both, and empties a third: none of it is seen."""
        for name in ("a", "b", "c"):
            visits(postgres, f"moment_{name}", ("ann", "A", 1.5))
        plain = Snapshot.copy_out
        others: list[threading.Thread] = []

        def and_then(self: Snapshot, *given: Any) -> int:
            count = plain(self, *given)
            if not others:
                for name in ("a", "b"):
                    postgres.run(f"INSERT INTO moment_{name}.visits VALUES ('bob', 'B', 2)")
                postgres.run("DELETE FROM moment_b.visits WHERE person = 'ann'")
                emptied = threading.Thread(target=postgres.run, args=("TRUNCATE moment_c.visits",), daemon=True)
                emptied.start()
                others.append(emptied)
            return count

        monkeypatch.setattr(Snapshot, "copy_out", and_then)
        tables = [table(postgres.address(), f"moment_{name}.visits", COLUMNS, label=name) for name in ("a", "b", "c")]
        policy = world(tmp_path, *tables)
        found = copied(policy, f"SELECT {UNIT} FROM a UNION ALL SELECT {UNIT} FROM b UNION ALL SELECT {UNIT} FROM c")
        assert found == [("ann",)] * 3
        others[0].join()
        (path,) = (tmp_path / "world.discreet" / "data").glob("*.duckdb")
        path.unlink()
        assert copied(policy, f"SELECT {UNIT} FROM a ORDER BY 1") == [("ann",), ("bob",)]
        assert copied(policy, "SELECT count(*) FROM c") == [(0,)]

    def test_a_locked_table_is_not_waited_for_without_end(
        self, postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        visits(postgres, "locked", ("ann", "A", 1.5))
        monkeypatch.setitem(module.SETTINGS, "lock_timeout", "'10ms'")
        policy = world(tmp_path, table(postgres.address(), "locked.visits", COLUMNS))
        with postgres.connect() as other, other.transaction():
            other.execute("LOCK TABLE locked.visits")
            assert "another session locks a table" in failure(policy)


class TestEnds:
    @pytest.fixture
    def slow(self, postgres: Cluster) -> str:
        """A view that never comes to its end."""
        schema = f"slow{next(NUMBERS)}"
        postgres.run(
            f"CREATE SCHEMA {schema}",
            f"CREATE VIEW {schema}.visits AS SELECT '{CANARY}' || n AS person, 'A' AS ward,"
            " CASE WHEN n > 50000 AND pg_sleep(100) IS NULL THEN 2 ELSE 1 END AS cost FROM generate_series(1, 60000) n",
        )
        return f"{schema}.visits"

    def sleeping(self, postgres: Cluster) -> list[int]:
        """The backends that sleep for us."""
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'discreet' AND wait_event = 'PgSleep'"
        with postgres.connect() as connection:
            return [row[0] for row in connection.execute(query).fetchall()]

    def kill(self, postgres: Cluster) -> None:
        until(lambda: bool(self.sleeping(postgres)))
        postgres.run(*(f"SELECT pg_terminate_backend({pid})" for pid in self.sleeping(postgres)))

    def test_a_backend_that_is_killed_leaves_nothing_half(self, postgres: Cluster, slow: str, tmp_path: Path) -> None:
        policy = world(tmp_path, table(postgres.address(), slow, COLUMNS))
        killer = threading.Thread(target=self.kill, args=(postgres,), daemon=True)
        killer.start()
        assert failure(policy) == f"visits: {INTERRUPTED[0]} → {INTERRUPTED[1]}"
        killer.join()
        assert not list((tmp_path / "world.discreet").rglob("table-*"))

    def test_whoever_stops_us_stops_the_server(
        self, postgres: Cluster, slow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ctrl-C while PostgreSQL computes: its query ends as well."""
        policy = world(tmp_path, table(postgres.address(), slow, COLUMNS))

        sleeping = self.sleeping

        class Impatient:
            def register(self, *_: object) -> None: ...

            def poll(self) -> None:
                if sleeping(postgres):
                    raise KeyboardInterrupt

        monkeypatch.setattr("select.poll", Impatient)
        with pytest.raises(KeyboardInterrupt):
            private_copy(policy, 1)
        until(lambda: "canceling statement due to user request" in postgres.log)
        until(lambda: not sleeping(postgres))

    def test_an_error_of_the_server_has_one_text_whatever_it_says(self, postgres: Cluster, tmp_path: Path) -> None:
        """Its own text would hold the value that is wrong."""
        postgres.run(
            "CREATE SCHEMA wrong",
            f"CREATE TABLE wrong.rows AS SELECT 'ann' AS person, '{CANARY}' AS ward, '1' AS cost",
            "CREATE VIEW wrong.visits AS SELECT person, ward, ward::int AS cost FROM wrong.rows",
            "CREATE VIEW wrong.others AS SELECT person, ward, 1 / (cost::int - 1) AS cost FROM wrong.rows",
        )
        for name in ("visits", "others"):
            policy = world(tmp_path, table(postgres.address(), f"wrong.{name}", COLUMNS), name=name)
            assert failure(policy) == f"visits: {INTERRUPTED[0]} → {INTERRUPTED[1]}"

    def test_a_statement_timeout_ends_it_with_the_same_text(self, postgres: Cluster, slow: str, tmp_path: Path) -> None:
        postgres.run("CREATE ROLE hasty LOGIN SUPERUSER", "ALTER ROLE hasty SET statement_timeout = '200ms'")
        policy = world(tmp_path, table(postgres.address(user="hasty"), slow, COLUMNS))
        assert failure(policy) == f"visits: {INTERRUPTED[0]} → {INTERRUPTED[1]}"


NAMES = ['x"; DROP TABLE y; --', "a.b", "'; --", "SELECT", "Ünï", '""', "%s", "{}", "a\\b", "$1"]


def test_names_are_never_part_of_a_statement(postgres: Cluster, tmp_path: Path) -> None:
    def spelled(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    postgres.run("CREATE SCHEMA names2")
    with postgres.connect() as connection:
        connection.execute("CREATE TABLE names2.y (person text)")
        for name in NAMES:
            columns = f"person text, {spelled(name)} text".replace("%", "%")
            connection.execute(f"CREATE TABLE names2.{spelled(name)} ({columns})".encode())
            connection.execute(f"INSERT INTO names2.{spelled(name)} VALUES ('ann', 'A')".encode())
    tables = []
    for at, name in enumerate(NAMES):
        written = f'"names2".{spelled(name)}'.replace("\\", "\\\\").replace('"', '\\"')
        column = spelled(name).replace("\\", "\\\\")[1:-1].replace('""', '\\"')
        tables.append(
            f'[tables.t{at}]\nsource = "{postgres.address()}"\ntable = "{written}"\nunit = "person"\n'
            f'[tables.t{at}.columns]\n"{column}" = {{ type = "text" }}\n'
        )
    policy = world(tmp_path, *tables)
    for at, name in enumerate(NAMES):
        assert copied(policy, f"SELECT {spelled(name)} FROM t{at}") == [("A",)]
    with postgres.connect() as connection:
        assert connection.execute("SELECT count(*) FROM names2.y").fetchall() == [(0,)]


def test_rows_that_are_private_are_not_read_as_public_ones(postgres: Cluster, tmp_path: Path) -> None:
    visits(postgres, "apart", ("ann", "A", 1.5))
    postgres.run(
        "CREATE VIEW apart.inner AS SELECT DISTINCT ward FROM apart.visits",
        "CREATE VIEW apart.wards AS SELECT * FROM apart.inner",
        "CREATE TABLE apart.public (ward text, place point)",
        "INSERT INTO apart.public VALUES ('A', '(1,2)')",
    )
    private = table(postgres.address(), "apart.visits", COLUMNS)
    for name, there in (("wards", True), ("public", False)):
        public = f"[tables.wards]\nsource = '{postgres.address()}'\ntable = 'apart.{name}'\npublic = true"
        policy = world(tmp_path, private, public, name=name)
        if there:
            assert "it reads rows of visits, which is private" in failure(policy)
            with pytest.raises(SourceError, match="which is private"):  # also where the public one is read alone
                Staging(policy, tmp_path).part(policy.tables["wards"])
        else:
            assert copied(policy, "SELECT * FROM wards") == [("A",)]


def test_what_is_not_there_is_said_with_what_is(postgres: Cluster, tmp_path: Path) -> None:
    visits(postgres, "near", ("ann", "A", 1.5))
    address = postgres.address()
    assert "there is no table near.visit in the database → did you mean near.visits?" in failure(
        world(tmp_path, table(address, "near.visit", COLUMNS))
    )
    lacking = world(tmp_path, table(address, "near.visits", COLUMNS + "\nages = { min = 0, max = 9 }"))
    assert "the source has no column 'ages'" in failure(lacking)
    assert 'database "nowhere" does not exist' in failure(
        world(tmp_path, table(postgres.address("nowhere"), "near.visits", COLUMNS))
    )


def test_another_encoding_is_refused(postgres: Cluster, tmp_path: Path) -> None:
    postgres.run("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0")
    assert "the database is encoded in SQL_ASCII" in failure(
        world(tmp_path, table(postgres.address("ascii"), "visits", COLUMNS))
    )


def test_damaged_texts_are_null_one_by_one() -> None:
    assert as_text(bytearray("é\tA\n".encode())) == "é\tA\n".encode()
    assert as_text(bytearray(b"\xc3\xa9\tA\n\xff\tB\nc\t\xc3\n")) == b"\xc3\xa9\tA\n\\N\tB\nc\t\\N\n"


def test_commands(postgres: Cluster, tmp_path: Path) -> None:
    """As an owner works: draft, check, query, refresh."""
    visits(postgres, "clinic", *((f"p{n}", "AB"[n % 2], n) for n in range(50)))
    drafted = tmp_path / "draft.toml"
    run("init", f"{postgres.address()}#clinic.visits", "-o", drafted)
    text = drafted.read_text(encoding="utf-8")
    assert f'source = "{postgres.address()}"\ntable = "clinic.visits"' in text
    assert 'cost = { type = "number" }' in text
    assert "[tables.visits]" in run("init", postgres.address()).output
    world(tmp_path, table(postgres.address(), "clinic.visits", COLUMNS))
    path = tmp_path / "world.toml"
    run("check", path)
    run("query", path, "SELECT COUNT(*) FROM visits", "--epsilon", "1")
    postgres.run("INSERT INTO clinic.visits VALUES ('new', 'A', 1)")
    assert "data version 2" in run("refresh", path, "--reason", "daily").output
    with duckdb.connect(str(next((tmp_path / "world.discreet" / "data").glob("2.*.duckdb"))), read_only=True) as copy:
        assert copy.execute("SELECT count(*) FROM visits").fetchall() == [(51,)]


def test_without_psycopg_the_extra_is_named(postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    assert "pip install 'discreet[postgres]'" in failure(
        world(tmp_path, table(postgres.address(), "near.visits", COLUMNS))
    )
