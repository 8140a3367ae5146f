import os

import pytest
import torch

import gnnlab

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


def switches():
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.backends.cudnn.deterministic,
        torch.backends.cudnn.benchmark,
        torch.backends.mkldnn.deterministic,
        os.environ.get(WORKSPACE),
    )


@pytest.fixture(params=[None, ":16:8", ":0:0"])
def before(request, monkeypatch):
    """The switches, with the workspace setting of each kind, and cuDNN's benchmark on so that it shows."""
    monkeypatch.delenv(WORKSPACE, raising=False)
    if request.param is not None:
        monkeypatch.setenv(WORKSPACE, request.param)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    return switches()


def test_the_switches_are_set_and_set_back(before):
    with gnnlab.deterministic():
        workspace = ":16:8" if before[-1] == ":16:8" else ":4096:8"
        assert switches() == (True, False, True, False, True, workspace)
    assert switches() == before


def test_it_nests(before):
    with gnnlab.deterministic():
        outer = switches()
        with gnnlab.deterministic(warn_only=True):
            assert switches()[:2] == (True, True)
        assert switches() == outer
    assert switches() == before


def test_an_error_sets_the_switches_back(before):
    with pytest.raises(OSError, match="no"), gnnlab.deterministic():
        raise OSError("no")
    assert switches() == before


def test_it_decorates_a_function(before):
    @gnnlab.deterministic()
    def inside():
        return torch.are_deterministic_algorithms_enabled()

    assert inside() is True
    assert inside() is True
    assert switches() == before
