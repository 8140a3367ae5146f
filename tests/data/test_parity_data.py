"""`Data`, line by line beside PyG's; then what is different on purpose, and what PyG doesn't promise."""

import copy
import gc
import pickle
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gnnlab.data import Batch, Data, HeteroData
from gnnlab.data.testing import assert_equal
from gnnlab.typing import SparseTensor
from tests.data.side_by_side import OURS, assert_same, evaluate, ids, reload, theirs

#: torch says so once a process, of CSR and the like.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse .* support is in beta:UserWarning")

GRAPH = """
d = n.Data(x=torch.arange(6.).view(3, 2), edge_index=ids([0, 1, 1, 2], [1, 0, 2, 1]),
           edge_attr=torch.arange(8.).view(4, 2), y=ids(1))
"""

READING = """
d['x'] ; d.x ; d['pos'] ; d.pos ; d['zz'] ; d.zz ; d[0] ; d.get('x') ; d.get('zz') ; d.get('zz', 5)
'x' in d, 'pos' in d, 'zz' in d, 'num_nodes' in d, 3 in d
len(d), sorted(d.keys()) ; list(d) ; next(iter(d)) ; list(d('x', 'y')) ; list(d('y', 'x')) ; list(d('zz')) ; list(d())
d.to_dict() ; d.to_namedtuple() ; n.Data.from_dict(d.to_dict()) ; n.Data.from_dict({'x': 1, 'own': 3, '_own': 4})
n.Data.from_dict({1: 3}) ; n.Data(1, 2, 3, 4, 5, 6) ; n.Data(1, 2, 3, 4, 5, 6, 7)
n.Data(own=None) ; n.Data(own=None).own
d.x, d.edge_index, d.edge_attr, d.y ; d.edge_weight, d.pos, d.time, d.face, d.batch
d.num_nodes, d.num_edges ; d.num_node_features, d.num_features, d.num_edge_features
d.num_node_types, d.num_edge_types
d.num_faces ; d.size(), d.size(0), d.size(1), d.size(-1) ; d.size(2) ; d.is_cuda ; d.node_offsets
d.stores ; d.node_stores ; d.edge_stores ; d.stores_as(n.Data()) is d ; sorted(d.node_attrs()) ; sorted(d.edge_attrs())
d.is_node_attr('x'), d.is_node_attr('y'), d.is_edge_attr('x'), d.is_edge_attr('edge_attr') ; d.is_node_attr('zz')
d.is_coalesced(), d.is_sorted(), d.is_sorted(False), d.is_sorted_by_time() ; d.validate() ; d.debug()
d.has_isolated_nodes(), d.has_self_loops(), d.is_undirected(), d.is_directed()
d.contains_isolated_nodes(), d.contains_self_loops() ; d.items() ; d.values() ; d.items('x', 'zz')
repr(d) ; str(n.Data()) ; d.connected_components() ; d.subgraph(ids(0, 1)) ; d.edge_subgraph(ids(0, 3))
"""

WRITING = """
d.x = None ; d, d.x, 'x' in d
d['x'] = None ; d, 'x' in d
d.own = None ; d, 'own' in d
del d.x ; d, d.x
del d['x'] ; d
del d.pos ; d
del d['pos'] ; d
del d.zz ; d
del d['zz'] ; d
d.pop('x'), d
d.pop('zz')
d.pop('zz', 4), d.setdefault('own', 3), d
d._own = 3 ; d, d._own, '_own' in d, sorted(d.keys())
d['_own'] = 3 ; d, '_own' in d
d._own = 3 ; copy.copy(d)._own, copy.deepcopy(d)._own, pickle.loads(pickle.dumps(d))._own
d._own = 3 ; del d._own ; d._own
del d._own ; d
d.num_nodes = 7 ; d, d.num_nodes, 'num_nodes' in d, d.size()
d.num_nodes = 7 ; d.num_nodes = None ; d, d.num_nodes
d.num_nodes = 7 ; del d.num_nodes ; d.num_nodes
d['num_nodes'] = 7 ; d.num_nodes
d.num_edges = 9 ; d, d.num_edges
d['num_edges'] = 9 ; d, d.num_edges
d.num_edges = 9 ; d.num_edges = None ; d.num_edges
d.size = torch.ones(2) ; d['size'], d.num_nodes
d.keys = 1 ; d['keys'], 'keys' in d
d.update({'y': 3, 'own': 4})
d.update({'x': None})
d.update(n.Data(x=torch.zeros(3), own=4))
d.update(5)
d.generate_ids() ; d
d.concat(d)
d.concat(n.Data(y=ids(1)))
"""

