"""Pop by remoting where no Java client goes: acks in batches, changed leases, order, the limits of a group, peeks."""
import base64
import json
import os
import time

from harness import RUN_ID, check, late, now, run, same
from remoting import SEND, Connection, create_topic, everything, messages, send_ext

BROKER = (os.environ.get("BROKER", "127.0.0.1:10911").split(":")[0],
          int(os.environ.get("BROKER", "127.0.0.1:10911").split(":")[1]))
POP, ACK, BATCH_ACK, PEEK, CHANGE, NOTIFICATION, POLLING_INFO = 200050, 200051, 200151, 200052, 200053, 200054, 200055
CREATE_GROUP = 200
FOUND, NO_MESSAGE, POLLING_TIMEOUT = 0, 208, 210


class Popped:
    """A message with the handle that Java's client would make of the answer."""
    def __init__(self, stored, handle):
        self.stored, self.handle = stored, handle
        parts = handle.split(" ")
        self.start, self.pop_time, self.retry = int(parts[0]), int(parts[1]), parts[4]
        self.queue, self.offset = int(parts[6]), int(parts[7])
        self.body = stored.body.decode()


class Consumer:
    def __init__(self, topic, group, invisible_ms=5000):
        self.connection, self.topic, self.group, self.invisible_ms = Connection(BROKER, 30), topic, group, invisible_ms

    def ext(self, **more):
        return {"consumerGroup": self.group, "topic": self.topic, **more}

    def pop(self, count=32, wait_ms=0, code=FOUND, queue=-1, **more):
        answer = self.connection.call(POP, self.ext(
            queueId=queue, maxMsgNums=count, invisibleTime=self.invisible_ms, pollTime=wait_ms, bornTime=now(), initMode=0,
            expType="TAG", exp="*", **more))
        same(code, answer.code, f"code of a pop ({answer.remark})")
        for field in ("popTime", "invisibleTime", "reviveQid", "restNum"):
            check(field in answer.ext, f"no {field} in {answer.ext}")
        self.answer = answer
        return list(self.popped(answer))

    def popped(self, answer):
        starts = dict(read_info(answer.ext["startOffsetInfo"]))
        offsets = {key: [int(o) for o in text.split(",")] for key, text in read_info(answer.ext["msgOffsetInfo"])}
        for stored in messages(answer.body):
            handle = stored.properties.get("POP_CK")
            same(self.topic, stored.topic, "topic of a popped message")
            if handle is None:
                key = f"0@{stored.queue}"
                check(stored.queue_offset in offsets[key], f"{stored.queue_offset} is not in {offsets}")
                handle = " ".join([starts[key], answer.ext["popTime"], answer.ext["invisibleTime"], answer.ext["reviveQid"],
                                   "0", "broker", str(stored.queue), str(stored.queue_offset)])
            yield Popped(stored, handle)

    def real_topic(self, popped):
        return {"0": self.topic, "1": f"%RETRY%{self.group}_{self.topic}", "2": f"%RETRY%{self.group}+{self.topic}"}[popped.retry]

    def ack(self, popped, code=0):
        answer = self.connection.call(ACK, self.ext(
            queueId=popped.queue, extraInfo=popped.handle, offset=popped.offset) | {"topic": self.real_topic(popped)})
        same(code, answer.code, f"code of an ack ({answer.remark})")

    def batch_ack(self, all_popped):
        acks = {}
        for p in all_popped:
            key = (p.retry, p.queue, p.start, p.pop_time)
            acks[key] = acks.get(key, 0) | 1 << (p.offset - p.start)
        body = {"brokerName": "broker", "acks": [
            {"c": self.group, "t": self.topic, "r": retry, "so": start, "q": queue, "rq": 0, "pt": pop_time,
             "it": self.invisible_ms, "b": base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "little")).decode()}
            for (retry, queue, start, pop_time), bits in acks.items()]}
        answer = self.connection.call(BATCH_ACK, {}, json.dumps(body).encode())
        same((0, ""), (answer.code, answer.remark), "code and remark of a batch ack")
        return len(acks)

    def change(self, popped, invisible_ms, code=0):
        answer = self.connection.call(CHANGE, self.ext(
            queueId=popped.queue, extraInfo=popped.handle, offset=popped.offset, invisibleTime=invisible_ms)
            | {"topic": self.real_topic(popped)})
        same(code, answer.code, f"code of a change ({answer.remark})")
        if code:
            return None
        handle = " ".join([str(popped.offset), answer.ext["popTime"], answer.ext["invisibleTime"], answer.ext["reviveQid"],
                           popped.retry, "broker", str(popped.queue), str(popped.offset)])
        return Popped(popped.stored, handle)


