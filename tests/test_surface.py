"""The names that scripts written for PyG import, at the same places."""

from importlib import import_module

import pytest

NAMES = {
    "data": "Data HeteroData Batch TemporalData Dataset InMemoryDataset download_url extract_zip "
    "extract_tar extract_gz",
    "data.storage": "BaseStorage NodeStorage EdgeStorage GlobalStorage",
    "data.collate": "collate",
    "data.separate": "separate",
    "data.summary": "Stats Summary",
    "data.data": "BaseData",
    "datasets": "FakeDataset FakeHeteroDataset KarateClub Planetoid TUDataset DebianPackages PythonFunctions PowerLaw",
    "io": "fs read_tu_data read_planetoid_data",
    "loader": "DataLoader DataListLoader DenseDataLoader DynamicBatchSampler ImbalancedSampler CachedLoader "
    "PrefetchLoader TemporalDataLoader",
    "nn": "MessagePassing SimpleConv GCNConv GraphConv GINConv GINEConv SAGEConv APPNP GCN2Conv EdgeConv SGConv "
    "SSGConv TAGConv LGConv MixHopConv GatedGraphConv ClusterGCNConv HeteroConv Linear HeteroLinear "
    "HeteroDictLinear Sequential to_hetero MLP "
    "global_add_pool global_mean_pool global_max_pool TopKPooling BatchNorm LayerNorm GraphNorm PairNorm InstanceNorm "
    "JumpingKnowledge SignedConv EGConv PANConv PDNConv WLConvContinuous RGCNConv FastRGCNConv "
    "GMMConv ChebConv ARMAConv MFConv",
    "nn.inits": "glorot glorot_orthogonal kaiming_uniform ones zeros reset uniform",
    "nn.aggr": "SumAggregation MeanAggregation MaxAggregation MinAggregation MulAggregation VarAggregation "
    "StdAggregation SoftmaxAggregation PowerMeanAggregation MedianAggregation QuantileAggregation MultiAggregation "
    "MLPAggregation DegreeScalerAggregation",
    "nn.conv.gcn_conv": "gcn_norm",
    "nn.resolver": "activation_resolver aggregation_resolver normalization_resolver",
    "transforms": "BaseTransform Compose ToSparseTensor ToUndirected AddSelfLoops AddRemainingSelfLoops "
    "RemoveSelfLoops NormalizeFeatures GCNNorm OneHotDegree Constant LocalDegreeProfile LargestConnectedComponents "
    "RandomNodeSplit RandomLinkSplit SIGN ToDevice RemoveIsolatedNodes RemoveDuplicatedEdges",
    "utils": "scatter segment spmm softmax segment_logsumexp cumsum degree coalesce is_undirected to_undirected "
    "add_self_loops add_remaining_self_loops remove_self_loops segregate_self_loops contains_self_loops "
    "get_self_loop_attr contains_isolated_nodes remove_isolated_nodes sort_edge_index subgraph bipartite_subgraph "
    "k_hop_subgraph get_num_hops trim_to_layer index_to_mask mask_to_index mask_select select narrow index_sort "
    "lexsort group_argsort group_cat is_sparse is_torch_sparse_tensor to_torch_coo_tensor to_torch_csr_tensor "
    "to_torch_csc_tensor to_torch_sparse_tensor to_edge_index dense_to_sparse to_dense_adj to_dense_batch unbatch "
    "unbatch_edge_index negative_sampling batched_negative_sampling structured_negative_sampling "
    "structured_negative_sampling_feasible dropout_edge dropout_node homophily one_hot get_laplacian erdos_renyi_graph "
    "barabasi_albert_graph stochastic_blockmodel_graph from_networkx to_networkx from_scipy_sparse_matrix "
    "to_scipy_sparse_matrix to_pyg from_pyg",
    "utils.num_nodes": "maybe_num_nodes maybe_num_nodes_dict",
    "utils.map": "map_index",
    "utils.sparse": "cat",
    "utils.mixin": "CastMixin",
    "profile": "benchmark timeit get_data_size get_cpu_memory_from_gc get_model_size count_parameters "
    "get_gpu_memory_from_gc get_gpu_memory_from_nvidia_smi",
    "typing": "SparseTensor Adj NodeType EdgeType OptTensor OptPairTensor Size",
    "": "deterministic seed_everything __version__",
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in NAMES.items() for name in names.split()]
)
def test_the_name_is_there(module, name):
    assert getattr(import_module(f"gnnlab.{module}".rstrip(".")), name) is not None


@pytest.mark.parametrize("module", ["gnnlab", "gnnlab.typing"])
@pytest.mark.parametrize("name", ["EdgeIndex", "Index"])
def test_what_we_do_not_have_says_what_to_use(module, name):
    with pytest.raises(ImportError, match=f"gnnlab has no {name}: pass a plain"):
        getattr(import_module(module), name)
