"""Builds the files of `gnnlab.datasets.DebianPackages` from Debian's package index.

    python build.py PACKAGES RELEASE [--out FOLDER]

The README beside this file says where the two inputs come from and what the columns mean.
"""

import argparse
import hashlib
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

INDEX = "main/binary-amd64/Packages"
RELATIONS = ("depends", "pre_depends", "recommends", "suggests")
PRIORITIES = ("required", "important", "standard", "optional", "extra")
MULTI_ARCH = ("no", "same", "foreign", "allowed")
SPLITS = ("train", "val", "test")
SHARES = (0.6, 0.2, 0.2)
NUM_WORD_BUCKETS = 128

Stanza = dict[str, str]


def read_stanzas(text: str) -> list[Stanza]:
    """The stanzas of a Packages file as field -> value, with folded lines joined by newlines."""
    stanzas = []
    for block in re.split(r"\n\n+", text.strip("\n")):
        stanza: Stanza = {}
        field = ""
        for line in block.split("\n"):
            if line[0] in " \t":
                stanza[field] += "\n" + line.strip()
            else:
                field, _, value = line.partition(":")
                stanza[field] = value.strip()
        stanzas.append(stanza)
    return stanzas


def build(stanzas: Sequence[Stanza]) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    """The columns (arrays) and the tables (what their numbers mean), as the README lists them."""
    packages = {stanza["Package"]: stanza for stanza in stanzas}  # of two versions, the last
    names = sorted(packages)
    rows = [packages[name] for name in names]

    sources = [row.get("Source", row["Package"]).split(" ")[0] for row in rows]
    source_names = sorted(set(sources))
    words = [_word_buckets(row["Description"]) for row in rows]
    tags = [_tags(row) for row in rows]
    targets = _relation_targets(names, rows)
    tables = {
        "sections": sorted({row["Section"] for row in rows}),
        "priorities": list(PRIORITIES),
        "multi_arch": list(MULTI_ARCH),
        "tags": sorted(set(chain(*tags))),
        "relations": list(RELATIONS),
        "splits": list(SPLITS),
    }
    section = _codes([row["Section"] for row in rows], tables["sections"], np.uint8)
    multi_arch = [row.get("Multi-Arch", "no") for row in rows]
    columns = {
        "package_names": _join(names),
        "section": section,
        "split": _split(names, section),
        "source_names": _join(source_names),
        "source": _codes(sources, source_names, np.uint16),
        "size": np.array([int(row["Size"]) for row in rows], np.int64),
        "installed_size": np.array([int(row.get("Installed-Size", 0)) for row in rows], np.int64),
        "essential": np.array([row.get("Essential") == "yes" for row in rows]),
        "arch_all": np.array([row["Architecture"] == "all" for row in rows]),
        "priority": _codes([row["Priority"] for row in rows], PRIORITIES, np.uint8),
        "multi_arch": _codes(multi_arch, MULTI_ARCH, np.uint8),
        "words_per_package": np.array([*map(len, words)], np.uint8),
        "words": np.array([*chain(*words)], np.uint8),
        "tags_per_package": np.array([*map(len, tags)], np.uint8),
        "tags": _codes([*chain(*tags)], tables["tags"], np.uint16),
        "targets_per_package": np.array([[*map(len, part)] for part in targets], np.uint16),
        "targets": np.array([*chain(*chain(*targets))], np.uint32),
    }
    return columns, tables


def _codes(values: Sequence[str], table: Sequence[str], dtype: type) -> np.ndarray:
    code = {value: index for index, value in enumerate(table)}
    return np.array([code[value] for value in values], dtype)


def _join(names: Sequence[str]) -> np.ndarray:
    return np.frombuffer("\n".join(names).encode(), np.uint8)


def _tags(row: Stanza) -> list[str]:
    tags = {tag.strip() for tag in row.get("Tag", "").split(",")}
    return sorted(tag for tag in tags if tag and not tag.endswith("TODO"))


def _word_buckets(description: str) -> list[int]:
    """One bucket a word of the first line, in ascending order: neither text nor order is kept."""
    words = re.findall(r"[a-z0-9]+", description.split("\n")[0].lower())
    return sorted(zlib.crc32(word.encode()) % NUM_WORD_BUCKETS for word in words)


def _relation_targets(names: Sequence[str], rows: Sequence[Stanza]) -> list[list[list[int]]]:
    """For each relation and package the packages it points to, without itself, ascending."""
    index = {name: number for number, name in enumerate(names)}
    providers = defaultdict(set)
    for number, row in enumerate(rows):
        for virtual in _clauses(row.get("Provides", "")):
            providers[virtual[0]].add(number)
    resolve = {name: min(numbers) for name, numbers in providers.items() if len(numbers) == 1}
    resolve |= index

    relations = []
    for relation in RELATIONS:
        field = relation.title().replace("_", "-")
        packages = []
        for number, row in enumerate(rows):
            found = set()
            for alternatives in _clauses(row.get(field, "")):
                known = [resolve[name] for name in alternatives if name in resolve]
                found.update(known[:1])
            packages.append(sorted(found - {number}))
        relations.append(packages)
    return relations


def _clauses(field: str) -> list[list[str]]:
    """``'a (>= 1) | b, c:any'`` as ``[['a', 'b'], ['c']]``."""
    clauses = [clause for clause in field.split(",") if clause.strip()]
    return [[re.split(r"[\s(:\[]", alternative.strip())[0] for alternative in clause.split("|")] for clause in clauses]


def _split(names: Sequence[str], section: np.ndarray) -> np.ndarray:
    """[num_packages] uint8, index into `SPLITS`. Within a section by the checksum of the name."""
    checksum = np.array([zlib.crc32(name.encode()) for name in names])
    split = np.zeros(len(names), np.uint8)
    for number in np.unique(section):
        members = np.flatnonzero(section == number)
        members = members[np.argsort(checksum[members], kind="stable")]
        ends = np.round(np.cumsum(SHARES)[:-1] * len(members)).astype(int)
        for part, chosen in enumerate(np.split(members, ends)):
            split[chosen] = part
    return split


def read_release(text: str) -> dict[str, str]:
    """Codename, version and date of a (In)Release file, and the checksum of its amd64 index."""
    release = {
        field.lower(): match.group(1)
        for field in ("Codename", "Version", "Date")
        if (match := re.search(rf"^{field}: (.+)$", text, re.MULTILINE))
    }
    checksum = re.search(rf"^ ([0-9a-f]{{64}}) +\d+ {INDEX}$", text, re.MULTILINE)
    if checksum is None or len(release) != 3:
        raise ValueError(f"the Release file lacks Codename, Version, Date or the SHA-256 of {INDEX}")
    return release | {"index": INDEX, "sha256": checksum.group(1)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Builds the files of DebianPackages.")
    parser.add_argument("packages", type=Path, help=f"{INDEX}, unpacked")
    parser.add_argument("release", type=Path, help="the Release or InRelease file that lists it")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    options = parser.parse_args(arguments)

    content = options.packages.read_bytes()
    release = read_release(options.release.read_text())
    found = hashlib.sha256(content).hexdigest()
    if found != release["sha256"]:
        raise ValueError(
            f"{options.packages}: expected SHA-256 {release['sha256']} (of the Release file), found {found}"
        )
    columns, tables = build(read_stanzas(content.decode()))
    np.savez_compressed(options.out / "columns.npz", **columns)
    described: dict[str, Any] = {"release": release, "num_word_buckets": NUM_WORD_BUCKETS, **tables}
    (options.out / "tables.json").write_text(json.dumps(described, indent=1) + "\n")


if __name__ == "__main__":
    main()
