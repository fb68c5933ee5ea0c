"""A small RocketMQ remoting client on a bare socket: it can say what no real client would."""
import json
import os
import socket
import struct
import threading

BROKER = ("127.0.0.1", int(os.environ.get("BROKER_PORT", "10911")))
SEND, PULL, CREATE_TOPIC, MAX_OFFSET, ROUTE = 310, 11, 17, 30, 105
FOUND, NOT_FOUND, RETRY, MOVED = 0, 19, 20, 21


class Response:
    def __init__(self, header, body):
        self.code = header["code"]
        self.opaque = header["opaque"]
        self.ext = header.get("extFields") or {}
        self.remark = header.get("remark") or ""
        self.body = body


class Connection:
    def __init__(self, address, seconds=10):
        self.socket = socket.create_connection(address, seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.opaque = 0
        self.lock = threading.Lock()

    def close(self):
        self.socket.close()

    def timeout(self, seconds):
        self.socket.settimeout(seconds)

    def ask(self, code, ext, body=b""):
        """Writes a request; its answer carries the number given back."""
        with self.lock:
            self.opaque += 1
            self.socket.sendall(frame(code, ext, body, self.opaque))
            return self.opaque

    def answer(self):
        """The next answer. Requests of the server's own are passed over."""
        while True:
            length = struct.unpack(">i", self.read(4))[0]
            data = self.read(length)
            mark = struct.unpack(">I", data[:4])[0]
            size = mark & 0xFFFFFF
            header = json.loads(data[4:4 + size])
            if header["flag"] & 1:
                return Response(header, data[4 + size:])

    def call(self, code, ext, body=b""):
        opaque = self.ask(code, ext, body)
        while True:
            answer = self.answer()
            if answer.opaque == opaque:
                return answer

    def read(self, count):
        parts = []
        while count:
            part = self.socket.recv(min(count, 1 << 20))
            if not part:
                raise ConnectionError("the server closed the connection")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def frame(code, ext, body=b"", opaque=1, flag=0):
    header = {"code": code, "flag": flag, "language": "PYTHON", "opaque": opaque, "version": 477,
              "serializeTypeCurrentRPC": "JSON", "extFields": {k: str(v) for k, v in ext.items()}}
    header = json.dumps(header).encode()
    return struct.pack(">iI", 4 + len(header) + len(body), len(header)) + header + body


def properties(pairs):
    return "".join(f"{k}\x01{v}\x02" for k, v in pairs.items())


def send_ext(topic, props, queue=0, born=0):
    return {"a": "scenarios", "b": topic, "c": "TBW102", "d": 4, "e": queue, "f": 0, "g": born, "h": 0,
            "i": properties(props), "j": 0, "k": "false", "m": "false"}


def pull_ext(topic, group, queue, offset, suspend_ms=0):
    return {"consumerGroup": group, "topic": topic, "queueId": queue, "queueOffset": offset, "maxMsgNums": 32,
            "sysFlag": 4 | (2 if suspend_ms else 0), "commitOffset": 0, "suspendTimeoutMillis": suspend_ms,
            "subscription": "*", "subVersion": 0, "expressionType": "TAG"}


def create_topic(connection, topic, queues, kind="MIXED"):
    return connection.call(CREATE_TOPIC, {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": queues, "writeQueueNums": queues, "perm": 6,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": "false", "attributes": f"+message.type={kind}"})


class Stored:
    """A message as a pull gives it."""
    def __init__(self, data, at):
        self.size, _, _, self.queue, _, self.queue_offset, self.log_offset, flags = struct.unpack_from(">iiiiiqqi", data, at)
        i = at + 40
        self.born = struct.unpack_from(">q", data, i)[0]
        i += 8 + (20 if flags & 0x10 else 8)
        self.stored = struct.unpack_from(">q", data, i)[0]
        i += 8 + (20 if flags & 0x20 else 8)
        self.reconsume_times = struct.unpack_from(">i", data, i)[0]
        i += 12
        length = struct.unpack_from(">i", data, i)[0]
        self.body = data[i + 4:i + 4 + length]
        i += 4 + length
        length = data[i]
        self.topic = data[i + 1:i + 1 + length].decode()
        i += 1 + length
        length = struct.unpack_from(">h", data, i)[0]
        pairs = data[i + 2:i + 2 + length].decode().split("\x02")
        self.properties = dict(pair.split("\x01", 1) for pair in pairs if "\x01" in pair)


def messages(body):
    at, found = 0, []
    while at < len(body):
        message = Stored(body, at)
        found.append(message)
        at += message.size
    return found


def everything(connection, topic, queues):
    """All that lies in a topic, read from the beginning of each queue."""
    found = []
    for queue in range(queues):
        offset = 0
        while True:
            answer = connection.call(PULL, pull_ext(topic, "scenarios_reader", queue, offset))
            if answer.code not in (FOUND, RETRY):
                break
            found += messages(answer.body)
            offset = int(answer.ext["nextBeginOffset"])
    return found
