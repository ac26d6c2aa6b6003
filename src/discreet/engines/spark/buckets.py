"""The rows of a copy by units: each unit's lie in one file, in order, and Spark knows that they do.

So a window over each unit's rows moves none, and sorts none: it is one pass over a file.

Theorem  Where Spark takes rows for those of bucket i, they are all rows of all units whose hash is i, sorted by unit.
Proof    `parted` gives the rows of a unit to one task, by the hash by which Spark finds buckets; a task writes one
         file, sorted, whose name has its number. A row that lies elsewhere has no unit: computing it fails, and with it
         the copy. Files are named as buckets, and their number noted, when all of them are complete (`named`).

Where the parts of Spark that this takes cannot be reached (Spark Connect has none of them), rows are read as they come,
and Spark moves and sorts them: answers are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from discreet.engines.spark.building import functions, windows
from discreet.policy.layout import PLACE, ROW, UNIT

SETTINGS: Final = {"spark.sql.legacy.bucketedTableScan.outputOrdering": "true"}
"""Of sessions that read them: files that are sorted need no sorting, where a bucket is one file. Spark looks."""
BYTES: Final = 2**26
"""Of rows as Spark reads them, for each bucket."""
NOTE: Final = "_buckets"
"""Where their number is noted: Spark reads no file whose name begins like this."""
_SIGNS: Final = re.compile(r"[][{}*?\\]")
"""What Spark reads as patterns in the names of folders: one could be another state folder's copy as well."""
_FILE: Final = re.compile(r"(\.?)part-([0-9]+)-([0-9a-z-]+)(\..+)")


def wanted(rows: Any) -> int | None:
    """How many buckets these rows should have; None where Spark cannot be told of any."""
    with suppress(Exception):
        spark = rows.sparkSession
        cores, most = (int(spark.sparkContext.defaultParallelism), int(spark.conf.get("spark.sql.shuffle.partitions")))
        size = int(str(rows._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
        return max(1, min(most, max(cores, -(-size // BYTES))))
    return None


def parted(rows: Any, count: int | None, made: Callable[[Any], Any], *, placed: bool) -> Any:
    """What is made of rows within each unit, in so many buckets: rows are moved once, before all of it."""
    f = functions()

    if count is None:
        return _placed(made(rows.repartition(f.col(UNIT)))) if placed else made(rows)
    ranked = made(rows.repartition(count, f.col(UNIT))).sortWithinPartitions(UNIT, ROW)
    ranked = _placed(ranked) if placed else ranked
    here = f.pmod(f.hash(f.col(UNIT)), f.lit(count)) == f.spark_partition_id()
    return ranked.withColumn(UNIT, f.when(here, f.col(UNIT)).otherwise(f.raise_error(f.lit("a row lies elsewhere"))))


def _placed(rows: Any) -> Any:
    """Rows with a number for their unit.

    Theorem  Rows have the same number if and only if they are of the same unit; where rows of a file lie in the order
             of units, numbers rise.
    Proof    Each row has a number of its own, which rises within a task, and that of the unit is the least of its rows.
             These are in one task before rows are numbered: a task that is run again numbers whole units again, and no
             other task has its numbers.
    """
    f, least = functions(), windows().partitionBy(UNIT)
    numbered = rows.withColumn(PLACE, f.monotonically_increasing_id())
    return numbered.withColumn(PLACE, f.min(PLACE).over(least))


def named(folder: Path, count: int | None) -> None:
    """Name files that were written complete after their buckets, those beside them that hold checksums too."""
    if count is None:
        return
    for file in list(folder.iterdir()):
        parts = _FILE.fullmatch(file.name)
        if parts:
            dot, number, unique, ending = parts.groups()
            file.rename(file.with_name(f"{dot}part-{number}-{unique}_{number}{ending}"))
    (folder / NOTE).write_text(str(count), encoding="ascii")


def read(spark: Any, folder: Path, by: str = UNIT) -> Any:
    """The rows of a folder, by buckets if it has some: of units, by their names or by their numbers.

    Of numbers Spark believes that their hashes say the bucket, which they do not: they are never joined, nor looked up.
    """
    rows = spark.read.parquet(_SIGNS.sub(r"\\\g<0>", f"file://{folder.resolve()}"))
    with suppress(Exception):
        count = int((folder / NOTE).read_text(encoding="ascii"))
        return _bucketed(spark, rows, count, by)
    return rows


def _bucketed(spark: Any, rows: Any, count: int, by: str) -> Any:
    """The same files as a relation with buckets: without a catalogue Spark has no other way to say so."""
    from pyspark.sql import DataFrame

    java, sql = spark._jvm, spark._jvm.org.apache.spark.sql
    labels = java.java.util.ArrayList()
    for label in (by, ROW):
        labels.add(label)
    listed = java.org.apache.spark.api.python.PythonUtils.toSeq
    spec = sql.catalyst.catalog.BucketSpec(count, listed(labels.subList(0, 1)), listed(labels))
    held = rows._jdf.queryExecution().analyzed().relation()
    relation = sql.execution.datasources.HadoopFsRelation(
        held.location(),
        held.partitionSchema(),
        held.dataSchema(),
        java.scala.Option.apply(spec),
        held.fileFormat(),
        held.options(),
        spark._jsparkSession,
    )
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(relation), spark)
