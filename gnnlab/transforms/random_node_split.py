"""Nodes for training, validation and test, drawn at random."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor

from gnnlab.data.storage import known_num_nodes
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.utils import index_to_mask
from gnnlab.utils._checks import check_index
from gnnlab.utils.num_nodes import maybe_num_nodes

Split = Literal["train_rest", "test_rest", "random"]


@functional_transform("random_node_split")
class RandomNodeSplit(BaseTransform):
    """Add `train_mask`, `val_mask` and `test_mask` (`torch_geometric.transforms.RandomNodeSplit`).

    Each mask is [num_nodes] bool, or [num_nodes, num_splits] for several splits; no node is in two masks of one split.
    In a heterogeneous graph each node type that has `key` is split by itself.

    Args:
        split: who goes where.
            'train_rest': `num_val` and `num_test` of all nodes; all others train.
            'test_rest': `num_train_per_class` nodes of each class train, `num_val` of the others validate, the rest
            test.
            'random': as 'test_rest', but `num_test` of the rest test, and what is left is in no mask.
        num_splits: how many splits.
        num_train_per_class: nodes of each class, or all where a class has fewer. Classes are the values of `key` from
            0; a node of a negative one never trains.
        num_val: a number of nodes, or a float: that share of all nodes of the type, rounded.
        num_test: likewise.
        key: name of the classes, [num_nodes] integers; node types without it are left alone. None: split all nodes,
            for 'train_rest' only.
        generator: where random numbers come from; by default torch's own generator of the CPU.

    Raises:
        ValueError: for another `split` or counts that are out of range; if there are not enough nodes to validate and
            test (PyG takes as many as there are), no node type has `key`, or the classes are not [num_nodes] integers.
    """

    def __init__(
        self,
        split: Split = "train_rest",
        num_splits: int = 1,
        num_train_per_class: int = 20,
        num_val: int | float = 500,
        num_test: int | float = 1000,
        key: str | None = "y",
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        if split not in get_args(Split):
            raise ValueError(f"split: expected one of {get_args(Split)}, found {split!r}")
        if key is None and split != "train_rest":
            raise ValueError(f"key: expected the name of the classes for split={split!r}, found None")
        if num_splits < 1:
            raise ValueError(f"num_splits: expected a number from 1, found {num_splits}")
        if num_train_per_class < 0:
            raise ValueError(f"num_train_per_class: expected a number of nodes, found {num_train_per_class}")
        check_part(num_val, "num_val", "nodes")
        check_part(num_test, "num_test", "nodes")
        if isinstance(num_val, float) and isinstance(num_test, float) and num_val + num_test > 1:
            raise ValueError(f"num_test: expected at most {1 - num_val} beside num_val={num_val}, found {num_test}")
        self.split = split
        self.num_splits = num_splits
        self.num_train_per_class = num_train_per_class
        self.num_val = num_val
        self.num_test = num_test
        self.key = key
        self.generator = generator

    def forward(self, data: Any) -> Any:
        stores = [store for store in data.node_stores if self.key is None or self.key in store]
        if not stores:
            raise ValueError(f"key: expected the name of an attribute of nodes, found {self.key!r}, which none has")
        for store in stores:
            splits = [self._split(store) for _ in range(self.num_splits)]
            masks = zip(*splits, strict=True)
            for name, columns in zip(("train_mask", "val_mask", "test_mask"), masks, strict=True):
                store[name] = columns[0] if self.num_splits == 1 else torch.stack(columns, dim=1)
        return data

    def _split(self, store: Any) -> tuple[Tensor, Tensor, Tensor]:
        """[num_nodes] bool each: who trains, validates and tests."""
        num_nodes = known_num_nodes(store, "the split")
        if self.split == "train_rest":
            train = torch.empty(0, dtype=torch.long)
        else:
            train = self._of_each_class(store[self.key], num_nodes)
        left = (~index_to_mask(train, num_nodes)).nonzero().view(-1)
        left = left[torch.randperm(left.numel(), generator=self.generator)]
        num_val = _count(self.num_val, "num_val", num_nodes, left.numel())
        val, left = left[:num_val], left[num_val:]
        if self.split == "test_rest":
            num_test = left.numel()
        else:
            num_test = _count(self.num_test, "num_test", num_nodes, left.numel())
        test, left = left[:num_test], left[num_test:]
        if self.split == "train_rest":
            train = left
        return index_to_mask(train, num_nodes), index_to_mask(val, num_nodes), index_to_mask(test, num_nodes)

    def _of_each_class(self, y: Any, num_nodes: int) -> Tensor:
        """Nodes that train: `num_train_per_class` of each class in `y`, [num_nodes] integers."""
        check_index(y, str(self.key))
        if y.numel() != num_nodes:
            raise ValueError(f"{self.key}: expected the class of each of {num_nodes} nodes, found {y.numel()}")
        train = []
        for number in range(maybe_num_nodes(y)):
            members = (y == number).nonzero().view(-1).cpu()
            train.append(members[torch.randperm(members.numel(), generator=self.generator)][: self.num_train_per_class])
        return torch.cat([torch.empty(0, dtype=torch.long), *train])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(split={self.split})"


def check_part(part: int | float, name: str, of: str) -> None:
    """ValueError unless `part` is a number from 0, or a float in [0, 1]."""
    if part < 0 or (isinstance(part, float) and part > 1):
        raise ValueError(f"{name}: expected a number of {of} from 0, or a float in [0, 1], found {part}")


def _count(part: int | float, name: str, num_nodes: int, left: int) -> int:
    """How many nodes `part` means, of `left` that are left; a float gives way to rounding."""
    if isinstance(part, float):
        return min(round(num_nodes * part), left)
    if part > left:
        raise ValueError(f"{name}: expected at most {left}, as many as are left of {num_nodes} nodes, found {part}")
    return part
