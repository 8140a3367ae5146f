"""Unpacking archives, under PyG's path for it; the code is in `gnnlab.files.extract`."""

from gnnlab.files.extract import extract_bz2, extract_gz, extract_tar, extract_zip

__all__ = ["extract_bz2", "extract_gz", "extract_tar", "extract_zip"]
