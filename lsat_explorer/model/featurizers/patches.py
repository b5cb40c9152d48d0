"""Responses of images to random patches of the training images."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..piece import Omega, register, whole
from ..prepared import Block, Featurizer

__all__ = ["RandomPatches"]

_CACHE, _CARD = 2**19, 2**26
"""Most responses held at once, on a CPU and elsewhere: what stays in a CPU's cache takes less than half the time."""


@register
@dataclass(frozen=True, repr=False)
class RandomPatches(Featurizer):
    """Mean over cells of max(0, x ∗ p_l), p₁ … p_s random patches of the training images: s · cells² features.

    A patch is cut at a random place of a random training image, its mean subtracted and its norm set to one; flat
    places, such as empty corners, are passed over. Each is correlated with the image at every place where it fits
    inside, negative responses are set to zero, and their mean is taken over each of cells × cells equal parts. Nothing
    is in ω.

    Parameters
    ----------
    image_shape : tuple of int
        (h, w) or (h, w, colours) of the inputs, which are images row by row, colours last.
    patches : int
        s, the number of patches.
    size : int
        Height and width of a patch.
    cells : int
        Parts along each side over which responses are averaged.

    Raises
    ------
    ValueError
        When the inputs are no images of that shape, a patch or the cells do not fit, or all images are flat.

    Examples
    --------
    >>> RandomPatches((28, 28), patches=50)
    RandomPatches(image_shape=(28, 28), patches=50)
    """

    image_shape: tuple[int, ...]
    patches: int = 200
    size: int = 6
    cells: int = 4

    def __post_init__(self) -> None:
        name = "RandomPatches"
        if not isinstance(self.image_shape, tuple | list) or len(self.image_shape) not in (2, 3):
            raise ValueError(f"{name}: image_shape is {self.image_shape!r}, expected (h, w) or (h, w, colours).")
        for part in self.image_shape:
            whole(part, f"{name}: image_shape holds what is no size, it", high=100_000)
        object.__setattr__(self, "image_shape", tuple(self.image_shape))
        for field in ("patches", "size", "cells"):
            whole(getattr(self, field), f"{name}: {field}", high=100_000)
        short = min(self.image_shape[:2])
        if self.size > short:
            raise ValueError(f"{name}: a patch of size {self.size} does not fit into images {self.image_shape}.")
        if self.cells > short - self.size + 1:
            raise ValueError(
                f"{name}: cells is {self.cells}, but a patch of size {self.size} has {short - self.size + 1} places "
                f"along the shorter side of images {self.image_shape}."
            )

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block with patches of inputs (k, d)."""
        d = 1
        for part in self.image_shape:
            d *= part
        if inputs.shape[1] != d:
            raise ValueError(f"RandomPatches: images {self.image_shape} have {d} pixels, the inputs {inputs.shape[1]}.")
        return _Patches(self._draw(inputs, generator), self.image_shape, self.cells)

    def _draw(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Return patches (s, colours, size, size), a few rounds of drawing where many places are flat."""
        h, w = self.image_shape[:2]
        span = torch.arange(self.size, device="cpu")
        kept: list[Tensor] = []
        found = 0
        for _ in range(50):
            image, top, left = (
                torch.randint(high, (2 * self.patches,), generator=generator, device="cpu")
                for high in (len(inputs), h - self.size + 1, w - self.size + 1)
            )
            images = _images(inputs[image.to(inputs.device)].double(), self.image_shape).cpu()
            rows, columns = top[:, None] + span, left[:, None] + span
            each = torch.arange(len(images), device="cpu")[:, None, None]
            drawn = images[each, :, rows[:, :, None], columns[:, None, :]]
            drawn = drawn.movedim(-1, 1)
            centred = drawn - drawn.mean((1, 2, 3), keepdim=True)
            norm = centred.square().sum((1, 2, 3)).sqrt()
            uneven = norm > 1e-6 * drawn.abs().amax((1, 2, 3)).clamp_min(1e-300)
            kept.append(centred[uneven] / norm[uneven, None, None, None])
            found += len(kept[-1])
            if found >= self.patches:
                return torch.cat(kept)[: self.patches].contiguous().to(inputs.device)
        raise ValueError(f"RandomPatches: {found} of {100 * self.patches} patches of size {self.size} were not flat.")

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Patches(state["patches"], self.image_shape, self.cells)


def _images(rows: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return rows (N, d) as images (N, colours, h, w)."""
    if len(shape) == 2:
        return rows.reshape(-1, 1, *shape)
    return rows.reshape(-1, *shape).movedim(-1, 1)


def _averaging(places: int, cells: int) -> Tensor:
    """Return the matrix (cells, places) of means over parts from ⌊c q / cells⌋ up to ⌈(c + 1) q / cells⌉, q places."""
    result = torch.zeros(cells, places, dtype=torch.float64, device="cpu")
    for cell in range(cells):
        start, end = cell * places // cells, -(-(cell + 1) * places // cells)
        result[cell, start:end] = 1 / (end - start)
    return result


class _Patches(Block):
    def __init__(self, patches: Tensor, shape: tuple[int, ...], cells: int) -> None:
        # One layout, whatever the strides of the patches drawn: the arithmetic of a model read from a file is the same.
        self._patches, self._shape = patches.flatten().view(patches.shape), shape
        size = patches.shape[-1]
        down, across = (_averaging(side - size + 1, cells) for side in shape[:2])
        self._means = torch.kron(down, across).to(patches.device)
        self.width = len(patches) * cells**2

    def precompute(self, inputs: Tensor) -> Tensor:
        kernels, means = self._patches.flatten(1).mT.to(inputs.dtype), self._means.to(inputs.dtype)
        held = _CACHE if inputs.device.type == "cpu" else _CARD
        chunk = max(1, held // (max(kernels.shape) * means.shape[1]))
        chunks = inputs.split(chunk)
        if inputs.requires_grad:
            return torch.cat([self._responses(rows, kernels, means) for rows in chunks])
        # Small pieces that live on between large ones that are freed would let the heap grow to many times their size.
        result = inputs.new_empty(len(inputs), self.width)
        for place, rows in zip(result.split(chunk), chunks, strict=True):
            place.copy_(self._responses(rows, kernels, means))
        return result

    def _responses(self, rows: Tensor, kernels: Tensor, means: Tensor) -> Tensor:
        """Return the features (N, s · cells²): one product with every place of the images, another to take means."""
        size, places = self._patches.shape[-1], means.shape[1]
        windows = _images(rows, self._shape).unfold(2, size, 1).unfold(3, size, 1).permute(0, 2, 3, 1, 4, 5)
        responses = (windows.reshape(len(rows) * places, len(kernels)) @ kernels).relu_()
        return (means @ responses.view(len(rows), places, kernels.shape[1])).mT.flatten(1)

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        return computed

    def state(self) -> dict[str, Tensor]:
        return {"patches": self._patches}
