"""SmartNoise's metadata becomes a draft; what is not understood is refused with its line."""

from __future__ import annotations

import sys
import tomllib
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.cli.program import discreet
from discreet.owner.smartnoise import from_smartnoise
from discreet.owner.yaml import Node, YamlError, parse
from discreet.policy import Kind, Policy, PolicyError
from discreet.policy import parse as parse_policy

PUMS = """\
# metadata as the SmartNoise documentation writes it
"":
  PUMS:
    PUMS:
      max_ids: 3
      rows: 1000
      sample_max_ids: True
      censor_dims: False
      clamp_counts: no
      age:
        type: int
        lower: 0
        upper: 100
      sex:
        type: string
        cardinality: 2
        nullable: True
      educ:
        type: string
      income:
        type: float
        lower: 0.0
        upper: 5e5      # dollars
        missing_value: 0
      married:
        type: boolean
      "paid at":
        type: datetime
      pid:
        type: int
        private_id: True
"""
DEVICES = """\
---
engine: csv
Devices:
  Telemetry:
    Crashes:
      rows: 103000
      row_privacy: true
      max_ids: 5
      Refurbished:
        type: boolean
      Temperature:
        type: float
        min: 25.0
        max: 65
      Building:
        cardinality: 12
        type: 'string'
    Census:
      DeviceID:
        type: int
        is_key: True
      OEM:
        type: string
      Disk:
        type: int
        min: 1e2
        max: 1_0000
        sensitivity: 5
      Shape:
        type: polygon
    crashes:
      Started:
        type: datetime
        lower: 2020-01-01
        upper: '2030-01-01T12:00:00+02:00'
      Only low:
        type: int
        lower: 1
      Text:
        type: string
        lower: 0
"""
LOMAS = """\
max_ids: 2
rows: 344
row_privacy: false
columns:
  penguin_id:
    private_id: true
    type: string
  bill (mm):
    type: float
    lower: 30
    upper: 65
"""


