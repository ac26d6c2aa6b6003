"""Every snippet in README and docs runs, and what it is said to print is what it prints, but for the noise."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from benchmarks.peers.environments import FOLDER as PEERS
from click.testing import CliRunner

import discreet
from discreet.cli import discreet as command
from discreet.engines.copy import private_copy
from discreet.lab.hospital import build
from discreet.policy import PolicyError, parse, read
from tests.budget import later
from tests.forked import Forked, forked
from tests.guide import DRAWN, PICTURES, draw

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
GUIDE = ROOT / "docs" / "guide"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
REFUSAL = re.compile(r"^\| `([^`]+)` \| `([a-z-]+)` \| `([^`]+)` \|$", re.MULTILINE)
MODULES = {"smartnoise": "snsql", "opendp": "opendp", "tumult": "tmlt"}
"""What the snippets of others import."""
EXPORT = re.compile(r"export (\w+)=\$\((.*)\)")
SCREEN = 50
"""Lines of a page of the guide; empty ones, fences and pictures do not count."""


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def shape(text: str) -> list[str]:
    """The text without its numbers, receipts and widths of tables: noise changes those and nothing else."""
    text = re.sub(r"\b\d+:[0-9a-f]{64}\b", "#", text)
    return re.sub(r"─+", "─", re.sub(r"-?\d[\d.,]*", "#", text)).split()


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@dataclass(slots=True)
class Reading:
    """A page that is read from its beginning, in a folder of its own: the names that it gave, what it printed last."""

    names: dict[str, Any] = field(default_factory=dict)
    printed: str = ""
    port: int = field(default_factory=free_port)
    """The port that stands for 8000 here."""
    pg_port: int = field(default_factory=free_port)
    """The port that stands for 5433 here."""
    servers: list[Forked] = field(default_factory=list)

    def python(self, code: str) -> None:
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(self.local(code), "snippet", "exec"), self.names)
        self.printed = output.getvalue()

    def text(self, shown: str) -> None:
        assert shape(self.printed) == shape(shown)

    def console(self, shown: str) -> None:
        """Each `$ discreet …` with what it prints; where nothing is shown, it has to succeed."""
        for said in re.split(r"^\$ ", self.local(shown), flags=re.MULTILINE)[1:]:
            line, _, output = said.partition("\n")
            variable = EXPORT.fullmatch(line)
            program, *arguments = shlex.split(variable[2] if variable else line)
            assert program == "discreet"
            if arguments[-1] == "&":
                self.serve(arguments[:-1])
                continue
            result = CliRunner().invoke(command, arguments)
            if variable:
                os.environ[variable[1]] = result.stdout.strip()
            assert "Traceback" not in result.output
            if output.strip():
                assert shape(result.output) == shape(output)
            else:
                assert result.exit_code == 0, result.output

    def local(self, text: str) -> str:
        text = text.replace(":5433", f":{self.pg_port}").replace("--pg-port 5433", f"--pg-port {self.pg_port}")
        return text.replace(":8000", f":{self.port}").replace("--port 8000", f"--port {self.port}")

    def serve(self, arguments: list[str]) -> None:
        """A server in the background, until the page has been read."""
        started = forked("discreet.cli", *arguments, environment=os.environ)
        self.servers.append(started)
        assert any(line.startswith("serving ") for line in started.stderr), "the server did not start"

    def close(self) -> None:
        for server in self.servers:
            server.kill()
            server.wait()
            server.stderr.close()

    def toml(self, text: str) -> None:
        """A policy: it can be read, and lies in the folder under its name from here on."""
        policy = parse(text.encode(), Path("policy.toml"))
        Path(f"{policy.name}.toml").write_text(text, encoding="utf-8")

    def oidc(self, text: str) -> None:
        """A file about an identity provider: it can be read, and is about the hospital."""
        from discreet.server.oidc.setup import read

        path = Path("oidc.toml")
        path.write_text(re.sub(r"secret_variable = .*", "", text), encoding="utf-8")
        assert all(rule.grant.dataset == "hospital" for rule in read(path).rules)


READERS: dict[str, Callable[[Reading, str], None]] = {
    "python": Reading.python,
    "text": Reading.text,
    "console": Reading.console,
    "toml": Reading.toml,
    "oidc": Reading.oidc,
}


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the private copy that the first question of a page would make: nothing was asked yet."""
    policy = read(build(tmp_path_factory.mktemp("hospital")))
    private_copy(policy, 1)
    return policy.folder


