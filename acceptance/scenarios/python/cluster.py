"""Apache RocketMQ's name server and broker, and ours: each broker is registered with both name servers, and a Java
client that is given one of them sends delayed messages to both brokers and receives them all."""
import os
import re
import subprocess
import time

import peer
from harness import Failed, check, same
from remoting import ROUTE, Connection
from server import Server

CACHE = os.environ.get("ACCEPTANCE_CACHE", "/tmp/acceptance-cache")
OURS, THEIRS = "ours", "theirs"


def client(ours, names):
    """Runs the Java client under each name server; it prints a line of its own for each."""
    lib = os.path.join(CACHE, "spread-java")
    subprocess.run(
        ["java", "-Xmx200m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Duser.home={CACHE}/home",
         f"-Drocketmq.log.root={CACHE}/log", "-cp", f"{lib}/classes:{lib}/lib/*", "Cluster", OURS,
         "apaches-broker-under-our-name-server", f"127.0.0.1:{ours.namesrv}",
         "our-broker-under-apaches-name-server", f"127.0.0.1:{names.port}"], timeout=85)


def brokers(address):
    """Which of the two a name server tells of, by the topic that every broker has."""
    connection = Connection(address)
    answer = connection.call(ROUTE, {"topic": "TBW102"})
    connection.close()
    return {name for name in (OURS, THEIRS) if f'"brokerName":"{name}"'.encode() in answer.body}


def until(seconds, what, condition):
    began = time.monotonic()
    while not condition():
        check(time.monotonic() < began + seconds, f"not {what} in {seconds} s")
        time.sleep(0.01)
    return round((time.monotonic() - began) * 1000)


def gone(ours, theirs, names):
    ours_names = ("127.0.0.1", ours.namesrv)
    same({OURS, THEIRS}, brokers(ours_names), "brokers at our name server")
    theirs.kill()
    killed = until(2, "forgotten by our name server", lambda: brokers(ours_names) == {OURS})
    same({OURS}, brokers(names.address) - {THEIRS}, "ours at Apache's name server")
    same(0, ours.stop(), "exit code")
    stopped = until(10, "forgotten by Apache's name server", lambda: OURS not in brokers(names.address))
    return f"Apache's broker killed: forgotten after {killed} ms; ours stopped: forgotten there after {stopped} ms"


def report(case, body):
    """The harness's own way ends the program at once, and the peer's processes would be left."""
    if not re.fullmatch(os.environ.get("CASES", ".*"), case):
        return
    began = time.monotonic()
    try:
        word, detail = "PASS", body()
    except (Failed, OSError) as error:
        word, detail = "FAIL", error
    print(f"{word} cluster.{case} {detail} [{time.monotonic() - began:.1f} s]", flush=True)


names = peer.name_server()
ours = Server("--set", f"broker_name={OURS}", "--set", f"name_servers=127.0.0.1:{names.port}")
theirs = peer.broker(THEIRS, [f"127.0.0.1:{ours.namesrv}", f"127.0.0.1:{names.port}"])
try:
    names.ready()
    theirs.ready()
    client(ours, names)
    report("whoever-ends-is-forgotten", lambda: gone(ours, theirs, names))
finally:
    for process in (theirs, names):
        process.remove()
    if ours.alive():
        ours.stop()
