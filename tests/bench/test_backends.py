"""The backends' benchmark at a tiny size: they agree, and the table has every product."""

from pathlib import Path

import pytest
import torch

from gnnlab.bench import backends
from gnnlab.sparse import measured


def test_the_command_prints_and_keeps_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "measured.json"
    small = backends.measure_products("cpu", sizes=[(5, 20, 2)], repeat=1)
    monkeypatch.setattr(backends, "measure_products", lambda device, repeat: small)
    monkeypatch.setattr(backends.measured, "write", lambda table, to=file, write=measured.write: write(table, to))
    assert backends.main([]) == 0
    assert not file.exists()
    assert backends.main(["--write"]) == 0
    assert measured.read(file).runs["cpu"] == small.runs["cpu"]
    assert "float16   mean" in capsys.readouterr().out
    assert len(small.runs["cpu"].products) == 4 * 4 + 3


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_here_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        backends.main(["--device", "cuda"])
    assert "found 'cuda' without a GPU" in capsys.readouterr().err
