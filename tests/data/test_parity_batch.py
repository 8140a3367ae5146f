"""`Batch`, line by line beside PyG's; then what is different on purpose, and what PyG doesn't promise."""

import copy
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gnnlab.data import Batch, Data, HeteroData, TemporalData
from gnnlab.data.testing import assert_equal
from gnnlab.typing import SparseTensor
from tests.data.side_by_side import assert_same, ids, reload, theirs
from tests.data.test_parity_data import SUBCLASSES, each

DATA = """
def graph(i, **more):
    return n.Data(x=torch.full((i + 1, 2), float(i)), edge_index=torch.arange(i + 1).repeat(2, 1), y=i, **more)
graphs = [graph(i) for i in range(4)]
b = n.Batch.from_data_list(graphs)
"""

HETERO = """
def graph(i):
    d = n.HeteroData(y=i)
    d['p'].x = torch.full((i + 1, 2), float(i))
    d['p'].word = 'word %d' % i
    d['a'].x = torch.full((2, 1), float(i))
    d['a', 'w', 'p'].edge_index = ids([0, 1], [0, i])
    d['a', 'w', 'p'].edge_attr = torch.full((2, 3), float(i))
    return d
graphs = [graph(i) for i in range(4)]
b = n.Batch.from_data_list(graphs)
"""

TEMPORAL = """
def graph(i):
    return n.TemporalData(src=ids(0, i), dst=ids(1, 2), t=ids(0, 1), msg=torch.full((2, 2), float(i)))
graphs = [graph(i) for i in range(4)]
b = n.Batch.from_data_list(graphs)
"""

KINDS = {"Data": DATA, "HeteroData": HETERO, "TemporalData": TEMPORAL}

CHOICES = """
0 ; 3 ; 4 ; -5 ; np.int64(1) ; ids(2)[0] ; ids(0, 2) ; ids(True, False, True, False) ; [0, 2] ; [] ; (0, 2) ; [5]
slice(None) ; slice(1, 3) ; slice(None, None, -1) ; range(2) ; np.array([0, 2]) ; np.array([True, False, False, True])
'x' ; 'zz' ; None ; 1.5 ; ids(7) ; 'batch' ; 'ptr' ; ids([0, 1], [2, 3])
"""

ASKING = """
b ; b.batch ; b.ptr ; b.num_graphs, b.batch_size, len(b) ; b.num_nodes ; b.num_edges ; b.num_features ; repr(b)
b.to_data_list() ; b.get_example(0), b.get_example(3) ; b.get_example(4) ; b.index_select([1]) ; b.index_select(ids(1))
sorted(b.keys()) ; b.to_dict() ; b.to_namedtuple() ; b.stores ; b.stores_as(b) is b
type(b).__name__
isinstance(b, n.Batch), isinstance(b, n.Data), isinstance(b, n.HeteroData), isinstance(b, n.TemporalData)
copy.copy(b).to_data_list() ; copy.deepcopy(b).to_data_list() ; pickle.loads(pickle.dumps(b)).to_data_list()
type(pickle.loads(pickle.dumps(b))) is type(b) ; b.clone().to_data_list() ; b.to('cpu') is b
b.to('cpu').to_data_list()
b.cpu()[0] ; b.contiguous()[1] ; b.detach()[1] ; b.apply(lambda t: t + 1).get_example(1)
sorted(b._slice_dict, key=str)
b._num_graphs ; n.Batch.from_data_list(tuple(graphs)) ; n.Batch.from_data_list([graphs[2]])
n.Batch.from_data_list([])
n.Batch.from_data_list(graphs, follow_batch=['x']) ; n.Batch.from_data_list(graphs, ['edge_index'])
n.Batch.from_data_list(graphs, ['src', 'y', 'zz']) ; n.Batch.from_data_list(graphs, ['x'], ['x'])
n.Batch.from_data_list(graphs, exclude_keys=['x']) ; n.Batch.from_data_list(graphs, [], ['edge_index', 'zz', 'msg'])
n.Batch.from_data_list(graphs, ['x'])[1]
n.Batch.from_data_list(graphs, follow_batch=('x',)) ; n.Batch.from_data_list(graphs, exclude_keys=('x',))
n.Batch.from_data_list([b, b]) ; n.Batch.from_data_list([b, b]).to_data_list()
n.Batch.from_data_list([b, b]).num_graphs
type(n.Batch.from_data_list([b, b])).__name__ ; n.Batch.from_data_list(b.to_data_list())
"""

