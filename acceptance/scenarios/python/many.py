"""Two million messages wait, and the server is small, ready soon and on time; over a kill -9 too."""
import os
import random
import shutil
import subprocess
import time

from harness import check, now, run, same
from histogram import histogram
from remoting import SEND, Connection, create_topic, everything, send_ext
from server import DUEMQ, Server

COUNT, QUEUES, NEAR = 2_000_000, 4, 400
# Loose, for a machine that is busy: what was measured is told.
READY_MS, RESIDENT_MB = 2000, 512


def filled():
    """A server on a folder in which they wait, and how many messages a second were put there."""
    server = Server()
    same(0, server.stop(keep=True), "exit code")
    data = os.path.join(server.folder, "data")
    shutil.rmtree(data)
    began = time.monotonic()
    bench = os.path.join(os.path.dirname(DUEMQ), "duemq-bench")
    subprocess.run([bench, "fill", data, "--messages", str(COUNT), "--from-minutes", "30"], check=True, capture_output=True)
    return server, COUNT / (time.monotonic() - began)


def pending(server):
    answer = subprocess.run([DUEMQ, "pending", "count", "--namesrv", f"127.0.0.1:{server.namesrv}"],
                            check=True, capture_output=True, text=True)
    return {line.split()[0]: int(line.split()[-1]) for line in answer.stdout.splitlines()}


def send_near(connection, topic):
    """Sends what is due soon; gives the due time of each."""
    random.seed(2)
    due = {}
    for i in range(NEAR):
        due[str(i)] = now() + 500 + random.randrange(5000)
        answer = connection.call(SEND, send_ext(topic, {"TIMER_DELIVER_MS": due[str(i)], "UNIQ_KEY": f"{topic}{i}"}, i % QUEUES), str(i).encode())
        same(0, answer.code, f"answer to message {i} ({answer.remark})")
    return due


def lateness(server, topic):
    """How late messages are stored that were sent as soon as the server was ready, in ms."""
    connection = Connection(server.address)
    same(0, create_topic(connection, topic, QUEUES, "DELAY").code, "topic")
    due = send_near(connection, topic)
    end = max(due.values()) / 1000 + 20
    while len(stored := everything(connection, topic, QUEUES)) < NEAR and time.time() < end:
        time.sleep(0.05)
    connection.close()
    same(sorted(due), sorted(message.body.decode() for message in stored), "messages")
    late = [message.stored - due[message.body.decode()] for message in stored]
    check(min(late) >= 0, f"one came {-min(late)} ms early")
    return late


def many():
    server, rate = filled()
    told = []
    for topic in ("after-a-start", "after-a-kill"):
        ready = server.start()
        check(ready < READY_MS, f"ready after {ready:.0f} ms, more than {READY_MS}")
        same(COUNT, pending(server)["filled"], "messages that wait")
        late = lateness(server, topic)
        megabytes = server.resident_mb()
        check(megabytes < RESIDENT_MB, f"{megabytes:.1f} MB resident, more than {RESIDENT_MB}")
        same(COUNT, pending(server)["filled"], "messages that wait")
        told.append(f"{topic}: ready in {ready:.0f} ms, {megabytes:.0f} MB resident, late ms {histogram(late)}")
        server.kill()
    server.start()
    same(0, server.stop(), "exit code")
    return f"{COUNT} put there at {rate:.0f} a second; " + "; ".join(told)


run("many", [("two-million-wait", 240, many)])
