"""Which numbers of which pieces have sliders: their ends, names, meanings and units."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RULES", "Rule"]


@dataclass(frozen=True)
class Rule:
    """What a slider of one number is, whichever recipe has it; ``{of}`` stands for what a penalty is on.

    Parameters
    ----------
    low, high, log, label, meaning, whole, switch, held
        As those of a `lsat_explorer.widgets.knobs.Knob`.
    unit : str
        What the number is counted in.
    """

    low: float
    high: float
    log: bool
    label: str
    meaning: str
    unit: str
    whole: bool = False
    switch: bool = False
    held: str = ""


_AGAIN = " A change begins the grid again around the best value so far."

RULES: dict[tuple[str, str], Rule] = {
    ("SumSquares", "weight"): Rule(
        1e-6,
        1e2,
        True,
        "λ of {of}",
        "Strength λ of the penalty λ‖ω‖² on {of}: larger keeps {them} nearer to 0.",
        "loss over ω²",
    ),
    ("AbsoluteValue", "weight"): Rule(
        1e-6,
        1e2,
        True,
        "λ of {of}",
        "Strength λ of the penalty λ‖ω‖₁ on {of}: larger sets more of {them} to 0.",
        "loss over |ω|",
    ),
    ("Box", "low"): Rule(-12, 12, False, "{of}, least", "Least value that {of} may take.", "log units"),
    ("Box", "high"): Rule(-12, 12, False, "{of}, most", "Greatest value that {of} may take.", "log units"),
    ("Cardinality", "fraction"): Rule(0, 1, False, "share of {of}", "Share of {of} that is kept.", "share of one"),
    ("Huber", "threshold"): Rule(
        1e-3, 1e3, True, "Huber threshold", "Error beyond which the loss grows linearly.", "that of the targets"
    ),
    ("CrossEntropy", "temperature"): Rule(
        0,
        1,
        False,
        "tuned temperature",
        "Whether scores are multiplied by e^τ, τ tuned, before the loss.",
        "on or off",
        switch=True,
    ),
    ("EarlyStopping", "patience"): Rule(
        1,
        500,
        True,
        "patience",
        "Accepted iterations without a lower loss on the test rows that end the run.",
        "iterations",
        whole=True,
    ),
    ("Bisquare", "threshold"): Rule(
        1e-3, 1e3, True, "bisquare threshold", "Error beyond which the loss is flat.", "that of the targets"
    ),
    ("KFold", "folds"): Rule(
        2,
        20,
        False,
        "folds",
        "Parts of the training rows, each predicted by the fit to the others.",
        "folds",
        whole=True,
        held="Held while the run goes on, which has divided its rows: give another run another number.",
    ),
    ("MultiStart", "starts"): Rule(
        1,
        64,
        True,
        "starts",
        "Points that the search starts from, the recipe's own among them; it acts on those to come.",
        "starting points",
        whole=True,
    ),
    ("MultiStart", "spread"): Rule(
        0,
        12,
        False,
        "spread of starts",
        "How far from the recipe's start, to either side, the other starts lie; it acts on those to come.",
        "that of ω",
    ),
    ("Grid", "low"): Rule(
        -12, 12, False, "grid, least", f"Least value of the grid, counted from the start.{_AGAIN}", "that of ω"
    ),
    ("Grid", "high"): Rule(
        -12, 12, False, "grid, most", f"Greatest value of the grid, counted from the start.{_AGAIN}", "that of ω"
    ),
    ("Grid", "points"): Rule(
        2, 500, True, "grid values", f"Evenly spaced values that are tried.{_AGAIN}", "values", whole=True
    ),
}

_METHOD_RULES = {
    "step": Rule(
        1e-4,
        1e4,
        True,
        "first step size",
        "Step size t of the first iteration after a start or a change.",
        "ω² over loss",
    ),
    "tolerance": Rule(
        1e-8, 1.0, True, "tolerance", "The run has converged once the stopping residual is below this.", "loss over ω"
    ),
    "max_iterations": Rule(
        1,
        5000,
        True,
        "maximum iterations",
        "The run ends after so many if it has not converged.",
        "iterations",
        whole=True,
    ),
    "grow": Rule(1, 4, True, "step growth", "The step size is multiplied by this after an accepted step.", "ratio"),
    "shrink": Rule(
        0.05, 0.95, False, "step cut", "The step size is multiplied by this after a rejected step.", "ratio"
    ),
    "memory": Rule(
        1, 50, True, "memory", "Last steps from which the curvature of the objective is estimated.", "steps", whole=True
    ),
}
for _method in ("ProximalGradient", "LineSearch", "LBFGS"):
    RULES |= {(_method, _field): _rule for _field, _rule in _METHOD_RULES.items()}
