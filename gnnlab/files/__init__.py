"""Files: folders of raw tensors, builds that are all or nothing, growing buffers, fingerprints."""

from gnnlab.files.atomic import building, locked, recover
from gnnlab.files.codecs import register_codec
from gnnlab.files.fingerprint import describe, diff, fingerprint
from gnnlab.files.folder import read_folder, write_folder
from gnnlab.files.growing import Growing
from gnnlab.files.tree import FileFormatError

__all__ = [
    "FileFormatError",
    "Growing",
    "building",
    "describe",
    "diff",
    "fingerprint",
    "locked",
    "read_folder",
    "recover",
    "register_codec",
    "write_folder",
]
