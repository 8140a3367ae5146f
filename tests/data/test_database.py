"""Databases: one contract over all backends, beside PyG's."""

import json
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gnnlab.data.database import (
    BACKENDS,
    Database,
    MmapDatabase,
    Nullable,
    RocksDatabase,
    Schema,
    SQLiteDatabase,
    TensorInfo,
    convert_database,
    open_database,
    verify,
)
from gnnlab.data.database import base as database_base
from gnnlab.files import FileFormatError

Make = Callable[..., Database]


@pytest.fixture(params=list(BACKENDS))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    if request.param == "rocksdb":
        pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    return lambda *args, **kwargs: BACKENDS[request.param](tmp_path / "db", *args, **kwargs)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return type(other) is torch.Tensor and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


SCHEMAS: list[tuple[Any, Any, Any]] = [
    (int, 3, 4),
    (str, "x", "größe"),
    ((int, str), (3, "x"), (4, "")),
    ([float, bool], (1.5, True), (2.0, False)),
    (
        {"a": int, "b": {"dtype": torch.float, "size": (2, -1)}},
        {"a": 1, "b": torch.ones(2, 3)},
        {"a": 2, "b": torch.ones(2, 0)},
    ),
    ({"dtype": torch.long, "size": (-1,)}, torch.arange(3), torch.arange(0)),
    (TensorInfo(torch.bfloat16, (2, 2)), torch.ones(2, 2).bfloat16(), torch.zeros(2, 2).bfloat16()),
    (Any, {"any": [1, torch.ones(2)]}, None),
    ({"a": Nullable(int), 0: Nullable(str)}, {"a": None}, {0: "x"}),
    ({"x": TensorInfo(torch.int8, (-1, -1))}, {"x": torch.zeros(2, 0).char()}, {"x": torch.ones(1, 2).char()}),
]


@pytest.mark.parametrize(("schema", "first", "second"), SCHEMAS, ids=lambda value: str(value)[:30])
def test_rows_come_back(make: Make, schema: Any, first: Any, second: Any) -> None:
    database = make(schema=schema)
    database.insert(0, first)
    database.multi_insert([1, 2], [second, first])
    for found in (database, pickle.loads(pickle.dumps(database)), make(), make(schema=schema)):
        assert len(found) == 3
        assert same(found.get(0), first)
        assert same(found[1], second)
        assert same(found.multi_get([2, 1, -1]), [first, second, first])
        assert same(found[:2], [first, second])
        assert same(found[torch.tensor([False, True, False])], [second])
        assert repr(found) == f"{type(database).__name__}(3)"


@pytest.mark.parametrize(("schema", "first", "second"), SCHEMAS[:6], ids=lambda value: str(value)[:30])
def test_beside_pyg(tmp_path: Path, schema: Any, first: Any, second: Any) -> None:
    theirs = pytest.importorskip("torch_geometric.data.database", reason="compares with torch_geometric")
    other = theirs.SQLiteDatabase(str(tmp_path / "theirs.db"), "rows", schema)
    mine = SQLiteDatabase(str(tmp_path / "ours.db"), "rows", schema)
    for database in (mine, other):
        database.insert(0, first)
        database.multi_insert([1, 2], [second, first])
    assert same(mine[0], other[0])
    assert same(mine.multi_get([0, 2]), other.multi_get([0, 2]))
    assert same(mine[1:], other[1:])
    assert repr(mine) == repr(other)
    other.close()


def test_positions_have_no_gaps_and_rows_stay(make: Make) -> None:
    database = make(schema=int)
    database[0] = 5
    database[[1, 2]] = [6, 7]
    database.insert(1, 6)  # again
    with pytest.raises(ValueError, match=r"row 1 of .* is another one already"):
        database.insert(1, 8)
    with pytest.raises(IndexError, match="index must be that of a row or the next one, 3, found 4"):
        database.insert(4, 1)
    with pytest.raises(ValueError, match="as many rows as positions, found 1 rows for 2 positions"):
        database.multi_insert([3, 4], [1])
    with pytest.raises(IndexError, match="row 3 is out of range"):
        database.get(3)
    with pytest.raises(IndexError, match="id 3 is out of range"):
        database.multi_get([0, 3])
    assert database.multi_get(slice(None)) == [5, 6, 7]
    assert database.multi_get([2, 0, 1], batch_size=2) == [7, 5, 6]


