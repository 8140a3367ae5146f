"""The transforms, line by line beside PyG's; then the same random splits under the same seed."""

import inspect
import math
from typing import Any

import pytest
import torch

import gnnlab.transforms
from tests.data.side_by_side import OURS, evaluate, plain, theirs

GRAPHS = """
def graph(**others):
    given = dict(x=torch.arange(8.).view(4, 2) - 3, edge_index=ids([2, 0, 1, 1, 3], [1, 1, 0, 1, 0]),
                 edge_weight=torch.arange(1., 6), edge_attr=torch.arange(10.).view(5, 2), y=ids(0, 1, 0, 1))
    return n.Data(**{**given, **others})

def doubled(**others):
    return graph(edge_index=ids([2, 0, 2, 1, 2], [1, 1, 1, 1, 1]), **others)

def parted(**others):  # a path of two edges, a cycle of three, and a loop
    return n.Data(x=torch.arange(7.).view(7, 1), edge_index=ids([0, 1, 3, 4, 5, 6], [1, 2, 4, 5, 3, 6]),
                  edge_attr=torch.arange(6.), **others)

def typed():
    data = n.HeteroData()
    data['p'].x, data['a'].x = torch.arange(8.).view(4, 2), torch.arange(4.).view(2, 2)
    data['a', 'w', 'p'].edge_index, data['a', 'w', 'p'].edge_attr = ids([1, 0, 1], [2, 0, 0]), torch.arange(3.)
    data['p', 'c', 'p'].edge_index, data['p', 'c', 'p'].edge_weight = ids([2, 0], [1, 1]), torch.arange(2.) + 1
    return data

def dense(data):
    for store in data.edge_stores:
        if 'adj_t' in store:
            store.adj_t = store.adj_t.to_dense()
    return data
"""

