"""`discreet demo`: a hospital of one's own, and the story of what discreet does for it."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.narration import Teller, escaped, whisker
from discreet.cli.output import at_least, bar, printable, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from discreet.accounting.balance import Balance
    from discreet.answers.answer import Answer, Cost, Preview
    from discreet.curator.curator import Curator
    from discreet.errors import BudgetExhausted, Refused
    from discreet.ledger import Report

FOLDER: Final = Path("discreet-demo")

COUNTING: Final = "SELECT ward, COUNT(*) AS patients FROM patients GROUP BY ward"
EVERYTHING: Final = "SELECT * FROM patients WHERE zip = '02138'"
UNBOUNDED: Final = "SELECT AVG(cost / nights) AS cost_per_night FROM visits WHERE nights > 0"
BOUNDED: Final = "SELECT AVG(CLAMP(cost / nights, 0, 2000)) AS cost_per_night FROM visits WHERE nights > 0"
NEIGHBOUR: Final = "SELECT COUNT(*) AS n FROM patients WHERE age = 48 AND sex = 'F' AND zip = '02138' AND smoker"
NEXT: Final = "SELECT smoker, AVG(blood_pressure) AS pressure FROM patients GROUP BY smoker"

COST: Final = 0.5
HIGHER: Final = 0.7
ANALYST: Final = "epidemiology"
ATTACKER: Final = "finance"


@dataclass(frozen=True, slots=True)
class Attack:
    """How an attacker goes about it: what each draw costs, and how often the same question is repeated."""

    cost: float
    repeats: int


PATIENT: Final = Attack(0.04, 100)
HASTY: Final = Attack(0.1, 10)


@dataclass(frozen=True, slots=True)
class Story:
    """What happened, for those who check that every promise was held."""

    preview: Preview
    answer: Answer
    again: Answer
    refusals: tuple[Refused, Refused]
    fixed: Answer
    repeated: Sequence[float]
    fresh: Sequence[float]
    exhausted: BudgetExhausted
    report: Report
    balances: dict[str | None, Balance]


@click.command(short_help="Make a hospital, and see in a minute what discreet does for it.")
@click.option("--folder", type=click.Path(path_type=Path), help=f"Where to make it; else {FOLDER}.")
@click.option("--fast", is_flag=True, help="An attacker in a hurry: fewer questions, at a higher cost each.")
def demo(folder: Path | None, fast: bool) -> None:
    """Make an invented hospital, and see in a minute what discreet does for it.

    The hospital stays there afterwards, with most of its budget, to go on with.
    """
    from discreet.lab.hospital import POLICY

    target, remark = settle(folder)
    teller = Teller()
    teller.say("[bold]discreet[/]: answers about everybody that say almost nothing about anybody")
    teller.say(f"An invented hospital was made in [bold]{escaped(target)}[/]. {remark}".rstrip())
    teller.say("Nothing below is prepared: every number is drawn or computed while you watch.")
    tell(target / POLICY, teller, HASTY if fast else PATIENT)
    farewell(target / POLICY, teller)


# where the hospital stands


def settle(wanted: Path | None) -> tuple[Path, str]:
    """Make the hospital where it was asked for, or beside that if something else is there; and what to say of it."""
    try:
        return _settled(wanted or FOLDER)
    except OSError as wrong:
        reason = wrong.strerror or type(wrong).__name__
        if wanted is not None:
            raise click.UsageError(f"{wanted} cannot be written: {reason}") from None
    from discreet.lab.hospital import build

    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}-"))
    build(folder)
    return folder, f"({printable(str(FOLDER.absolute().parent))} cannot be written: {reason}.)"


def _settled(wanted: Path) -> tuple[Path, str]:
    from discreet.files import NETWORKS, file_system
    from discreet.lab.hospital import build

    if file_system(wanted) in NETWORKS:
        raise OSError(0, "it is on a network")
    folder = next(folder for folder in _numbered(wanted) if _is_empty(folder) or _is_unspent(folder))
    remark = ""
    if folder != wanted:
        remark = f"({escaped(wanted)} is in use, and stays as it is.)"
    elif not _is_empty(folder):
        remark = "(It was there already, and unspent.)"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):  # what cannot be written is better known before the work
        build(folder)
    return folder, remark


def _numbered(wanted: Path) -> Iterator[Path]:
    yield wanted
    for number in count(2):
        yield wanted.parent / f"{wanted.absolute().name}-{number}"


def _is_empty(folder: Path) -> bool:
    """Whether there is nothing that could be lost."""
    if folder.is_dir():
        return not any(folder.iterdir())
    return not os.path.lexists(folder)


def _is_unspent(folder: Path) -> bool:
    """Whether it is a hospital of ours that nobody has asked anything."""
    from discreet.curator.state import entries
    from discreet.lab.hospital import POLICY, text
    from discreet.ledger import LedgerError
    from discreet.policy import read

    try:
        return (folder / POLICY).read_bytes() == text().encode() and not entries(read(folder / POLICY))
    except (OSError, LedgerError):
        return False


# the story


def tell(policy: Path, teller: Teller, attack: Attack) -> Story:
    """Tell the whole story, step by step."""
    import discreet
    from discreet.curator.state import ledger_path
    from discreet.ledger import Marks
    from discreet.policy import read

    tell_policy(policy, teller)
    ledger, marks = ledger_path(read(policy)), Marks.default()
    if marks is not None and not ledger.exists():
        marks.forget(ledger.absolute())  # its people are made up: a story that was thrown away may be told again
    with discreet.open(policy) as hospital:
        preview = tell_preview(hospital, teller)
        answer, again = tell_answer(hospital, teller)
        refusals = tell_refusals(hospital, teller)
        fixed = tell_fixed(hospital, teller)
        repeated = tell_repetition(hospital, teller, attack)
        fresh, exhausted = tell_averaging(hospital, teller, attack, repeated[0])
        report = tell_ledger(hospital, teller, ledger, answer)
        balances = {who: hospital.budget(who) for who in (None, ANALYST, ATTACKER)}
        tell_budget(teller, balances)
    return Story(preview, answer, again, refusals, fixed, repeated, fresh, exhausted, report, balances)


def tell_policy(policy: Path, teller: Teller) -> None:
    teller.step("The owner writes down what may be asked, and how much may ever be learned")
    shown = []
    for line in policy.read_text(encoding="utf-8").splitlines():
        if line.startswith("[tables.visits]"):
            break
        if not line.startswith(("#", 'name = "hospital"', "ward", "blood")):
            shown.append(line)
    teller.file([*shown[1:-1], "…"])


def tell_preview(hospital: Curator, teller: Teller) -> Preview:
    from discreet.accounting.balance import percent

    teller.step("First the cost: it follows from the text alone, and no data is read")
    teller.question(COUNTING)
    preview = hospital.preview(COUNTING, epsilon=COST, analyst=ANALYST)
    teller.show(preview)
    share = percent(_rho(preview.loss) / (hospital.budget().total.rho or 1))
    teller.say(f"Each count will be right to within ± {preview.error['patients']:g}, for {share} of the budget.")
    return preview


def tell_answer(hospital: Curator, teller: Teller) -> tuple[Answer, Answer]:
    teller.step("Then the question: charged first, on disk; then counted; then noise is added")
    answer = hospital.query(COUNTING, epsilon=COST, analyst=ANALYST)
    teller.show(answer)
    again = hospital.query(COUNTING, epsilon=COST, analyst=ATTACKER)
    alike = "the same answer" if again.rows == answer.rows else "another answer"
    cost = "free" if _rho(again.loss) == 0 else f"for ρ {at_least(_rho(again.loss))}"
    teller.say(f"Asked again, by {ATTACKER}: {alike}, {cost}. The same noisy answer tells nothing new.")
    return answer, again


def tell_refusals(hospital: Curator, teller: Teller) -> tuple[Refused, Refused]:
    teller.step("What cannot be protected is refused, with a fix, and costs nothing")
    return _refused(hospital, teller, EVERYTHING), _refused(hospital, teller, UNBOUNDED)


def _refused(hospital: Curator, teller: Teller, question: str) -> Refused:
    from discreet.errors import Refused

    teller.question(question)
    try:
        hospital.query(question, epsilon=COST, analyst=ANALYST)
    except Refused as refused:
        teller.refusal(refused)
        return refused
    raise AssertionError(f"answered: {question}")


def tell_fixed(hospital: Curator, teller: Teller) -> Answer:
    teller.step("So the analyst says what a night may cost at most, and is answered")
    teller.question(BOUNDED)
    fixed = hospital.query(BOUNDED, epsilon=HIGHER, analyst=ANALYST)
    teller.show(fixed)
    return fixed


def tell_repetition(hospital: Curator, teller: Teller, attack: Attack) -> list[float]:
    teller.step("An attacker: does my neighbour, 48, of 02138, smoke? It must be 0 or 1")
    teller.question(NEIGHBOUR)
    answers = [hospital.query(NEIGHBOUR, epsilon=attack.cost, analyst=ATTACKER) for _ in range(attack.repeats)]
    values = [_value(answer) for answer in answers]
    charged = sum(not answer.cached for answer in answers)
    summary = (
        "Cached: the same noisy answer every time."
        if len(set(values)) == 1
        else f"{len(set(values))} different answers."
    )
    times = "once" if charged == 1 else f"{charged} times"
    first = ", ".join(f"{value:g}" for value in values[:3])
    teller.say(f"Asked {attack.repeats} times, charged {times}: {first}, … {summary}")
    teller.say(f"The average is {sum(values) / len(values):g}: a cached answer tells nothing new.")
    return values


def tell_averaging(
    hospital: Curator, teller: Teller, attack: Attack, first: float
) -> tuple[list[float], BudgetExhausted]:
    """Fresh draws until nothing is left of the share, and how their average comes nearer; the first stands above."""
    from discreet.errors import BudgetExhausted

    teller.step("So the attacker asks for fresh noise, again and again, and averages it")
    values, exhausted = [first], None
    while exhausted is None:
        try:
            values.append(_value(hospital.query(NEIGHBOUR, epsilon=attack.cost, analyst=ATTACKER, fresh=True)))
        except BudgetExhausted as refused:
            exhausted = refused
    preview = hospital.preview(NEIGHBOUR, epsilon=attack.cost)
    teller.show(_convergence(values, float(preview.error["n"])))
    spent = hospital.budget(ATTACKER).spent.epsilon
    teller.say(f"After {len(values)} draws, ε {at_least(spent)} with δ 1e-6, the share of {ATTACKER} is used up:")
    teller.refusal(exhausted)
    teller.say(_out_of_sensitivity(preview))
    teller.say("(It is 1. She is invented, so we may tell.)")
    return values, exhausted


def _value(answer: Answer) -> float:
    return float(answer.rows[0][0])


def _rho(loss: Cost) -> float:
    """The hospital's budget has a δ, so costs are ρ."""
    return float(loss.concentrated().rho)


