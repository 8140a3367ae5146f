"""Records of a run: sections of rows, with where, when and by what they were measured, as JSON and as Markdown."""

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import torch

from gnnlab.profile import machine
from gnnlab.profile.show import Shown

Cell = str | int | float | bool | None
Row = dict[str, Cell]

_CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Section(Shown):
    """What one experiment found: a row for each case, the same columns in all; `remark` goes under the table."""

    title: str
    rows: tuple[Row, ...]
    remark: str = ""

    def table(self) -> list[tuple[str, ...]]:
        columns = tuple(self.rows[0]) if self.rows else ("nothing",)
        return [columns, *(tuple(_shown(row[column]) for column in columns) for row in self.rows)]

    def note(self) -> str:
        return self.remark


@dataclass(frozen=True)
class Record:
    """A run. `kind` is 'cuda' or 'cpu', `device` its name, `commit` that of the package, empty if not known, `quick`
    whether the sizes were small; `sections` by name.
    """

    date: str
    kind: str
    device: str
    versions: dict[str, str]
    commit: str
    quick: bool
    sections: dict[str, Section] = field(default_factory=dict)

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        head = f"{self.device}, {self.date}, commit {self.commit or 'unknown'}\n{versions}"
        return "\n\n".join([head, *(f"{section.title}\n{section}" for section in self.sections.values())])

    def markdown(self) -> str:
        """The record for people: a heading and a table for each section."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        parts = [
            f"# {self.device}\n\n{self.date}, commit {self.commit or 'unknown'}"
            f"{', small sizes' if self.quick else ''}\n\n{versions}\n"
        ]
        for section in self.sections.values():
            header, *rows = section.table()
            lines = [" | ".join(cells) for cells in (header, ["---"] * len(header), *rows)]
            table = "\n".join(f"| {line} |" for line in lines)
            parts.append(f"## {section.title}\n\n{table}\n" + (f"\n{section.remark}\n" if section.remark else ""))
        return "\n".join(parts)

    def save(self, folder: Path) -> None:
        """Write `record.json` and `record.md` into a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "record.json").write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        (folder / "record.md").write_text(self.markdown(), encoding="utf-8")


def start(kind: str, commit: str | None, quick: bool) -> Record:
    """A record of this machine and time without sections. commit: None for that of the checkout."""
    here = machine()
    device = here.cpu if kind == "cpu" else torch.cuda.get_device_name()
    versions = {"CUDA": torch.version.cuda} if kind == "cuda" and torch.version.cuda else {}
    commit = _commit() if commit is None else commit
    return Record(f"{datetime.now(UTC):%Y-%m-%d}", kind, device, {**here.versions, **versions}, commit, quick)


def read(file: Path) -> Record:
    """The record in a file that `Record.save` wrote."""
    found = json.loads(file.read_text(encoding="utf-8"))
    sections = {
        name: Section(each["title"], tuple(each["rows"]), each["remark"]) for name, each in found["sections"].items()
    }
    return Record(**{**found, "sections": sections})


def latest(folder: Path, wanted: Callable[[Record], bool]) -> Record | None:
    """Of the records in `folder` that are wanted the one of the last date; None if there is none."""
    found: Sequence[Record] = [record for file in sorted(folder.glob("*.json")) if wanted(record := read(file))]
    return max(found, key=lambda record: record.date, default=None)


def _commit() -> str:
    """The commit of the checkout that this file is in; empty without git or a checkout."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=_CHECKOUT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.3g}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else cell
