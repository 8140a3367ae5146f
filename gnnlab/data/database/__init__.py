"""Rows in files: the databases behind `OnDiskDataset` (`torch_geometric.data.database`)."""

from gnnlab.data.database.base import Database
from gnnlab.data.database.mmap import MmapDatabase
from gnnlab.data.database.opening import BACKENDS, convert_database, open_database, verify
from gnnlab.data.database.rocks import RocksDatabase
from gnnlab.data.database.schema import Nullable, Schema, TensorInfo
from gnnlab.data.database.sqlite import SQLiteDatabase

__all__ = [
    "BACKENDS",
    "Database",
    "MmapDatabase",
    "Nullable",
    "RocksDatabase",
    "SQLiteDatabase",
    "Schema",
    "TensorInfo",
    "convert_database",
    "open_database",
    "verify",
]
