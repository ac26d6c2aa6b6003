"""The client for browsers: its reports are those of the Python client, and it draws from the same channel.

Run by Node, where it is installed; without it these tests are skipped, and say so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import resources
from typing import Any

import numpy as np
import pytest

from discreet import local
from tests.local.cases import FREQUENCIES, MEANS, named
from tests.rigged import repeated
from tests.statistics import ALARM, law, misfit

NODE = shutil.which("node")
SCRIPT = (resources.files("discreet.local") / "randomise.js").read_text("utf-8")
RUN = """
for (const [parameters, value, count] of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
  const reports = [];
  for (let i = 0; i < count; i++) reports.push(Buffer.from(randomise(parameters, value)).toString("hex"));
  console.log(reports.join(" "));
}
"""
WRONG = """
for (const [parameters, value] of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
  try { randomise(parameters, value); console.log("made"); } catch (error) { console.log(error.name); }
}
"""
DRAWS = 6_000
MECHANISMS = [*FREQUENCIES, *MEANS]


def run(script: str, *jobs: list[Any]) -> subprocess.CompletedProcess[str]:
    if NODE is None:
        pytest.skip("node is not installed")
    return subprocess.run([NODE, "-e", script], input=json.dumps(jobs), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def reports() -> dict[local.Mechanism, list[bytes]]:
    done = run(SCRIPT + RUN, *([each.parameters(), 1, DRAWS] for each in MECHANISMS))
    assert not done.stderr
    lines = [[bytes.fromhex(each) for each in line.split()] for line in done.stdout.splitlines()]
    return dict(zip(MECHANISMS, lines, strict=True))


@pytest.mark.parametrize("mechanism", FREQUENCIES, ids=named)
def test_browsers_draw_from_the_channel(
    mechanism: local.FrequencyMechanism, reports: dict[local.Mechanism, list[bytes]]
) -> None:
    accepted = mechanism.read(reports[mechanism])
    assert not accepted.bad
    spoken = mechanism.supports(accepted.payloads)
    p, q = float(mechanism.truth), float(mechanism.lie)
    for value in range(mechanism.size):
        rate = p if value == 1 else q
        assert misfit(spoken[:, value].astype(np.int64), law([1 - rate, rate])) > ALARM


@pytest.mark.parametrize("mechanism", [each for each in FREQUENCIES if each.payload_bytes <= 4], ids=named)
def test_browsers_send_each_payload_as_often_as_python(
    mechanism: local.FrequencyMechanism, reports: dict[local.Mechanism, list[bytes]]
) -> None:
    """All payloads: those of Python, in larger numbers, say how often each is due."""
    here = [row.tobytes() for row in mechanism.encode(np.ones(400_000, dtype=np.int64))]
    numbers = {report: i for i, report in enumerate(sorted(set(here)))}
    due = np.bincount([numbers[report] for report in here]) / len(here)
    assert misfit([numbers[report] for report in reports[mechanism]], law(due.tolist())) > ALARM / 100


@pytest.mark.parametrize("mechanism", MEANS, ids=named)
def test_means_of_browsers_are_means(
    mechanism: local.MeanMechanism, reports: dict[local.Mechanism, list[bytes]]
) -> None:
    estimates = mechanism.estimate(reports[mechanism])
    assert (estimates.count, estimates.bad) == (DRAWS, {})
    assert abs(float(estimates.values[0]) - 1) < 6.5 * mechanism.variance(1, DRAWS) ** 0.5


def test_browsers_refuse_what_is_no_value_and_parameters_of_other_versions() -> None:
    parameters = local.KaryResponse(4, 1).parameters()
    number = local.OneBitMean((0, 1), 1).parameters()
    jobs: list[list[Any]] = [
        [parameters, 4, 1], [parameters, -1, 1], [parameters, 0.5, 1], [parameters, None, 1], [parameters, "1", 1],
        [number, None, 1], [number, "0.5", 1],
        [{**parameters, "version": 2}, 1, 1], [{**parameters, "mechanism": "heavy-hitters"}, 1, 1],
    ]  # fmt: skip
    done = run(SCRIPT + WRONG, *jobs)
    assert not done.stderr
    assert dict(enumerate(done.stdout.split())) == dict.fromkeys(range(len(jobs)), "RangeError")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=named)
def test_all_randomness_of_browsers_is_from_webcrypto(mechanism: local.Mechanism) -> None:
    """With a generator of zeros, the bytes are those that Python makes of zeros."""
    zeros = "((crypto) => {" + SCRIPT + RUN + "})({ getRandomValues: (array) => array.fill(0) });"
    sent = bytes.fromhex(run(zeros, [mechanism.parameters(), 1, 1]).stdout)
    here = mechanism.encode(1, repeated(0))
    if isinstance(mechanism, local.SubsetSelection):  # sets are drawn in another way
        assert sent[10] & 2 == here[10] & 2 == 2
    else:
        assert sent == here
    assert "Math.random" not in SCRIPT
