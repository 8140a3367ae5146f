"""`HeteroData`, line by line beside PyG's; then what is different on purpose."""

import copy
import pickle
from typing import Any

import pytest
import torch

from gnnlab.data import Batch, HeteroData
from gnnlab.data.testing import assert_equal
from tests.data.side_by_side import OURS, assert_same, evaluate, ids, reload, theirs
from tests.data.test_parity_data import each

GRAPH = """
d = n.HeteroData()
d['p'].x = torch.arange(6.).view(3, 2)
d['a'].x = torch.ones(2, 4)
d['a'].y = ids(0, 1)
d['a', 'w', 'p'].edge_index = ids([0, 1, 1], [0, 1, 2])
d['a', 'w', 'p'].edge_attr = torch.ones(3, 5)
d['p', 'c', 'p'].edge_index = ids([0, 1], [1, 0])
d.g = 7
"""

READING = """
d['p'] ; d['a', 'w', 'p'] ; d[('a', 'w', 'p')] ; d['a', 'p'] ; d['p', 'p'] ; d['w'] ; d['c'] ; d['g'] ; d.g ; d[0]
d[None]
d['zz'], d ; d['x'], d ; d['p', 'a'], d ; d['a', 'zz', 'p'], d ; d['a', 'w', 'p', 'q'] ; d.zz ; d.p ; d.x
d.edge_index
d.x_dict ; d.y_dict ; d.edge_index_dict ; d.edge_attr_dict ; d.zz_dict ; d.g_dict
d.num_nodes_dict ; d.num_edges_dict ; d.num_features_dict ; d.num_node_features_dict ; d.num_edge_features_dict
'p' in d, 'x' in d, 'g' in d, ('a', 'w', 'p') in d, 'zz' in d ; len(d), sorted(d.keys()) ; list(d) ; d('x')
list(d('x'))
d.get('g'), d.get('p'), d.get('zz', 3) ; d.items() ; d.values() ; d.pop('g'), d ; d.setdefault('own', 3), d
d.node_types, d.edge_types, d.metadata() ; d.node_items() ; d.edge_items() ; d.stores ; d.node_stores ; d.edge_stores
d.num_nodes, d.num_edges ; d.num_features, d.num_node_features, d.num_edge_features ; d.num_node_types ; d.num_faces
d.node_offsets ; d.is_cuda ; d.input_type ; d.size() ; d.size(0) ; d.validate() ; d.debug()
d.is_coalesced(), d.is_sorted(), d.is_sorted(False), d.is_sorted_by_time() ; d.has_isolated_nodes(), d.has_self_loops()
d.is_undirected(), d.is_directed() ; d.contains_isolated_nodes(), d.contains_self_loops()
sorted(d.node_attrs()), sorted(d.edge_attrs()) ; d.is_node_attr('x') ; d.is_edge_attr('edge_attr')
d.collect('x') ; d.collect('edge_index') ; d.collect('zz') ; d.collect('zz', True) ; d.collect('zz', allow_empty=True)
d._to_canonical('a', 'p') ; d._to_canonical('w') ; d._to_canonical('p') ; d._to_canonical(('a', 'p'))
d._to_canonical('a', 'w', 'p') ; d._to_canonical('q', 'r') ; d.get_node_store('p') is d['p']
d.get_node_store('new'), d
d.get_edge_store('a', 'w', 'p') is d['a', 'w', 'p'] ; d.get_edge_store('a', 'n', 'p'), d
d['p'].num_nodes, d['p'].num_features, d['p'].num_node_features ; d['p'].num_edges ; d['p'].num_edge_features
d['p'].size()
d['a', 'p'].num_edges, d['a', 'p'].num_features, d['a', 'p'].num_edge_features ; d['a', 'p'].num_nodes
d['a', 'p'].size(), d['a', 'p'].size(0), d['a', 'p'].size(1) ; d['a', 'p'].num_node_features
d['a', 'p'].is_bipartite(), d['p', 'p'].is_bipartite() ; d['a', 'p'].has_self_loops(), d['p', 'p'].has_self_loops()
d['a', 'p'].has_isolated_nodes(), d['p', 'p'].has_isolated_nodes() ; d['p'].has_isolated_nodes()
d['a', 'p'].is_undirected(), d['p', 'p'].is_undirected(), d['p', 'p'].is_directed()
d['a', 'p'].is_coalesced(), d['a', 'p'].is_sorted(), d['a', 'p'].is_sorted(False)
d['p'].is_node_attr('x') ; d['p'].is_node_attr('zz') ; d['p'].is_edge_attr('x') ; d['a', 'p'].is_edge_attr('edge_attr')
d['a', 'p'].is_node_attr('edge_attr') ; d['p'].node_attrs() ; d['p'].edge_attrs() ; d['a', 'p'].edge_attrs()
d['p']._key, d['a', 'p']._key, d['p']._parent() is d ; d['p'].to_dict() ; d['a', 'p'].to_namedtuple()
d['a', 'p'].adj_t
d.to_dict() ; d.to_namedtuple() ; n.HeteroData.from_dict(d.to_dict()) ; repr(d) ; repr(n.HeteroData())
n.HeteroData.from_dict({'p': {'x': torch.ones(2)}, ('a', 'w', 'p'): {'edge_index': ids([0], [0])}})
n.HeteroData({'p': {'x': torch.ones(2)}, ('a', 'w', 'p'): {'edge_index': ids([0], [0])}, 's': 4})
n.HeteroData(p={'x': torch.ones(2)}, a__w__p={'edge_index': ids([0], [0])}, s=4) ; n.HeteroData(s=None)
n.HeteroData(**{'a__p': {'edge_index': ids([0], [0])}}) ; n.HeteroData({('a', 'p'): {'edge_index': ids([0], [0])}})
n.HeteroData({('a', 'w', 'p'): 3}) ; n.HeteroData({0: 3})
d.node_type_subgraph(['p']) ; d.edge_type_subgraph([('a', 'w', 'p')]) ; d.subgraph({'p': ids(0, 1)})
d.edge_subgraph({('a', 'w', 'p'): ids(0)}) ; d.snapshot(0, 1) ; d.up_to(1) ; d.concat(d)
"""