def read_info(text):
    for entry in filter(None, text.split(";")):
        retry, queue, value = entry.split(" ")
        yield f"{retry}@{queue}", value


def setup(name, queues, count=0, **group):
    """A topic with so many messages, and a consumer of it."""
    topic = f"acc_pop_raw_{name}_{RUN_ID}"
    consumer = Consumer(topic, group.pop("name", topic))
    same(0, create_topic(consumer.connection, topic, queues).code, "topic")
    if group:
        body = json.dumps({"groupName": consumer.group, "consumeEnable": True, **group}).encode()
        same(0, consumer.connection.call(CREATE_GROUP, {}, body).code, "group")
    for i in range(count):
        same(0, consumer.connection.call(SEND, send_ext(topic, {}, i % queues), str(i).encode()).code, "send")
    return consumer


def bodies(all_popped):
    return sorted(int(p.body) for p in all_popped)


def acks():
    c = setup("acks", 3, 40)
    peeked = c.connection.call(PEEK, c.ext(queueId=-1, maxMsgNums=32))
    same((0, 32), (peeked.code, len(messages(peeked.body))), "a peek")
    took = c.pop(32) + c.pop(32)
    same(list(range(40)), bodies(took), "popped")
    c.pop(code=POLLING_TIMEOUT)
    taken_at = max(p.pop_time for p in took)
    left = [p for p in took if int(p.body) % 8 == 7]
    for p in took[:6]:
        if p not in left:
            c.ack(p)
            c.ack(p)
    batches = c.batch_ack([p for p in took[6:] if p not in left])
    again = []
    while len(again) < len(left):
        again += c.pop(wait_ms=9000)
        check(now() >= taken_at - 1000 + c.invisible_ms, "one came again before its lease was over")
    same(bodies(left), bodies(again), "came again")
    same({"1"}, {p.retry for p in again}, "sign of the retry topic in their handles")
    same({1}, {p.stored.reconsume_times for p in again}, "their reconsume times")
    c.ack(left[0], NO_MESSAGE)
    c.batch_ack(again)
    time.sleep(c.invisible_ms / 1000 + 1)
    c.pop(code=POLLING_TIMEOUT)
    return f"40 messages: some acked one by one, the rest in {batches} batches, 5 left and back"


def changes():
    c = setup("changes", 1, 3)
    took = c.pop()
    first = c.change(took[0], 20_000)
    c.ack(took[0], NO_MESSAGE)
    c.change(took[0], 1000, NO_MESSAGE)
    c.ack(first)
    second, asked = c.change(took[1], 2000), now()
    c.ack(took[2])
    again = c.pop(wait_ms=9000)
    detail = late(asked + 1990, now(), "the one that was to come after 2 s") - 10
    same(["1"], [p.body for p in again], "came again")
    c.ack(second, NO_MESSAGE)
    c.ack(again[0])
    c.pop(wait_ms=7000, code=POLLING_TIMEOUT)
    return f"the new handle acks, the old one does not; late ms: {detail}"


