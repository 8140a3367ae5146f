"""`python -m gnnlab.bench NAME [OPTIONS]`: run one experiment, or `all`; without a name, list them.

An experiment is a module of `gnnlab.bench` with a function `main(argv: list[str]) -> int`, which
prints what it measured and returns the exit status. Adding one is adding such a file.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path


def experiments() -> dict[str, str]:
    """The names of the modules that define `main`, each with the first line of its docstring."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def run(name: str, argv: list[str]) -> int:
    """Run the experiment `name` with its own arguments and return its exit status."""
    status: int = import_module(f"gnnlab.bench.{name}").main(argv)
    return status


def main(argv: list[str]) -> int:
    """Run the experiment that `argv` names; `all` is every one but the notebooks and what needs a GPU."""
    known = experiments()
    if not argv:
        print("python -m gnnlab.bench NAME [--help]\n")
        for name, summary in known.items():
            print(f"  {name:<16} {summary}")
        return 0
    name, *rest = argv
    if name == "all":
        statuses = []
        for experiment in known:
            if experiment not in ("notebooks", "gpu"):
                print(f"== {experiment}", flush=True)
                statuses.append(run(experiment, rest))
        return max(statuses, default=0)
    if name not in known:
        expected = ", ".join(["all", *known])
        print(f"NAME: expected one of {expected}; found {name!r}", file=sys.stderr)
        return 2
    return run(name, rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
