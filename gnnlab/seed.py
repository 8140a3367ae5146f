"""One call that seeds every random number generator in use."""

import random

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seed Python's `random`, NumPy's global generator and torch's generators on every device.

    gnnlab's own samplers and loaders take a seed of their own and are not touched.

    Args:
        seed: An integer from 0 to 2**32 - 1, the range that NumPy's global generator takes.

    Raises:
        ValueError: `seed` is outside that range; no generator has been touched then.

    Source: `torch_geometric.seed_everything`.

    >>> seed_everything(12)
    >>> first = torch.rand(3)
    >>> seed_everything(12)
    >>> torch.equal(first, torch.rand(3))
    True
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: expected an integer from 0 to 2**32 - 1, found {seed}")
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the global generator is the point here
    torch.manual_seed(seed)