OF_DATA = """
n.Batch.from_data_list(graphs, exclude_keys=['x'])[1] ; b.is_coalesced() ; b.sort() ; b.sort().to_data_list()
sorted(b.node_attrs()), sorted(b.edge_attrs()) ; b.size()
b.has_isolated_nodes(), b.has_self_loops(), b.is_undirected() ; b.validate() ; b.update(b)
n.Batch() ; type(n.Batch()).__name__ ; isinstance(n.Batch(), n.Data) ; n.Batch(x=torch.ones(2), batch=ids(0, 0))
n.Batch(x=torch.ones(2), batch=ids(0, 1)).num_graphs ; n.Batch(x=torch.ones(2)).num_graphs
n.Batch(x=torch.ones(3)).batch
n.Batch(x=torch.ones(2), ptr=ids(0, 1, 2)).num_graphs ; n.Batch(batch=ids(0, 1)).batch_size
len(n.Batch(batch=ids(0, 1)))
n.Batch(x=torch.ones(2), batch=ids(0, 1)).to_data_list() ; n.Batch(x=torch.ones(2), batch=ids(0, 1))[0]
"""

OF_HETERO = """
b.metadata() ; b['p'].batch ; b['p'].ptr ; b['p'].num_nodes ; b['p'] ; b['a', 'p'].edge_index ; b.x_dict ; b.batch_dict
b['w'] ; b.node_types ; b['new'] ; b.to_homogeneous().edge_index
"""

WRITING = """
b.x = torch.zeros(10, 1) ; b[1]
b.own = torch.zeros(10, 1) ; b[1]
b.x = None ; b[1]
del b.x ; b.to_data_list()
b.ptr = None ; b.num_graphs
b._own = 3 ; copy.copy(b)._own
b = b.to('meta') ; b[1].x.device.type
"""

CASES = [
    *((kind, f"b[{choice}]") for kind in KINDS for choice in each(CHOICES)),
    *((kind, f"b.index_select({choice})") for kind in KINDS for choice in each(CHOICES)),
    *((kind, lines) for kind in KINDS for lines in each(ASKING)),
    *(("Data", lines) for lines in each(OF_DATA) + WRITING.strip().splitlines()),
    *(("HeteroData", lines) for lines in each(OF_HETERO)),
]


@pytest.mark.parametrize(("kind", "lines"), CASES)
def test_does_as_pyg_does(kind: str, lines: str) -> None:
    assert_same(lines, KINDS[kind])


ATTRIBUTES = [
    "y=1",
    "y=1.5",
    "y=True",
    "y=None",
    "y='a'",
    "y=[1, 2]",
    "y=[]",
    "y={}",
    "y=np.ones(2)",
    "y=np.float32(2)",
    "y={3, 4}",
    "y=torch.tensor(1)",
    "y=[torch.ones(2), torch.ones(3)]",
    "y=[[torch.ones(1)], [torch.ones(2)]]",
    "y={'a': torch.ones(2), 'b': {'c': torch.ones(3)}}",
    "y={'a': 1, 'b': 's', 'c': None}",
    "y={'edge_index': ids([0], [1])}",
    "edge_index={'u': ids([0], [1])}",
    "edge_index=ids([0], [1]).int()",
    "edge_label_index=ids([0], [1])",
    "own_batch=ids(0, 1)",
    "own_ptr=ids(0, 1, 2)",
    "face=ids([0], [1], [1])",
    "own_index=ids(0, 1)",
    "index=ids(0, 1)",
    "adj=torch.ones(2, 2)",
    "edge_attr=torch.ones(2, 2), edge_batch=ids(0, 0)",
    "batch_index=ids([0], [1])",
    "mask=ids(True, False)",
    "half=torch.ones(2, dtype=torch.bfloat16)",
    "tracked=torch.ones(2, requires_grad=True)",
]


