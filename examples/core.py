"""What the core can do, as a story in four pictures. Every number is drawn or computed while you watch."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from discreet.accounting import (
    DiscreteGaussian,
    DiscreteLaplace,
    PureFilter,
    delta_of,
    gaussian_spread,
    noise_losses,
    posterior,
)
from discreet.errors import BudgetExhausted
from discreet.mechanisms import Laplace, RandomizedResponse

WIDTH = 46
BLOCKS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int = WIDTH) -> str:
    """A horizontal bar, to an eighth of a character."""
    whole, eighths = divmod(round(max(share, 0.0) * width * 8), 8)
    return "█" * whole + (BLOCKS[eighths] if eighths else "")


def blue_eyes() -> Panel:
    exact, counter = 327, Laplace(epsilon=0.1, sensitivity=1)
    answers = counter.release(np.full(2000, exact))
    edges = np.arange(exact - 65, exact + 66, 10)
    counts, _ = np.histogram(answers, edges)
    picture = Text()
    for low, count in zip(edges, counts, strict=False):
        here = low <= exact < low + 10
        picture.append(f"{low:>5} – {low + 9:<4}", style="bold" if here else "dim")
        picture.append(bar(count / counts.max()) + "\n", style="cyan" if here else "blue")
    value, error = counter.release(exact), counter.error(0.95)
    return Panel(
        Group(
            f"[bold]How many people here have blue eyes?[/]   {value} ± {error:g}   (95 %, ε = 0.1)",
            "Discrete Laplace noise of scale 10 hides each person: the scale is the same for a village and a nation.",
            "2,000 answers to the same question, of which an analyst gets one:\n",
            picture,
        ),
        title="1  A count",
    )


def averaging() -> Panel:
    exact, counter = 42, Laplace(epsilon=0.1, sensitivity=1)
    lines = Text()
    for draws in (1, 10, 100, 1_000, 10_000):
        mean = float(counter.release(np.full(draws, exact)).mean())
        lines.append(f"{draws:>8,} fresh answers, mean {mean:8.2f}   ε spent {draws * 0.1:>7,.1f}   ")
        lines.append("the secret is out\n" if round(mean) == exact and draws >= 1000 else "\n", style="bold red")
    budget, answered = PureFilter.of(1), 0
    try:
        while True:
            budget = budget.admit(counter.loss)
            answered += 1
    except BudgetExhausted as refusal:
        end = str(refusal)
    return Panel(
        Group(
            "The exact answer is 42. An attacker asks again and again, and averages the noise away:\n",
            lines,
            f"A budget of ε = 1 answers {answered} times, exactly, and then says:",
            Text(f"  {end}", style="green"),
        ),
        title="2  The averaging attack",
    )


def coins() -> Panel:
    people, share = 20_000, 0.3
    survey = RandomizedResponse(epsilon=math.log(3))
    truth = (np.arange(people) < share * people).astype(np.int64)
    value, (low, high) = survey.estimate(survey.respond(truth))
    before, after = 0.02, posterior(0.02, survey.truth / survey.lie)
    return Panel(
        Group(
            "[bold]Have you ever dodged your taxes?[/]   Heads: the truth. Tails: another coin answers.",
            f"{people:,} people, 30 % did. Estimated from their coins: {value:.3f} ({low:.3f} to {high:.3f}, 95 %).\n",
            f"Tammy suspected Bob with probability {before:.3f}  {bar(before * 5, 30)}",
            f"Bob answered Yes. Now she believes it at {after:.3f}  {bar(after * 5, 30)}",
        ),
        title="3  Randomised response",
    )


def losses() -> Panel:
    epsilon, delta = 1.0, 1e-3
    gaussian = DiscreteGaussian(gaussian_spread(epsilon, delta, 100))
    laplace = DiscreteLaplace(Fraction(100))
    exact = delta_of(gaussian, 100, epsilon)
    picture = Text()
    for name, law in (("Laplace", laplace), ("Gaussian", gaussian)):
        spectrum = noise_losses(law, 100)
        edges = np.linspace(-1.55, 1.55, 32)
        masses, _ = np.histogram(spectrum.losses, edges, weights=spectrum.masses)
        heights = np.ceil(np.sqrt(masses / masses.max()) * 8).astype(int)
        picture.append(f"{name:>9}  ")
        for low, height in zip(edges, heights, strict=False):
            picture.append(" ▁▂▃▄▅▆▇█"[height] * 2, style="red" if low >= epsilon - 0.01 else "blue")
        picture.append(f"   above ε: {spectrum.beyond(epsilon):.5f}\n")
    picture.append(f"{'':>9}  −1.5{'':25}0{'':27}+1.5\n", style="dim")
    return Panel(
        Group(
            "What one answer gives away about one person, ln(P(o | with)/P(o | without)), and how often:\n",
            picture,
            "Laplace noise never gives away more than ε = 1; most answers give away all of it.",
            f"Gaussian noise mostly gives away less, now and then more: δ = {exact:.6f}, by its exact discrete tail.",
        ),
        title="4  Privacy loss, Laplace against Gaussian",
    )


def main() -> None:
    console = Console(width=min(Console().width, 100), highlight=False)
    console.print("\n[bold]discreet[/]: exact discrete noise, exact budgets. Nothing below is prepared.\n")
    for scene in (blue_eyes, averaging, coins, losses):
        console.print(scene())


if __name__ == "__main__":
    main()
