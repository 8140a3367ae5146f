"""Files, below any notion of a graph.

- `write_folder`, `read_folder`: nested plain values and tensors as raw files and a manifest, memory-mapped if asked.
  `register_codec` teaches them a class, `FileFormatError` is what they raise for damage.
- `building`: a file or folder that appears only when it is complete. `locked`, `recover`: its lock, and its repair.
- `Growing`: a tensor that grows piece by piece within its own memory.
- `describe`, `diff`, `fingerprint`: what a value, a function or a transform is, and what changed in it.
"""

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
