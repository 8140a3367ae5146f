"""The exercises of the first notebooks: their checks take the solutions and refuse wrong answers."""

import re
from pathlib import Path

import nbformat
import pytest

from gnnlab.bench.notebooks import execute, find_notebooks, read_notebook

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

# By notebook and exercise, an answer that someone might well give.
WRONG = {
    "00": {
        1: "answer_1 = mean_matrix(hears, graph.num_nodes)",
        2: "answer_2 = torch.rand(graph.num_nodes) < 0.6",
        3: "answer_3 = 0.1",
    },
    "01": {
        1: "answer_1 = torch.cat([other.edge_index, site.edge_index, other.edge_index], dim=1)",
        2: "answer_2 = {'ring_index', 'edge_label_index'}",
        3: "answer_3 = Data",
    },
}


@pytest.mark.parametrize("number", WRONG)
def test_checks_take_the_solution_refuse_a_wrong_answer_and_leave_an_open_one(number, tmp_path):
    (path,) = find_notebooks(NOTEBOOKS, [number])
    notebook = read_notebook(path)
    at = {cell.id: position for position, cell in enumerate(notebook.cells)}
    for exercise, wrong in sorted(WRONG[number].items(), reverse=True):  # from the end: positions before stay
        check = notebook.cells[at[f"answer-{exercise}"]].source
        answer = re.compile(rf"^answer_{exercise} = \.\.\..*$", re.MULTILINE)
        assert len(answer.findall(check)) == 1
        solution = re.search(r"```python\n(.*?)\n```", notebook.cells[at[f"solution-{exercise}"]].source, re.DOTALL)
        assert solution is not None
        notebook.cells[at[f"solution-{exercise}"] + 1 : at[f"solution-{exercise}"] + 1] = [
            nbformat.v4.new_code_cell(answer.sub(lambda _, text=text: text, check), id=f"{kind}-{exercise}")
            for kind, text in (("wrong", wrong), ("solved", solution.group(1)))
        ]
    copy = tmp_path / path.name
    nbformat.write(notebook, copy)

    result = execute(copy, "quick")

    assert result.status == "ok", result.note
    printed = {cell.id: "".join(o.get("text", "") for o in cell.get("outputs", [])) for cell in result.notebook.cells}
    for exercise in WRONG[number]:
        assert printed[f"answer-{exercise}"] == "not answered yet\n"
        assert printed[f"wrong-{exercise}"].startswith("not yet: ")
        assert printed[f"solved-{exercise}"] == "right\n"
