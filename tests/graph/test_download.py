"""Downloads from a server that breaks connections, lies about length and serves wrong files."""

import contextlib
import dataclasses
import hashlib
import http.server
import io
import threading
import zipfile

import pytest

from cade_tf.graph import download as module
from cade_tf.graph.datasets import RemoteFile
from cade_tf.graph.download import DownloadError, download

CONTENT = bytes(range(256)) * 4000


class Server(http.server.ThreadingHTTPServer):
    """Serves `content`, misbehaving in the ways listed in `faults`, one per request."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.faults = []
        self.always = None
        self.ranges = True
        self.requests = []


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.requests.append(wanted)
        fault = server.faults.pop(0) if server.faults else server.always
        start = int(wanted[6:-1]) if wanted and server.ranges else 0
        if isinstance(fault, int):
            self.send_error(fault)
            return
        if fault == "close":
            self.close_connection = True
            self.connection.close()
            return
        if wanted and server.ranges and start >= len(server.content):
            self.send_error(416)
            return
        body = server.content[start:]
        self.send_response(206 if wanted and server.ranges else 200)
        if wanted and server.ranges:
            total = len(server.content)
            begin = start + 5 if fault == "lie about the range" else start
            self.send_header("Content-Range", f"bytes {begin}-{total - 1}/{total}")
        announced = len(body)
        if fault == "announce too much":
            announced += 1000
        if fault == "announce too little":
            announced -= 1000
        if fault != "no length":
            self.send_header("Content-Length", str(announced))
        self.end_headers()
        if fault in ("break", "swap"):
            body = body[: len(body) // 3]
        if fault == "swap":
            server.content = CONTENT
        with contextlib.suppress(OSError):
            self.wfile.write(body)
        self.close_connection = True


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def remote(server, content=CONTENT, unpack=()):
    address = f"http://127.0.0.1:{server.server_port}/data/file.bin"
    return RemoteFile(address, hashlib.sha256(content).hexdigest(), unpack)


def get(server, folder, **options):
    return download(remote(server, **options), folder, sleep=lambda _: None)


def test_a_good_server(server, tmp_path):
    (path,) = get(server, tmp_path / "new")
    assert path == tmp_path / "new" / "file.bin"
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"]


def test_a_file_of_a_folder_of_its_own(server, tmp_path):
    placed = dataclasses.replace(remote(server), place="DE")
    assert download(placed, tmp_path) == [tmp_path / "DE" / "file.bin"]
    assert (tmp_path / "DE" / "file.bin").read_bytes() == CONTENT


def test_what_is_there_is_not_downloaded_again(server, tmp_path):
    get(server, tmp_path)
    get(server, tmp_path)
    assert len(server.requests) == 1


def test_what_is_there_but_damaged_is_replaced(server, tmp_path):
    (tmp_path / "file.bin").write_bytes(b"damaged")
    assert get(server, tmp_path)[0].read_bytes() == CONTENT


def test_broken_connections_are_resumed(server, tmp_path):
    server.faults = ["break", "close", "break", 503, "break"]
    assert get(server, tmp_path)[0].read_bytes() == CONTENT
    first = len(CONTENT) // 3
    assert server.requests[:2] == [None, f"bytes={first}-"]


def test_a_later_call_goes_on_where_an_earlier_one_stopped(server, tmp_path):
    server.faults = ["break"]
    server.always = "close"
    with pytest.raises(DownloadError, match="what has arrived is kept"):
        get(server, tmp_path)
    assert not (tmp_path / "file.bin").exists()
    server.always = None
    server.requests.clear()
    assert get(server, tmp_path)[0].read_bytes() == CONTENT
    assert server.requests == [f"bytes={len(CONTENT) // 3}-"]


def test_a_server_without_ranges_starts_over(server, tmp_path):
    server.ranges = False
    server.faults = ["break", "break"]
    assert get(server, tmp_path)[0].read_bytes() == CONTENT


def test_a_server_that_resumes_elsewhere_starts_over(server, tmp_path):
    server.faults = ["break", "lie about the range"]
    assert get(server, tmp_path)[0].read_bytes() == CONTENT
    assert server.requests[2] is None


def test_a_file_that_changes_between_two_connections_is_fetched_again(server, tmp_path):
    server.faults = ["swap", "break"]
    server.content = b"x" * len(CONTENT)
    assert get(server, tmp_path)[0].read_bytes() == CONTENT


def test_a_length_that_is_too_large_is_found_out(server, tmp_path):
    server.faults = ["announce too much"]
    assert get(server, tmp_path)[0].read_bytes() == CONTENT


def test_a_length_that_is_always_too_large_still_gives_the_file(server, tmp_path):
    server.always = "announce too much"
    assert get(server, tmp_path)[0].read_bytes() == CONTENT


def test_a_length_that_is_too_small_is_found_out(server, tmp_path):
    server.always = "announce too little"
    with pytest.raises(DownloadError, match="nothing was kept"):
        get(server, tmp_path)
    assert not list(tmp_path.iterdir())


def test_no_length_at_all(server, tmp_path):
    server.faults = ["no length"]
    assert get(server, tmp_path)[0].read_bytes() == CONTENT


def test_a_wrong_file_never_gets_the_name(server, tmp_path):
    server.content = b"<html>moved</html>"
    with pytest.raises(DownloadError, match="expected a file of SHA-256"):
        get(server, tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_older_piece_of_another_file_is_thrown_away(server, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(b"older version")
    assert get(server, tmp_path)[0].read_bytes() == CONTENT


def test_a_piece_that_is_already_complete_is_only_checked(server, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(CONTENT)
    assert get(server, tmp_path)[0].read_bytes() == CONTENT


@pytest.mark.parametrize("code", [404, 403, 410])
def test_an_absent_file_is_not_tried_again(server, tmp_path, code):
    server.always = code
    with pytest.raises(DownloadError, match=f"received {code}"):
        get(server, tmp_path)
    assert len(server.requests) == 1


def test_a_server_that_never_works_is_given_up(server, tmp_path):
    server.always = 503
    with pytest.raises(DownloadError, match=r"503 .* 5 times in a row"):
        get(server, tmp_path)
    assert len(server.requests) == module.ATTEMPTS


def test_a_server_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    nowhere = RemoteFile("http://127.0.0.1:9/file.bin", "0" * 64)
    with pytest.raises(DownloadError, match="5 times in a row"):
        download(nowhere, tmp_path, sleep=lambda _: None)


def archive(**members):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "/"), content)
    return target.getvalue()


def test_archives_are_unpacked_by_name(server, tmp_path):
    server.content = archive(ppi__a="1", ppi__b="2", ppi__c="3")
    paths = get(server, tmp_path, content=server.content, unpack=("a", "b"))
    assert [p.read_text() for p in paths] == ["1", "2"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
    get(server, tmp_path, content=server.content, unpack=("a", "b"))
    assert len(server.requests) == 1


def test_an_archive_without_a_file_is_refused(server, tmp_path):
    server.content = archive(other="1")
    with pytest.raises(DownloadError, match="a zip archive with a"):
        get(server, tmp_path, content=server.content, unpack=("a",))


def test_an_archive_cannot_write_elsewhere(server, tmp_path):
    server.content = archive(**{"..__..__a": "1"})
    get(server, tmp_path / "in", content=server.content, unpack=("a",))
    assert (tmp_path / "in" / "a").read_text() == "1"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]
