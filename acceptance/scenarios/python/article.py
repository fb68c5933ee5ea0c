"""The article's two programs as they are, started in either order, with the client 5.x and the client 4.9."""
import os
import re
import subprocess
import threading
import time

from harness import Inbox, check, now, run, same

CACHE = os.environ["ACCEPTANCE_CACHE"]
DELAY_MS = 10_000  # level 3
LATE_MS = 1000  # loose: what it was is printed


class Program:
    """One of the two programs in a JVM of its own; takes the lines it prints, with the time of each."""

    def __init__(self, client, main):
        home = os.path.join(CACHE, client)
        self.lines = Inbox()
        self.process = subprocess.Popen(
            ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8", f"-Duser.home={CACHE}/home",
             f"-Drocketmq.log.root={CACHE}/log", "-cp", f"{home}/classes:{home}/lib/*", main],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8")
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def wait(self, what, count, seconds):
        end = time.time() + seconds
        while True:
            found = [(line, at) for line, at in list(self.lines.all) if what in line]
            if len(found) >= count or time.time() > end:
                return found
            time.sleep(0.002)

    def end(self):
        self.process.kill()
        self.process.wait()


def article(client, consumer_first):
    consumer = Program(client, "DelayMessageConsumer") if consumer_first else None
    if consumer_first:
        check(consumer.wait("消费者已启动", 1, 20), "the consumer does not start")
        time.sleep(3)  # takes what an earlier run may have left, so that it is not counted below
    begin = now()
    producer = Program(client, "DelayMessageProducer")
    sent = producer.wait("SEND_OK", 10, 20)
    same(10, len(sent), "lines with SEND_OK")
    if not consumer_first:
        consumer = Program(client, "DelayMessageConsumer")
    try:
        # Each send began after the one before it was answered, and ended before its line was printed.
        starts = [begin] + [at for _, at in sent[:9]]
        end, got = time.time() + 25, {}
        while len(got) < 10 and time.time() < end:
            for line, at in consumer.wait("Hello RocketMQ", 1, 1):
                number = int(re.search(r"Hello RocketMQ (\d)", line).group(1))
                if at >= begin + DELAY_MS - 500:
                    got.setdefault(number, at)
            time.sleep(0.01)
        same(list(range(10)), sorted(got), "messages")
        early = [starts[n] + DELAY_MS - got[n] for n in got if got[n] < starts[n] + DELAY_MS]
        check(not early, f"early by {early} ms")
        late = sorted(got[n] - sent[n][1] - DELAY_MS for n in got)
        check(late[-1] <= LATE_MS, f"{late[-1]} ms late")
        return f"10 sent, 10 came, each after its 10 s; from the line of the send on: median {late[5]} ms, most {late[-1]} ms late"
    finally:
        producer.end()
        consumer.end()


def case(client, consumer_first):
    order = "consumer-first" if consumer_first else "producer-first"
    return f"{client}-{order}", 90, lambda: article(client, consumer_first)


# One after the other: the programs share a topic and a group by name.
os.environ["PARALLEL"] = "1"
run("article", [case(client, first) for client in ("java-remoting", "java-remoting4") for first in (False, True)])
