"""Hooks on the functions of a message-passing layer, as torch has them on `forward`."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from torch.nn import Module
from torch.utils.hooks import RemovableHandle

Hook = Callable[..., Any]

#: The functions that hooks can be registered on.
HOOKED = ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update")


class Hooked(Module):
    """Keeps hooks that run before and after the functions of a layer.

    A hook that runs before is called as `hook(layer, inputs)`; what it returns, unless None, takes the place of
    `inputs`, a tuple. A hook that runs after is called as `hook(layer, inputs, out)`; what it returns takes the place
    of `out`. Registering one returns a handle, whose `remove()` takes it away.

    PyG: `torch_geometric.nn.MessagePassing`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[str, OrderedDict[int, Hook]] = {name: OrderedDict() for name in HOOKED}
        self._after: dict[str, OrderedDict[int, Hook]] = {name: OrderedDict() for name in HOOKED}

    def has_hooks(self, function: str) -> bool:
        """Whether any hook runs before or after one of the functions."""
        return bool(self._before[function] or self._after[function])

    def run_before(self, function: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs of one of the functions, as its hooks leave them."""
        for hook in self._before[function].values():
            found = hook(self, inputs)
            if found is not None:
                inputs = found if isinstance(found, tuple) else (found,)
        return inputs

    def run_after(self, function: str, inputs: tuple[Any, ...], out: Any) -> Any:
        """The output of one of the functions, as its hooks leave it."""
        for hook in self._after[function].values():
            found = hook(self, inputs, out)
            out = out if found is None else found
        return out

    def register_propagate_forward_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Before `propagate`; inputs: `edge_index`, `size` and the other arguments as a dict."""
        return _register(self._before["propagate"], hook)

    def register_propagate_forward_hook(self, hook: Hook) -> RemovableHandle:
        """After `propagate`; inputs: `edge_index`, the sizes that are known by then, the other arguments as a dict."""
        return _register(self._after["propagate"], hook)

    def register_message_forward_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Before `message`; inputs: its arguments as a dict."""
        return _register(self._before["message"], hook)

    def register_message_forward_hook(self, hook: Hook) -> RemovableHandle:
        """After `message`; inputs: its arguments as a dict."""
        return _register(self._after["message"], hook)

    def register_aggregate_forward_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Before `aggregate`; inputs: its arguments but the messages, as a dict."""
        return _register(self._before["aggregate"], hook)

    def register_aggregate_forward_hook(self, hook: Hook) -> RemovableHandle:
        """After `aggregate`; inputs: its arguments but the messages, as a dict."""
        return _register(self._after["aggregate"], hook)

    def register_message_and_aggregate_forward_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Before `message_and_aggregate`; inputs: the adjacency, and its other arguments as a dict."""
        return _register(self._before["message_and_aggregate"], hook)

    def register_message_and_aggregate_forward_hook(self, hook: Hook) -> RemovableHandle:
        """After `message_and_aggregate`; inputs: the adjacency, and its other arguments as a dict."""
        return _register(self._after["message_and_aggregate"], hook)

    def register_edge_update_forward_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Before `edge_update`; inputs: the edges, `size`, and the arguments of `edge_update` as a dict."""
        return _register(self._before["edge_update"], hook)

    def register_edge_update_forward_hook(self, hook: Hook) -> RemovableHandle:
        """After `edge_update`; inputs: the edges, `size`, and the arguments of `edge_update` as a dict."""
        return _register(self._after["edge_update"], hook)


def _register(hooks: OrderedDict[int, Hook], hook: Hook) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
