"""What a client sends and what a coordinator adds, for each place of noise."""

from __future__ import annotations

from discreet import noise
from discreet.federated.encoding import Floats
from discreet.federated.plan import Plan
from discreet.mechanisms.arrays import Integers
from discreet.noise import Bits


def contribution(
    plan: Plan, exact_update: Floats | None, *, clip: float, members: int, bits: Bits | None = None
) -> Integers:
    """What one of so many members of a round sends: its update on the grid, with its own noise where that is the place.

    Theorem  Let Δ be how far the rows of one client move what is summed (`Grid`). With local noise each contribution
             has noise that counts for a variance of sigma²·Δ² on each coordinate. With distributed noise the sum of
             those that stay has it, if the plan's `least` do, also without those that collude; filled up by `filled`,
             it has that much divided by `plan.honest`, and the same in all rounds.
    Proof    `Plan` has the variances. At least ⌈(1 − dropout)·m⌉ − ⌊colluding·m⌋ ≥ honest·m of m members draw noise
             that nobody knows, each `shared_variance`/m or more. The rest is the lemma of `smoothing`: variances add
             up, further independent noise is post-processing.
    """
    vector = plan.grid.encode(exact_update, clip=clip, bits=bits)
    variances = {"central": 0, "distributed": plan.share(members), "local": plan.variance}
    variance = variances[plan.noise]
    return vector + noise.gaussian(variance, plan.grid.width, bits=bits) if variance else vector


def filled(plan: Plan, total: Integers, *, members: int, survivors: int, bits: Bits | None = None) -> Integers:
    """The sum of a round with the coordinator's noise: all of it, what distributed noise lacks, or none."""
    if plan.noise == "local":
        return total
    variance = plan.variance if plan.noise == "central" else plan.missing(members, survivors)
    return total + noise.gaussian(variance, len(total), bits=bits)
