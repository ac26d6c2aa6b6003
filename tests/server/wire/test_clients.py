"""Real clients: psql, asyncpg, SQLAlchemy with pandas, JDBC. psycopg is asked everywhere else."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.server.running import ENDLESS, Running
from tests.server.wire.client import address

WARDS = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
PSQL = shutil.which("psql")
JAVAC = shutil.which("javac")
JARS = sorted((Path.home() / ".m2" / "repository" / "org" / "postgresql" / "postgresql").rglob("postgresql-*.jar"))
JARS = JARS or [path for path in (Path("/usr/share/java/postgresql.jar"),) if path.exists()]  # Debian's package
needs_psql = pytest.mark.skipif(
    PSQL is None, reason="needs psql (Debian's package postgresql-client), which is not here"
)


def psql(running: Running, *arguments: str, options: str = "") -> subprocess.Popen[str]:
    where = f"host=127.0.0.1 port={running.pg_port} dbname=hospital user=me options='{options}'"
    command = [str(PSQL), "--no-psqlrc", "--no-align", where, *arguments]
    environment = {**os.environ, "PGPASSWORD": running.tokens["epidemiology"], "PGAPPNAME": "psql"}
    return subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


LOOKS = {
    r"\d": "public|patients|table|discreet",
    r"\d patients": "age|double precision",
    r"\d+ patients": "A, B, C",
    r"\dt": "public|wards|table|discreet",
    r"\dt+": "each id is protected: at most 1 row",
    r"\dt pub*.pat*": "public|patients",
    r"\l": "hospital|discreet|UTF8",
    r"\l+": "pg_default",
    r"\conninfo": 'connected to database "hospital" as user "me"',
    r"\dn": "public|discreet",
    r"\du": "discreet|",
    r"\dv": "",
    r"\di": "",
    r"\ds": "",
    r"\df": "List of functions",
    r"\dx": "List of installed extensions",
    r"\dp": "Access privileges",
    r"\dT": "List of data types",
    r"\dd": "Object descriptions",
    r"\encoding": "UTF8",
    r"SHOW discreet.epsilon;": "0.1",
    f"{WARDS};": "A|",
    f"{WARDS} \\gdesc": "n|bigint",
    "BEGIN;": "BEGIN",
    f"DECLARE c CURSOR FOR {WARDS};": "DECLARE CURSOR",
    "FETCH 2 FROM c;": "(2 rows)",
    "FETCH ALL FROM c;": "(1 row)",
    "COMMIT;": "COMMIT",
}
"""What is typed, and something that is seen then."""


@needs_psql
def test_psql(server: Running) -> None:
    script = "".join(f"\\echo === {number}\n{line}\n" for number, line in enumerate(LOOKS))
    out, errors = psql(server, options="-c discreet.epsilon=0.1").communicate(script, timeout=120)
    assert "ERROR" not in errors, errors
    parts = out.split("=== ")[1:]
    assert len(parts) == len(LOOKS)
    for (line, seen), part in zip(LOOKS.items(), parts, strict=True):
        assert seen in part, (line, part)


@needs_psql
def test_psql_is_told_what_a_query_costs_and_why_it_is_refused(server: Running) -> None:
    _, errors = psql(server).communicate(
        f"{WARDS};\nSET discreet.epsilon = 0.1;\n{WARDS};\nSELECT zip FROM patients;\n", 60
    )
    assert "ERROR:  cost-missing" in errors
    assert "HINT:  SET discreet.epsilon = 0.1" in errors
    assert "NOTICE:  " in errors
    assert "LINE 1: SELECT zip FROM patients" in errors
    assert "\n               ^" in errors


@needs_psql
def test_ctrl_c_in_psql_reaches_the_engine(rigged: Running) -> None:
    process = psql(rigged, "-c", ENDLESS, options="-c discreet.epsilon=0.01")
    rigged.begun(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert "the query was cancelled; what it cost stays spent" in errors


def test_asyncpg(server: Running) -> None:
    async def ask() -> list[Any]:
        where = {name: value for name, value in address(server).items() if name != "dbname"}
        settings = {"discreet.epsilon": "0.1"}
        connection = await asyncpg.connect(**where, database="hospital", server_settings=settings, timeout=60)
        rows = await connection.fetch(WARDS)
        some = await connection.fetchval("SELECT COUNT(*) FROM patients WHERE age > $1 AND ward = $2", 40.0, "A")
        day = await connection.fetchval("SELECT COUNT(*) FROM patients WHERE born >= $1", date(1950, 1, 1))
        prepared = await connection.prepare(WARDS)
        kinds = [(each.name, each.type.name) for each in prepared.get_attributes()]
        async with connection.transaction():
            portions = [tuple(each) async for each in connection.cursor(WARDS, prefetch=2)]
        with pytest.raises(asyncpg.exceptions.GroupingError, match="never shown"):
            await connection.fetch("SELECT * FROM patients")
        await connection.reset()
        await connection.close()
        return [[tuple(row) for row in rows] == portions, type(some), type(day), kinds]

    assert asyncio.run(ask()) == [True, int, int, [("ward", "text"), ("n", "int8")]]


@pytest.mark.slow
def test_sqlalchemy_and_pandas(server: Running) -> None:
    import pandas
    import sqlalchemy

    where = address(server)
    engine = sqlalchemy.create_engine(
        f"postgresql+psycopg://me:{where['password']}@127.0.0.1:{where['port']}/hospital",
        connect_args={"options": "-c discreet.epsilon=0.1"},
    )
    with engine.connect() as connection:
        frame = pandas.read_sql(sqlalchemy.text(WARDS), connection)
        assert dict(frame.dtypes.astype(str)) == {"ward": "str", "n": "int64"}
        text = sqlalchemy.text("SELECT COUNT(*) AS n FROM patients WHERE age > :a")
        assert len(pandas.read_sql(text, connection, params={"a": 30})) == 1
    metadata = sqlalchemy.MetaData()
    metadata.reflect(engine)
    patients = metadata.tables["patients"]
    assert patients.c.age.comment == "0 … 120"
    assert set(metadata.tables) == {"patients", "wards"}
    counted = sqlalchemy.func.count().label("n")
    select = (
        sqlalchemy.select(patients.c.ward, counted).group_by(patients.c.ward).order_by(sqlalchemy.desc("n")).limit(2)
    )
    with engine.connect() as connection:
        assert len(connection.execute(select).all()) == 2
    inspector = sqlalchemy.inspect(engine)
    assert inspector.get_pk_constraint("patients")["constrained_columns"] == []
    assert inspector.get_indexes("patients") == []
    assert inspector.get_foreign_keys("patients") == []
    engine.dispose()


@pytest.mark.slow
@pytest.mark.skipif(
    JAVAC is None or not JARS,
    reason="needs javac, and pgjdbc in Maven's local repository or from Debian (libpostgresql-jdbc-java)",
)
def test_jdbc(server: Running, tmp_path: Path) -> None:
    subprocess.run([str(JAVAC), "-d", str(tmp_path), str(Path(__file__).parent / "Client.java")], check=True)
    where = address(server)
    given = [f"jdbc:postgresql://127.0.0.1:{where['port']}/hospital", where["password"]]
    command = ["java", "-cp", f"{JARS[-1]}{os.pathsep}{tmp_path}", "Client", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "PostgreSQL 15.0", "catalogs 1", "schemas 3", "tables 2", "columns 4", "keys 0", "indexes 0", "imported 0",
        "parameter int8 1", "again true", "portions 3", "most 1", "valid true",
    ]  # fmt: skip
