"""File functions under PyG's path for them; the code is in `gnnlab.files.fs`."""

from gnnlab.files.fs import (
    cp,
    exists,
    get_fs,
    glob,
    isdir,
    isdisk,
    isfile,
    islocal,
    ls,
    makedirs,
    mv,
    normpath,
    rm,
    torch_load,
    torch_save,
)

__all__ = [
    "cp",
    "exists",
    "get_fs",
    "glob",
    "isdir",
    "isdisk",
    "isfile",
    "islocal",
    "ls",
    "makedirs",
    "mv",
    "normpath",
    "rm",
    "torch_load",
    "torch_save",
]
