"""How long a start takes, and how much memory an idle server needs."""
import time

from harness import check, run, same
from remoting import SEND, Connection, create_topic, send_ext
from server import Server

READY_MS, RESIDENT_MB, STARTS = 300, 60, 5


def ready():
    """The best of a few: what else runs on the machine is not the server's fault."""
    server, times, told = Server(), [], []
    connection = Connection(server.address)
    same(0, create_topic(connection, "startup", 8).code, "topic")
    for i in range(1000):
        connection.ask(SEND, send_ext("startup", {"TIMER_DELAY_MS": 3_600_000}, i % 8), b"x" * 500)
        if i % 64 == 63:
            for _ in range(64):
                connection.answer()
    for _ in range(1000 % 64):
        connection.answer()
    connection.close()
    for _ in range(STARTS):
        same(0, server.stop(keep=True), "exit code")
        times.append(server.start())
        told.append(server.ready_ms)
    time.sleep(2)
    megabytes = server.resident_mb()
    same(0, server.stop(), "exit code")
    check(min(times) < READY_MS, f"ready after {times} ms, more than {READY_MS}")
    check(megabytes < RESIDENT_MB, f"{megabytes:.1f} MB resident when idle, more than {RESIDENT_MB}")
    return (f"with 1000 pending ready after {[round(ms) for ms in times]} ms of wall time ({told} ms by its own word); "
            f"{megabytes:.1f} MB resident when idle")


run("startup", [("ready-soon-and-small", 60, ready)])