LINES = """
T.ToUndirected()(graph()) ; T.ToUndirected('mean')(graph()) ; T.ToUndirected()(graph(e_id=torch.arange(5)))
T.ToUndirected()(n.Data(num_nodes=2)) ; T.ToUndirected()(typed()) ; T.ToUndirected(merge=False)(typed())
T.ToUndirected()(T.ToUndirected()(typed())) ; T.ToUndirected('max')(doubled())
T.ToUndirected()(graph(own=torch.arange(5)))
T.ToUndirected()(n.Data(x=torch.ones(3, 1), edge_index=torch.zeros(2, 0).long()))
T.AddSelfLoops()(graph(edge_attr=None)) ; T.AddSelfLoops(attr='edge_attr', fill_value='mean')(graph(edge_weight=None))
T.AddSelfLoops(attr='nope')(graph(edge_weight=None, edge_attr=None))
T.AddSelfLoops(fill_value=ids(7.))(graph(edge_attr=None)) ; T.AddSelfLoops()(typed())
T.AddSelfLoops()(graph(edge_attr=None, x=None, num_nodes=6))
T.AddSelfLoops(fill_value='nope')(graph(edge_attr=None))
T.AddRemainingSelfLoops()(graph(edge_attr=None)) ; T.AddRemainingSelfLoops()(typed())
T.AddRemainingSelfLoops(attr='edge_attr', fill_value='add')(graph(edge_weight=None))
T.AddRemainingSelfLoops(fill_value=2)(doubled(edge_attr=None)) ; T.AddRemainingSelfLoops()(n.Data(num_nodes=3))
T.RemoveSelfLoops()(graph(edge_attr=None)) ; T.RemoveSelfLoops('edge_attr')(graph(edge_weight=None))
T.RemoveSelfLoops()(typed()) ; T.RemoveSelfLoops()(n.Data(num_nodes=3))
T.NormalizeFeatures()(graph()) ; T.NormalizeFeatures()(typed()) ; T.NormalizeFeatures(['edge_attr', 'x'])(graph())
T.NormalizeFeatures()(graph(x=torch.empty(0, 3))) ; T.NormalizeFeatures()(graph(x=ids(1., 3., 4., 5.)))
T.NormalizeFeatures(['y'])(graph()) ; T.NormalizeFeatures(['zz'])(graph())
T.NormalizeFeatures()(graph(x=torch.ones(4, 2)))
T.OneHotDegree(3)(graph()) ; T.OneHotDegree(3, in_degree=True, cat=False)(graph()) ; T.OneHotDegree(1)(graph())
T.OneHotDegree(2)(graph(x=None, num_nodes=6)) ; T.OneHotDegree(3)(graph(x=torch.arange(4)))
T.OneHotDegree(3)(typed()) ; T.OneHotDegree(3)(n.Data(num_nodes=3)) ; T.OneHotDegree(3)(graph(x=torch.ones(4, 2, 2)))
T.Constant()(graph(x=None)) ; T.Constant(2, cat=False)(graph()) ; T.Constant()(graph(x=torch.arange(4)))
T.Constant()(typed()) ; T.Constant(node_types='a')(typed()) ; T.Constant(3., False, ['a'])(typed())
T.Constant()(n.Data(num_nodes=3)) ; T.Constant()(graph(x=torch.ones(4, 2).double()))
T.Constant()(graph(x=torch.ones(4, 2, 2)))
T.LocalDegreeProfile()(graph()) ; T.LocalDegreeProfile()(graph(x=None, num_nodes=6)) ; T.LocalDegreeProfile()(typed())
T.LocalDegreeProfile()(graph(x=torch.arange(4))) ; T.LocalDegreeProfile()(graph(x=torch.ones(4).double()))
T.LargestConnectedComponents()(graph()) ; T.LargestConnectedComponents()(parted())
T.LargestConnectedComponents()(typed()) ; T.LargestConnectedComponents(2)(parted())
T.LargestConnectedComponents(1, 'strong')(parted()) ; T.LargestConnectedComponents(2, connection='strong')(parted())
T.LargestConnectedComponents(9)(parted())
T.LargestConnectedComponents()(n.Data(x=torch.arange(6), edge_index=ids([0, 2, 4], [1, 3, 5])))
T.LargestConnectedComponents(connection='no')
T.RemoveIsolatedNodes()(parted()) ; T.RemoveIsolatedNodes()(typed())
T.RemoveIsolatedNodes()(graph(y=None, num_nodes=4))
T.RemoveIsolatedNodes()(n.Data(x=torch.ones(4, 1), edge_index=ids([0, 3], [3, 3]), mask=ids(1, 0, 1, 0)))
T.RemoveIsolatedNodes()(n.Data(num_nodes=3, edge_index=ids([0], [2]), edge_attr=torch.ones(1)))
T.RemoveIsolatedNodes()(n.Data(num_nodes=4)) ; T.RemoveDuplicatedEdges()(doubled())
T.RemoveDuplicatedEdges(['edge_attr', 'edge_weight'], 'max')(doubled()) ; T.RemoveDuplicatedEdges()(graph())
T.RemoveDuplicatedEdges(key='edge_attr', reduce='mean')(doubled(edge_weight=None))
T.RemoveDuplicatedEdges()(typed()) ; T.RemoveDuplicatedEdges('nope')(doubled(edge_attr=None, edge_weight=None))
T.SIGN(2)(graph())
T.SIGN(1)(graph(edge_weight=None))
T.SIGN(0)(graph())
T.SIGN(1)(graph(x=None, num_nodes=4)) ; T.SIGN(1)(typed())
T.GCNNorm(False)(graph()) ; T.GCNNorm()(graph(edge_attr=None)) ; T.GCNNorm()(graph(edge_attr=None, edge_weight=None))
T.GCNNorm()(typed())
dense(T.GCNNorm()(T.ToSparseTensor()(graph(edge_weight=None)))) ; dense(T.GCNNorm(False)(T.ToSparseTensor()(graph())))
T.ToDevice('meta')(graph()) ; T.ToDevice('meta', ['x', 'y'])(graph()) ; T.ToDevice('meta', ['zz'])(graph())
T.ToDevice('meta')(typed())
T.Compose([T.AddSelfLoops(), T.Constant()])([graph(edge_attr=None), graph(x=None, edge_attr=None)])
T.Compose([])(graph()) ; T.Compose([T.ToUndirected(), lambda data: data.x])(graph()) ; T.ComposeFilters([])(graph())
T.ComposeFilters([lambda d: d.num_nodes > 2, lambda d: False])(graph())
T.ComposeFilters([lambda d: d.num_nodes > 2])(graph())
T.ComposeFilters([lambda d: d.num_nodes > 2])([graph(), n.Data(num_nodes=1)])
dense(T.ToSparseTensor()(graph())) ; dense(T.ToSparseTensor('edge_attr')(graph()))
dense(T.ToSparseTensor(None)(graph())) ; dense(T.ToSparseTensor('nope')(graph()))
dense(T.ToSparseTensor(remove_edge_index=False)(graph())) ; dense(T.ToSparseTensor()(typed()))
dense(T.ToSparseTensor('edge_attr')(typed()))
T.ToSparseTensor()(doubled()).adj_t.coo() ; T.ToSparseTensor()(doubled()).edge_attr
dense(T.ToSparseTensor()(n.Data(num_nodes=3)))
dense(T.ToSparseTensor()(graph(edge_label=torch.arange(5), edge_label_index=torch.arange(10).view(2, 5))))
dense(T.ToSparseTensor()(graph(edge_label=torch.arange(5), e_id=torch.arange(5), own=torch.arange(5))))
dense(T.ToSparseTensor()(n.Data(num_nodes=5, edge_index=ids([0, 1], [1, 2]))))
T.ToSparseTensor(layout=torch.strided)(graph())
dense(T.ToSparseTensor()(n.Data(num_nodes=5, edge_index=torch.zeros(2, 0).long(), edge_attr=torch.zeros(0, 2))))
dense(T.ToSparseTensor()(T.ToSparseTensor()(graph())))
T.ToSparseTensor()(graph()).adj_t.storage.cached_keys()
T.ToSparseTensor(fill_cache=False)(graph()).adj_t.storage.cached_keys() ; T.ToSparseTensor()(graph()).adj_t.sizes()
T.ToSparseTensor(layout=torch.sparse_csr)(graph()).adj_t ; T.ToSparseTensor(layout=torch.sparse_coo)(graph())
T.ToSparseTensor('edge_attr', layout=torch.sparse_coo)(graph()) ; T.ToSparseTensor(layout='coo')(graph())
repr(T.Compose([T.AddSelfLoops(), T.Constant()])), repr(T.Compose([]))
repr(T.ComposeFilters([])), repr(T.ToDevice('cpu'))
repr(T.ToSparseTensor()), repr(T.SIGN(2)), repr(T.GCNNorm()), repr(T.OneHotDegree(3))
repr(T.LargestConnectedComponents())
repr(T.RandomNodeSplit()), repr(T.RandomLinkSplit()), repr(T.ToUndirected())
repr(T.AddSelfLoops()), repr(T.LocalDegreeProfile())
T.BaseTransform()
T.AddSelfLoops()(None)
"""


