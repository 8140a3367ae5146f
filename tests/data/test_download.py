"""Downloads from a server on this machine that can be told how to misbehave."""

import bz2
import gzip
import hashlib
import io
import os
import socket
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from gnnlab.data.download import download_url
from gnnlab.data.extract import extract_bz2, extract_gz, extract_tar, extract_zip
from tests.data.serving import running

CONTENT = bytes(range(256)) * 40
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(HTTPServer):
    """Serves `content` under every name but `/missing`; what it was asked is in `asked`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.etag: str | None = '"one"'
        self.date: str | None = None
        self.ranges = True
        self.cut: int | None = None  # send so many bytes of the body, then close
        self.wrong_range = False
        self.asked: list[str | None] = []  # the Range of each request

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers["Range"]
        server.asked.append(wanted)
        if self.path.startswith("/missing"):
            self.send_error(404)
            return
        body = server.content
        if wanted and server.ranges and self.headers["If-Range"] in (server.etag, server.date):
            begin = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(body):
                self.send_error(416)
                return
            begin = 0 if server.wrong_range else begin
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
            body = body[begin:]
        else:
            self.send_response(200)
        if server.etag:
            self.send_header("ETag", server.etag)
        if server.date:
            self.send_header("Last-Modified", server.date)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: server.cut])

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    with running(server):
        yield server


def shown(folder: Path) -> list[str]:
    """The names in a folder but for locks."""
    return sorted(name for name in os.listdir(folder) if not name.startswith(".lock-"))


@pytest.mark.parametrize("cut", [0, 1, 5000])
def test_download_resumes_where_it_was_cut(server: Server, tmp_path: Path, cut: int) -> None:
    server.cut = cut
    with pytest.raises(OSError, match=f"{cut:,} of {len(CONTENT):,} bytes arrived"):
        download_url(server.url("a.bin"), str(tmp_path), log=False)
    assert shown(tmp_path) == ["a.bin.part", "a.bin.part.version"]
    assert (tmp_path / "a.bin.part").read_bytes() == CONTENT[:cut]

    server.cut = None
    path = download_url(server.url("a.bin"), str(tmp_path), log=False)
    assert server.asked == [None, f"bytes={cut}-"]
    assert Path(path).read_bytes() == CONTENT
    assert shown(tmp_path) == ["a.bin"]


def test_download_starts_again_if_the_file_changed_meanwhile(server: Server, tmp_path: Path) -> None:
    server.cut = 5000
    with pytest.raises(OSError, match="bytes arrived"):
        download_url(server.url("a.bin"), str(tmp_path), log=False)
    server.cut, server.content, server.etag = None, CONTENT[::-1], '"two"'
    path = download_url(server.url("a.bin"), str(tmp_path), log=False)
    assert Path(path).read_bytes() == CONTENT[::-1]
    assert shown(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_download_resumes_by_the_date_where_there_is_no_strong_tag(
    server: Server, tmp_path: Path, etag: str | None
) -> None:
    server.cut, server.etag, server.date = 5000, etag, "Mon, 02 Mar 2026 10:00:00 GMT"
    with pytest.raises(OSError, match="bytes arrived"):
        download_url(server.url("a.bin"), str(tmp_path), log=False)
    server.cut = None
    path = download_url(server.url("a.bin"), str(tmp_path), log=False)
    assert server.asked == [None, "bytes=5000-"]
    assert Path(path).read_bytes() == CONTENT


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_download_starts_again_if_the_server_names_no_version(server: Server, tmp_path: Path, etag: str | None) -> None:
    server.cut, server.etag = 5000, etag
    with pytest.raises(OSError, match="bytes arrived"):
        download_url(server.url("a.bin"), str(tmp_path), log=False)
    server.cut = None
    path = download_url(server.url("a.bin"), str(tmp_path), log=False)
    assert server.asked == [None, None]
    assert Path(path).read_bytes() == CONTENT


def test_download_starts_again_if_the_server_knows_no_ranges(server: Server, tmp_path: Path) -> None:
    server.cut, server.ranges = 5000, False
    with pytest.raises(OSError, match="bytes arrived"):
        download_url(server.url("a.bin"), str(tmp_path), log=False)
    server.cut = None
    path = download_url(server.url("a.bin"), str(tmp_path), log=False)
    assert Path(path).read_bytes() == CONTENT


def test_download_starts_again_if_the_part_is_as_long_as_the_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.bin.part").write_bytes(bytes(len(CONTENT)))
    (tmp_path / "a.bin.part.version").write_text('"one"')
    path = download_url(server.url("a.bin"), str(tmp_path), log=False)
    assert server.asked == [f"bytes={len(CONTENT)}-", None]
    assert Path(path).read_bytes() == CONTENT
    assert shown(tmp_path) == ["a.bin"]


def test_download_refuses_a_range_it_did_not_ask_for(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.bin.part").write_bytes(CONTENT[:7])
    (tmp_path / "a.bin.part.version").write_text('"one"')
    server.wrong_range = True
    with pytest.raises(OSError, match="asked for the bytes from 7, got 'bytes 0-"):
        download_url(server.url("a.bin"), str(tmp_path), log=False)
    assert Path(download_url(server.url("a.bin"), str(tmp_path), log=False)).read_bytes() == CONTENT


def test_download_leaves_a_file_that_is_there_alone(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.bin").write_bytes(b"mine")
    path = download_url(server.url("a.bin"), str(tmp_path))
    assert path == str(tmp_path / "a.bin")
    assert Path(path).read_bytes() == b"mine"
    assert server.asked == []
    assert path in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "filename", "expected"),
    [
        ("a.bin?x=1/2", None, "2"),
        ("a.bin?x=1", None, "a.bin"),
        ("a.bin#top", None, "a.bin"),
        ("a.bin", "b", "b"),
    ],
)
def test_download_names_the_file(
    server: Server, tmp_path: Path, name: str, filename: str | None, expected: str
) -> None:
    folder = tmp_path / "new" / "folder"
    path = download_url(server.url(name), str(folder), log=False, filename=filename)
    assert path == str(folder / expected)
    assert shown(folder) == [expected]


def test_download_shows_its_progress(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    download_url(server.url("a.bin"), str(tmp_path))
    assert "a.bin: 100%" in capsys.readouterr().err
    download_url(server.url("b.bin"), str(tmp_path), log=False)
    assert capsys.readouterr().err == ""


def test_download_checks_the_digest(server: Server, tmp_path: Path) -> None:
    download_url(server.url("a.bin"), str(tmp_path), log=False, sha256=DIGEST.upper())
    with pytest.raises(ValueError, match=f"expected {'0' * 64}, found {DIGEST}"):
        download_url(server.url("b.bin"), str(tmp_path), log=False, sha256="0" * 64)
    assert shown(tmp_path) == ["a.bin"]
    (tmp_path / "b.bin").write_bytes(b"other")
    with pytest.raises(ValueError, match=r"b\.bin"):
        download_url(server.url("b.bin"), str(tmp_path), log=False, sha256=DIGEST)
    assert (tmp_path / "b.bin").read_bytes() == b"other"


def test_download_of_a_missing_file_says_what_to_put_where(server: Server, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="404") as caught:
        download_url(server.url("missing.bin"), str(tmp_path), log=False)
    assert server.url("missing.bin") in str(caught.value)
    assert f"put it at {tmp_path / 'missing.bin'}" in str(caught.value)
    assert shown(tmp_path) == []


def test_download_without_a_network_says_what_to_put_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as held:  # a port of its own, at which nobody listens
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/a.bin"
        with pytest.raises(OSError, match="refused") as caught:
            download_url(url, str(tmp_path), log=False)
    assert url in str(caught.value)
    assert f"put it at {tmp_path / 'a.bin'}" in str(caught.value)
    assert shown(tmp_path) == []


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://host/a", "a.bin"])
def test_download_refuses_other_schemes(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValueError, match="http or https"):
        download_url(url, str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_download_refuses_a_folder_elsewhere() -> None:
    with pytest.raises(ValueError, match="expected a local one, found 'memory://a'"):
        download_url("http://localhost.invalid/a", "memory://a")


def test_download_asked_for_several_times_at_once_is_done_once(server: Server, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        ask = partial(download_url, server.url("a.bin"), str(tmp_path), log=False)
        paths = [future.result() for future in [pool.submit(ask) for _ in range(4)]]
    assert paths == [str(tmp_path / "a.bin")] * 4
    assert server.asked == [None]
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("name", ["", "a/", "a/.."])
def test_download_refuses_an_address_without_a_file_name(server: Server, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="filename="):
        download_url(server.url(name), str(tmp_path))


# Archives -----------------------------------------------------------------------------------------

FILES = {"in/side/a.txt": b"aaa", "b.txt": b"bbb"}


def make_zip(path: Path, files: dict[str, bytes]) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return str(path)


def make_tar(path: Path, files: dict[str, bytes], mode: str = "w:gz") -> str:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return str(path)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("make", "extract"), [(make_zip, extract_zip), (make_tar, extract_tar)])
def test_extract_archive(
    tmp_path: Path,
    make: Callable[..., str],
    extract: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = make(tmp_path / "archive", FILES)
    target = tmp_path / "new" / "target"
    extract(path, str(target))
    assert contents(target) == FILES
    assert path in capsys.readouterr().err

    (target / "b.txt").write_bytes(b"old")
    (target / "in" / "c.txt").write_bytes(b"ccc")
    extract(path, str(target), log=False)
    assert contents(target) == {**FILES, "in/c.txt": b"ccc"}
    assert capsys.readouterr().err == ""


def test_extract_tar_reads_other_compressions(tmp_path: Path) -> None:
    extract_tar(make_tar(tmp_path / "a", FILES, "w:bz2"), str(tmp_path / "target"), mode="r:bz2", log=False)
    assert contents(tmp_path / "target") == FILES


@pytest.mark.parametrize(("make", "extract"), [(make_zip, extract_zip), (make_tar, extract_tar)])
@pytest.mark.parametrize("name", ["../evil", "in/../../evil", "/evil", "//evil", "in\\..\\..\\evil", "C:\\evil"])
def test_extract_refuses_a_member_that_escapes(
    tmp_path: Path, make: Callable[..., str], extract: Callable[..., None], name: str
) -> None:
    path = make(tmp_path / "archive", {**FILES, name: b"evil"})
    with pytest.raises(ValueError, match="outside the folder") as caught:
        extract(path, str(tmp_path / "target"), log=False)
    assert repr(name) in str(caught.value)
    assert contents(tmp_path) == {"archive": Path(path).read_bytes()}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_extract_tar_refuses_links_and_devices(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "archive"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("door")
        member.type, member.linkname = kind, ".."
        archive.addfile(member)
    with pytest.raises(ValueError, match="'door' is a link or a device"):
        extract_tar(str(path), str(tmp_path / "target"), log=False)
    assert not (tmp_path / "target").exists()


def test_extract_of_a_broken_archive_leaves_nothing(tmp_path: Path) -> None:
    path = Path(make_zip(tmp_path / "archive", FILES))
    path.write_bytes(path.read_bytes().replace(b"bbb", b"bbc"))  # the checksum of the last member fails
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "b.txt").write_bytes(b"old")
    with pytest.raises(zipfile.BadZipFile):
        extract_zip(str(path), str(tmp_path / "target"), log=False)
    assert contents(tmp_path / "target") == {"b.txt": b"old"}
    assert os.listdir(tmp_path / "target") == ["b.txt"]


@pytest.mark.parametrize(("module", "ending", "extract"), [(gzip, ".gz", extract_gz), (bz2, ".bz2", extract_bz2)])
def test_extract_one_file(tmp_path: Path, module: object, ending: str, extract: Callable[..., None]) -> None:
    packed = module.compress(CONTENT)  # type: ignore[attr-defined]
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(packed)
    extract(str(path), str(tmp_path / "target"), log=False)
    assert contents(tmp_path / "target") == {"a.txt": CONTENT}

    path.write_bytes(packed[:-9])
    with pytest.raises(EOFError):
        extract(str(path), str(tmp_path / "cut"), log=False)
    assert os.listdir(tmp_path / "cut") == []

    (tmp_path / "archive").write_bytes(packed)
    with pytest.raises(ValueError, match="ends in"):
        extract(str(tmp_path / "archive"), str(tmp_path / "target"), log=False)