ACTING = """
d.clone() ; d.clone().x is d.x ; d.clone('x').y is d.y ; d.contiguous() is d ; d.cpu() is d
d.to('cpu') is d ; d.to('cpu', 'x')
d.to(device='cpu', non_blocking=True) is d ; d.to('meta').x.device.type ; d.to('meta', 'x').y.device.type
d.detach() is d ; d.detach_() is d ; d.share_memory_() is d ; d.share_memory_('x').x.is_shared()
d.to('cuda') ; d.cuda()
d.pin_memory() ; d.record_stream(None) ; d.requires_grad_('x') is d ; d.requires_grad_('x').x.requires_grad
d.requires_grad_('x', requires_grad=False).x.requires_grad ; d.requires_grad_('edge_index')
d.apply(lambda t: t + 1) is d ; d.apply(lambda t: t + 1) ; d.apply(lambda t: t + 1, 'x', 'zz')
d.apply_(lambda t: t.add_(1)) is d ; d.apply_(lambda t: t.add_(1), 'x')
copy.copy(d) ; copy.copy(d).x is d.x ; copy.deepcopy(d) ; copy.deepcopy(d).x is d.x
n.Data(x={'a': [torch.ones(2), [torch.zeros(1), 's']], 'b': 3}).clone()
n.Data(edge_index=ids([1, 0, 0], [1, 1, 1]), edge_attr=ids(1, 2, 5), num_nodes=2).coalesce()
n.Data(edge_index=ids([1, 0, 0], [1, 1, 1]), edge_attr=torch.ones(3, 2), num_nodes=2).coalesce()
n.Data(edge_index=ids([1, 0, 0], [1, 1, 1]), num_nodes=2).coalesce()
n.Data(edge_index=ids([1, 0, 0], [1, 1, 0]), edge_attr=ids(1, 2, 5), w=ids(1, 2, 3), num_nodes=2).sort()
n.Data(edge_index=ids([1, 0, 0], [1, 1, 0]), edge_attr=ids(1, 2, 5), w=ids(1, 2, 3), num_nodes=2).sort(False)
n.Data(edge_index=ids([1, 0, 0], [1, 1, 0]), num_nodes=2).is_sorted(False)
n.Data(time=ids(3, 1, 2), x=ids(1, 2, 3, 4), edge_index=ids([0, 1, 2], [1, 2, 0]), e=ids(7, 8, 9)).sort_by_time()
n.Data(time=ids(3, 1, 2), x=ids(1, 2, 3), edge_index=ids([0, 1], [1, 2])).sort_by_time()
n.Data(time=ids(3, 1, 2), x=ids(1, 2, 3)).is_sorted_by_time()
n.Data(edge_index=ids([0, 1], [1, 0]), edge_attr=ids(1, 2), num_nodes=2).is_undirected()
n.Data(edge_index=ids([0, 1], [1, 0]), edge_attr=ids(1, 1), num_nodes=2).is_undirected()
n.Data(edge_index=ids([0, 1], [1, 1]), num_nodes=3).has_isolated_nodes()
n.Data(edge_index=ids([0, 1], [1, 1]), num_nodes=2).has_self_loops()
"""


def each(lines: str) -> list[str]:
    """The expressions in `lines`, several a line."""
    return [part for line in lines.strip().splitlines() for part in line.split(" ; ")]


@pytest.mark.parametrize("lines", each(READING) + WRITING.strip().splitlines() + each(ACTING))
def test_does_as_pyg_does(lines: str) -> None:
    assert_same(lines, GRAPH)