def test_rows_are_inserted_from_slices_and_generators(make: Make) -> None:
    database = make(schema=int)
    database.multi_insert(range(3), (i for i in range(3)), batch_size=2)
    database.multi_insert(slice(3, 6), [3, 4, 5])
    database.multi_insert(torch.tensor([6, 7]), [6, 7], log=False)
    assert database[:] == list(range(8))


def test_a_schema_is_inferred_from_the_first_rows(make: Make) -> None:
    database = make()
    assert database.schema is None
    rows = [{"x": torch.ones(2, 3), "n": 1}, {"x": torch.ones(4, 3), "s": "a"}]
    database.multi_insert([0, 1], rows)
    expected = {"x": TensorInfo(torch.float32, (-1, 3)), "n": Nullable(int), "s": Nullable(str)}
    assert database.schema == Schema.of(expected)
    assert same(database[:], rows)
    with pytest.raises(ValueError, match=r"row 2: attribute 'x': expected a tensor of float32 \[\*, 3\], found"):
        database.insert(2, {"x": torch.ones(3)})


@pytest.mark.parametrize("schema", [{"a": complex}, {"a": {"dtype": torch.float, "siez": 1}}, [set], {"a": 3}])
def test_a_bad_schema_names_the_column(schema: Any) -> None:
    with pytest.raises(TypeError, match=r"attribute 'a'|value 0"):
        Schema.of(schema)


def test_rows_are_committed_in_portions(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_base, "PORTION_ROWS", 10)
    database = make(schema=int)
    for i in range(25):
        database.insert(i, i)
    assert database.num_committed == 20
    assert len(database) == 25
    assert database.multi_get([24, 3, 19]) == [24, 3, 19]
    database.flush()
    assert database.num_committed == 25


def test_readers_read_while_one_writes(make: Make) -> None:
    writer = make(schema=int)
    writer.multi_insert(range(5), range(5))
    code = f"from gnnlab.data.database import {type(writer).__name__} as D; print(D({str(writer.path)!r})[:])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[0, 1, 2, 3, 4]"
    with pytest.raises(BlockingIOError, match="another object or process is writing"):
        make().insert(5, 5)
    writer.insert(5, 5)
    writer.close()
    assert len(make()) == 6