def close(found: Any, expected: Any) -> bool:
    """Whether two plain values are equal, floats up to rounding."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(close(found[key], expected[key]) for key in found)
    if isinstance(found, (list, tuple)) and type(found) is type(expected):
        return len(found) == len(expected) and all(map(close, found, expected))
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-6)
    return type(found) is type(expected) and found == expected


def pyg_transforms(line: str) -> Any:
    """PyG's transforms, which need torch_sparse for some; skips the test where they are not installed."""
    if "ToSparseTensor" in line:
        pytest.importorskip("torch_sparse", reason="PyG's ToSparseTensor gives torch_sparse's")
    return pytest.importorskip("torch_geometric.transforms", reason="compares with torch_geometric")


def assert_same(lines: str) -> None:
    transforms = pyg_transforms(lines)
    found = evaluate(lines, OURS, GRAPHS, T=gnnlab.transforms)
    expected = evaluate(lines, theirs(), GRAPHS, T=transforms)
    assert close(found, expected), (found, expected)


@pytest.mark.parametrize("line", [line for row in LINES.strip().splitlines() for line in row.split(" ; ")])
def test_transforms_do_what_those_of_pyg_do(line: str) -> None:
    assert_same(line)


@pytest.mark.parametrize("name", sorted(set(gnnlab.transforms.__all__) - {"functional_transform"}))
def test_arguments_are_those_of_pyg(name: str) -> None:
    """The same, in their order, with the same defaults; ours beyond them are keyword-only."""

    def arguments(of: Any) -> list[tuple[str, Any]]:
        parameters = inspect.signature(of).parameters.values()
        return [(each.name, each.default) for each in parameters if each.kind is not each.KEYWORD_ONLY]

    assert arguments(getattr(gnnlab.transforms, name)) == arguments(getattr(pyg_transforms(""), name))


def test_the_comparison_sees_differences() -> None:
    assert close(plain(torch.tensor([1.0])), plain(torch.tensor([1.0 + 1e-7])))
    assert not close(plain(torch.tensor([1.0])), plain(torch.tensor([1.1])))
    assert not close(plain(torch.tensor([1])), plain(torch.tensor([1.0])))
    assert not close("raises", None)