SOURCES = [
    "",
    "x=torch.ones(4)",
    "x=torch.ones(0, 5)",
    "x=torch.ones(3, 2, 5)",
    "x=[1, 2, 3]",
    "x=(1, 2)",
    "x='abc'",
    "x={'a': 1}",
    "x=np.ones((3, 2))",
    "x=torch.ones(3, 2).to_sparse()",
    "x=torch.ones(3, 2).to_sparse_csr()",
    "pos=torch.ones(5, 3)",
    "batch=ids(0, 0, 1)",
    "edge_index=ids([0, 3], [1, 2])",
    "edge_index=torch.empty(2, 0).long()",
    "edge_index=np.zeros((2, 3), dtype=int)",
    "edge_index=[[0, 1], [1, 0]]",
    "face=ids([0], [1], [4])",
    "node_own=torch.ones(4)",
    "node_own=torch.ones(5), x=torch.ones(3, 2)",
    "node_names=['a', 'b']",
    "node_index=ids(0, 1)",
    "node_type=ids(0, 2, 1)",
    "n_id=torch.ones(3)",
    "y=torch.ones(4)",
    "y=3.",
    "num_nodes=3",
    "num_nodes=3, x=torch.ones(4)",
    "edge_type=ids(0, 4)",
    "edge_weight=torch.ones(3)",
    "edge_attr=torch.ones(3, 2)",
    "edge_attr=torch.ones(3)",
    "edge_attr=[1, 2]",
    "edge_attr=np.ones((2, 3))",
    "edge_names=['a', 'b']",
    "edge_label_index=torch.zeros(2, 5).long()",
    "e_id=torch.ones(3)",
    "time=torch.arange(3)",
    "adj=torch.ones(3, 3)",
    "adj_t=torch.ones(3, 4)",
    "adj=torch.eye(3).to_sparse()",
    "adj_t=torch.ones(3, 4).to_sparse()",
    "adj=torch.ones(3, 4).to_sparse_csr()",
    "adj_t=torch.ones(3, 4).to_sparse_csc()",
]
COUNTS = [
    "num_nodes",
    "num_edges",
    "num_node_features",
    "num_features",
    "num_edge_features",
    "num_faces",
    "num_node_types",
    "num_edge_types",
]


@pytest.mark.parametrize("attributes", SOURCES)
def test_counts_come_from_the_same_attributes(attributes: str) -> None:
    for name in COUNTS:
        assert_same(f"n.Data({attributes}).{name}")
    assert_same(f"n.Data({attributes}).size()")


def test_our_sparse_matrices_count_as_torch_s_do() -> None:
    ours = SparseTensor(row=ids(0, 1), col=ids(1, 3), sparse_sizes=(3, 4))
    theirs = ours.to_torch_sparse_coo_tensor()
    for name in ("adj", "adj_t", "x", "edge_attr"):
        one, other = Data(**{name: ours}), Data(**{name: theirs})
        for count in ("num_nodes", "num_edges", "num_node_features", "num_edge_features"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert getattr(one, count) == getattr(other, count)
        assert one.is_coalesced() == theirs.is_coalesced() or name not in ("adj", "adj_t")


@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "ours"])
def test_adjacencies_answer_as_edge_indices_do(kind: str) -> None:
    edge_index = ids([0, 0, 2], [0, 1, 2])
    ours = SparseTensor.from_edge_index(edge_index, sparse_sizes=(4, 4))
    adj = {
        "coo": ours.to_torch_sparse_coo_tensor,
        "csr": ours.to_torch_sparse_csr_tensor,
        "csc": ours.to_torch_sparse_csc_tensor,
        "ours": lambda: ours,
    }[kind]()
    plain = Data(edge_index=edge_index, num_nodes=4)
    for data in (Data(adj=adj), Data(adj_t=adj)):
        assert data.num_nodes == 4
        assert data.num_edges == 3
        assert data.has_self_loops()
        assert data.has_isolated_nodes()
        assert not data.is_undirected()
        assert data.coalesce().is_coalesced()
        assert plain.has_self_loops()
        assert plain.has_isolated_nodes()


