"""The Go client as it is by default: with TLS, on the same port as without; simple and push consumer, delayed messages."""
import socket
import threading

from clients import Client
from harness import GRPC, RUN_ID, check, run, same
from remoting import BROKER, Connection, create_topic

COUNT = 8
TLS_HANDSHAKE = 0x16


class Wire:
    """Passes bytes on between the client and the server, and keeps the first of each connection."""

    def __init__(self):
        self.first, self.listener = [], socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        host, port = GRPC.rsplit(":", 1)
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection((host, int(port)))
            threading.Thread(target=self.copy, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, False), daemon=True).start()

    def copy(self, source, to, note):
        try:
            while data := source.recv(1 << 16):
                if note:
                    self.first.append(data[0])
                    note = False
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def over_tls():
    connection, topic, wire = Connection(BROKER), f"acc_tls_go_{RUN_ID}", Wire()
    same(0, create_topic(connection, topic, 1, "DELAY").code, "topic")
    client = Client("go", topic, topic, "simple,push,send", 60, wire.address, TLS="1")
    try:
        client.wait_ready()
        for role in ("simple", "push"):
            client.wait(lambda got: len(got) >= COUNT, 30, role, "got")
        client.wait(lambda acked: len(acked) >= COUNT, 10, "simple", "acked")
        check(not client.all("error"), f"errors: {client.all('error')[:2]}")
        same({TLS_HANDSHAKE}, set(wire.first), "the first bytes of its connections")
        return f"{COUNT} delayed messages by a simple and a push consumer, acked; {len(wire.first)} connections, all TLS"
    finally:
        client.kill()
        connection.close()


run("tls-go-grpc", [("delayed-messages-over-tls", 90, over_tls)])