@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_every_kind_of_attribute_is_joined_and_parted_alike(attributes: str) -> None:
    setup = f"d = n.Data(x=torch.ones(2, 1), {attributes})\nb = n.Batch.from_data_list([d, d, d])"
    assert_same("b", setup)
    assert_same("b.to_data_list()", setup)
    assert_same("n.Batch.from_data_list([d, d], follow_batch=['y', 'own_index'])", setup)


OVERRIDING = """
class Pair(n.Data):
    def __inc__(self, key, value, *args, **kwargs):
        if key == 'edge_index_s': return self.x_s.size(0)
        if key == 'edge_index_t': return self.x_t.size(0)
        return super().__inc__(key, value, *args, **kwargs)
class Bipartite(n.Data):
    def __inc__(self, key, value, *args, **kwargs):
        if key == 'edge_index': return torch.tensor([[self.x_s.size(0)], [self.x_t.size(0)]])
        return super().__inc__(key, value, *args, **kwargs)
class Stacked(n.Data):
    def __cat_dim__(self, key, value, *args, **kwargs):
        return None if key == 'own' else super().__cat_dim__(key, value, *args, **kwargs)
class Last(n.Data):
    def __cat_dim__(self, key, value, *args, **kwargs):
        return -1 if key == 'own' else super().__cat_dim__(key, value, *args, **kwargs)
class Counted(n.Data):
    @property
    def num_nodes(self): return self.x_s.size(0) + self.x_t.size(0)
class Shifted(n.HeteroData):
    def __inc__(self, key, value, store=None, *args, **kwargs):
        return 10 if key == 'own' else super().__inc__(key, value, store, *args, **kwargs)
class Constant(n.Data):
    kind = 'constant'
    def double(self): return self.x * 2
class Flagged(n.Data):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.made = True
        self._calls = 0
sides = dict(x_s=torch.ones(2, 1), x_t=torch.ones(3, 1))
B = n.Batch.from_data_list
"""

OVERRIDDEN = """
d = Pair(**sides, edge_index_s=ids([0], [1]), edge_index_t=ids([0], [2]))
d = Bipartite(**sides, edge_index=ids([0, 1], [1, 2]))
d = Stacked(own=torch.ones(2), num_nodes=2)
d = Stacked(own=torch.tensor(3.), num_nodes=2)
d = Stacked(own=3., num_nodes=2)
d = Last(own=torch.ones(2, 3), num_nodes=2)
d = Counted(**sides, edge_index=ids([0, 1], [1, 2]))
d = Shifted() ; d['a'].own = ids(1, 2) ; d['a'].num_nodes = 2
d = Constant(x=torch.ones(2))
d = Flagged(x=torch.ones(2))
"""


@pytest.mark.parametrize("lines", OVERRIDDEN.strip().splitlines())
def test_overridden_rules_hold(lines: str) -> None:
    for last in (
        "B([d, d, d])",
        "B([d, d]).to_data_list()",
        "B([d, d], ['x_s', 'x', 'own'])",
        "type(B([d, d])[1]).__name__",
    ):
        assert_same(f"{lines} ; {last}", OVERRIDING)


def test_what_a_class_has_its_batches_have() -> None:
    assert_same("b = B([Constant(x=torch.ones(2))] * 2) ; b.kind, b.double(), 'kind' in b", OVERRIDING)
    assert_same("b = B([Flagged(x=torch.ones(2))] * 2) ; b.made, b[1]._calls, b[1].made", OVERRIDING)


# Different on purpose, or more ---------------------------------------------------------------------------------------


