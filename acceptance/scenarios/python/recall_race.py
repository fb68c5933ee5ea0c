"""Recalls at the very moment of delivery: what is told is what happened.

10,000 messages, each recalled a few milliseconds before or after its due moment, hundreds in flight at once: 6,000 by
remoting on one connection, 4,000 by gRPC. Of each batch some were stored twice, as a producer's retry would.
"""
import asyncio
import random
import threading
import time
from collections import Counter

import grpc

from calls import OK, TOO_LATE, messages, named, service, who
from harness import GRPC, RUN_ID, check, now, run, same
from remoting import BROKER, SEND, Connection, create_topic, everything, send_ext

RECALL = 370
RECALLED, LATE = "recalled", "too late"
QUEUES, SPREAD_MS, TWICE = 8, 500, 0.05
BY_REMOTING, BY_GRPC = (6, 1000), (8, 500)  # batches, messages of each
OF_EACH = 200  # how many at least must end in each way, or it was no race


def send_all(connection, topic, copies):
    """copies: (key, due); gives each key's recall handle."""
    handles, asked = {}, {}

    def hear():
        answer = connection.answer()
        key = asked.pop(answer.opaque)
        same(0, answer.code, f"send of {key} ({answer.remark})")
        handles[key] = answer.ext["recallHandle"]

    for i, (key, due) in enumerate(copies):
        asked[connection.ask(SEND, send_ext(topic, {"TIMER_DELIVER_MS": due, "UNIQ_KEY": key}, i % QUEUES), key.encode())] = key
        if len(asked) >= 64:
            hear()
    while asked:
        hear()
    return handles


def batch(name, count):
    """The keys of a batch, when each is due and when it is to be recalled; and the copies to send."""
    base = now() + 1800
    due = {f"{name}-{i}": base + random.randrange(SPREAD_MS) for i in range(count)}
    at = sorted((ms + random.gauss(0, 6), key) for key, ms in due.items())
    copies = list(due.items())
    copies += random.sample(copies, int(count * TWICE))
    return due, at, copies


def by_remoting(connection, topic, at, handles):
    told, asked, lock = {}, {}, threading.Lock()

    def hear():
        while len(told) < len(at):
            answer = connection.answer()
            with lock:
                key = asked.pop(answer.opaque)
            told[key] = {0: RECALLED, 604: LATE}.get(answer.code, f"{answer.code} {answer.remark}")
            if answer.code in (0, 604):
                same({0: "recalled", 604: "too_late"}[answer.code], answer.ext.get("outcome"), "outcome")

    ear = threading.Thread(target=hear, daemon=True)
    ear.start()
    for ms, key in at:
        time.sleep(max(0, ms / 1000 - time.time()))
        with lock:
            ext = {"producerGroup": "scenarios", "topic": topic, "recallHandle": handles[key]}
            asked[connection.ask(RECALL, ext)] = key
    ear.join(20)
    same(len(at), len(told), "recalls answered")
    return told


async def by_grpc(stub, topic, at, handles):
    told = {}

    async def recall(ms, key):
        await asyncio.sleep(max(0, ms / 1000 - time.time()))
        request = messages.RecallMessageRequest(topic=named(topic), recall_handle=handles[key])
        answer = await stub.RecallMessage(request, metadata=who(), timeout=10)
        told[key] = {OK: RECALLED, TOO_LATE: LATE}.get(answer.status.code, f"{answer.status.code} {answer.status.message}")

    await asyncio.gather(*(recall(ms, key) for ms, key in at))
    return told


async def race():
    topic, connection = f"acc_recall_race_{RUN_ID}", Connection(BROKER)
    same(0, create_topic(connection, topic, QUEUES, "DELAY").code, "topic")
    channel = grpc.aio.insecure_channel(GRPC)
    stub = service.MessagingServiceStub(channel)
    random.seed(10)
    told, due, sent = {}, {}, Counter()
    for door, (batches, count) in (("r", BY_REMOTING), ("g", BY_GRPC)):
        for n in range(batches):
            some, at, copies = batch(f"{door}{n}", count)
            handles = send_all(connection, topic, copies)
            due.update(some)
            sent.update(key for key, _ in copies)
            if door == "r":
                told.update(await asyncio.to_thread(by_remoting, connection, topic, at, handles))
            else:
                told.update(await by_grpc(stub, topic, at, handles))
    await channel.close()
    time.sleep(max(0, (max(due.values()) + 1500 - now()) / 1000))
    stored = everything(connection, topic, QUEUES)
    connection.close()
    return judge(told, due, sent, stored)


def judge(told, due, sent, stored):
    same(10_000, len(told), "recalls")
    other = [(key, what) for key, what in told.items() if what not in (RECALLED, LATE)]
    check(not other, f"{len(other)} other answers, such as {other[:2]}")
    came = Counter(message.properties["UNIQ_KEY"] for message in stored)
    lied = [key for key, what in told.items() if what == RECALLED and came[key]]
    check(not lied, f"{len(lied)} came although recalled, such as {lied[:3]}")
    lost = [key for key, what in told.items() if what == LATE and not came[key]]
    check(not lost, f"{len(lost)} never came although it was too late, such as {lost[:3]}")
    double = [key for key, count in came.items() if count > sent[key]]
    check(not double, f"{len(double)} came more often than they were sent, such as {double[:3]}")
    early = [m for m in stored if m.stored < due[m.properties["UNIQ_KEY"]]]
    check(not early, f"{len(early)} came early")
    ends = Counter(f"{'remoting' if key[0] == 'r' else 'gRPC'} {what}" for key, what in told.items())
    check(len(ends) == 4 and min(ends.values()) >= OF_EACH, f"this was no race: {dict(ends)}")
    twice = Counter(told[key] for key, count in sent.items() if count == 2)
    return f"{dict(sorted(ends.items()))}; of those stored twice {dict(sorted(twice.items()))}; none lied"


def both_copies():
    """Two copies of one id that wait, the second for later than the first, both go by one recall."""
    topic, connection = f"acc_recall_copies_{RUN_ID}", Connection(BROKER)
    same(0, create_topic(connection, topic, QUEUES, "DELAY").code, "topic")
    base, told = now() + 4000, Counter()
    copies = [(f"k{i}", base + later) for later in (0, 300) for i in range(200)]
    handles = send_all(connection, topic, copies)
    for key, handle in handles.items():
        told[connection.call(RECALL, {"producerGroup": "scenarios", "topic": topic, "recallHandle": handle}).code] += 1
    same({0: 200}, dict(told), "codes")
    check(now() < base, "recalling took too long for this case to mean anything")
    time.sleep(max(0, (base + 1500 - now()) / 1000))
    same(0, len(everything(connection, topic, QUEUES)), "messages that came")
    connection.close()
    return "200 ids with two copies each: none came"


run("recall-race", [("what-10000-raced-recalls-tell-is-what-happens", 110, lambda: asyncio.run(race())),
                    ("both-pending-copies-of-an-id-go", 60, both_copies)])
