import pytest
import torch

from gnnlab.nn import resolver

ACTIVATIONS = ["relu", "ReLU", "leaky_relu", "leakyrelu", "LeakyReLU", "SiLU", "log_softmax", "Hard-Tanh", "e l u"]
NORMALIZATIONS = ["batch_norm", "BatchNorm", "batch", "layer", "graph_norm", "GraphNorm", "pair_norm", "instance"]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_as_pyg(pyg, name):
    assert repr(resolver.activation_resolver(name)) == repr(pyg.resolver.activation_resolver(name))


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_normalizations_as_pyg(pyg, name):
    ours, theirs = resolver.normalization_resolver(name, 4), pyg.resolver.normalization_resolver(name, 4)
    assert repr(ours) == repr(theirs)
    assert type(ours).__module__.startswith("gnnlab.nn.norm")


def test_arguments_are_passed_on():
    assert resolver.activation_resolver("elu", 0.5).alpha == 0.5
    assert resolver.normalization_resolver("batch_norm", 4, eps=1.0).module.eps == 1.0
    assert isinstance(resolver.activation_resolver(), torch.nn.ReLU)


@pytest.mark.parametrize("name", ["swish", "Swish"])
def test_swish_is_a_function(pyg, name):
    x = torch.linspace(-3, 3, 7)
    torch.testing.assert_close(resolver.activation_resolver(name)(x), pyg.resolver.activation_resolver(name)(x))


@pytest.mark.parametrize("resolve", [resolver.activation_resolver, resolver.normalization_resolver])
@pytest.mark.parametrize("query", [None, torch.relu, torch.nn.ReLU(), torch.nn.ReLU])
def test_what_is_no_name_is_returned(resolve, query):
    assert resolve(query) is query


@pytest.mark.parametrize("resolve", [resolver.activation_resolver, resolver.normalization_resolver])
@pytest.mark.parametrize("name", ["nope", "", "norm"])
def test_unknown_names_are_refused(resolve, name):
    with pytest.raises(ValueError, match=rf"query: expected one of \[.*, found '{name}'"):
        resolve(name)
