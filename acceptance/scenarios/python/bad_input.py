"""What no real client sends: each gets the protocol's own error, stores nothing, and the server lives on."""
import json
import socket
import struct
import time

from harness import check, now, run, same
from remoting import MAX_OFFSET, SEND, Connection, create_topic, frame, send_ext
from server import Server

QUEUE = {"topic": "bad", "queueId": 0}
DAY_MS = 86_400_000


def on_a_server(case):
    """A case with a server of its own, which must live through it and then stop in good order."""
    def body():
        server = Server("--set", "auto_create_topics=false")
        try:
            connection = Connection(server.address)
            same(0, create_topic(connection, "bad", 1).code, "topic")
            connection.close()
            detail = case(server)
            lives_on(server)
        except BaseException:
            server.kill()
            raise
        same(0, server.stop(), "exit code")
        return detail
    return body


def stored(server):
    """How many messages lie in the topic."""
    connection = Connection(server.address)
    offset = int(connection.call(MAX_OFFSET, QUEUE).ext["offset"])
    connection.close()
    return offset


def lives_on(server):
    check(server.alive(), "the server is gone")
    connection = Connection(server.address)
    same(0, connection.call(MAX_OFFSET, QUEUE).code, "answer to a good request afterwards")
    connection.close()


def malformed(server, data, what):
    """Whatever the bytes are, the server answers or closes in time, and lives on."""
    connection = Connection(server.address, 5)
    try:
        connection.socket.sendall(data)
        connection.socket.shutdown(socket.SHUT_WR)
        connection.socket.recv(1 << 16)
    except ConnectionError:
        pass
    except socket.timeout:
        check(False, f"{what}: the connection neither answered nor ended")
    finally:
        connection.close()
    lives_on(server)


@on_a_server
def frames(server):
    good = json.dumps({"code": MAX_OFFSET, "flag": 0, "language": "PYTHON", "opaque": 1, "version": 477}).encode()
    bad = {
        "wrong serialize type": struct.pack(">iI", 4 + len(good), 0x7F000000 | len(good)) + good,
        "length of 2 GiB": struct.pack(">iI", 0x7FFFFFFF, 10),
        "length just over the limit": struct.pack(">iI", 16 * 1024 * 1024 + 1, 10),
        "negative length": struct.pack(">iI", -1, 0),
        "length of 0": struct.pack(">i", 0),
        "header longer than the frame": struct.pack(">iI", 12, 5000) + b"12345678",
        "truncated JSON": frame(SEND, send_ext("bad", {}))[:-40] + b"\0" * 40,
        "JSON that is no object": struct.pack(">iI", 4 + 4, 4) + b"[[[[",
        "JSON nested deep": struct.pack(">iI", 4 + 50_000, 50_000) + b"[" * 50_000,
        "text of another protocol": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "half a frame, then silence": frame(SEND, send_ext("bad", {}), b"body")[:30],
        "binary header cut short": struct.pack(">iI", 4 + 5, 0x01000000 | 5) + b"\0\x0a\0\0\0",
    }
    for what, data in bad.items():
        malformed(server, data, what)
    same(0, stored(server), "messages stored")
    return f"{len(bad)} malformed frames: answered or closed, nothing stored"


def refused(server, code, ext, body=b"x", request=SEND, says=()):
    connection = Connection(server.address)
    answer = connection.call(request, ext, body)
    same(code, answer.code, f"code for {ext.get('i', ext)!r} ({answer.remark})")
    for word in says:
        check(word in answer.remark, f"the remark does not say {word!r}: {answer.remark}")
    same(0, connection.call(MAX_OFFSET, QUEUE).code, "a good request on the same connection")
    connection.close()


@on_a_server
def unknown_request(server):
    refused(server, 3, {}, request=31_999)
    return "code 3, and the connection lives on"


@on_a_server
def unknown_topic(server):
    refused(server, 17, send_ext("nobody_made_this", {}), says=["nobody_made_this"])
    return "code 17 that names the topic"


@on_a_server
def large_body(server):
    refused(server, 13, send_ext("bad", {}), b"x" * ((4 << 20) + 1), says=["4194304"])
    same(0, stored(server), "messages stored")
    return "code 13 that names the limit, nothing stored"


@on_a_server
def delays(server):
    bad = {
        "TIMER_DELIVER_MS": ["abc", "1e3", " 5", "99999999999999999999", str(now() + 30 * 365 * DAY_MS), "9223372036854775807"],
        "TIMER_DELAY_MS": ["abc", "9223372036854775807", str(30 * 365 * DAY_MS)],
        "TIMER_DELAY_SEC": ["abc", "9223372036854775807", "9223372036854776"],
        "DELAY": ["abc", "99999999999", "3.0"],
    }
    for name, values in bad.items():
        for value in values:
            refused(server, 13, send_ext("bad", {name: value, "UNIQ_KEY": "K"}), says=[name])
    same(0, stored(server), "messages stored")
    return f"{sum(map(len, bad.values()))} refused with code 13 that names the property, nothing stored"


@on_a_server
def delays_taken(server):
    connection = Connection(server.address)
    at_once = [{"DELAY": "0"}, {"DELAY": "-1"}, {"TIMER_DELIVER_MS": "1"}, {"TIMER_DELAY_MS": "0"}, {"TIMER_DELAY_SEC": "-5"}]
    for props in at_once:
        answer = connection.call(SEND, send_ext("bad", props), b"at once")
        same(0, answer.code, f"{props} ({answer.remark})")
    end = time.time() + 2
    while stored(server) < len(at_once) and time.time() < end:
        time.sleep(0.01)
    same(len(at_once), stored(server), "messages delivered at once")
    same(0, connection.call(SEND, send_ext("bad", {"DELAY": "99"}), b"clamped").code, "a level above the table")
    same(len(at_once), stored(server), "messages, while the one with the clamped level waits")
    connection.close()
    return "zero, negative and past ones come at once; a level above the table waits"


@on_a_server
def silent(server):
    clients = [socket.create_connection(server.address) for _ in range(500)]
    lives_on(server)
    megabytes = server.resident_mb()
    for client in clients:
        client.close()
    return f"500 silent clients, {megabytes:.0f} MB resident, and others are served"


run("bad-input", [
    ("malformed-frames", 60, frames),
    ("unknown-request-code", 30, unknown_request),
    ("unknown-topic", 30, unknown_topic),
    ("body-over-the-limit", 30, large_body),
    ("delays-refused", 30, delays),
    ("zero-past-and-clamped-delays-taken", 30, delays_taken),
    ("silent-clients", 30, silent),
])
