"""Who was deleted at the source is gone after an erasure: from what Spark copied, shuffled, or was killed over.

The auditor looks at all bytes of the state folder, of what Spark of this process writes to, and of temporary folders.
Nothing that Spark shuffles is compressed in these tests (`conftest.CONFIGURATION`): a name is found by its bytes.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.cli.failures import FAILED
from discreet.curator.erasing import Erasure
from discreet.engines.spark import cluster
from discreet.policy import Policy, read
from tests.cli.runs import run, told
from tests.curator.test_erasing import found
from tests.plain import plain
from tests.postgres.worlds import HEAD, table
from tests.spark.conftest import MASTER

CANARY = f"c{secrets.token_hex(24)}"
COLUMNS = 'note = { type = "text" }\nward = { values = ["A", "B"] }\ncost = { min = 0, max = 100 }'
ENGINES = ["duckdb", "spark"]
SQL = "SELECT ward, COUNT(DISTINCT note) AS n FROM visits GROUP BY ward"
SHUFFLED = "spark.sql.classic.shuffleDependency.fileCleanup.enabled"


def write(folder: Path, *, canary: bool) -> None:
    """The source: some files of Parquet, so that Spark brings rows of a unit together."""
    folder.mkdir(exist_ok=True)
    for left in folder.iterdir():
        left.unlink()
    people = ["ann", "bob", *([CANARY] if canary else [])]
    with plain() as connection:
        for _ in range(3):
            columns = "p AS person, 'of ' || p AS note, 'A' AS ward, i AS cost"
            rows = f"SELECT {columns} FROM unnest(?) AS t(p), range(2) AS r(i)"
            file = folder / f"{secrets.token_hex(8)}.parquet"  # Spark never writes two files of one name
            connection.execute(f"COPY ({rows}) TO '{file}' (FORMAT parquet)", [people])


def policy_of(folder: Path, engine: str, master: str = MASTER, columns: str = COLUMNS) -> Policy:
    text = HEAD if engine == "duckdb" else f'engine = "{engine}"\n{HEAD}'
    lines = table(master, str(folder / "rows"), columns, more="max_rows = 4")
    (folder / "world.toml").write_text(text + lines, encoding="utf-8")
    return read(folder / "world.toml")


def shuffled() -> list[str]:
    """Where the canary is in what Spark of this process wrote when memory was short, or to bring rows together."""
    folders = [folder for each in cluster._running.values() for folder in each.folders]
    assert folders
    return [name for folder in folders for name in found(folder, CANARY)]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_person_leaves_copies_and_what_spark_shuffled(tmp_path: Path, engine: str) -> None:
    """With a Spark that lives on, because somebody else in this process uses it."""
    write(tmp_path / "rows", canary=True)
    policy = policy_of(tmp_path, engine)
    with discreet.open(policy.path) as curator:
        curator.query(SQL, epsilon=0.1)
        ending = ".spark" if engine == "spark" else ".duckdb"
        assert any(ending in name for name in found(policy.state, CANARY)), "the auditor's eyes are good"
        write(tmp_path / "rows", canary=False)
        done = curator.refresh(erase=Erasure(patience=60))
        assert (done.held, done.version) == ((), 2)
        assert (found(policy.state, CANARY), shuffled()) == ([], [])
        curator.query(SQL, epsilon=0.1)
    run("ledger", "backup", policy.path, tmp_path / "after.sqlite")
    assert found(tmp_path, CANARY) == []


def test_what_spark_still_has_on_disk_is_told(spark: Any, tmp_path: Path) -> None:
    """Somebody holds what was shuffled, in a session that removes nothing: it is not done until that is gone."""
    write(tmp_path / "rows", canary=True)
    policy = policy_of(tmp_path, "duckdb")
    session = spark.newSession()
    session.conf.set(SHUFFLED, "false")
    held = session.read.parquet(str(tmp_path / "rows")).repartition(2, "person")._jdf.queryExecution().toRdd()
    assert held.count() == 18
    assert shuffled(), "the auditor's eyes are good"
    write(tmp_path / "rows", canary=False)
    done = told("refresh", policy.path, "--erase", "--wait", "0", code=FAILED)
    assert done["held"] == ["rows that Spark, in this program, put on disk for a running query"]
    (link,) = policy.state.glob("spill/*/*/0")
    assert link.resolve() in _folders(), "whoever erases in another process finds it as well"
    del held
    assert told("refresh", policy.path, "--erase", "--wait", "60")["held"] == []
    assert (found(policy.state, CANARY), shuffled()) == ([], [])


def _folders() -> list[Path]:
    return [folder for each in cluster._running.values() for folder in each.folders]


@pytest.mark.usefixtures("spark")
def test_copies_of_refreshes_that_were_killed_go_whatever_the_policy_says_since(tmp_path: Path) -> None:
    """A copy that no record names, made for another policy: its number is that of the erasure."""
    write(tmp_path / "rows", canary=False)
    policy = policy_of(tmp_path, "duckdb")
    run("refresh", policy.path)
    left = policy.state / "data" / f"3.{'a' * 16}.spark" / "0" / "_temporary"
    left.mkdir(parents=True)
    (left / ".part-0.parquet.crc").write_text(CANARY, encoding="utf-8")
    assert told("refresh", policy.path, "--erase")["data_version"] == 3
    assert found(policy.state, CANARY) == []


@pytest.mark.usefixtures("spark")
def test_a_copy_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "rows", canary=True)
    policy = policy_of(tmp_path, "spark")
    run("refresh", policy.path)
    write(tmp_path / "rows", canary=False)
    with monkeypatch.context() as patch:
        patch.setattr("discreet.engines.spark.copy.shutil.rmtree", lambda *_, **__: None)
        done = told("refresh", policy.path, "--erase", "--wait", "0", code=FAILED)
    assert len(done["held"]) == 1
    assert done["held"][0].endswith(".spark: a copy that could not be removed")
    assert found(policy.state, CANARY)
    assert told("refresh", policy.path, "--erase")["held"] == []
    assert found(policy.state, CANARY) == []


KILLED = """
import os, pathlib, sys
from discreet.curator.refreshing import refresh
from discreet.engines.spark import cluster
from discreet.engines.spark.reading import SparkStaging
from discreet.policy import read
written = SparkStaging._written
def stopped(*given):
    files = written(*given)
    (running,) = cluster._running.values()
    print(running.gateway.proc.pid, flush=True)
    sys.stdin.readline()
    return files
