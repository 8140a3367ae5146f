"""DebianPackages: the build script on small indices, the committed files, and the two graphs."""

import hashlib
import importlib.util
import itertools
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnlab.data import Data, HeteroData
from gnnlab.datasets import DebianPackages
from gnnlab.datasets.debian_packages import homogeneous, read_columns, read_tables

FOLDER = Path(__file__).parents[2] / "data" / "debian_packages"
NUM_PACKAGES, NUM_RELATIONS, NUM_SOURCES, NUM_TAGS, NUM_SECTIONS = 63_436, 313_917, 34_169, 571, 58


def load_build_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("debian_build", FOLDER / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load_build_script()

SMALL = """\
Package: viewer
Source: viewer-src (1.0)
Version: 2
Installed-Size: 30
Maintainer: Somebody <somebody@example.org>
Architecture: amd64
Pre-Depends: libc (>= 2.34)
Depends: libc (>= 2.14), libc (<< 3), gone | libpng:any (= 1), mail-agent, gone
Recommends: only-once [amd64] | libc, viewer
Suggests: mailer-a | libc
Description: Views images, and images only
Tag: role::program, use::viewing,
 admin::TODO,
 x11::application
Section: graphics
Priority: optional
Size: 1000

Package: libc
Version: 1
Architecture: amd64
Multi-Arch: same
Essential: yes
Description: old
Section: libs
Priority: required
Size: 1

Package: libc
Version: 2
Architecture: amd64
Multi-Arch: same
Essential: yes
Description: C library
Section: libs
Priority: required
Size: 500

Package: libpng
Source: viewer-src
Version: 1
Architecture: all
Provides: mail-agent, only-once (= 3)
Description: PNG library
 with a second line
Section: libs
Priority: extra
Size: 7

Package: mailer-a
Version: 1
Architecture: all
Provides: mail-agent
Depends: mailer-a
Description: mails
Section: mail
Priority: optional
Size: 9
"""


def text_of(column: np.ndarray) -> list[str]:
    return column.tobytes().decode().split("\n")


def relations_of(columns: dict[str, np.ndarray], tables: dict[str, list[str]]) -> set[tuple]:
    names = text_of(columns["package_names"])
    targets = iter(columns["targets"].tolist())
    found = [
        (relation, names[package], names[target])
        for relation, counts in zip(tables["relations"], columns["targets_per_package"].tolist(), strict=True)
        for package, count in enumerate(counts)
        for target in itertools.islice(targets, count)
    ]
    assert next(targets, None) is None
    assert len(found) == len(set(found))
    return set(found)


def test_a_small_index_by_hand() -> None:
    columns, tables = build.build(build.read_stanzas(SMALL))
    assert text_of(columns["package_names"]) == ["libc", "libpng", "mailer-a", "viewer"]
    assert text_of(columns["source_names"]) == ["libc", "mailer-a", "viewer-src"]
    everything = b"".join(column.tobytes() for column in columns.values()) + repr(tables).encode()
    assert b"@" not in everything
    assert b"omebody" not in everything
    assert columns["source"].tolist() == [0, 2, 1, 2]
    assert tables["sections"] == ["graphics", "libs", "mail"]
    assert columns["section"].tolist() == [1, 1, 2, 0]
    assert columns["size"].tolist() == [500, 7, 9, 1000]  # of libc the second version
    assert columns["installed_size"].tolist() == [0, 0, 0, 30]
    assert columns["essential"].tolist() == [True, False, False, False]
    assert columns["arch_all"].tolist() == [False, True, True, False]
    assert [tables["priorities"][i] for i in columns["priority"]] == [
        "required", "extra", "optional", "optional",
    ]  # fmt: skip
    assert [tables["multi_arch"][i] for i in columns["multi_arch"]] == ["same", "no", "no", "no"]
    assert tables["tags"] == ["role::program", "use::viewing", "x11::application"]
    assert columns["tags_per_package"].tolist() == [0, 0, 0, 3]
    assert columns["tags"].tolist() == [0, 1, 2]
    assert columns["words_per_package"].tolist() == [2, 2, 1, 5]  # the first line only
    words = columns["words"].tolist()
    assert words[1] in words[2:4] or words[0] in words[2:4]  # both say "library"
    assert len(set(words[5:])) == 4  # viewer's says "images" twice
    assert relations_of(columns, tables) == {
        ("pre_depends", "viewer", "libc"),
        ("depends", "viewer", "libc"),  # twice: one relation
        ("depends", "viewer", "libpng"),  # the first alternative is unknown
        ("recommends", "viewer", "libpng"),  # provides only-once, alone
        ("suggests", "viewer", "mailer-a"),
        # mail-agent has two providers, nothing is called gone, and nobody asks for itself
    }


@st.composite
def indices(draw: st.DrawFn) -> dict[str, dict[str, list]]:
    names = [f"p{i}" for i in range(draw(st.integers(1, 6)))]
    name = st.sampled_from([*names, "v0", "v1", "v2"])
    clauses = st.lists(st.lists(name, min_size=1, max_size=3), max_size=4)
    fields = {
        "Provides": st.lists(st.sampled_from(["v0", "v1", "p0"]), max_size=2, unique=True),
        **dict.fromkeys(("Depends", "Pre-Depends", "Recommends", "Suggests"), clauses),
    }
    return {package: draw(st.fixed_dictionaries(fields)) for package in names}


def packages_file(index: dict[str, dict[str, list]]) -> str:
    stanzas = []
    for package, fields in index.items():
        lines = [f"Package: {package}", "Description: d", "Section: s", "Priority: extra"]
        lines += ["Architecture: all", "Size: 1"]
        for field, clauses in fields.items():
            if field == "Provides":
                clauses = [[f"{virtual} (= 1)"] for virtual in clauses]
            if clauses:
                lines.append(f"{field}: " + ",\n ".join(" | ".join(clause) for clause in clauses))
        stanzas.append("\n".join(lines))
    return "\n\n".join(stanzas) + "\n"


@settings(max_examples=60, deadline=None)
@given(indices())
def test_relations_are_those_of_the_definition(index: dict[str, dict[str, list]]) -> None:
    expected = set()
    for package, fields in index.items():
        for field in ("Depends", "Pre-Depends", "Recommends", "Suggests"):
            for alternatives in fields[field]:
                for name in alternatives:
                    providers = [p for p, other in index.items() if name in other["Provides"]]
                    if name not in index and len(providers) != 1:
                        continue
                    target = name if name in index else providers[0]
                    if target != package:
                        expected.add((field.lower().replace("-", "_"), package, target))
                    break
    assert relations_of(*build.build(build.read_stanzas(packages_file(index)))) == expected


def test_the_script_writes_the_same_bytes_again_and_checks_the_index(tmp_path: Path) -> None:
    packages, release = tmp_path / "Packages", tmp_path / "InRelease"
    packages.write_text(SMALL)
    checksum = hashlib.sha256(SMALL.encode()).hexdigest()
    head = "Version: 12.15\nCodename: bookworm\nDate: Sat, 11 Jul 2026 10:16:37 UTC\nSHA256:\n"
    release.write_text(f"{head} {checksum}  {len(SMALL)} main/binary-amd64/Packages\n")

    files = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        build.main([str(packages), str(release), "--out", str(tmp_path / name)])
        files.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert files[0] == files[1]
    assert files[0].keys() == {"columns.npz", "tables.json"}

    packages.write_text(SMALL + "\n")
    with pytest.raises(ValueError, match=f"expected SHA-256 {checksum}"):
        build.main([str(packages), str(release), "--out", str(tmp_path)])
    release.write_text("Version: 12.15\n")
    with pytest.raises(ValueError, match="lacks"):
        build.main([str(packages), str(release), "--out", str(tmp_path)])


def test_committed_files_hold_what_the_readme_says_and_no_person() -> None:
    columns, tables = read_columns(), read_tables()
    documented = re.findall(r"^\| `(\w+)` \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert list(columns) == documented

    assert set(tables) == {
        "release", "num_word_buckets", "sections", "priorities", "multi_arch", "tags", "relations",
        "splits",
    }  # fmt: skip
    text = (FOLDER / "tables.json").read_text()
    text += "\n".join(text_of(columns["package_names"]) + text_of(columns["source_names"]))
    assert "@" not in text
    assert "maintainer" not in text.lower()


def test_committed_columns_are_in_range() -> None:
    columns, tables = read_columns(), read_tables()
    names, sources = text_of(columns["package_names"]), text_of(columns["source_names"])
    assert names == sorted(set(names))
    assert sources == sorted(set(sources))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name) for name in names + sources)
    assert len(names) == NUM_PACKAGES
    assert set(columns["section"].tolist()) == set(range(NUM_SECTIONS))
    assert set(columns["source"].tolist()) == set(range(NUM_SOURCES)) == set(range(len(sources)))
    assert set(columns["tags"].tolist()) == set(range(NUM_TAGS)) == set(range(len(tables["tags"])))
    assert int(columns["words"].max()) < tables["num_word_buckets"]
    for part in ("words", "tags"):
        assert columns[f"{part}_per_package"].sum() == len(columns[part])
    for name, table in (("priority", "priorities"), ("multi_arch", "multi_arch")):
        assert set(columns[name].tolist()) == set(range(len(tables[table])))

    relations = relations_of(columns, tables)
    assert len(relations) == NUM_RELATIONS
    assert Counter(relation for relation, _, _ in relations) == {
        "depends": 263_151, "pre_depends": 961, "recommends": 27_973, "suggests": 21_832,
    }  # fmt: skip
    assert ("depends", "bash", "base-files") in relations
    assert all(source != target for _, source, target in relations)