WRITING = """
d['q'].num_nodes = 5 ; d.num_nodes, d.node_types
d['q'].x = None ; d.node_types
d['p']['own'] = 3 ; d['p'].own
d['p'] = 3 ; d
d['p'] = {'x': torch.ones(3)} ; d
d['new'] = 3 ; d
d['new'] = {'x': torch.ones(3)} ; d
d['a', 'w', 'p'] = {'x': 1} ; d
d.p = 3 ; d
d.new = torch.ones(2) ; d
d.new = None ; d
d.x = 3 ; d
d.metadata = 3 ; d['metadata']
d._own = 3 ; d._own, d
d._own = [3] ; copy.copy(d)._own is d._own, pickle.loads(pickle.dumps(d))._own
d['p']._own = 3 ; d['p']._own
d.set_value_dict('x', {'p': torch.zeros(3)}) is d, d
d.set_value_dict('x', {'new': torch.zeros(3)}) ; d
d.set_value_dict('edge_index', {('a', 'b'): torch.zeros(2, 1)}) ; d
d.own_dict = {'word': 1} ; d, d.own_dict
d.own_dict = 3 ; d, d.own_dict
d['x_dict'] = {'p': torch.zeros(3)} ; d
del d['p'] ; d, d.node_types
del d['a', 'w', 'p'] ; d
del d['a', 'p'] ; d
del d['w'] ; d
del d['g'] ; d
del d.g ; d
del d['p'].x ; d
del d['p']['x'] ; d
del d['zz'] ; d
del d.zz ; d
del d.p ; d
del d['a', 'zz', 'p'] ; d
del d.x_dict ; d
d.rename('p', 'paper') is d, d
d.rename('p', 'p')
d.rename('zz', 'paper')
d.rename('w', 'x')
d.update({'g': 8})
d.update(3)
d.stores_as(d) is d, n.HeteroData().stores_as(d)
d['p'].input_id = ids(1) ; d.input_type
d['a', 'p'].input_id = ids(1) ; d.input_type
d.generate_ids() ; d
del d['p'] ; d.validate()
d['lone'].x = torch.ones(2) ; d.validate()
d['a', 'e', 'p'] ; d.validate(), d.num_edges, d.is_undirected(), d.has_self_loops(), d.coalesce()
"""

