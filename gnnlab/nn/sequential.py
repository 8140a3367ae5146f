"""Modules one after another, with names for what goes from one to the next."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torch import fx
from torch.nn import Module

from gnnlab.nn.inits import reset


class Step(NamedTuple):
    """One call: what is called, what it takes, each by a keyword ("" for none) and a name, and what it gives."""

    name: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        inputs = (f"{keyword}={value}" if keyword else value for keyword, value in self.inputs)
        return f"{', '.join(inputs)} -> {', '.join(self.outputs)}"


class Sequential(Module):
    """Call modules in turn, each on values that earlier ones, or the caller, gave a name.

    input_args: the names of the arguments, "x, edge_index, batch".
    modules: pairs of a module (or function) and the names of what it takes and gives, "x, edge_index -> x"; a name on
    the right may be one on the left. "x, y -> z, w" unpacks a pair; "weight=w" on the left passes `w` by name.
    A module without names takes and gives what the one before it gave. A dict gives the modules names of their own.

    Returns what the last module gives. Modules are held as `module_0`, `module_1`, ... and reached by number too.
    Raises ValueError for no modules, a first one without names, or a name that nothing gave.
    PyG: `torch_geometric.nn.Sequential`, which generates code.

    >>> import torch
    >>> model = Sequential("x, y", [(torch.add, "x, y -> x"), torch.nn.ReLU()])
    >>> model(torch.tensor([-2.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor([0., 4.])
    """

    def __init__(
        self,
        input_args: str,
        modules: Sequence[tuple[Callable[..., Any], str] | Callable[..., Any]]
        | Mapping[str, tuple[Callable[..., Any], str] | Callable[..., Any]],
    ) -> None:
        super().__init__()
        named = modules if isinstance(modules, Mapping) else {f"module_{i}": item for i, item in enumerate(modules)}
        if len(named) == 0:
            raise ValueError("modules: expected at least one, found none")
        self._input_args = _names(input_args, "input_args")
        self._steps: list[Step] = []
        known = set(self._input_args)
        for name, item in named.items():
            module, signature = item if isinstance(item, tuple) else (item, None)
            step = self._step(name, signature)
            unknown = sorted({value for _, value in step.inputs} - known)
            if unknown:
                raise ValueError(f"modules: expected {name} to take some of {sorted(known)}, found {unknown}")
            if not callable(module):
                raise ValueError(f"modules: expected {name} to be a module or a function, found {module!r}")
            known.update(step.outputs)
            self._steps.append(step)
            setattr(self, name, module)

    def _step(self, name: str, signature: str | None) -> Step:
        if signature is not None:
            left, arrow, right = signature.partition("->")
            if not arrow:
                raise ValueError(f"modules: expected '... -> ...' for {name}, found {signature!r}")
            return Step(name, _inputs(left, name), _names(right, name))
        if not self._steps:
            raise ValueError(f"modules: expected a pair of a module and its names first, found {name} without")
        before = self._steps[-1].outputs
        return Step(name, tuple(("", value) for value in before), before)

    def reset_parameters(self) -> None:
        """Draw the parameters of all modules anew."""
        for module in self:
            reset(module)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Takes the arguments that `input_args` names. Raises TypeError for others, or too few or many."""
        values = _bind(self._input_args, args, kwargs)
        for step in self._steps:
            positional = [values[value] for keyword, value in step.inputs if not keyword]
            by_name = {keyword: values[value] for keyword, value in step.inputs if keyword}
            out = getattr(self, step.name)(*positional, **by_name)
            if len(step.outputs) == 1:
                values[step.outputs[0]] = out
            elif len(out) == len(step.outputs):
                values.update(zip(step.outputs, out, strict=True))
            else:
                raise ValueError(f"{step.name}: expected {len(step.outputs)} values, {step}, found {len(out)}")
        return out

    def graph(self) -> fx.Graph:
        """The calls as a graph of `torch.fx`, as if `forward` had been traced with each module one step."""
        graph = fx.Graph()
        values = {name: graph.placeholder(name) for name in self._input_args}
        for step, module in zip(self._steps, self, strict=True):
            args = tuple(values[value] for keyword, value in step.inputs if not keyword)
            kwargs: dict[str, Any] = {keyword: values[value] for keyword, value in step.inputs if keyword}
            is_module = isinstance(module, Module)
            out = graph.call_module(step.name, args, kwargs) if is_module else graph.call_function(module, args, kwargs)
            if len(step.outputs) == 1:
                values[step.outputs[0]] = out
                continue
            for i, name in enumerate(step.outputs):
                values[name] = graph.call_function(operator.getitem, (out, i))
        outputs = tuple(values[name] for name in self._steps[-1].outputs)
        graph.output(outputs if len(outputs) > 1 else outputs[0])
        return graph

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, idx: int) -> Callable[..., Any]:
        return getattr(self, self._steps[idx].name)

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        lines = [f"  ({i}) - {module}: {step}" for i, (module, step) in enumerate(zip(self, self._steps, strict=True))]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])


def _names(text: str, where: str) -> tuple[str, ...]:
    """The identifiers of a list such as "x, edge_index"."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if not name.isidentifier():
            raise ValueError(f"{where}: expected names with commas between them, found {text.strip()!r}")
    return names


def _inputs(text: str, where: str) -> tuple[tuple[str, str], ...]:
    """The same, where an entry may be "keyword=name"; each as keyword ("" for none) and name."""
    pairs = [argument.rpartition("=") for argument in text.split(",")]
    _names(",".join(f"{keyword}{equals and ','}{value}" for keyword, equals, value in pairs), where)
    return tuple((keyword.strip(), value.strip()) for keyword, _, value in pairs)


def _bind(names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name."""
    values = dict(zip(names, args, strict=False)) | kwargs
    if len(args) + len(kwargs) != len(names) or values.keys() != set(names):
        found = [*names[: len(args)], *["?"] * (len(args) - len(names)), *kwargs]
        raise TypeError(f"forward: expected the arguments {', '.join(names)}, found {', '.join(found)}")
    return values
