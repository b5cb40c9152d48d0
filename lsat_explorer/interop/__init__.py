"""The least squares solve for other frameworks, with the gradient of the paper; each module needs its framework.

``from lsat_explorer.interop.jax import lstsq`` and ``from lsat_explorer.interop.tensorflow import lstsq``.
"""