def test_only_ids_of_edges_or_faces_warn() -> None:
    with pytest.warns(UserWarning, match="largest id in 'edge_index' plus one"):
        assert Data(edge_index=ids([0, 3], [1, 2])).num_nodes == 4
    with pytest.warns(UserWarning, match="largest id in 'face' plus one"):
        assert Data(face=ids([0], [1], [4])).num_nodes == 5
    with pytest.warns(UserWarning, match=r"infer 'num_nodes' from \['y'\]"):
        assert Data(y=ids(1, 2)).num_nodes is None
    assert Data().num_nodes is None


NAMES = ["x", "pos", "batch", "own", "y", "n_id", "train_mask", "node_type", "time", "own_index", "w"]
EDGE_NAMES = ["edge_index", "edge_attr", "edge_own", "edge_label", "edge_type", "edge_label_index"]


@pytest.mark.parametrize(("num_nodes", "num_edges"), [(3, 2), (2, 3), (3, 3), (1, 1), (0, 2), (2, 0)])
def test_nodes_and_edges_have_the_attributes_of_their_size(num_nodes: int, num_edges: int) -> None:
    of_nodes = ", ".join(f"{name}=torch.zeros({num_nodes}).long()" for name in NAMES)
    of_edges = ", ".join(
        f"{name}=torch.zeros({'2, ' if 'index' in name else ''}{num_edges}).long()" for name in EDGE_NAMES
    )
    others = "word='abc', number=1, scalar=torch.tensor(1), none=None, own_edge=torch.ones(7), mapping={'a': 1}"
    setup = f"d = n.Data({of_nodes}, {of_edges}, {others})"
    assert assert_same("sorted(d.node_attrs())", setup) == sorted(NAMES)
    assert assert_same("sorted(d.edge_attrs())", setup) == sorted(EDGE_NAMES)


# Different on purpose ------------------------------------------------------------------------------------------------


def test_of_equal_counts_edge_attributes_stay_those_of_edges_and_nothing_is_both() -> None:
    data = Data(
        x=torch.ones(3),
        edge_index=ids([0, 1, 2], [1, 2, 0]),
        e_id=ids(0, 1, 2),
        edge_names=list("abc"),
        names=list("abc"),
    )
    assert set(data.edge_attrs()) == {"edge_index", "e_id", "edge_names"}  # PyG: 'e_id' of nodes, lists of both
    assert set(data.node_attrs()) == {"x", "names"}


@pytest.mark.parametrize(
    "name", ["num_node_features", "num_features", "num_edge_features", "num_faces", "num_node_types"]
)
def test_what_is_computed_can_t_be_set(name: str) -> None:
    with pytest.raises(AttributeError, match=f"'{name}' of 'Data' is computed"):
        setattr(Data(), name, 3)
    assert evaluate(f"d.{name} = 3 ; d['{name}']", theirs(), GRAPH) == 3  # PyG takes it and doesn't use it


@pytest.mark.parametrize("name", ["_mapping", "_parent", "_key", "_version"])
def test_what_storages_need_themselves_can_t_be_set(name: str) -> None:
    data = Data(x=torch.ones(2))
    with pytest.raises(AttributeError, match=f"'{name}' is what 'GlobalStorage' itself needs"):
        setattr(data, name, 3)
    with pytest.raises(AttributeError, match="to delete"):
        delattr(data, name)
    assert data.num_nodes == 2


def test_gradients_of_all_attributes_leave_integers_alone() -> None:
    data = Data(x=torch.ones(2), edge_index=ids([0], [1])).requires_grad_()
    assert data.x.requires_grad
    assert evaluate("d.requires_grad_()", theirs(), GRAPH) == "raises"