@pytest.fixture(scope="module")
def data() -> Data:
    return DebianPackages()[0]


@pytest.fixture(scope="module")
def hetero() -> HeteroData:
    return DebianPackages(hetero=True)[0]


def test_homogeneous(data: Data) -> None:
    dataset = DebianPackages()
    assert len(dataset) == 1
    assert (data.num_nodes, data.num_edges) == (NUM_PACKAGES, NUM_RELATIONS)
    assert dataset.num_classes == len(dataset.sections) == NUM_SECTIONS
    assert dataset.num_node_features == len(dataset.feature_names) == data.x.size(1)
    assert data.x.dtype == torch.float32
    assert data.x.isfinite().all()
    for key in ("edge_index", "edge_type", "y"):
        assert data[key].dtype == torch.int64
    assert len(dataset.package_names) == NUM_PACKAGES
    assert dataset.release["version"] == "12.15"
    assert data.validate()

    order = (data.edge_type * NUM_PACKAGES + data.edge_index[0]) * NUM_PACKAGES + data.edge_index[1]
    assert (order.diff() > 0).all()
    bash = dataset.package_names.index("bash")
    assert dataset.sections[data.y[bash]] == "shells"
    essential = data.x[:, dataset.feature_names.index("essential")]
    assert essential[bash] == 1
    assert essential.sum() == 23
    sizes = data.x[:, dataset.feature_names.index("log_size")]
    assert sizes.mean().abs() < 1e-4
    assert (sizes.std() - 1).abs() < 1e-4


