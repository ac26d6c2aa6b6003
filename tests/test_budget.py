"""The budget of the processor: every directory has one, and what exceeds it is said."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.budget import (
    BUDGETS,
    LISTED,
    LONGEST,
    OUTSIDE,
    SELDOM,
    directory,
    found_long,
    is_quick,
    later,
    listed,
    names_of,
    once,
    over,
    per_directory,
    processor,
    renewed,
    seldom,
    table,
)

BURN = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"


def test_every_directory_of_tests_has_a_budget_and_no_other() -> None:
    budgets = tomllib.loads(BUDGETS.read_text(encoding="utf-8"))
    files = {str(path.relative_to(Path(__file__).parents[1])) for path in Path(__file__).parent.rglob("test_*.py")}
    assert budgets.keys() == {directory(file) for file in files} | {OUTSIDE}
    assert all(seconds > 0 for seconds in budgets.values())


def test_tests_count_against_their_directory_and_what_is_over_is_said() -> None:
    spent = per_directory(
        {"tests/sql/test_a.py::b[c/d]": 2, "tests/test_e.py::f": 1, "tests/exit/test_g.py::h": 3, OUTSIDE: 4}
    )
    assert spent == {"sql": 2, "tests": 1, "exit": 3, OUTSIDE: 4}
    budgets = {"sql": 2.0, "tests": 0.5, "exit": 9.0}
    assert [line.split()[1] for line in over(spent, budgets)] == [OUTSIDE, "tests"]
    assert next(iter(table(spent, budgets))).split()[0] == OUTSIDE
    assert list(table(spent, budgets))[-1].split()[1] == "10"


def test_children_count_while_they_live_and_afterwards() -> None:
    start = processor()
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        alive = processor() - start
        child.communicate(b"\n")
    assert alive >= 0.19 or not Path("/proc/self/task").is_dir()
    assert processor() - start >= 0.2


def test_what_comes_later_is_slow() -> None:
    first, second = later("ab")
    assert first == "a"
    assert second.values == ("b",)
    assert [mark.name for mark in second.marks] == ["slow"]


def test_of_forms_that_go_the_same_way_one_in_so_many_is_not_long(request: pytest.FixtureRequest) -> None:
    def made(name: str) -> pytest.Item:
        return pytest.Function.from_parent(request.node.parent, name=name, callobj=made)

    pairs = [made(f"test_a[{one}-{end}]") for one in "pqrs" for end in "xy"]
    others = [made("test_b"), made("test_c[p]"), made("test_c[q]")]
    others[1].add_marker("slow")
    file = request.node.nodeid.partition("::")[0].removeprefix("tests/")
    seldom([*pairs, *others], {f"{file}::test_a": 2, f"{file}::test_b": 9, f"{file}::test_c": 2, "gone": 2})
    often = [item.name for item in [*pairs, *others] if item.get_closest_marker("long") is None]
    assert often == ["test_a[p-x]", "test_a[q-y]", "test_a[r-x]", "test_a[s-y]", "test_b", "test_c[p]", "test_c[q]"]
    assert [item.name for item in once([*pairs, *others])] == ["test_a[p-x]", "test_b", "test_c[q]"]


def test_what_takes_longer_than_it_may_is_long(request: pytest.FixtureRequest) -> None:
    """The form that makes what all of them share does not count; what mutants are tried on stays."""
    least, more = LONGEST / 2, LONGEST * 2
    forms = {"tests/a.py::test_b[1]": 9.0, "tests/a.py::test_b[2]": least, "tests/a.py::test_c[1]": more}
    others = {"tests/a.py::test_c[2]": more, "tests/d.py::test_e": more, "tests/a.py::test_f": more, OUTSIDE: 9.0}
    assert found_long(forms | others, {"tests/d.py", "a.py::test_f"}) == {"a.py::test_c"}
    item = pytest.Function.from_parent(request.node.parent, name="test_x[1]", callobj=found_long)
    listed([item], names_of(f"# why\n{item.nodeid.partition('[')[0].removeprefix('tests/')}\n"))
    assert not is_quick(item)


def test_who_needs_a_browser_or_a_provider_is_long(request: pytest.FixtureRequest) -> None:
    """`make test` installs neither."""

    def needs(item: pytest.Item) -> bool:
        return "browser" in getattr(item, "fixturenames", ()) or item.path.stem == "test_real_provider"

    assert not [item.nodeid for item in request.session.items if needs(item) and is_quick(item)]


def test_what_runs_seldom_is_there() -> None:
    """A test that is renamed would run whole again, and nobody would know."""
    some = tomllib.loads(SELDOM.read_text(encoding="utf-8"))
    assert all(many > 1 for many in some.values())
    names = names_of(LISTED.read_text(encoding="utf-8"))
    assert names == sorted(set(names))
    assert some.keys().isdisjoint(names)
    for test in (*some, *names):
        file, _, name = test.partition("::")
        text = (SELDOM.parent / file).read_text(encoding="utf-8")
        assert f"def {name.rpartition('::')[2]}(" in text, test


def test_a_budget_is_what_a_run_took_and_a_fifth_more() -> None:
    made = renewed("# why\nsql = 1\ngone = 7\n", {"sql": 10.0, "exit": 0.2})
    assert made == "# why\nexit = 2\nsql = 13\n"
    assert not over({"sql": 10.0, "exit": 0.2}, tomllib.loads(made))