@pytest.fixture
def folder(hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with the hospital of the demo in it."""
    shutil.copytree(hospital, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", [page for page in PAGES if any(one in READERS for one, _ in blocks(page))], ids=named)
def test_snippets_run_and_print_what_the_page_shows(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_TOKEN", raising=False)
    monkeypatch.setenv("DISCREET_TOKEN", "")  # so that it is put back
    reading = Reading()
    try:
        for language, code in blocks(page):
            if language in READERS:
                READERS[language](reading, code)
    finally:
        reading.close()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_block_escapes_execution(page: Path) -> None:
    assert {language for language, _ in blocks(page)} <= READERS.keys() | MODULES.keys()


FOREIGN = [(language, code) for page in PAGES for language, code in blocks(page) if language in MODULES]


def test_every_peer_has_its_snippet() -> None:
    assert {language for language, _ in FOREIGN} == MODULES.keys()


@pytest.mark.long
@pytest.mark.parametrize(("language", "code"), FOREIGN, ids=[language for language, _ in FOREIGN])
def test_snippets_of_others_run_where_the_others_are(language: str, code: str, folder: Path) -> None:
    """In our environment, or in the one that the benchmarks made for them."""
    compile(code, language, "exec")
    assert re.search(rf"^(import|from) {MODULES[language]}\b", code, re.MULTILINE)
    ours = importlib.util.find_spec(MODULES[language]) is not None
    if not ours and not (PEERS / language / "requirements.txt").exists():
        pytest.skip(f"{MODULES[language]} is not installed: the snippet was compiled, not run")
    python = sys.executable if ours else str(PEERS / language / "bin" / "python")
    done = subprocess.run([python, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "surgery" in done.stdout


@pytest.mark.usefixtures("folder")
def test_what_the_guide_says_is_refused_is_refused_and_the_mended_question_answered() -> None:
    rows = REFUSAL.findall((GUIDE / "08-what-is-refused.md").read_text(encoding="utf-8"))
    assert len(rows) >= 10
    with discreet.open("hospital.toml") as hospital:
        for question, code, mended in rows:
            with pytest.raises(discreet.Refused) as refused:
                hospital.query(question, epsilon=0.01)
            assert (question, refused.value.code) == (question, code)
            assert hospital.query(mended, epsilon=0.01).columns


def test_every_page_of_the_guide_is_in_its_index_and_fits_on_a_screen() -> None:
    pages = {page.name: page for page in GUIDE.glob("*.md") if page.name != "README.md"}
    assert set(LINK.findall((GUIDE / "README.md").read_text(encoding="utf-8"))) >= pages.keys()
    numbered = {name: page for name, page in pages.items() if name[0].isdigit()}
    assert [int(name[:2]) for name in sorted(numbered)] == list(range(1, len(numbered) + 1))
    lines = {
        name: len(re.findall(r"^(?!```|!\[).+$", page.read_text(encoding="utf-8"), re.MULTILINE))
        for name, page in numbered.items()
    }
    assert not {name: found for name, found in lines.items() if found > SCREEN}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=named)
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    links = {link.partition("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link}
    assert not {link for link in links if not (page.parent / link).exists()}


def test_every_picture_is_small_drawn_by_the_module_and_shown_on_a_page() -> None:
    found = {picture.name: picture for picture in PICTURES.iterdir()}
    text = "".join(page.read_text(encoding="utf-8") for page in GUIDE.glob("*.md"))
    shown = re.findall(r"!\[[^\]]+\]\(pictures/([^)]+)\)", text)
    assert found.keys() == DRAWN.keys() == set(shown)
    assert all(picture.stat().st_size < 60_000 for picture in found.values())


@pytest.mark.long
@pytest.mark.parametrize("name", later(DRAWN, 2))
def test_pictures_can_be_made_again(name: str, tmp_path: Path) -> None:
    draw(tmp_path, [name])
    assert (tmp_path / name).read_text(encoding="utf-8").startswith("<svg")


def test_a_page_that_shows_something_else_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reading = Reading()
    reading.python("print('four wards')")
    reading.text("four wards\n")
    wrong: list[tuple[Callable[[str], None], str]] = [
        (reading.text, "five wards\n"),
        (reading.python, "nothing"),
        (reading.console, "$ discreet --version\nanother program\n"),
        (reading.console, "$ discreet check missing.toml\n"),
        (reading.toml, 'name = "clinic"\n'),
    ]
    for reader, shown in wrong:
        with pytest.raises((AssertionError, NameError, PolicyError)):
            reader(shown)


def test_make_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^    make ([a-z-]+) ", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_the_shape_of_a_text_ignores_numbers_and_nothing_else() -> None:
    assert shape("n: 41 ± 3.5") == shape("n: -1,042 ± 3")
    assert shape("n: 41 ± 3") != shape("m: 41 ± 3")


def test_the_shape_of_a_text_ignores_receipts_and_the_width_of_tables() -> None:
    assert shape(f"─── receipt 3:{'0a' * 32}") == shape(f"───── receipt 17:{'fe' * 32}")
    assert shape("receipt 3:abc") != shape("receipt 3:abd")
