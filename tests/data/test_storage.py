"""The dictionaries behind graphs, line by line beside PyG's; then on their own."""

import copy
import gc
import math
import weakref
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data import Data, HeteroData
from gnnlab.data.storage import BaseStorage, EdgeStorage, GlobalStorage, NodeStorage, take
from tests.data.side_by_side import STORAGES, assert_same, ids
from tests.data.test_parity_data import each

#: torch says so once a process, of CSR and the like.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse .* support is in beta:UserWarning")

DICTIONARY = """
list(s.keys()) ; list(s.values()) ; list(s.items()) ; len(s) ; list(s) ; 'x' in s, 'zz' in s ; s['zz'] ; s.zz ; bool(s)
list(s.keys('edge_index', 'x')) ; list(s.values('x', 'zz')) ; list(s.items('edge_index', 'x')) ; list(s.items('zz'))
s.get('x') ; s.get('zz') ; s.get('zz', 3) ; repr(s) ; s.to_dict() ; s.to_namedtuple()
s.is_cuda() if not n.pyg else False
copy.copy(s) ; copy.deepcopy(s) ; copy.copy(s).x is s.x ; copy.deepcopy(s).x is s.x ; pickle.loads(pickle.dumps(s))
s.apply(lambda t: t + 1) ; s.apply(lambda t: t + 1, 'x') ; s.apply(lambda t: t) is s ; s.apply_(lambda t: t) is s
s.clone()
s.contiguous() is s ; s.to('cpu') is s ; s.to('cpu', 'x') is s ; s.cpu() is s ; s.detach() is s ; s.detach_() is s
s.share_memory_()['x'].is_shared() ; s.requires_grad_('x')['x'].requires_grad ; s.cuda() ; s.pin_memory()
s.requires_grad_('x', requires_grad=False)['x'].requires_grad ; s.requires_grad_('edge_index') ; s.record_stream(None)
"""

WRITING = """
s.pop('x'), s
s.pop('zz')
s.pop('zz', 4), s
s.popitem(), s
s.clear() ; s
s.setdefault('own', 3), s
s.update({'own': 1}, more=2) ; s
s.update({'x': None}) ; s
s['own'] = None ; s
s.own = 3 ; s['own']
del s['zz'] ; s
del s.zz ; s
del s.x ; s
s._own = 1 ; s._own, s
s._own = 1 ; del s._own ; hasattr(s, '_own')
s.num_nodes = 9 ; s['num_nodes'], s
s.num_edges = 9 ; s['num_edges'], s
s.edge_index = ids([0], [0]) ; s
del s.edge_index ; s
"""


@pytest.mark.parametrize("kind", STORAGES)
@pytest.mark.parametrize("lines", each(DICTIONARY) + WRITING.strip().splitlines())
def test_does_as_pyg_does(lines: str, kind: str) -> None:
    assert_same(lines, f"s = n.{kind}(x=torch.ones(3, 2), edge_index=ids([0, 1, 2], [1, 2, 0]), none=None)")


GRAPHS = """
d = n.Data(x=torch.ones(3), time=ids(3, 1, 2), edge_index=ids([0, 1], [1, 2]))
h = n.HeteroData()
h['a'].x, h['a'].time = torch.ones(3), ids(3, 1, 2)
h['a', 'b', 'a'].edge_index, h['a', 'b', 'a'].time = ids([0, 1], [1, 2]), ids(5, 1)
"""


@pytest.mark.parametrize("store", ["d.stores[0]", "h['a']", "h['a', 'a']", "h._global_store"])
def test_time_orders_and_cuts_in_place_as_in_pyg(store: str) -> None:
    for action in ("is_sorted_by_time()", "sort_by_time()", "up_to(2)", "snapshot(1, 2)", "snapshot(1, 2, 'other')"):
        assert_same(f"r = {store}.{action} ; r, d, h", GRAPHS)
    assert_same(f"{store}.sort_by_time() is {store}", GRAPHS)


def test_cutting_corrects_the_number_that_was_set() -> None:
    data = Data(x=torch.ones(3), num_nodes=3, time=ids(3, 1, 2))
    assert data.stores[0].up_to(2).num_nodes == 2  # PyG leaves 3
    data = Data(edge_attr=torch.ones(3), num_edges=3, num_nodes=2, time=ids(3, 1, 2))
    data.stores[0].snapshot(2, 3)
    assert (data.num_edges, data.num_nodes) == (2, 2)