def test_words_are_counted() -> None:
    columns, tables = build.build(build.read_stanzas(SMALL))
    graph = homogeneous(columns, {**tables, "num_word_buckets": build.NUM_WORD_BUCKETS})
    words = graph.x[:, : build.NUM_WORD_BUCKETS]
    assert words.sum(1).tolist() == [2, 2, 1, 5]
    assert words[3].max() == 2  # viewer's "images"
    kinds = graph.x[:, build.NUM_WORD_BUCKETS + 2 :]
    assert kinds.tolist() == [
        [1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0],
        [0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0],
        [0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0],
    ]


def test_splits_are_disjoint_and_stratified(data: Data) -> None:
    masks = torch.stack([data.train_mask, data.val_mask, data.test_mask])
    assert masks.dtype == torch.bool
    assert (masks.sum(0) == 1).all()
    counts = torch.stack([data.y[mask].bincount(minlength=NUM_SECTIONS) for mask in masks])
    share = torch.tensor([[0.6], [0.2], [0.2]]) * counts.sum(0)
    assert ((counts - share).abs() <= 1).all()
    assert counts.min() > 0


def test_both_forms_agree(data: Data, hetero: HeteroData) -> None:
    dataset = DebianPackages(hetero=True)
    assert hetero.validate()
    assert hetero.node_types == ["package", "source", "tag"]
    assert hetero["source"].num_nodes == len(dataset.source_names) == NUM_SOURCES
    assert hetero["tag"].num_nodes == len(dataset.tag_names) == NUM_TAGS
    for key in ("x", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(hetero["package"][key], data[key])
    for number, relation in enumerate(dataset.relations):
        edges = hetero["package", relation, "package"].edge_index
        assert torch.equal(edges, data.edge_index[:, data.edge_type == number])

    source, package = hetero["source", "builds", "package"].edge_index
    assert torch.equal(package, torch.arange(NUM_PACKAGES))
    names = dataset.package_names
    of_linux = package[source == dataset.source_names.index("coreutils")]
    assert [names[index] for index in of_linux] == ["coreutils"]
    package, tag = hetero["package", "tagged", "tag"].edge_index
    assert {dataset.tag_names[index] for index in tag[package == names.index("0ad")]} >= {
        "game::strategy",
        "role::program",
    }


@pytest.mark.parametrize("form", [False, True])
def test_on_disk(tmp_path: Path, form: bool, data: Data, hetero: HeteroData) -> None:
    def mark(graph: Data) -> Data:
        graph.marked = True
        return graph

    first = DebianPackages(str(tmp_path), hetero=form, pre_transform=mark)
    again = DebianPackages(str(tmp_path), hetero=form, pre_transform=mark)
    expected = hetero if form else data
    for dataset in (first, again):
        graph = dataset[0]
        assert type(graph) is type(expected)
        assert bool(graph.marked)
        for store, expected_store in zip(graph.stores, expected.stores, strict=True):
            for key, value in expected_store.items():
                if isinstance(value, torch.Tensor):
                    assert torch.equal(store[key], value)
                else:
                    assert store[key] == value


def test_transform_is_applied_at_access() -> None:
    dataset = DebianPackages(transform=lambda graph: graph.num_nodes)
    assert dataset[0] == NUM_PACKAGES


def test_missing_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = (tmp_path / "a", tmp_path / "b")
    monkeypatch.setattr("gnnlab.datasets.debian_packages._PLACES", places)
    with pytest.raises(FileNotFoundError, match=r"expected columns\.npz in .*a .*or .*b"):
        DebianPackages()
