"""Models of one kind of convolution after another."""

import copy
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Final

import torch
from torch import Tensor
from torch.fx import Proxy
from torch.nn import Identity, Module, ModuleList
from tqdm import tqdm

from gnnlab.nn.conv import GATConv, GATv2Conv, GCNConv, GINConv, MessagePassing, SAGEConv
from gnnlab.nn.inits import reset
from gnnlab.nn.models.jumping_knowledge import JumpingKnowledge
from gnnlab.nn.models.mlp import MLP
from gnnlab.nn.resolver import activation_resolver, normalization_resolver
from gnnlab.typing import Adj
from gnnlab.utils import trim_to_layer
from gnnlab.utils._checks import check_probability

#: What messages over edges weigh, as models take it.
_EDGE_VALUES = ("edge_weight", "edge_attr")


class BasicGNN(Module):
    """Convolutions one after another, with normalisation, activation and dropout between them.

    in_channels: the size of the input, or -1, or a pair for sources and targets, where the convolution allows them.
    hidden_channels: the size between layers. num_layers: how many. out_channels: the size of the output, by default
    `hidden_channels`. dropout: the probability. act: the activation by name, as a function, or None. act_first:
    activate before normalising. act_kwargs: for an activation by name. norm: the normalisation by name or as a module,
    of which each layer has a copy, or None. norm_kwargs: for one by name.
    jk: how to join the outputs of all layers, "last", "cat", "max" or "lstm", before a linear layer to `out_channels`;
    None ends in the last convolution. kwargs: for the convolutions.

    Raises ValueError for fewer than one layer, or a `dropout` that is no probability.
    PyG: `torch_geometric.nn.models.basic_gnn.BasicGNN`, which ignores `edge_weight` or `edge_attr` where the
    convolution has no use for them; here they are refused.
    """

    supports_edge_weight: ClassVar[bool]
    supports_edge_attr: ClassVar[bool]

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        act: str | Callable[..., Any] | None = "relu",
        act_first: bool = False,
        act_kwargs: dict[str, Any] | None = None,
        norm: str | Callable[..., Any] | None = None,
        norm_kwargs: dict[str, Any] | None = None,
        jk: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers: expected at least 1, found {num_layers}")
        check_probability(dropout, "dropout")
        self.in_channels, self.hidden_channels, self.num_layers = in_channels, hidden_channels, num_layers
        self.out_channels = hidden_channels if out_channels is None else out_channels
        self.dropout = torch.nn.Dropout(dropout)
        self.act = activation_resolver(act, **(act_kwargs or {}))
        self.act_first, self.jk_mode = act_first, jk
        self.norm, self.norm_kwargs = (norm if isinstance(norm, str) else None), norm_kwargs

        self.convs = ModuleList()
        sizes: list[Any] = [in_channels, *[hidden_channels] * (num_layers if jk is not None else num_layers - 1)]
        if jk is None:
            sizes.append(self.out_channels)
        for i in range(num_layers):
            size = (sizes[i], sizes[i]) if i > 0 and isinstance(in_channels, (tuple, list)) else sizes[i]
            # Whether this layer is the output, whose heads are not set side by side, since they need not divide it.
            self._is_output = jk is None and out_channels is not None and i == num_layers - 1
            self.convs.append(self.init_conv(size, sizes[i + 1], **kwargs))

        one = None if norm is None else normalization_resolver(norm, hidden_channels, **(norm_kwargs or {}))
        self.supports_norm_batch = one is not None and "batch" in inspect.signature(one.forward).parameters
        self.norms = ModuleList(
            Identity() if one is None or (jk is None and i == num_layers - 1) else copy.deepcopy(one)
            for i in range(num_layers)
        )
        if jk is not None:
            if jk != "last":
                self.jk = JumpingKnowledge(jk, hidden_channels, num_layers)
            self.lin = torch.nn.Linear(hidden_channels * (num_layers if jk == "cat" else 1), self.out_channels)

    def init_conv(self, in_channels: int | tuple[int, int], out_channels: int, **kwargs: Any) -> MessagePassing:
        """The convolution between two sizes."""
        raise NotImplementedError(f"{type(self).__name__} has no init_conv")

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        for module in (*self.convs, *self.norms):
            reset(module)
        for name in ("jk", "lin"):
            if hasattr(self, name):
                getattr(self, name).reset_parameters()

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        num_sampled_nodes_per_hop: list[int] | None = None,
        num_sampled_edges_per_hop: list[int] | None = None,
    ) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency. edge_weight: [num_edges] float.
        edge_attr: [num_edges, edge_dim] float. batch, batch_size: the graph of each node, [num_nodes] integers, and the
        number of graphs, for normalisations that look at one graph at a time.
        num_sampled_nodes_per_hop, num_sampled_edges_per_hop: how many a sampler added in each hop, the seeds first:
        each layer then computes what the ones after it need, and the output is that of the seeds.

        Raises ValueError for weights or features of edges that the convolution has no use for, or one of the last two
        without the other.
        """
        nodes, edges = num_sampled_nodes_per_hop, num_sampled_edges_per_hop
        if isinstance(x, Proxy):  # to_hetero looks on: every argument stands for what may be given
            nodes = edges = None
        else:
            self._check_edge_values(edge_weight, edge_attr)
            if (nodes is None) != (edges is None):
                raise ValueError("num_sampled_nodes_per_hop: expected it with num_sampled_edges_per_hop, or neither")
        xs: list[Tensor] = []
        value = edge_weight if self.supports_edge_weight else edge_attr if self.supports_edge_attr else None
        for i in range(self.num_layers):
            if nodes is not None and edges is not None:
                x, edge_index, value = trim_to_layer(i, nodes, edges, x, edge_index, value)
            x = self._layer(i, x, edge_index, value, batch, batch_size)
            xs.append(x)
        if self.jk_mode is None:
            return x
        if nodes is not None:
            xs = [each[: x.size(0)] for each in xs]
        return self.lin(self.jk(xs) if self.jk_mode != "last" else x)

    def _layer(
        self,
        i: int,
        x: Tensor,
        edge_index: Adj,
        value: Tensor | None,
        batch: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """What layer `i` gives, normalised and activated unless it is the output."""
        conv, norm = self.convs[i], self.norms[i]
        x = conv(x, edge_index) if value is None else conv(x, edge_index, value)
        if i == self.num_layers - 1 and self.jk_mode is None:
            return x
        if self.act is not None and self.act_first:
            x = self.act(x)
        x = norm(x, batch, batch_size) if self.supports_norm_batch else norm(x)
        if self.act is not None and not self.act_first:
            x = self.act(x)
        return self.dropout(x)

    def _check_edge_values(self, edge_weight: Tensor | None, edge_attr: Tensor | None) -> None:
        given = {"edge_weight": edge_weight, "edge_attr": edge_attr}
        for name in _EDGE_VALUES:
            if given[name] is not None and not getattr(self, f"supports_{name}"):
                raise ValueError(
                    f"{name}: expected none, since the convolutions of a {type(self).__name__} have no use for it"
                )

    # Of a graph that is too large for one pass ------------------------------------------------------------------------

    @torch.no_grad()
    def inference_per_layer(
        self,
        layer: int,
        x: Tensor,
        edge_index: Adj,
        batch_size: int,
        *,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """[batch_size, channels]: what layer number `layer` gives for the first `batch_size` nodes.

        x: [num_nodes, channels], what the layer before gave. Others as in `forward`.
        """
        self._check_edge_values(edge_weight, edge_attr)
        x = self._layer(layer, x, edge_index, edge_attr if edge_weight is None else edge_weight)[:batch_size]
        return self.lin(x) if layer == self.num_layers - 1 and self.jk_mode is not None else x

    @torch.no_grad()
    def inference(
        self,
        loader: Any,
        device: str | torch.device | None = None,
        embedding_device: str | torch.device = "cpu",
        progress_bar: bool = False,
        cache: bool = False,
    ) -> Tensor:
        """[num_nodes, out_channels]: layer by layer, each for all nodes, so that none is computed twice.

        loader: gives, for all nodes in their order, batches of nodes (`batch_size` of them first) with all their
        neighbours: `n_id`, `edge_index` or `adj_t`, and `edge_weight` or `edge_attr` where the convolution uses them; a
        `NeighborLoader(data, num_neighbors=[-1])`, which has the graph as `data`. device: where to compute.
        embedding_device: where to keep what is computed. progress_bar: show one. cache: keep what the loader gave for
        the first layer for the others.

        Raises ValueError with a `jk` that needs all layers, or if the batches are not those of all nodes in order.
        PyG: `BasicGNN.inference`, which leaves edge weights out.
        """
        if self.jk_mode not in (None, "last"):
            raise ValueError(f"inference: expected a model with jk None or 'last', found {self.jk_mode!r}")
        x_all = loader.data.x.to(embedding_device)
        num_nodes = x_all.size(0)
        kept: list[Any] = []
        bar = tqdm(total=num_nodes * self.num_layers, desc="Inference", disable=not progress_bar)
        for layer in range(self.num_layers):
            outs, done = [], 0
            for batch in kept if cache and layer > 0 else map(self._of_batch, loader):
                n_id, edges, batch_size, values = batch
                if not torch.equal(n_id[:batch_size].cpu(), torch.arange(done, done + batch_size)):
                    raise ValueError("loader: expected the nodes in order, each once: neither shuffled nor selected")
                if cache and layer == 0:
                    kept.append(batch)
                x = x_all[n_id.to(embedding_device)].to(device)
                values = {name: value.to(device) for name, value in values.items()}
                x = self.inference_per_layer(layer, x, edges.to(device), batch_size, **values)
                outs.append(x.to(embedding_device))
                done += batch_size
                bar.update(batch_size)
            if done != num_nodes:
                raise ValueError(f"loader: expected all {num_nodes} nodes, found {done}")
            x_all = torch.cat(outs)
        bar.close()
        return x_all

    def _of_batch(self, batch: Any) -> tuple[Tensor, Adj, int, dict[str, Tensor]]:
        """Nodes, edges, the number of seeds, and what the edges carry that the convolutions use."""
        adj = getattr(batch, "adj_t", None)
        edges = batch.edge_index if adj is None else adj
        used = [name for name in _EDGE_VALUES if getattr(self, f"supports_{name}") and adj is None]
        values = {name: getattr(batch, name, None) for name in used}
        if getattr(self.convs[0], "edge_dim", None) is None:
            values.pop("edge_attr", None)
        return batch.n_id, edges, batch.batch_size, {name: value for name, value in values.items() if value is not None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_layers={self.num_layers})"


class GCN(BasicGNN):
    """`GCNConv` layers: arXiv:1609.02907. Arguments as in `BasicGNN`. PyG: `torch_geometric.nn.models.GCN`."""

    supports_edge_weight: Final[bool] = True  # type: ignore[misc]
    supports_edge_attr: Final[bool] = False  # type: ignore[misc]

    def init_conv(self, in_channels: int | tuple[int, int], out_channels: int, **kwargs: Any) -> MessagePassing:
        if not isinstance(in_channels, int):
            raise ValueError(f"in_channels: expected a size, since GCNConv is not bipartite, found {in_channels}")
        return GCNConv(in_channels, out_channels, **kwargs)


class GraphSAGE(BasicGNN):
    """`SAGEConv` layers: arXiv:1706.02216. Arguments as in `BasicGNN`. PyG: `torch_geometric.nn.models.GraphSAGE`."""

    supports_edge_weight: Final[bool] = False  # type: ignore[misc]
    supports_edge_attr: Final[bool] = False  # type: ignore[misc]

    def init_conv(self, in_channels: int | tuple[int, int], out_channels: int, **kwargs: Any) -> MessagePassing:
        return SAGEConv(in_channels, out_channels, **kwargs)


class GIN(BasicGNN):
    """`GINConv` layers around perceptrons of two linear layers: arXiv:1810.00826. Arguments as in `BasicGNN`.

    PyG: `torch_geometric.nn.models.GIN`.
    """

    supports_edge_weight: Final[bool] = False  # type: ignore[misc]
    supports_edge_attr: Final[bool] = False  # type: ignore[misc]

    def init_conv(self, in_channels: int | tuple[int, int], out_channels: int, **kwargs: Any) -> MessagePassing:
        if not isinstance(in_channels, int):
            raise ValueError(f"in_channels: expected a size, found {in_channels}")
        mlp = MLP(
            [in_channels, out_channels, out_channels],
            act=self.act,
            act_first=self.act_first,
            norm=self.norm,
            norm_kwargs=self.norm_kwargs,
        )
        return GINConv(mlp, **kwargs)


class GAT(BasicGNN):
    """`GATConv` layers: arXiv:1710.10903, or with `v2=True` `GATv2Conv` layers: arXiv:2105.14491.

    Arguments as in `BasicGNN`; `heads` are set side by side in `hidden_channels`, which they must divide, but in the
    output their mean is taken. `dropout` is that of attention too. PyG: `torch_geometric.nn.models.GAT`.
    """

    supports_edge_weight: Final[bool] = False  # type: ignore[misc]
    supports_edge_attr: Final[bool] = True  # type: ignore[misc]

    def init_conv(self, in_channels: int | tuple[int, int], out_channels: int, **kwargs: Any) -> MessagePassing:
        layer = GATv2Conv if kwargs.pop("v2", False) else GATConv
        heads, concat = kwargs.pop("heads", 1), kwargs.pop("concat", True) and not self._is_output
        if concat and out_channels % heads:
            raise ValueError(f"heads: expected a number that divides {out_channels} channels, found {heads}")
        size = out_channels // heads if concat else out_channels
        return layer(in_channels, size, heads=heads, concat=concat, dropout=self.dropout.p, **kwargs)