SparkStaging._written = stopped
refresh(read(pathlib.Path(sys.argv[1])), "killed")
"""


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("victim", ["java", "python"])
def test_whatever_is_killed_while_rows_are_copied_nothing_is_left(tmp_path: Path, victim: str) -> None:
    """Java is killed, and Python cleans up; or Python is, and Java, which lives a little longer, holds its folder."""
    write(tmp_path / "rows", canary=True)
    (tmp_path / "temporary").mkdir()
    policy = policy_of(tmp_path, "spark", "spark:local[1]")
    options = f"-XX:TieredStopAtLevel=1 -Xss8m -Djava.io.tmpdir={tmp_path}/temporary"
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "JDK_JAVA_OPTIONS": options}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", KILLED, str(policy.path)]
    other: subprocess.Popen[str] = subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes)  # type: ignore[call-overload]
    try:
        assert other.stdout is not None
        line = other.stdout.readline()
        assert line, other.stderr.read() if other.stderr is not None else ""
        java = int(line)
        assert any("spill" in name for name in found(policy.state, CANARY)), "the auditor's eyes are good"
        write(tmp_path / "rows", canary=False)
        if victim == "java":
            os.kill(java, signal.SIGKILL)
            _, complained = other.communicate("\n", timeout=300)
            assert CANARY not in complained
            assert "SourceError" in complained
            assert found(policy.state, CANARY) == []
        else:
            other.kill()
            other.wait(300)
            os.kill(java, signal.SIGSTOP)
            held = told_by("refresh", policy.path, "--erase", "--wait", "0")
            assert any("put on disk" in each for each in held["held"]), "what Java holds is not removed under it"
            os.kill(java, signal.SIGCONT)
    finally:
        other.kill()
        other.communicate()
    assert told_by("refresh", policy.path, "--erase", "--wait", "60")["held"] == []
    assert found(tmp_path, CANARY) == []
    assert _is_over(java)


def told_by(*args: str | Path) -> Any:
    """What the command says in this process, whose Spark has two cores: the policy says one."""
    policy = Path(args[1])
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("spark:local[1]", MASTER), encoding="utf-8")
    from click.testing import CliRunner

    from discreet.cli import discreet as command

    return json.loads(CliRunner().invoke(command, [*map(str, args), "--json"]).stdout)


ELSEWHERE = """
import pathlib, sys
from discreet.engines.copy import private_copy
from discreet.policy import read
private_copy(read(pathlib.Path(sys.argv[1])), 1)
"""


def test_rows_are_not_put_where_a_variable_says(tmp_path: Path) -> None:
    """SPARK_LOCAL_DIRS counts for more than any setting: Spark is asked before it reads a row."""
    write(tmp_path / "rows", canary=True)
    (tmp_path / "elsewhere").mkdir()
    policy = policy_of(tmp_path, "duckdb", "spark:local[1]")
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(tmp_path / "elsewhere")}
    ran = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(policy.path)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert ran.stderr.splitlines()[-1].endswith("unset SPARK_LOCAL_DIRS, also in spark-env.sh")
    assert [name for name in found(tmp_path, CANARY) if not name.startswith("rows/")] == []
    assert not [path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()]


def _is_over(process: int) -> bool:
    """Whether it has ended; where nobody asks how, its number stays."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(") ")[2].startswith("Z")
    except FileNotFoundError:
        return True