def imported(folder: Path, text: str, name: str = "metadata.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return from_smartnoise(path)


def completed(text: str) -> Policy:
    done = text.replace("# epsilon = ", "epsilon = ").replace("# name = ", "name = ").replace("# unit = ", "unit = ")
    return parse_policy(done.encode(), Path("/srv/policy.toml"))


def test_a_table_with_a_private_id(tmp_path: Path) -> None:
    text = imported(tmp_path, PUMS, "PUMS.yaml")
    policy = completed(text)
    (table,) = policy.tables.values()
    assert (policy.name, policy.unit, table.name, table.source.path) == ("PUMS", "person", "PUMS", "PUMS.csv")
    assert table.owner is not None
    assert (table.owner.column, table.max_rows) == ("pid", 3)
    columns = table.columns
    assert list(columns) == ["age", "sex", "educ", "income", "married", "paid at"]
    assert (columns["age"].kind, columns["age"].bounds) == (Kind.INTEGER, (Fraction(0), Fraction(100)))
    assert (columns["sex"].kind, columns["sex"].nullable) == (Kind.TEXT, True)
    assert (columns["income"].kind, columns["income"].bounds) == (Kind.NUMBER, (Fraction(0), Fraction(500_000)))
    assert columns["paid at"].bounds is None
    for comment in (
        "# rows: left out: the number of rows is private here",
        "# sample_max_ids: not needed: always so here",
        "# clamp_counts: left out: noisy counts may be negative",
        "#   cardinality: left out: list the values instead, if they are no secret",
        "#   missing_value: left out: NULL stays NULL",
        "# min = ?, max = ?  decide from what is known, not from the data",
        "never from the data: see that they do",
    ):
        assert comment in text


def test_several_tables_in_the_older_spelling(tmp_path: Path) -> None:
    text = imported(tmp_path, DEVICES, "Devices.yaml")
    policy = completed(text)
    assert list(policy.tables) == ["Crashes", "Census", "crashes_2"]
    crashes, census, more = policy.tables.values()
    assert crashes.owner is not None
    assert (crashes.owner.column, crashes.max_rows) == (None, 1)
    assert crashes.columns["Temperature"].bounds == (Fraction(25), Fraction(65))
    assert census.owner is not None
    assert census.owner.column == "DeviceID"
    assert list(census.columns) == ["OEM", "Disk"]
    assert census.columns["Disk"].bounds == (Fraction(100), Fraction(10_000))
    assert more.owner is not None
    assert more.owner.column is None
    assert more.columns["Started"].bounds == (datetime(2020, 1, 1), datetime(2030, 1, 1, 10))
    assert more.columns["Only low"].bounds is None
    for comment in (
        "# max_ids: left out, because every row is its own unit",
        "# Shape: left out, because no policy can declare this type",
        "#   sensitivity: left out: it follows from the bounds",
        "decide: the column that names whom you protect; the metadata names none",
        "# lower and upper left out",
    ):
        assert comment in text


def test_columns_may_stand_in_a_map_of_their_own(tmp_path: Path) -> None:
    (table,) = completed(imported(tmp_path, LOMAS, "penguins.yml")).tables.values()
    assert table.name == "penguins"
    assert table.owner is not None
    assert (table.owner.column, table.max_rows) == ("penguin_id", 2)
    assert list(table.columns) == ["bill (mm)"]


def test_row_privacy_needs_no_private_id(tmp_path: Path) -> None:
    text = imported(tmp_path, "t:\n  row_privacy: True\n  age:\n    type: int\n")
    assert 'unit = "row"  ' in text
    assert "max_" not in text


def test_a_column_may_be_called_columns(tmp_path: Path) -> None:
    text = imported(tmp_path, "t:\n  columns:\n    type: int\n  age:\n    type: int\n    bounded: yes\n")
    (table,) = tomllib.loads(text)["tables"].values()
    assert set(table["columns"]) == {"columns", "age"}
    assert "#   bounded: left out: unknown here" in text


def test_names_never_break_out_of_their_place(tmp_path: Path) -> None:
    options = 't:\n  "x\\nepsilon = 9": 5\n'
    columns = """  "a\\nb":\n    type: int\n  'g"h':\n    type: int\n    "e\\nf": 1\n"""
    text = imported(tmp_path, options + columns)
    document = tomllib.loads(text)
    assert document["budget"] == {}
    assert set(document["tables"]["t"]["columns"]) == {'g"h'}
    assert "this name" in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: there is no table with columns"),
        ("a: 1\nb:\n  c: 2", "line 1: there is no table with columns"),
        ("t:\n  age:\n    type: int\n  ward:\n    lower: 0", "line 4: 'ward' has no type"),
        ("columns:\n  age:\n    type: int\n  ward:\n    lower: 0", "line 4: 'ward' has no type"),
        ("t:\n  max_ids: many\n  age:\n    type: int", "line 2: must be a whole number of at least 1"),
        ("t:\n  max_contrib: 0\n  age:\n    type: int", "line 2: must be a whole number of at least 1"),
        ("t:\n  row_privacy: 1\n  age:\n    type: int", "line 2: must be true or false"),
        ("t:\n  age:\n    type: int\n    lower: low\n    upper: 9", "line 4: must be a number"),
        ("t:\n  age:\n    type: int\n    lower: 0\n    upper: .inf", "line 5: must be a number"),
        ("t:\n  age:\n    type: int\n    lower: 0\n    upper: 'inf'", "line 5: must be a number"),
        ("t:\n  age:\n    type: int\n    lower: true\n    upper: 9", "line 4: must be a number"),
        ("t:\n  at:\n    type: datetime\n    lower: 5\n    upper: 9", "line 4: must be a timestamp"),
        (
            "t:\n  a:\n    type: int\n    private_id: true\n  b:\n    type: int\n    private_id: true",
            "line 5: 'a' is the private id already",
        ),
        ("a:\n\tb: 1", "line 2: is not YAML: found character '\\t'"),
        ("a: [1, 2]", "line 1: a list is not understood"),
        ("a:\n  - b", "line 2: a list is not understood"),
        ("a:\n  -", "line 2: a list is not understood"),
        ("? {a: b}\n: b", "line 1: a complex key is not understood"),
        ("? [a]\n: b", "line 1: a complex key is not understood"),
        ("a: &x 1", "line 1: an anchor"),
        ("a: *x", "line 1: a reference"),
        ("a: !!str x", "line 1: a tag"),
        ("a: 1\na: 2", "line 2: 'a' stands there twice"),
        ("a:\n    b: 1\n  c: 2", "line 3: is not YAML: expected <block end>"),
        ("  a: 1\nb: 2", "line 2: is not YAML: expected '<document start>'"),
        ("a: 1\n  b: 2", "line 2: is not YAML: mapping values are not allowed here"),
        ("a: 'x", "line 1: is not YAML: found unexpected end of stream"),
        ("'a", "line 1: is not YAML: found unexpected end of stream"),
        ("'a' b: 1", "line 1: is not YAML: expected <block end>"),
        ("a # b: 1", "line 1: a key and a colon are expected"),
        ("just words", "line 1: a key and a colon are expected"),
        ("a: 'x' y", "line 1: is not YAML: expected <block end>"),
        ('a: "\\q"', "line 1: is not YAML: found unknown escape character"),
        ("a: b: c", "line 1: is not YAML: mapping values are not allowed here"),
        ("".join(f"{' ' * i}a:\n" for i in range(30)), "line 21: this is nested too deeply"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as refused:
        imported(tmp_path, text)
    assert told in str(refused.value)
    assert str(refused.value).startswith("metadata.yaml: ")


def test_other_encodings_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyError, match="is not UTF-8"):
        from_smartnoise(tmp_path / "a.yaml")
    with pytest.raises(PolicyError, match="No such file"):
        from_smartnoise(tmp_path / "b.yaml")


def test_without_pyyaml_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    for module in ("yaml", "smartnoise"):
        monkeypatch.delitem(sys.modules, f"discreet.owner.{module}")
    (tmp_path / "metadata.yaml").write_text(PUMS, encoding="utf-8")
    run = CliRunner().invoke(discreet, ["init", "--from-smartnoise", str(tmp_path / "metadata.yaml")])
    assert run.exit_code == 2
    assert "pip install 'discreet[smartnoise]'" in run.output


def values(node: Node) -> object:
    return {name: values(inner) for name, inner in node.map.items()} if node.map else node.value


def test_scalars_mean_what_they_mean_in_yaml() -> None:
    text = """
    a: 1
    b: -2.5
    c: +1_000
    d: 1e3
    e: yes
    f: OFF
    g: ~
    h: 010
    i: "x: # y"   # comment
    j: 'it''s'# comment
    k: plain words  # comment
    l: 2020-01-01
    m: 1#2
    "n o": .5
    p q (r): null
    s: 1:30
    t: {u: v}
    w: |
      x
      y
    """
    assert values(parse(text)) == {
        "a": 1, "b": -2.5, "c": 1000, "d": 1000.0, "e": True, "f": False, "g": None, "h": "010", "i": "x: # y",
        "j": "it's", "k": "plain words", "l": "2020-01-01", "m": "1#2", "n o": 0.5, "p q (r)": None,
        "s": "1:30", "t": {"u": "v"}, "w": "x\ny\n",
    }  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab:# \t\n'\"-?[{&|1.", max_size=60))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        line = parse(text).line
    except YamlError as wrong:
        line = wrong.line
    assert 1 <= line <= text.count("\n") + 1