def test_coalescing_keeps_every_edge_attribute_in_step() -> None:
    data = Data(
        edge_index=ids([1, 0, 0], [1, 1, 1]),
        edge_attr=ids(1, 2, 5),
        edge_own=ids(3, 4, 5),
        names=list("abc"),
        num_nodes=2,
    )
    out = data.coalesce()
    assert out.edge_attr.tolist() == [7, 1]
    assert out.edge_own.tolist() == [4, 3]  # PyG leaves three
    assert out.names == ["b", "a"]
    assert data.edge_own.tolist() == [3, 4, 5]


def test_lists_and_arrays_are_sorted_along() -> None:
    data = Data(edge_index=ids([1, 0], [0, 1]), edge_names=["a", "b"], edge_array=np.array([1, 2]), num_nodes=3)
    out = data.sort()
    assert out.edge_names == ["b", "a"]
    assert out.edge_array.tolist() == [2, 1]
    data = Data(x=torch.ones(3), time=ids(3, 1, 2), names=("a", "b", "c"), array=np.array([1, 2, 3]))
    out = data.sort_by_time()
    assert out.names == ("b", "c", "a")
    assert out.array.tolist() == [2, 3, 1]


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_sparse_features_are_sorted_along(layout: str) -> None:
    x = getattr(torch.arange(6.0).view(3, 2), layout)()
    out = Data(x=x, time=ids(3, 1, 2)).sort_by_time()
    assert out.x.layout == x.layout
    assert out.x.to_dense().tolist() == [[2, 3], [4, 5], [0, 1]]


def test_questions_about_edges_need_no_edges() -> None:
    data = Data(x=torch.ones(2))
    assert not data.has_self_loops()
    assert data.has_isolated_nodes()
    assert data.is_undirected()


@pytest.mark.parametrize(
    "ask", [lambda d: d.generate_ids(), lambda d: d.node_offsets, lambda d: d.__inc__("edge_index", d.y)]
)
def test_an_unknown_number_of_nodes_is_said_not_guessed(ask: Callable[[Data], Any]) -> None:
    unknown = pytest.raises(ValueError, match="number of nodes is unknown: set 'num_nodes'")
    with unknown, pytest.warns(UserWarning, match="Unable to accurately infer"):
        ask(Data(y=ids(1, 2)))


def test_numbers_are_no_tensors_to_apply() -> None:
    data = Data(x=torch.ones(2), y=3).apply(lambda x: x * 2)
    assert data.y == 3  # PyG: 6
    assert data.x.tolist() == [2, 2]


# Copies, pickles and files -------------------------------------------------------------------------------------------


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "clone": lambda value: value.clone(),
    "torch.save": reload,
}


def everything() -> Data:
    return Data(
        x=torch.ones(9, 2)[:3],
        edge_index=ids([0, 1], [1, 2]),
        y=1,
        word="a",
        items=[1, "b", None, torch.ones(2)],
        pair=(1, torch.ones(2)),
        nested={"a": torch.ones(1), "b": {"c": 2}},
        coo=torch.eye(3).to_sparse(),
        csr=torch.eye(3).to_sparse_csr(),
        csc=torch.eye(3).to_sparse_csc(),
        bsr=torch.eye(4).to_sparse_bsr((2, 2)),
        adj_t=SparseTensor(row=ids(0), col=ids(1), value=torch.ones(1), sparse_sizes=(3, 3)),
        half=torch.ones(3, dtype=torch.bfloat16),
        tracked=torch.ones(3, requires_grad=True),
    )


@pytest.mark.parametrize("how", COPIES)
def test_copies_are_the_same_and_stand_alone(how: str) -> None:
    data, expected = everything(), everything()
    data._own = 3
    twin = COPIES[how](data)
    del twin.bsr, data.bsr, expected.bsr  # no comparison of blocked matrices
    if how == "clone":
        assert not twin.tracked.is_leaf
        twin.tracked = expected.tracked
    assert_equal(twin, expected)
    assert twin._own == 3
    assert twin.stores[0]._parent() is twin
    assert data.stores[0]._parent() is data
    twin.z = 1
    twin.x = None
    assert "z" not in data
    assert data.x is not None
    shares = twin.nested["a"].data_ptr() == data.nested["a"].data_ptr()
    assert shares == (how == "copy")


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_one_tensor_stays_one(how: str, view: bool) -> None:
    x = torch.ones(9)[:3] if view else torch.ones(3)
    sparse = torch.eye(3).to_sparse_csr()
    data = Data(x=x, y=x, parts=[x, {"x": x}], a=sparse, b=sparse)
    twin = COPIES[how](data)
    assert twin.x is twin.y is twin.parts[0] is twin.parts[1]["x"]
    assert twin.a is twin.b
    first, second = COPIES[how]([data, copy.copy(data)])
    assert how == "pickle" or first.x is second.x
    hetero = HeteroData({"a": {"x": x}, "b": {"x": x}})
    twin = COPIES[how](hetero)
    assert twin["a"].x is twin["b"].x


