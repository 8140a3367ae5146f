"""Graphs, batches and datasets (`torch_geometric.data`)."""

from gnnlab.data.batch import Batch
from gnnlab.data.cache import CacheInfo
from gnnlab.data.data import BaseData, Data
from gnnlab.data.database import Database, MmapDatabase, RocksDatabase, SQLiteDatabase, convert_database, verify
from gnnlab.data.dataset import Dataset
from gnnlab.data.download import download_url
from gnnlab.data.exchange import load_from_pyg, save_for_pyg
from gnnlab.data.extract import extract_bz2, extract_gz, extract_tar, extract_zip
from gnnlab.data.hetero_data import HeteroData
from gnnlab.data.in_memory_dataset import InMemoryDataset
from gnnlab.data.on_disk_dataset import OnDiskDataset
from gnnlab.data.rules import Rule
from gnnlab.data.temporal import TemporalData

__all__ = [
    "BaseData",
    "Batch",
    "CacheInfo",
    "Data",
    "Database",
    "Dataset",
    "HeteroData",
    "InMemoryDataset",
    "MmapDatabase",
    "OnDiskDataset",
    "RocksDatabase",
    "Rule",
    "SQLiteDatabase",
    "TemporalData",
    "convert_database",
    "download_url",
    "extract_bz2",
    "extract_gz",
    "extract_tar",
    "extract_zip",
    "load_from_pyg",
    "save_for_pyg",
    "verify",
]
