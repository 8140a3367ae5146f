"""How long each backend took for products of some sizes: the table that decides which one is taken.

`measured.json` holds it; `python -m gnnlab.bench backends --write` measures it anew.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = Path(__file__).with_name("measured.json")

#: What is taken on a kind of device unless another backend was faster at every size; 'triton' where it is installed.
RULE = {"cpu": "numba", "cuda": "triton"}


@dataclass(frozen=True)
class Product:
    """One product: rows of a square matrix, its entries, columns of the dense side; and seconds by backend, forward,
    and with both gradients where the dtype has any.
    """

    dtype: str
    reduce: str
    rows: int
    entries: int
    width: int
    seconds: dict[str, float]


@dataclass(frozen=True)
class Run:
    """Products measured on one device: its name, the date, the versions of what ran by package."""

    device: str
    date: str
    versions: dict[str, str]
    products: tuple[Product, ...]


@dataclass(frozen=True)
class Table:
    """Runs by kind of device: 'cpu', 'cuda'."""

    runs: dict[str, Run]

    def taken(self) -> dict[tuple[str, str, str], str]:
        """By kind of device, dtype and reduction, the backend that is taken: the rule's, or one that took less
        time at every size.
        """
        groups: dict[tuple[str, str, str], list[dict[str, float]]] = {}
        for kind, run in self.runs.items():
            for product in run.products:
                groups.setdefault((kind, product.dtype, product.reduce), []).append(product.seconds)
        return {key: _taken(times, RULE[key[0]]) for key, times in groups.items()}

    def __str__(self) -> str:
        taken, lines = self.taken(), []
        for kind, rule in RULE.items():
            if kind not in self.runs:
                lines += [f"{kind}: not measured; {rule!r} is taken by rule", ""]
                continue
            run = self.runs[kind]
            versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
            names = list(run.products[0].seconds)
            lines += [f"{kind}: {run.device}, {run.date}, {versions}"]
            lines += [f"{'dtype':<10}{'reduce':<8}{'rows':>8}{'entries':>10}{'width':>7}"]
            lines[-1] += "".join(f"{name + ', us':>13}" for name in names) + "   taken"
            for each in run.products:
                line = f"{each.dtype:<10}{each.reduce:<8}{each.rows:>8}{each.entries:>10}{each.width:>7}"
                line += "".join(f"{1e6 * each.seconds[name]:>13.0f}" for name in names)
                lines.append(f"{line}   {taken[kind, each.dtype, each.reduce]}")
            lines.append("")
        return "\n".join(lines).rstrip()


def _taken(times: list[dict[str, float]], rule: str) -> str:
    faster = [name for name in times[0] if all(seconds[name] < seconds[rule] for seconds in times)]
    return min(faster, key=lambda name: sum(seconds[name] for seconds in times), default=rule)


def read(file: Path = FILE) -> Table:
    """The table in `file`."""
    runs = json.loads(file.read_text(encoding="utf-8"))
    for run in runs.values():
        run["products"] = tuple(Product(**each) for each in run["products"])
    return Table({kind: Run(**run) for kind, run in runs.items()})


def write(table: Table, file: Path = FILE) -> None:
    """Put the table into `file`, a line for each product."""
    parts = []
    for kind, run in table.runs.items():
        head = asdict(run)
        products = ",\n".join(f"   {json.dumps(each)}" for each in head.pop("products"))
        parts.append(f' "{kind}": {json.dumps(head)[:-1]}, "products": [\n{products}\n ]}}')
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