ACTING = """
d.apply(lambda t: t * 2, 'x') is d ; d.apply(lambda t: t * 2, 'x') ; d.apply(lambda t: t * 2, 'p')
d.apply_(lambda t: t, 'x') is d
d.clone() ; d.clone('x')['a'].y is d['a'].y ; d.contiguous() is d ; d.to('cpu') is d ; d.to('cpu', 'x') is d
d.cpu() is d
d.to('meta')['p'].x.device.type ; d.detach() is d ; d.detach_() is d ; d.requires_grad_('x').x_dict['p'].requires_grad
d.share_memory_()['p'].x.is_shared() ; d.cuda() ; d.pin_memory() ; d.record_stream(None) ; d.sort() ; d.coalesce()
copy.copy(d) ; copy.copy(d)['p'] is d['p'] ; copy.copy(d)['p'].x is d['p'].x ; copy.deepcopy(d)
pickle.loads(pickle.dumps(d))
copy.copy(d)['p']._parent() is d ; copy.deepcopy(d)['p'].x is d['p'].x
d.__cat_dim__('edge_index', d['a', 'p'].edge_index, d['a', 'p'])
d.__inc__('edge_index', d['a', 'p'].edge_index, d['a', 'p'])
d.__cat_dim__('x', d['p'].x, d['p']), d.__inc__('x', d['p'].x, d['p']), d.__inc__('batch', ids(0, 2), d['p'])
"""

UNDIRECTED = """
d['a', 'w', 'b'].edge_index = ids([0, 1], [1, 0]) ; d['b', 'x', 'a'].edge_index = ids([0, 1], [1, 0])
d['a', 'w', 'b'].edge_index = ids([0, 1], [1, 0])
d['a', 'w', 'a'].edge_index = ids([0, 1], [1, 0]) ; d['a', 'x', 'a'].edge_index = ids([0], [1])
d['a', 'w', 'a'].edge_index = ids([0], [1]) ; d['a', 'x', 'a'].edge_index = ids([1], [0])
d['a', 'w', 'b'].edge_index = ids([0, 1], [1, 1]) ; d['b', 'w', 'b'].edge_index = ids([0], [1])
d['a', 'w', 'b'].edge_index = ids([0, 1], [1, 1]) ; d['b', 'w', 'a'].edge_index = ids([0], [1])
d['a', 'w', 'b'].edge_index = ids([0, 1], [0, 0])
"""


@pytest.mark.parametrize("lines", each(READING) + WRITING.strip().splitlines() + each(ACTING))
def test_does_as_pyg_does(lines: str) -> None:
    assert_same(lines, GRAPH)


@pytest.mark.parametrize("edges", UNDIRECTED.strip().splitlines())
def test_answers_about_edges_of_all_types_together(edges: str) -> None:
    setup = "d = n.HeteroData()\nd['a'].num_nodes = 2\nd['b'].num_nodes = 2"
    assert_same(f"{edges} ; d.is_undirected(), d.has_isolated_nodes(), d.has_self_loops()", setup)


# Different on purpose ------------------------------------------------------------------------------------------------


def small() -> HeteroData:
    data = HeteroData()
    data["p"].x = torch.ones(3, 2)
    data["a"].x = torch.ones(2, 2)
    data["a", "w", "p"].edge_index = ids([0, 1, 1], [0, 1, 2])
    return data


def test_a_dictionary_keyed_by_types_is_set_type_by_type() -> None:
    data = small()
    data.x_dict = {"p": torch.zeros(3), "a": torch.zeros(2)}
    data.edge_index_dict = {("a", "p"): ids([0], [0])}
    assert data["p"].x.tolist() == [0, 0, 0]
    assert data["a", "w", "p"].num_edges == 1
    assert data.x_dict.keys() == {"p", "a"}
    assert "x_dict" not in data
    same = "d.x_dict = {'p': torch.zeros(3), 'a': torch.zeros(2)} ; d.x_dict"
    assert_same(same, GRAPH)  # reading gives the same, though PyG keeps the dictionary beside the storages
    assert evaluate("d.x_dict = {'p': torch.zeros(3)} ; d['p'].x.sum().item()", theirs(), GRAPH) == 15.0


def test_an_abbreviation_that_fits_several_types_is_named() -> None:
    data = small()
    data["a", "likes", "p"].edge_index = ids([0], [0])
    with pytest.raises(KeyError, match=r"may mean any of the edge types.*'w'.*'likes'.*name the relation"):
        data["a", "p"]


@pytest.mark.parametrize("key", ["", 3, ("a", "", "p"), ("a", 3, "p")])
def test_types_are_strings(key: Any) -> None:
    with pytest.raises(TypeError, match="must be a string that is not empty"):
        small()[key]


