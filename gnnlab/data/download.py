"""Fetching files over HTTP: with progress, resumed after an interruption, whole or not at all."""

import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request

from tqdm import tqdm

from gnnlab.files.atomic import locked

_BLOCK = 1 << 20  # bytes read at a time
_TIMEOUT = 60  # seconds without an answer


def download_url(
    url: str,
    folder: str,
    log: bool = True,
    filename: str | None = None,
    *,
    sha256: str | None = None,
) -> str:
    """Download `url` into `folder` and return the path of the file.

    A file that is already there is left alone. The bytes go to `<name>.part`, which becomes
    `<name>` once all of them are there; after an interruption the next call goes on from that part
    where the server can (it must say by an `ETag` or a date that the file is still the same), and
    starts again where it cannot. Of several processes that ask for the same file, one downloads it
    (under the lock `.lock-<name>`) and the others wait.

    Args:
        url: an `http` or `https` address.
        folder: a local folder; made if it is missing.
        log: show what happens and how far it is, on stderr.
        filename: the file's name in `folder`; by default the last part of `url`, without its query.
        sha256: hexadecimal digest that the file must have.

    Raises:
        ValueError: if `folder` isn't local, `url` has another scheme or gives no file name, or the
            file hasn't the digest `sha256`.
        OSError: if the network or the server fails, or only a part arrives; says which file to put
            where.

    Source: PyG's `torch_geometric.data.download_url`; `sha256` is an addition.
    """
    if "://" in folder:
        raise ValueError(f"folder: expected a local one, found {folder!r}")
    path = os.path.join(folder, _file_name(url) if filename is None else filename)
    with locked(path):
        if os.path.exists(path):
            _check_digest(path, url, sha256)
            if log:
                print(f"Using {path}, which is there", file=sys.stderr)
            return path
        part = f"{path}.part"
        try:
            _fetch(url, part, log)
        except (OSError, http.client.HTTPException) as error:
            raise OSError(
                f"could not download {url} ({error}). Try again, or fetch it by other means and put it at {path}"
            ) from error
        try:
            _check_digest(part, url, sha256)
        except ValueError:
            os.remove(part)
            raise
        os.replace(part, path)
    return path


def _file_name(url: str) -> str:
    scheme = url.partition("://")[0].lower()
    if scheme not in ("http", "https"):
        raise ValueError(f"url: expected an http or https address, found {url!r}")
    last = url.partition("#")[0].rpartition("/")[2]
    name = last.partition("?")[0] or last
    if name in ("", ".", ".."):
        raise ValueError(f"url: {url!r} does not end in a file name; give one with filename=")
    return name


def _fetch(url: str, part: str, log: bool) -> None:
    """Bring `part` to its full length.

    Beside it, `<part>.version` holds what the server calls this version of the file.
    """
    version_file = f"{part}.version"
    headers = {"User-Agent": "gnnlab"}
    held = 0
    if os.path.exists(part) and os.path.exists(version_file):
        held = os.path.getsize(part)
        with open(version_file, encoding="latin-1") as file:
            headers |= {"Range": f"bytes={held}-", "If-Range": file.read()}
    try:
        reply = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and held:  # nothing left to send: the part is not what it seems
            os.remove(version_file)
            _fetch(url, part, log)
            return
        raise
    with reply:
        resumed = reply.status == 206
        if resumed and not reply.headers.get("Content-Range", "").startswith(f"bytes {held}-"):
            os.remove(version_file)
            raise OSError(f"asked for the bytes from {held}, got {reply.headers.get('Content-Range')!r}")
        held = held if resumed else 0
        length = reply.headers.get("Content-Length")
        total = None if length is None else held + int(length)
        with (
            open(part, "ab" if resumed else "wb") as file,
            tqdm(
                total=total,
                initial=held,
                unit="B",
                unit_scale=True,
                desc=os.path.basename(part).removesuffix(".part"),
                disable=not log,
            ) as bar,
        ):
            if not resumed:
                _write_version(version_file, reply.headers)
            while block := reply.read(_BLOCK):
                file.write(block)
                held += len(block)
                bar.update(len(block))
    if total is not None and held != total:
        raise OSError(f"{held:,} of {total:,} bytes arrived")
    if os.path.exists(version_file):
        os.remove(version_file)


def _write_version(version_file: str, headers: http.client.HTTPMessage) -> None:
    """Keep the strong `ETag`, else the date, for the `If-Range` of a later try."""
    tag = headers.get("ETag", "W/")
    version = headers.get("Last-Modified") if tag.startswith("W/") else tag
    if version:
        with open(version_file, "w", encoding="latin-1") as file:
            file.write(version)
    elif os.path.exists(version_file):
        os.remove(version_file)


def _check_digest(path: str, url: str, sha256: str | None) -> None:
    if sha256 is None:
        return
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256.lower():
        raise ValueError(f"sha256 of {path} (from {url}): expected {sha256}, found {found}")