class Named(Data):
    """Needs an argument."""

    def __init__(self, name: str, x: Any = None, scale: int = 2, **kwargs: Any) -> None:
        super().__init__(x=x, **kwargs)
        self.name = name
        self.scale = scale


class Doubling(Data):
    """Has a property of its own, with a setter, and a private attribute."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._calls = 0

    @property
    def doubled(self) -> Any:
        return self._doubled

    @doubled.setter
    def doubled(self, value: Any) -> None:
        self._doubled = value * 2


SUBCLASSES = {
    "required argument": lambda: Named("a", torch.ones(2, 1), edge_index=ids([0], [1])),
    "property with setter": lambda: Doubling(x=torch.ones(2, 1), doubled=torch.ones(2)),
}


@pytest.mark.parametrize("how", [how for how in COPIES if how != "torch.save"])
@pytest.mark.parametrize("kind", SUBCLASSES)
def test_subclasses_are_copied_whatever_their_constructor(kind: str, how: str) -> None:
    data = SUBCLASSES[kind]()
    twin = COPIES[how](data)
    assert_equal(twin, data)
    if kind == "property with setter":
        assert twin.doubled.tolist() == [2, 2]
        assert "doubled" not in twin


@pytest.mark.parametrize("kind", SUBCLASSES)
def test_subclasses_are_saved_and_loaded_by_torch(kind: str) -> None:
    assert_equal(reload(SUBCLASSES[kind]()), SUBCLASSES[kind]())


def test_the_largest_copy_is_what_is_shown() -> None:
    value = torch.ones(100_000)[:1]
    sparse = torch.sparse_coo_tensor(ids([0], [0]), value, (3, 3), check_invariants=True)
    data = Data(x=torch.ones(100_000, 2)[:3], sparse=sparse)
    assert len(pickle.dumps(data)) < 4096
    assert copy.deepcopy(data).x.untyped_storage().nbytes() == 24


GRAPHS: dict[str, Callable[[], Any]] = {
    "made": lambda: everything(),
    "copied": lambda: copy.copy(everything()),
    "deep-copied": lambda: copy.deepcopy(everything()),
    "unpickled": lambda: pickle.loads(pickle.dumps(everything())),
    "cut": lambda: Data(x=torch.ones(3), edge_index=ids([0], [1])).subgraph(ids(0, 1)),
    "of types": lambda: HeteroData({"a": {"x": torch.ones(2)}}),
    "made one type": lambda: HeteroData({"a": {"x": torch.ones(2)}}).to_homogeneous(),
    "batch": lambda: Batch.from_data_list([Data(x=torch.ones(2))] * 2),
    "from a batch": lambda: Batch.from_data_list([Data(x=torch.ones(2))] * 2)[0],
}


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_graph_is_gone_with_its_last_name(kind: str) -> None:
    gc.disable()
    try:
        graph = GRAPHS[kind]()
        seen = weakref.ref(graph)
        del graph
        assert seen() is None
    finally:
        gc.enable()


def test_the_names_of_pyg_are_there() -> None:
    pyg = {name for name in dir(theirs().Data) if not name.startswith("_")}
    later = {name for name in pyg if "tensor" in name or name.startswith(("get_", "put_", "remove_"))}  # stores
    assert pyg - later - {"coo", "csc", "csr", "view"} <= set(dir(OURS.Data))