def numbered(count: int = 4) -> Any:
    return Batch.from_data_list([Data(x=torch.full((i + 1,), float(i))) for i in range(count)])


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (-1, 3),
        (-4, 0),
        (np.int32(-1), 3),
        (torch.tensor(-2), 2),
        (np.array(2), 2),
        ([-1, 0], [3, 0]),
        (torch.tensor([0, -1]), [0, 3]),
        ([True, False, True, False], [0, 2]),
        (torch.tensor([1, 2], dtype=torch.uint8), [1, 2]),
        (slice(None, 0.5), [0, 1]),
    ],
)
def test_graphs_are_counted_from_the_end_and_chosen_by_masks_and_shares(choice: Any, expected: Any) -> None:
    found = numbered()[choice]
    assert ([int(graph.x[0]) for graph in found] if isinstance(expected, list) else int(found.x[0])) == expected


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (4, "graph 4 is out of range: the batch has 4 graphs"),
        (-5, "graph -5 is out of range"),
        (True, "found bool"),
        ([4], "id 4 is out of range for 4 items"),
        ([True, False], "a mask must have one entry for each of the 4 items, found 2"),
        (None, "found NoneType"),
        (1.5, "found float"),
    ],
)
def test_what_is_not_there_is_said(choice: Any, message: str) -> None:
    with pytest.raises(IndexError, match=message):
        numbered()[choice]


def test_batches_that_were_not_joined_say_so() -> None:
    batch = Batch(x=torch.ones(2), batch=ids(0, 1))
    with pytest.raises(RuntimeError, match=r"not made by Batch.from_data_list"):
        batch.to_data_list()
    with pytest.raises(ValueError, match="neither 'ptr' nor 'batch'"):
        _ = Batch(x=torch.ones(2)).num_graphs
    assert Batch(batch=torch.empty(0, dtype=torch.long)).num_graphs == 0


@pytest.mark.parametrize(
    ("graphs", "error", "message"),
    [
        ([], ValueError, "at least one graph, found none"),
        ([1], TypeError, "must hold graphs, found int as the first"),
        ([Data(x=1), HeteroData()], TypeError, "graph 0 is a Data, graph 1 a HeteroData"),
        ([Data(x=1), Data(y=1)], ValueError, "'x' is missing in graph 1 but set in graph 0"),
        ([Data(y=1), Data(y=1, x=1)], ValueError, "'x' is missing in graph 0 but set in graph 1"),
    ],
)
def test_what_can_t_be_joined_is_named(graphs: list[Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Batch.from_data_list(graphs)


def test_types_without_attributes_left_stay() -> None:
    data = make("HeteroData")
    batch = Batch.from_data_list([data, data], exclude_keys=["x"])  # PyG can't take this apart
    assert batch[1].metadata() == data.metadata()
    assert "x" not in batch[1]["a"]


def test_a_generator_of_graphs_will_do() -> None:
    assert_equal(Batch.from_data_list(Data(x=torch.ones(i)) for i in range(1, 3))[1], Data(x=torch.ones(2)))


def make(kind: str) -> Any:
    if kind == "TemporalData":
        return TemporalData(src=ids(0, 1), dst=ids(1, 2), t=ids(0, 1), msg=torch.ones(2, 2))
    if kind == "HeteroData":
        data = HeteroData(y=1)
        data["a"].x = torch.ones(2)
        data["a", "to", "a"].edge_index = ids([0], [1])
        return data
    if kind in SUBCLASSES:
        return SUBCLASSES[kind]()
    return Data(x=torch.ones(2), edge_index=ids([0], [1]), y=1)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b)), reload])
@pytest.mark.parametrize("kind", ["Data", "HeteroData", "TemporalData", *SUBCLASSES])
def test_copies_of_batches_can_be_taken_apart(kind: str, how: Callable[[Any], Any]) -> None:
    batch = Batch.from_data_list([make(kind)] * 3)
    twin = how(batch)
    assert type(twin) is type(batch)
    assert_equal(twin, batch)
    assert_equal(twin.to_data_list(), batch.to_data_list())
    assert_equal(twin.to_data_list(), [make(kind)] * 3, normalised=True)
    assert twin.num_graphs == 3
    again = how(Batch.from_data_list([batch, batch]))
    assert_equal(again[1], Batch.from_data_list([batch, batch])[1])