def _convergence(values: Sequence[float], error: float) -> RenderableType:
    """The average of the first 1, 2, 5, … draws with its error bar, over an axis with the truth on it."""
    steps = [step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if step < len(values)] + [len(values)]
    rows: list[list[Any]] = []
    for step in steps:
        mean, margin = sum(values[:step]) / step, error / math.sqrt(step)
        rows.append([f"{step:,}", f"{round(mean)} ± {round(margin)}", whisker(mean, margin, extent=1.6 * error)])
    rows.append(["", "", whisker(None, 0, extent=1.6 * error)])
    return table(["draws", "average", ""], rows, numbers=frozenset({"draws", "average"}))


def _out_of_sensitivity(preview: Preview) -> str:
    """What it would take to tell 0 from 1."""
    from discreet.accounting import Concentrated, epsilon_of

    draws = math.ceil((float(preview.error["n"]) / 0.5) ** 2)
    epsilon = epsilon_of(Concentrated(draws * _rho(preview.loss)), 5e-7)  # half of δ, as budgets count
    return (
        f"To tell 0 from 1 takes ± 0.5: {draws:,} draws, ε = {float(epsilon):.0f}. Budgets are there to prevent that."
    )


def tell_ledger(hospital: Curator, teller: Teller, path: Path, answer: Answer) -> Report:
    from discreet.ledger import verify

    teller.step("All of it is on record, and the record cannot be changed unseen")
    entries = hospital.entries()
    rows = [
        [str(entry.number), entry.analyst, f"ρ {at_least(_rho(entry.loss))}", _shortened(entry.question)]
        for entry in entries[:3] + entries[-1:]
    ]
    rows.insert(3, ["…", "", "", f"{len(entries) - 4:,} more"])
    teller.show(table(["no", "analyst", "cost", "question"], rows, numbers=frozenset({"no", "cost"})))
    report = verify(path, [answer.receipt])
    number, _, digest = answer.receipt.partition(":")
    if report.sound:
        teller.say(
            f"[green]sound[/]: {report.records} records recomputed, {report.charges} charges, one chain of hashes."
        )
        teller.say(f"The analyst's receipt, {number}:{digest[:16]}…, is in it: nobody turned the ledger back.")
    else:
        teller.say("[red]not sound[/]: " + escaped("; ".join(report.problems)))
    return report


def _shortened(question: str, most: int = 46) -> str:
    text = printable(question)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def tell_budget(teller: Teller, balances: dict[str | None, Balance]) -> None:
    from discreet.accounting.balance import headline

    teller.step("The budget")
    rows = [[who or "everybody", bar(each.used.larger), headline(each.used)] for who, each in balances.items()]
    teller.show(table(["", "", ""], rows))


def farewell(policy: Path, teller: Teller) -> None:
    """Where everything is, and how to go on."""
    program = _program()
    shown = shlex.quote(str(policy))
    teller.step("It is yours now, with what is left of its budget")
    teller.commands(
        f'{program} query {shown} "{NEXT}" --epsilon 1',
        f"{program} budget {shown}",
        f"{program} ledger show {shown} --last 5",
        *(["pip install 'discreet[server]'"] if find_spec("fastapi") is None else []),
        f"{program} serve {shown} --demo",
    )
    teller.say(f"The last one opens it to a browser: `{program} serve --demo` does so with a fresh hospital.")


def _program() -> str:
    """How this program is called here."""
    called = Path(sys.argv[0])
    return shlex.quote(str(called)) if called.name == "discreet" and not shutil.which("discreet") else "discreet"
