"""The last fit: once the hyper-parameters are chosen, the rows that chose them may serve too."""

from __future__ import annotations

from dataclasses import replace

from .column_names import in_words
from .fitted import FittedModel
from .run import Run

__all__ = ["refit"]


def refit(run: Run) -> FittedModel:
    """Return the model fitted to training and validation rows together, with ω and the features of a run held.

        θ = argmin_θ Σ_i e^{2ω_i} ‖φ(u_i)ᵀθ − y_i‖² + Σ_j e^{2ω_j} ‖R_j θ‖²_F,   i over both splits

    The features stay as they were prepared on the training rows, validation rows weigh one, and the sums of the run
    serve again: it costs one pass over the validation rows and one solve. The validation loss says nothing of this
    model, which has seen those rows; only rows kept aside, such as the test split, do.

    Parameters
    ----------
    run : Run
        A run that has started, of a recipe whose criterion holds rows out.

    Returns
    -------
    FittedModel
        ``run.model`` with other coefficients.

    Raises
    ------
    ValueError
        When it is no run, it has not started, its criterion uses no validation rows, or the normal equations are
        singular.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> run = lsat.tune(lsat.Recipe(), lsat.datasets.digits(), progress=False)
    >>> refit(run)
    FittedModel(65 features, 10 outputs)
    """
    if not isinstance(run, Run):
        raise ValueError(f"run is a {type(run).__name__}, expected a Run: give what lsat.tune(recipe, data) returns.")
    model, problem = run.model, run.problem
    if problem is None or not problem.criterion.held_out:
        raise ValueError(
            f"{run.recipe.criterion!r} holds no validation rows out, so there are none to add: use run.model, and give "
            "every row to the training split."
        )
    theta, outcome = problem.coefficients(model.omega, validation=True)
    if not outcome.ok:
        raise ValueError(f"There is no fit to training and validation rows together: {in_words(problem, outcome)}")
    return replace(model, theta=theta.contiguous())