def test_batches_of_classes_of_one_name_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("here", "there"):
        module = types.ModuleType(where)
        module.Same = type("Same", (Data,), {"__module__": where})  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, where, module)
    batches = [Batch.from_data_list([sys.modules[where].Same(x=torch.ones(2))] * 2) for where in ("here", "there")]
    for batch in batches:
        assert type(batch).__name__ == "SameBatch"
        assert type(reload(batch)) is type(batch)


def test_batches_are_joined_into_one() -> None:
    batch = Batch.from_data_list([Data(x=torch.ones(2), edge_index=ids([0], [1]))] * 2)
    twice = Batch.from_data_list([batch, batch])
    assert twice.batch.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert twice.edge_index.tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert "ptr" not in twice
    assert twice.num_graphs == 2
    assert twice[1].batch.tolist() == [0, 0, 1, 1]
    batch.own = 3
    with_own = Batch.from_data_list([batch, numbered(1)], exclude_keys=["edge_index"])
    assert with_own[0].own == 3
    assert "own" not in with_own[1]  # kept as optional, not dropped


def as_torch_sparse(matrix: SparseTensor) -> Any:
    torch_sparse = pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
    row, col, value = matrix.coo()
    return torch_sparse.SparseTensor(row=row, col=col, value=value, sparse_sizes=matrix.sparse_sizes())


LAYOUTS: dict[str, Callable[[SparseTensor], Any]] = {
    "ours": lambda matrix: matrix,
    "coo": lambda matrix: matrix.to_torch_sparse_coo_tensor(),
    "csr": lambda matrix: matrix.to_torch_sparse_csr_tensor(),
    "csc": lambda matrix: matrix.to_torch_sparse_csc_tensor(),
    "torch_sparse": as_torch_sparse,
}


@pytest.mark.parametrize("value", [None, torch.tensor([1.0, 2.0, 3.0])])
@pytest.mark.parametrize("name", ["adj", "adj_t", "own_adj", "x", "edge_attr"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_attributes_of_every_layout_are_joined_and_parted(layout: str, name: str, value: Any) -> None:
    sizes = [(3, 4), (2, 4), (0, 4), (3, 4)]
    graphs = []
    for rows, cols in sizes:
        full = rows == 3
        matrix = SparseTensor(
            row=ids(0, 1, 2) if full else ids(0)[:rows],
            col=ids(3, 0, 1) if full else ids(2)[:rows],
            value=None if value is None else value[: 3 if full else min(rows, 1)],
            sparse_sizes=(rows, cols),
        )
        graphs.append(Data(y=rows, num_nodes=4, **{name: LAYOUTS[layout](matrix)}))
    batch = Batch.from_data_list(graphs)
    dense = [graph[name].to_dense() for graph in graphs]
    joined = torch.block_diag(*dense) if "adj" in name else torch.cat(dense)
    assert torch.equal(batch[name].to_dense(), joined)
    for twin in (batch, copy.deepcopy(batch), pickle.loads(pickle.dumps(batch)), batch.clone(), batch.to("cpu")):
        for found, graph in zip(twin.to_data_list(), graphs, strict=True):
            assert type(found[name]) is type(graph[name])
            assert torch.equal(found[name].to_dense(), graph[name].to_dense())
            if isinstance(found[name], torch.Tensor):
                assert found[name].layout == graph[name].layout


def test_moving_leaves_the_slices_on_the_cpu() -> None:
    batch = numbered()
    with_meta = batch.to("meta")
    assert with_meta.x.device.type == with_meta.batch.device.type == "meta"
    assert with_meta._slice_dict["x"].device.type == "cpu"
    assert with_meta[2].x.shape == (3,)


def test_batches_of_pyg_s_class_names() -> None:
    pyg = theirs()
    for kind in ("Data", "HeteroData", "TemporalData"):
        ours = type(Batch.from_data_list([make(kind)]))
        assert ours.__name__ == f"{kind}Batch"
        assert ours is type(Batch.from_data_list([make(kind)]))
    assert type(pyg.Batch()).__name__ == type(Batch()).__name__ == "DataBatch"
