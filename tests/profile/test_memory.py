import copy
import gc
import tracemalloc
import weakref
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data import Batch, Data, HeteroData
from gnnlab.profile import Footprint, Ledger, footprint, nbytes, peak
from gnnlab.profile.memory import OWN_HEADER, VIEW_HEADER
from gnnlab.typing import SparseTensor


@dataclass
class Pair:
    first: object
    second: object


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


KIB = torch.zeros(256)  # float32: 1 KiB
GLOBAL_LIST = [torch.zeros(1000)]


def holds_closure(tensor):
    return lambda: tensor


def uses_a_global():
    return GLOBAL_LIST


@pytest.mark.parametrize(
    "container",
    [
        lambda x: x,
        lambda x: [x],
        lambda x: (x, "text", None, 3),
        lambda x: {"a": {"b": [x]}},
        lambda x: {x: 1},
        lambda x: {x},
        lambda x: Pair([x], None),
        lambda x: Slotted(x),
        holds_closure,
        lambda x: partial(print, x),
        lambda x: [x.numpy()],
        lambda x: torch.nn.ParameterList([torch.nn.Parameter(x)]),
        lambda x: np.array([x.numpy(), None], dtype=object)[:1],
    ],
)
def test_a_tensor_is_found_inside_anything(container):
    pointers = 8 if isinstance(container(KIB), np.ndarray) else 0
    assert nbytes(container(KIB)) == 1024 + pointers


def test_views_count_once_and_hold_their_storage():
    x = torch.zeros(100, 4)
    assert nbytes([x, x[:10], x.t(), x.numpy(), x.detach()]) == 1600
    found = footprint([x[:10], x[5:20]])
    assert (found.tensors, found.addressed, found.held) == (2, 20 * 16, 1600)


def test_columns_address_less_than_the_rows_they_lie_in():
    x = torch.zeros(100, 4)
    found = footprint([x[:, 1], x[:, 1:3]])
    assert (found.addressed, found.held) == (800, 1600)


def test_an_expanded_tensor_addresses_one_element():
    assert nbytes(torch.zeros(1).expand(1000)) == 4


@given(data=st.data())
def test_any_set_of_views_addresses_what_numpy_says(data):
    base = torch.arange(240, dtype=torch.int16).view(6, 8, 5)
    views = []
    for _ in range(data.draw(st.integers(1, 4))):
        view = base
        for dim in range(3):
            start = data.draw(st.integers(0, base.size(dim)))
            view = view.narrow(dim, start, data.draw(st.integers(0, base.size(dim) - start)))
        step = data.draw(st.integers(1, 3))
        views.append(view.permute(*data.draw(st.permutations(range(3))))[::step])
    elements = set().union(*(view.flatten().tolist() for view in views))
    assert nbytes(views) == 2 * len(elements)


def test_numpy_views_and_negative_steps():
    a = np.zeros(100)
    assert nbytes(a[::-2]) == 400
    assert footprint(a[3:5]).held == 800
    assert nbytes([a, torch.from_numpy(a)]) == 800
    assert footprint(torch.zeros(100).numpy()[:2]).held == 400


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta:UserWarning")
def test_sparse_layouts_are_their_parts():
    dense = torch.eye(10)
    assert nbytes(dense.to_sparse()) == 10 * (2 * 8 + 4)
    assert nbytes(dense.to_sparse_csr()) == 11 * 8 + 10 * (8 + 4)
    assert nbytes(dense.to_sparse_csc()) == 11 * 8 + 10 * (8 + 4)
    assert nbytes(dense.to_sparse_bsr((2, 2))) == 6 * 8 + 5 * (8 + 16)


def test_scipy_matrices_are_their_arrays():
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is the peer here")
    matrix = sparse.csr_array(np.eye(10))
    expected = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    assert nbytes(matrix) == expected


def test_an_opaque_layout_is_refused_rather_than_missed():
    with pytest.raises(TypeError, match="mkldnn"):
        nbytes([torch.zeros(4).to_mkldnn()])


def test_a_meta_tensor_takes_nothing():
    assert nbytes(torch.zeros(1000, device="meta")) == 0
    assert footprint(torch.zeros(1000, device="meta")).held == 0


def test_a_module_counts_parameters_buffers_and_then_gradients():
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4))
    stored = sum(t.numel() * t.element_size() for t in model.state_dict().values())
    assert nbytes(model) == stored
    model(torch.zeros(2, 8)).sum().backward()
    assert nbytes(model) == stored + 4 * sum(p.numel() for p in model.parameters())


def test_memory_that_is_not_the_objects_own_is_left_out():
    target = Pair(torch.zeros(1000), None)
    assert nbytes([weakref.ref(target), torch, Pair, uses_a_global, len]) == 0


def test_cycles_end():
    ring = [KIB]
    ring.append(ring)
    assert nbytes(ring) == 1024