def order():
    c = setup("order", 1, 6)
    c.invisible_ms = 3000
    first = c.pop(3, order="true", attemptId="x")
    same(["0", "1", "2"], [p.body for p in first], "popped in order")
    same("999", c.answer.ext["reviveQid"], "reviveQid")
    c.pop(3, order="true", attemptId="y", code=POLLING_TIMEOUT)
    same_ones = c.pop(3, order="true", attemptId="x")
    same(["0", "1", "2"], [p.body for p in same_ones], "the same attempt")
    c.ack(same_ones[0])
    again = c.pop(9, order="true", attemptId="z", wait_ms=9000)
    same(["1", "2", "3", "4", "5"], [p.body for p in again], "after the lease")
    counts = dict(read_info(c.answer.ext["orderCountInfo"]))
    same(("1", "1"), (counts["0@qo0%1"], counts["0@qo0%2"]), "how often they were handed out before")
    for p in again:
        c.ack(p)
    c.pop(9, order="true", attemptId="w", code=POLLING_TIMEOUT)
    return "one batch at a time, the same attempt the same again, counts told"


def dead_letters():
    c = setup("dead", 1, 1, retryMaxTimes=2)
    c.invisible_ms = 1000
    for attempt in range(3):
        came = c.pop(wait_ms=5000)
        same([attempt], [p.stored.reconsume_times for p in came], "reconsume times")
    over = came[0].pop_time + c.invisible_ms
    c.pop(wait_ms=2500, code=POLLING_TIMEOUT)
    letters = everything(c.connection, f"%DLQ%{c.group}", 1)
    same(["0"], [m.body.decode() for m in letters], "dead letters")
    same(c.topic, letters[0].properties.get("DLQ_ORIGIN_TOPIC"), "DLQ_ORIGIN_TOPIC")
    return f"3 attempts, then a dead letter; late ms: {late(over, letters[0].stored, 'the dead letter')}"


def wakes():
    c, other = setup("wakes", 4), Connection(BROKER, 30)
    waiting = Connection(BROKER, 30)
    detail = []
    for _ in range(5):
        due = now() + 1500
        same(0, c.connection.call(SEND, send_ext(c.topic, {"TIMER_DELIVER_MS": due}, 2), b"7").code, "send")
        asked = waiting.ask(NOTIFICATION, c.ext(queueId=-1, pollTime=9000, bornTime=now()))
        info = other.call(POLLING_INFO, c.ext(queueId=-1))
        same((0, "0"), (info.code, info.ext["pollingNum"]), "pops that wait")
        came = c.pop(wait_ms=9000)
        detail.append(late(due, now(), "the message to the waiting pop"))
        answer = waiting.answer()
        late(due, now(), "the word to the waiting notification")
        same((asked, "true"), (answer.opaque, answer.ext["hasMsg"]), "the notification's answer")
        c.ack(came[0])
    same("false", other.call(NOTIFICATION, c.ext(queueId=-1, pollTime=0, bornTime=0)).ext["hasMsg"], "hasMsg of nothing")
    return f"late ms: {detail}"


def pairs():
    """Two pairs of group and topic whose retry topics would have one name."""
    end = RUN_ID
    one, other = Consumer(f"b_c_{end}", "acc_a", 1000), Consumer(f"c_{end}", "acc_a_b", 1000)
    for c, body in ((one, b"1"), (other, b"2")):
        same(0, create_topic(c.connection, c.topic, 1).code, "topic")
        same(0, c.connection.call(SEND, send_ext(c.topic, {}), body).code, "send")
        c.pop()
    for c, body in ((one, 1), (other, 2)):
        again = c.pop(wait_ms=5000)
        same([body], bodies(again), f"what comes again to {c.group}")
        c.ack(again[0])
    time.sleep(1.5)
    for c in (one, other):
        c.pop(code=POLLING_TIMEOUT)
    return "each gets its own again"


run("pop-raw", [("acks-and-batches-are-final", 60, acks), ("changed-leases-and-their-handles", 60, changes),
                ("order", 60, order), ("dead-letter-after-the-last-lease", 60, dead_letters),
                ("waiting-pops-and-notifications-are-woken", 60, wakes), ("two-pairs-with-one-plain-retry-name", 60, pairs)])
