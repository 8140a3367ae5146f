"""The exercises of notebooks 02 to 06: their checks take the solutions and refuse wrong answers."""

import re
from pathlib import Path

import pytest

from gnnlab.bench.notebooks import at_size, find_notebooks, read_notebook

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

# By notebook, the cells that its exercises build on; the others measure, which takes long.
NEEDED = {
    "02": ["setup", "parameters", "injected-parameters", "list-block", "report", "verdict"],
    "03": ["setup", "parameters", "injected-parameters", "small", "verdict"],
    "04": ["setup", "parameters", "injected-parameters", "a-set-that-never-fitted", "verdict"],
    "05": ["setup", "parameters", "injected-parameters", "club", "verdict"],
    "06": ["setup", "parameters", "injected-parameters", "verdict"],
}

# By notebook and exercise, an answer that someone might well give.
WRONG = {
    ("02", 1): "answer_1 = 2**30 // nbytes(sample) * SAMPLE",
    ("02", 2): "answer_2 = dataset",
    ("02", 3): "answer_3 = dataset[0]",
    ("03", 1): "answer_1 = range(100)",
    ("03", 2): "answer_2 = small[:10]",
    ("03", 3): "answer_3 = slow",
    ("04", 1): "answer_1 = 1000 * 50 * 2 * 8",
    ("04", 2): "answer_2 = lambda dataset, root: dataset[98:]",
    ("04", 3): "answer_3 = Halved",
    ("05", 1): "answer_1 = 3_000_000 * 128",
    ("05", 2): "answer_2 = lambda adj_t, x: multiply(adj_t, x, reduce='mean')",
    ("05", 3): "answer_3 = Doubled",
    ("06", 1): "answer_1 = 3",
    ("06", 2): "answer_2 = lambda edge_index: edge_index[:, edge_index[1].argsort(stable=True)]",
    ("06", 3): "answer_3 = torch.sum",
}


def cells_of(number):
    (path,) = find_notebooks(NOTEBOOKS, [number])
    return {cell.id: cell.source for cell in at_size(read_notebook(path), "quick").cells}


@pytest.fixture(scope="module", params=NEEDED)
def opened(request):
    """A notebook's number, its cells, and the names there are when a reader comes to the exercises."""
    cells, names = cells_of(request.param), {}
    for name in NEEDED[request.param]:
        exec(cells[name], names)
    return request.param, cells, names


@pytest.mark.parametrize("exercise", [1, 2, 3])
def test_checks_take_the_solution_refuse_a_wrong_answer_and_leave_an_open_one(opened, exercise, capsys):
    number, cells, names = opened
    check = cells[f"answer-{exercise}"]
    solution = re.search(r"```python\n(.*?)\n```", cells[f"solution-{exercise}"], re.DOTALL)
    assert solution is not None
    capsys.readouterr()
    said = []
    for answer in (None, WRONG[number, exercise], solution.group(1)):
        given, times = re.subn(rf"^answer_{exercise} = \.\.\..*$", lambda _, a=answer: a or _[0], check, flags=re.M)
        assert times == 1
        exec(given, names)
        said.append(capsys.readouterr().out)
    assert said[0] == "not answered yet\n"
    assert said[1].startswith("not yet: ")
    assert said[2] == "right\n"


@pytest.mark.parametrize("number", NEEDED)
def test_every_exercise_has_a_wrong_answer_here(number):
    exercises = {int(name.removeprefix("exercise-")) for name in cells_of(number) if name.startswith("exercise-")}
    assert exercises == {exercise for notebook, exercise in WRONG if notebook == number}