@given(st.lists(st.integers(-5, 5), max_size=8), st.integers(-6, 6))
def test_up_to_keeps_exactly_what_is_early_enough(times: list[int], end: int) -> None:
    store = Data(time=torch.tensor(times, dtype=torch.long), num_nodes=len(times), x=torch.arange(len(times))).stores[0]
    expected = [i for i, time in enumerate(times) if time <= end]
    assert store.up_to(end).x.tolist() == expected
    assert store.num_nodes == len(expected)
    assert store.snapshot(math.inf, math.inf).num_nodes == 0


def test_every_write_is_counted() -> None:
    store = BaseStorage(x=1)
    seen = [store._version]
    for write in (
        lambda: setattr(store, "x", 2),
        lambda: store.__setitem__("y", 3),
        lambda: store.update(z=4),
        lambda: store.pop("z"),
        lambda: store.__delitem__("y"),
        lambda: delattr(store, "x"),
        lambda: store.setdefault("x", 5),
        lambda: store.apply(lambda x: x),
        lambda: store.clear(),
    ):
        write()
        seen.append(store._version)
    assert all(later > earlier for earlier, later in pairwise(seen))
    store._own = 1  # what is private is no attribute
    del store["not there"]
    assert store._version == seen[-1]


@pytest.mark.parametrize(("kind", "name"), [(NodeStorage, "num_features"), (EdgeStorage, "num_edge_features")])
def test_what_is_computed_can_t_be_set(kind: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=f"'{name}' of '{kind.__name__}' is computed"):
        setattr(kind(), name, 3)


def test_a_storage_without_its_graph_goes_by_the_table() -> None:
    edges = EdgeStorage(edge_index=ids([1, 0], [0, 1]), edge_attr=ids(5, 6), adj=torch.eye(2).to_sparse())
    assert edges.num_edges == 2
    assert edges.sort().edge_attr.tolist() == [6, 5]
    assert edges.edge_index.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match="belongs to no graph"):
        edges.size()
    nodes = NodeStorage(x=torch.ones(3, 2), time=ids(3, 1, 2), own_index=ids(7, 8, 9))
    assert nodes.sort_by_time().own_index.tolist() == [8, 9, 7]
    whole = GlobalStorage(edge_index=ids([0, 1], [1, 0]), x=torch.ones(2))
    assert whole.is_edge_attr("edge_index")
    assert whole.size() == (2, 2)


def test_storages_do_not_hold_their_graph() -> None:
    gc.disable()
    try:
        for make in (lambda: Data(x=1), lambda: HeteroData({"a": {"x": 1}})):
            graph: Any = make()
            store, seen = graph.node_stores[0], weakref.ref(graph)
            assert store._parent() is graph
            del graph
            assert seen() is None
            assert store._parent() is None
            assert store["x"] == 1
    finally:
        gc.enable()


def test_a_copied_storage_still_knows_its_graph() -> None:
    data = HeteroData({"a": {"x": torch.ones(2)}})
    for twin in (copy.copy(data["a"]), copy.deepcopy(data["a"])):
        assert twin._parent() is data
        twin.x = None
        assert "x" in data["a"]


def test_counting_asks_no_more_than_needed(recwarn: pytest.WarningsRecorder) -> None:
    data = Data(
        word="a", number=1, scalar=torch.tensor(1), mapping={"a": 1}, edge_index=ids([0], [3]), edge_attr=ids(1)
    )
    assert data.edge_attrs() == ["edge_index", "edge_attr"]
    assert not data.is_node_attr("word")
    assert not data.is_node_attr("scalar")
    assert len(recwarn) == 0  # the number of nodes, a guess here, was not asked for


@pytest.mark.parametrize("mask", [False, True])
def test_entries_of_every_kind_are_taken(mask: bool) -> None:
    dense = torch.arange(6.0).view(3, 2)
    values: dict[str, Any] = {
        "dense": dense,
        "coo": dense.to_sparse(),
        "csr": dense.to_sparse_csr(),
        "csc": dense.to_sparse_csc(),
        "array": dense.numpy(),
        "items": ["a", "b", "c"],
        "pair": ("a", "b", "c"),
        "edge_index": ids([0, 1, 2], [2, 1, 0]),
    }
    store = Data(**values, num_nodes=3).stores[0]
    index = ids(True, False, True) if mask else ids(0, 2)
    for name in ("dense", "coo", "csr", "csc"):
        found = take(store, name, index)
        assert found.layout == values[name].layout
        assert torch.equal(found.to_dense(), dense[[0, 2]])
    assert np.array_equal(take(store, "array", index), dense.numpy()[[0, 2]])
    assert take(store, "items", index) == ["a", "c"]
    assert take(store, "pair", index) == ("a", "c")
    assert take(store, "edge_index", index).tolist() == [[0, 2], [2, 0]]