def test_double_underscores_warn() -> None:
    with pytest.warns(UserWarning, match="'a__b' has a double underscore"):
        small()["a__b"]


@pytest.mark.parametrize("key", [0, ("a", "new", "p"), ("a", "w", "p"), "p"])
def test_only_names_are_set_on_the_graph(key: Any) -> None:
    with pytest.raises(AttributeError, match="is no name for an attribute of the graph"):
        small()[key] = 3


@pytest.mark.parametrize("name", ["num_nodes", "num_edges", "node_types", "stores"])
def test_what_is_computed_can_t_be_set(name: str) -> None:
    with pytest.raises(AttributeError, match=f"'{name}' of 'HeteroData' is computed"):
        setattr(small(), name, 3)


def test_a_type_is_never_renamed_onto_another() -> None:
    data = small()
    with pytest.raises(ValueError, match="'a' exists already"):
        data.rename("p", "a")
    assert_equal(data, small())


def test_asking_makes_no_types() -> None:
    data = small()
    data["a", "to", "q"].edge_index = ids([0], [0])
    assert data["a", "q"].size() == (2, None)
    assert data.num_nodes_dict == {"p": 3, "a": 2}
    assert data.node_types == ["p", "a"]


def test_updating_takes_every_storage() -> None:
    data, other = small(), HeteroData(g=3)
    other["p"].y = ids(1, 2, 3)
    other["new"].x = torch.ones(1)
    assert data.update(other) is data
    assert data.g == 3
    assert data["p"].x.shape == (3, 2)
    assert data["p"].y.tolist() == [1, 2, 3]
    assert data.node_types == ["p", "a", "new"]


@pytest.mark.parametrize("known", [[], ["a"], ["b"]])
def test_an_unknown_number_of_nodes_is_said_not_guessed(known: list[str]) -> None:
    data = HeteroData()
    for node_type in known:
        data[node_type].num_nodes = 6
    data["a", "to", "b"].edge_index = ids([0, 1], [1, 5])
    unknown = "b" if known == ["a"] else "a"
    with pytest.raises(ValueError, match=f"nodes of type '{unknown}' is unknown: set data\\['{unknown}'\\].num_nodes"):
        Batch.from_data_list([data, data])
    data["c"].y = 3
    with (
        pytest.raises(ValueError, match="number of nodes of type 'c' is unknown"),
        pytest.warns(UserWarning, match="'c'"),
    ):
        _ = data.node_offsets


def test_edge_types_without_edges_need_no_nodes() -> None:
    data = HeteroData()
    data["a"].x = torch.ones(2)
    data["a", "to", "b"].edge_index = torch.empty(2, 0, dtype=torch.long)
    batch = Batch.from_data_list([data, data])
    assert batch["a", "b"].num_edges == 0
    assert_equal(batch.to_data_list(), [data, data])


class Named(HeteroData):
    """Needs an argument."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.name = name


class Counting(HeteroData):
    """Has a private attribute and types from the start."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._calls = 0
        self["root"].num_nodes = 1


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d)), reload])
def test_subclasses_are_copied_whatever_their_constructor(how: Any) -> None:
    for data in (Named("n", a={"x": torch.ones(2)}), Counting(a={"x": torch.ones(2)})):
        data["a"]._own = 4
        twin = how(data)
        assert_equal(twin, data)
        assert twin["a"]._own == 4
        assert twin["a"]._parent() is twin
        twin["a"].x = None
        assert "x" in data["a"]


def test_subclasses_are_batched_whatever_their_constructor() -> None:
    named, counting = Named("n", a={"x": torch.ones(2)}), Counting(a={"x": torch.ones(2)})
    assert_equal(Batch.from_data_list([named, named])[1], named)
    batch = Batch.from_data_list([counting, counting])
    assert_equal(batch[1], counting)
    assert batch[1]._calls == 0
    del counting["root"]
    assert_equal(Batch.from_data_list([counting, counting])[1], counting)


def test_the_names_of_pyg_are_there() -> None:
    pyg = {name for name in dir(theirs().HeteroData) if not name.startswith("_")}
    later = {name for name in pyg if "tensor" in name or name.endswith(("edge_index", "edge_attrs"))}  # stores
    assert pyg - later - {"coo", "csc", "csr", "view"} <= set(dir(OURS.HeteroData))