def test_a_child_reads_and_leaves_the_writer_alone(make: Make) -> None:
    writer = make(schema=int)
    writer.multi_insert(range(5), range(5))
    writer.insert(5, 5)  # committed by the fork
    child = os.fork()
    if child == 0:
        os._exit(0 if writer[:] == list(range(6)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    writer.insert(6, 6)
    writer.close()
    assert make()[:] == list(range(7))


def test_a_writer_that_has_been_reading_commits_when_the_process_forks(make: Make) -> None:
    writer = make(schema=int)
    writer.multi_insert(range(5), range(5))
    for _ in range(50):
        writer.get(3)
    writer.insert(5, 5)
    child = os.fork()
    if child == 0:
        os._exit(0 if make()[:] == list(range(6)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert writer.get(5) == 5
    writer.close()


def test_a_note_is_kept(make: Make) -> None:
    database = make()
    assert database.about() is None
    database.note({"made": ["by", 1]})
    assert database.about() == {"made": ["by", 1]}
    database.insert(0, {"x": 1})
    database.close()
    assert make().about() == {"made": ["by", 1]}
    assert make()[0] == {"x": 1}
    with pytest.raises(TypeError, match="JSON"):
        make().note({"x": {1, 2}})


def test_any_backend_becomes_any_other(make: Make, tmp_path: Path) -> None:
    database = make(schema={"x": TensorInfo(torch.float32, (2, -1)), "s": Nullable(str), "f": float})
    rows = [{"x": torch.randn(2, i), "f": i / 3, **({"s": "é" * i} if i % 2 else {})} for i in range(20)]
    database.multi_insert(range(20), rows)
    database.note({"a": 1})
    database.close()
    for backend in BACKENDS:
        if backend == "rocksdb":
            pytest.importorskip("rocksdict", reason="rocksdict is not installed")
        convert_database(database.path, tmp_path / f"{backend}.db", backend)
        copy = open_database(tmp_path / f"{backend}.db", verify=True)
        assert type(copy) is BACKENDS[backend]
        assert same(copy[:], rows)
        assert copy.about() == {"a": 1}
    with pytest.raises(ValueError, match="backend must be one of 'sqlite', 'rocksdb', 'mmap', found 'x'"):
        convert_database(database.path, tmp_path / "x", "x")


# Damage and hostility ------------------------------------------------------------------------------------------------


def test_what_is_no_database_is_named(make: Make, tmp_path: Path) -> None:
    database = make()
    with pytest.raises(FileNotFoundError, match="there is no database at"):
        database.connect()
    with pytest.raises(FileNotFoundError, match="there is no database at"):
        open_database(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello" * 1000)
    with pytest.raises(FileFormatError, match=r"text.*damaged, or no database"):
        open_database(tmp_path / "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileFormatError, match="folder: expected a file of SQLite or a folder"):
        open_database(tmp_path / "folder")
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "nothing")


def filled(path: Path) -> MmapDatabase:
    database = MmapDatabase(path, {"x": TensorInfo(torch.int64, (-1,)), "s": Nullable(str)})
    database.multi_insert(range(10), [{"x": torch.arange(i + 1), "s": "abc"} for i in range(10)])
    database.close()
    return database


def rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a manifest and give it a checksum that fits."""
    from gnnlab.data.database.mmap import _sum

    body = json.loads((path / "manifest.json").read_text())
    body.pop("checksum")
    change(body)
    (path / "manifest.json").write_text(json.dumps(body | {"checksum": _sum(body)}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: body.update(count=10**15), "damaged: c0.offsets.bin is to have"),
        (
            lambda body: body["files"].update({"../../etc/passwd": [8, [0]]}),
            "expected a file, found '../../etc/passwd'",
        ),
        (lambda body: body["files"].update({"c0.bin": [10**17, [0]]}), "expected a file"),
        (lambda body: body["files"].pop("c1.states.bin"), "c1.states.bin is missing in it, or too much"),
        (lambda body: body["schema"]["columns"].append(["z", "int", False]), "c2.bin is missing in it"),
        (lambda body: body["schema"]["columns"][0].__setitem__(1, "os.system"), "expected a schema"),
        (lambda body: body.update(version=99), "expected version 1 at most, found 99"),
    ],
)
def test_a_hostile_manifest_is_refused(tmp_path: Path, change: Any, words: str) -> None:
    database = filled(tmp_path / "db")
    rewrite(tmp_path / "db", change)
    with pytest.raises(FileFormatError, match=words):
        database.get(0)


def test_offsets_that_lead_out_of_the_file_are_refused(tmp_path: Path) -> None:
    filled(tmp_path / "db")
    with open(tmp_path / "db" / "c0.offsets.bin", "r+b") as file:
        file.seek(8)
        file.write((10**12).to_bytes(8, "little"))
    database = MmapDatabase(tmp_path / "db")
    for row in (0, 1):
        with pytest.raises(FileFormatError, match=r"c0.bin: attribute 'x': row . is damaged"):
            database.get(row)
    assert database.get(5)["s"] == "abc"
    with pytest.raises(FileFormatError, match=r"c0.offsets.bin: damaged: the checksum of bytes 0 to 88 does not fit"):
        database.verify()


def test_a_cell_that_claims_more_than_it_has_is_refused() -> None:
    shaped = Schema.of({"x": TensorInfo(torch.float64, (-1, -1))})
    huge = (2**40).to_bytes(8, "little")
    for schema, cell in (
        (shaped, huge * 2),
        (shaped, huge * 2 + bytes(8)),
        (Schema.of({"x": TensorInfo(torch.float64, (10**9,))}), b""),
        (Schema.of({"x": TensorInfo(torch.float64, (-1, 3))}), bytes(16)),
        (Schema.of({"x": Any}), huge + b"[]"),
        (Schema.of({"x": Any}), (2).to_bytes(8, "little") + b"[["),
        (Schema.of({"x": int}), b"123"),
        (Schema.of({"x": str}), b"\xff"),
    ):
        with pytest.raises(FileFormatError, match="attribute 'x' is damaged"):
            schema.decode([cell])


def test_a_pickle_in_a_file_is_not_run(make: Make) -> None:
    database = make(schema={"z": object})
    database.insert(0, {"z": Bomb()})
    database.close()
    with pytest.raises(pickle.UnpicklingError, match="trust=True"):
        make()[0]
    verify(database.path)
    with pytest.raises(ZeroDivisionError):
        make(trust=True)[0]


class Bomb:
    def __reduce__(self) -> Any:
        return _explode, ()


def _explode() -> None:
    raise ZeroDivisionError


def test_a_view_in_the_place_of_a_table_is_refused(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "db", schema=int)
    database.insert(0, 1)
    database.close()
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("ALTER TABLE graphs RENAME TO other")
        connection.execute("CREATE VIEW graphs AS SELECT * FROM other")
    with pytest.raises(FileFormatError, match="to be tables"):
        len(SQLiteDatabase(tmp_path / "db"))


_FULL = """
import resource, signal, sys
from gnnlab.data.database import base, open_database
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
base.PORTION_ROWS = 50
database = open_database(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
try:
    for i in range(100, 5000):
        database.insert(i, "x" * 200 + str(i))
except OSError as error:
    print(type(error).__name__, str(database.path) in str(error) + str(getattr(error, "__notes__", "")))
"""


def test_a_file_that_can_not_grow_is_said_and_keeps_what_it_has(make: Make) -> None:
    database = make(schema=str)
    rows = ["x" * 200 + str(i) for i in range(5000)]
    database.multi_insert(range(100), rows[:100])
    database.close()
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(database.path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["OSError", "True"], done.stderr
    verify(database.path)
    kept = len(make())
    assert 100 <= kept < 5000
    again = make()
    again.multi_insert(range(kept, 5000), rows[kept:])
    assert again[:] == rows


def test_names_of_tables(tmp_path: Path) -> None:
    for name in ('two "words"', "größe", "select"):
        database = SQLiteDatabase(tmp_path / "db", name, {"A": int, "a": int})
        database.insert(0, {"A": 1, "a": 2})
        database.close()
        assert SQLiteDatabase(tmp_path / "db", name)[0] == {"A": 1, "a": 2}
    with pytest.raises(ValueError, match="name must be one that SQLite takes"):
        SQLiteDatabase(tmp_path / "db", "sqlite_x")


def test_a_finished_sqlite_set_is_one_file_that_opens_where_nothing_can_be_written(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "in" / "db", schema=int)
    database.multi_insert(range(3), range(3))
    database.close()
    assert [name for name in os.listdir(tmp_path / "in") if not name.startswith(".writing")] == ["db"]
    os.chmod(tmp_path / "in" / "db", 0o444)
    os.chmod(tmp_path / "in", 0o555)
    code = f"""
import os
import filelock
from gnnlab.data.database import SQLiteDatabase
os.getuid() or os.setuid(65534)
database = SQLiteDatabase({str(tmp_path / "in" / "db")!r})
print(database[:])
try:
    database.insert(3, 3)
except OSError as error:
    print(type(error).__name__)
"""
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        os.chmod(folder, 0o755)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    os.chmod(tmp_path / "in", 0o755)
    assert found.stdout.split("\n")[:2] == ["[0, 1, 2]", "PermissionError"], found.stderr


def test_a_full_disk_is_said_and_leaves_what_was_there(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    database = make(schema=int)
    database.multi_insert(range(3), range(3))
    database.insert(3, 3)
    real = database._append

    def full(rows: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(database, "_append", full)
    with pytest.raises(OSError, match="No space left"):
        database.flush()
    assert len(make()) == 3
    monkeypatch.setattr(database, "_append", real)
    database.close()
    assert make()[:] == [0, 1, 2, 3]


def test_a_sqlite_writer_closes_while_others_read(tmp_path: Path) -> None:
    writer = SQLiteDatabase(tmp_path / "in" / "db", schema=int)
    writer.multi_insert(range(3), range(3))
    reader = SQLiteDatabase(tmp_path / "in" / "db")
    assert reader[1] == 1
    writer.insert(3, 3)
    writer.close()
    assert reader[:] == [0, 1, 2]  # as it was opened
    reader.close()
    assert reader[:] == [0, 1, 2, 3]
    verify(tmp_path / "in" / "db")


def test_quick_reads_of_sqlite_let_a_writer_through(tmp_path: Path) -> None:
    writer = SQLiteDatabase(tmp_path / "db", schema=int)
    writer.multi_insert(range(100), range(100))
    reader = SQLiteDatabase(tmp_path / "db")
    stop, reads = threading.Event(), []

    def read_on() -> None:
        while not stop.is_set():
            reads.append(reader.get(len(reads) % 100) == len(reads) % 100)

    thread = threading.Thread(target=read_on)
    thread.start()
    try:
        for i in range(100, 110):
            writer.insert(i, i)
            writer.flush()
    finally:
        stop.set()
        thread.join()
    assert all(reads)
    assert reader._burst is not None
    [reader.get(3) for _ in range(20)]
    assert reader._burst._is_open
    writer.insert(110, 110)
    writer.close()  # waits until the burst has ended by itself
    assert not reader._burst._is_open
    assert [thread.name for thread in threading.enumerate() if "burst" in thread.name] == []
    reader.close()
    assert len(reader) == 111


def test_a_forked_child_writes_what_its_parent_was_just_reading(tmp_path: Path) -> None:
    SQLiteDatabase(tmp_path / "db", schema=int).multi_insert(range(10), range(10))
    reader = SQLiteDatabase(tmp_path / "db")
    for _ in range(50):
        reader.get(3)
    assert reader._burst is not None
    assert reader._burst._is_open
    child = os.fork()
    if child == 0:
        writer = SQLiteDatabase(tmp_path / "db")
        writer.insert(10, 10)
        writer.close()
        os._exit(0 if len(writer) == 11 else 1)
    for _ in range(1000):
        reader.get(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    reader.close()
    assert reader[:] == list(range(11))


def test_rocksdb_is_not_written_after_a_fork(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    RocksDatabase(tmp_path / "one", schema=int).insert(0, 1)
    child = os.fork()
    if child == 0:
        try:
            RocksDatabase(tmp_path / "two", schema=int).insert(0, 1)
        except RuntimeError as error:
            os._exit(7 if "before this process was forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_rocksdb_whose_list_of_files_is_cut_short_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    database = RocksDatabase(tmp_path / "db", schema=int)
    database.multi_insert(range(10), range(10))
    database.close()
    (manifest,) = (tmp_path / "db").glob("MANIFEST-*")
    whole = manifest.read_bytes()
    outcomes = set()
    for length in range(0, len(whole), 7):
        manifest.write_bytes(whole[:length])
        try:
            outcomes.add(tuple(RocksDatabase(tmp_path / "db")[:]))
        except FileFormatError:
            outcomes.add(None)
    assert None in outcomes
    assert outcomes <= {None, tuple(range(10))}
    manifest.write_bytes(whole)
    assert RocksDatabase(tmp_path / "db")[:] == list(range(10))
    (tmp_path / "db" / "gnnlab-seal.json").write_text('{"count": 3}')
    with pytest.raises(FileFormatError, match=r"gnnlab-seal.json: damaged"):
        len(RocksDatabase(tmp_path / "db"))


def test_rocksdb_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    with pytest.raises(ImportError, match=r"pip install 'gnnlab\[stores\]'"):
        RocksDatabase(tmp_path / "db").insert(0, {"x": 1})