def test_files_and_shared_memory_are_told_apart(tmp_path):
    array = np.memmap(tmp_path / "array", mode="w+", shape=4096, dtype=np.uint8)
    found = footprint(array[5:10])
    assert (found.addressed, found.held, found.mapped, found.shared) == (5, 4096, 4096, 0)

    torch.save({"x": torch.zeros(3000)}, tmp_path / "x.pt")
    loaded = torch.load(tmp_path / "x.pt", mmap=True)
    assert footprint(loaded).mapped == 12000

    found = footprint(torch.zeros(1000).share_memory_())
    assert (found.held, found.mapped, found.shared) == (4000, 0, 4000)
    found = footprint(torch.zeros(1000))
    assert (found.mapped, found.shared) == (0, 0)


def test_a_ledger_counts_a_storage_under_its_first_owner():
    block = torch.zeros(100, 4)
    ledger = Ledger()
    assert ledger.add({"x": block}).held == 1600
    cached = [block[:10], block[10:20], torch.zeros(5)]
    found = ledger.add(cached)
    assert (found.tensors, found.addressed, found.known, found.held) == (3, 340, 320, 20)
    again = ledger.add(cached)
    assert (again.known, again.held, again.objects, again.headers) == (340, 0, 0, 0)


def test_python_objects_agree_with_tracemalloc():
    gc.collect()
    tracemalloc.start()
    records = [{"name": f"graph {i}", "parts": [f"part {i}.{j}" for j in range(4)]} for i in range(500)]
    allocated, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert footprint(records).objects == pytest.approx(allocated, rel=0.05)


def test_array_data_is_no_python_object():
    assert footprint(np.zeros(10**6)).objects < 200
    assert footprint(torch.zeros(10**6)).objects < 200


def keep_views(n):
    block = torch.zeros(n, 2)
    return [block[i] for i in range(n)]


def keep_tensors(n):
    return [torch.empty(0) for _ in range(n)]


@pytest.mark.parametrize(("make", "header", "data"), [(keep_views, VIEW_HEADER, 8), (keep_tensors, OWN_HEADER, 0)])
def test_the_headers_are_what_a_process_grows_by(make, header, data):
    n = 100_000
    python_object_and_list_slot = 96 + 8
    kept = peak(make, n).kept
    assert kept / n == pytest.approx(header + data + python_object_and_list_slot, rel=0.1)
    sample = footprint(make(10))
    assert sample.headers == pytest.approx(10 * header, abs=OWN_HEADER)


def test_a_footprint_shows_itself():
    text = str(footprint(torch.zeros(1024)))
    assert "4.00 KiB" in text
    assert "known" not in text
    full = Footprint(1, 20, 30, mapped=7, shared=8, known=9, objects=5, headers=6)
    labels = ["tensors", "known", "held", "objects", "headers", "mapped", "shared"]
    assert all(label in str(full) for label in labels)
    assert "<td>... shared memory</td><td>8 B</td>" in full._repr_html_()


def test_a_bare_storage_is_held_but_not_addressed():
    found = footprint(torch.zeros(100).untyped_storage())
    assert (found.addressed, found.held) == (0, 400)


class TestPyG:
    """PyG's objects are measured as ours are."""

    @pytest.fixture
    def pyg(self):
        return pytest.importorskip("torch_geometric", reason="PyG is the peer here")

    def test_data_and_hetero_data(self, pyg):
        from torch_geometric.data import Data, HeteroData
        from torch_geometric.profile import get_data_size

        data = Data(x=torch.zeros(5, 3), edge_index=torch.zeros(2, 7, dtype=torch.long), s="abc")
        assert nbytes(data) == get_data_size(data) == 60 + 112
        hetero = HeteroData()
        hetero["a"].x = torch.zeros(5, 3)
        hetero["a", "to", "a"].edge_index = data.edge_index
        assert nbytes([data, hetero]) == 60 + 60 + 112

    def test_edge_index(self, pyg):
        edge_index = pyg.EdgeIndex(torch.zeros(2, 3, dtype=torch.long))
        assert nbytes(edge_index) == 48


def test_torch_sparse_matrices():
    torch_sparse = pytest.importorskip("torch_sparse", reason="torch-sparse is the peer here")
    adj = torch_sparse.SparseTensor(row=torch.arange(5), col=torch.arange(5))
    before = nbytes(adj)
    assert before == 80
    adj.storage.rowptr()
    assert nbytes(adj) == before + 6 * 8


def test_our_graphs_and_batches():
    edge_index = torch.zeros(2, 7, dtype=torch.long)
    graph = Data(x=torch.zeros(5, 3), edge_index=edge_index, name="abc")
    assert nbytes(graph) == 60 + 112
    assert nbytes([graph, copy.copy(graph)]) == 60 + 112
    hetero = HeteroData(a={"x": graph.x}, a__to__a={"edge_index": edge_index})
    assert nbytes([graph, hetero]) == 60 + 112
    batch = Batch.from_data_list([graph, graph])
    assert nbytes(batch.to_dict()) == 2 * (60 + 112) + 10 * 8 + 3 * 8


def test_our_sparse_matrix_is_what_it_has_computed_so_far():
    adj = SparseTensor(row=torch.arange(5), col=torch.arange(5))
    before = nbytes(adj)
    assert before == 80
    adj.storage.rowptr()
    assert nbytes(adj) == before + 6 * 8