SPLITS = """
T.RandomNodeSplit(num_val=1, num_test=1)(graph()) ; T.RandomNodeSplit(num_val=0.25, num_test=0.5)(graph())
T.RandomNodeSplit('random', num_train_per_class=1, num_val=1, num_test=1)(graph())
T.RandomNodeSplit('test_rest', num_train_per_class=1, num_val=1)(graph())
T.RandomNodeSplit(num_val=1, num_test=1, num_splits=3)(graph())
T.RandomNodeSplit(num_val=1, num_test=1, key=None)(typed())
T.RandomNodeSplit(num_val=1, num_test=1, key='x')(typed()) ; T.RandomNodeSplit('no')
T.RandomNodeSplit('random', 1, 1, 1, 1)(graph(y=ids(0, 1, 0, -1)))
T.RandomLinkSplit(2, 3, neg_sampling_ratio=0)(path()) ; T.RandomLinkSplit(neg_sampling_ratio=0)(path())
T.RandomLinkSplit(0, 0, neg_sampling_ratio=0)(path())
T.RandomLinkSplit(2, 0.2, is_undirected=True, neg_sampling_ratio=0)(both_ways())
T.RandomLinkSplit(0.15, 0.25, disjoint_train_ratio=0.5, neg_sampling_ratio=0)(path())
T.RandomLinkSplit(0.1, 1, disjoint_train_ratio=2, neg_sampling_ratio=0, is_undirected=True)(both_ways())
T.RandomLinkSplit(neg_sampling_ratio=0, split_labels=True)(path(edge_label=torch.rand(10)))
T.RandomLinkSplit(neg_sampling_ratio=0, key='edge_attr')(path())
T.RandomLinkSplit(neg_sampling_ratio=0, key='own')(path(own=torch.arange(10))) ; T.RandomLinkSplit(8, 3)(path())
T.RandomLinkSplit(0.5, 0.5)(path()) ; T.RandomLinkSplit()(n.Data(num_nodes=3)) ; T.RandomLinkSplit()(works())
T.RandomLinkSplit(1, 1, neg_sampling_ratio=0, edge_types=AW)(works())
T.RandomLinkSplit(2, 2, False, 'edge_label', False, True, 0., .5, AW, REV)(works())
T.RandomLinkSplit(1, 1, True, neg_sampling_ratio=0, edge_types=[AW, C], rev_edge_types=[REV, None])(works())
T.RandomLinkSplit(1, 1, neg_sampling_ratio=0, edge_types=[('a', 'p')])(works())
T.RandomLinkSplit(1, 1, edge_types=[('a', 'no', 'p')])(works())
T.RandomLinkSplit(edge_types=[AW, C], rev_edge_types=[None])
T.Compose([T.RandomLinkSplit(1, 1, neg_sampling_ratio=0), T.AddSelfLoops('edge_attr')])(path())
"""

MORE_GRAPHS = """
AW, C, REV = ('a', 'w', 'p'), ('p', 'c', 'p'), ('p', 'rev_w', 'a')
def path(**others):
    nodes = torch.arange(10)
    return n.Data(x=nodes.view(-1, 1).float(), edge_index=torch.stack([nodes, (nodes * 3 + 1) % 10]),
                  edge_attr=torch.arange(10.), **others)

def both_ways():
    edges = torch.tensor([[0, 0, 1, 2, 3, 4, 5], [1, 2, 2, 3, 4, 5, 6]])
    edges = torch.cat([edges, edges.flip(0)], 1)
    return n.Data(x=torch.ones(8, 1), edge_index=edges, edge_attr=torch.arange(7.).repeat(2))

def works():
    data = n.HeteroData()
    data['p'].x, data['a'].x = torch.zeros(6, 1), torch.zeros(5, 1)
    edges = ids([0, 1, 2, 3, 4, 0, 1, 2], [0, 1, 2, 3, 4, 5, 0, 1])
    data['a', 'w', 'p'].edge_index, data['a', 'w', 'p'].edge_attr = edges, torch.arange(8.)
    data['p', 'c', 'p'].edge_index = ids([0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3])
    data['p', 'rev_w', 'a'].edge_index, data['p', 'rev_w', 'a'].edge_attr = edges.flip(0), torch.arange(8.)
    return data
"""


@pytest.mark.parametrize("line", [line for row in SPLITS.strip().splitlines() for line in row.split(" ; ")])
def test_splits_are_those_of_pyg_under_the_same_seed(line: str) -> None:
    transforms = pyg_transforms(line)
    for seed in (0, 1):
        lines = f"torch.manual_seed({seed}) ; {line}"
        found = evaluate(lines, OURS, GRAPHS + MORE_GRAPHS, T=gnnlab.transforms)
        assert found == evaluate(lines, theirs(), GRAPHS + MORE_GRAPHS, T=transforms)
