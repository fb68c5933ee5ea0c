"""Keys against doubles, by the Python gRPC client and on a bare socket: what is scheduled twice with a key is one message.

The servers are of the scenario's own: one is killed, and its keys are free five seconds after a delivery.
"""
import base64
import time

from rocketmq import ClientConfiguration, Credentials, Message, Producer

from harness import Inbox, check, late, now, run, same
from push import consume_into
from remoting import SEND, Connection, create_topic, everything, send_ext
from server import Server

KEY, WINDOW = "DUEMQ_DEDUP_KEY", 5


class World:
    """A server, a producer and a push consumer of one topic."""

    def __init__(self, topic):
        self.server, self.topic, self.inbox = Server("--set", f"dedup_window={WINDOW}s"), topic, Inbox()
        same(0, create_topic(Connection(self.server.address), topic, 1, "DELAY").code, "topic")
        config = ClientConfiguration(f"127.0.0.1:{self.server.grpc}", Credentials(), request_timeout=5)
        self.producer = Producer(config, (topic,))
        self.producer.startup()
        self.consumer = consume_into(self.inbox, config, topic, 1)

    def send(self, body, key, due):
        """Gives the id, the handle and the moment in it."""
        message = Message()
        message.topic, message.body, message.delivery_timestamp = self.topic, body.encode(), due
        message.add_property(KEY, key)
        receipt = self.producer.send(message)
        return receipt.message_id, receipt.recall_handle, int(base64.urlsafe_b64decode(receipt.recall_handle).split()[3])

    def send_for(self, seconds, body, key, due):
        """The same, where the server has just come back and the client must find that out."""
        end = time.time() + seconds
        while True:
            try:
                return self.send(body, key, due)
            except Exception:
                check(time.time() < end, f"the producer did not find the server again in {seconds} s")
                time.sleep(0.2)

    def stored(self):
        connection = Connection(self.server.address)
        bodies = [message.body.decode() for message in everything(connection, self.topic, 1)]
        connection.close()
        return bodies

    def end(self):
        self.producer.shutdown()
        self.consumer.shutdown()
        same(0, self.server.stop(), "exit code")


def over_a_kill():
    world = World("dedup")
    due = now() // 1000 + 15
    first = world.send("first", "order 4711", due)
    same(due * 1000, first[2], "due time")
    same(first, world.send("again", "order 4711", due + 5), "answer to the second one")
    check(world.send("other", "order 4712", due)[0] != first[0], "another key is another message")
    world.server.kill()
    world.server.start()
    same(first, world.send_for(12, "after the kill", "order 4711", due + 5), "answer after the kill")
    check(now() < due * 1000, "this took too long for the case to mean anything")
    got = world.inbox.wait(2, 30, "messages")
    at = late(due * 1000, max(at for _, at in got), "a message")
    same(first, world.send("too late", "order 4711", due + 60), "answer after the delivery")
    time.sleep(max(0, due + WINDOW + 1 - time.time()))
    third = world.send("free again", "order 4711", now() // 1000 + 2)
    check(third[0] != first[0], "the key is free once its window is over")
    world.inbox.wait(3, 15, "messages")
    time.sleep(1)
    same(["first", "free again", "other"], sorted(m.body.decode() for m, _ in world.inbox.all), "received")
    same(["first", "free again", "other"], sorted(world.stored()), "stored")
    world.end()
    return f"scheduled four times, one message, {at} ms late; free {WINDOW} s after its delivery"


def recall_frees():
    world = World("freed")
    due = now() // 1000 + 6
    first = world.send("first", "k", due)
    same(first, world.send("again", "k", due), "answer to the second one")
    same(first[0], world.producer.recall_message(world.topic, first[1]), "id of the recalled message")
    second = world.send("second", "k", due)
    check(second[0] != first[0], "a recalled message's key is free")
    same(second, world.send("again", "k", due), "answer to the fourth one")
    world.inbox.wait(1, 20, "messages")
    time.sleep(1)
    same(["second"], [m.body.decode() for m, _ in world.inbox.all], "received")
    same(["second"], world.stored(), "stored")
    world.end()
    return "called back and scheduled again: the second came, once"


def by_remoting():
    server = Server("--set", f"dedup_window={WINDOW}s")
    connection = Connection(server.address)
    same(0, create_topic(connection, "t", 1).code, "topic")
    due = now() + 60_000

    def send(ident, **more):
        properties = {"TIMER_DELIVER_MS": due, "UNIQ_KEY": ident, KEY: "k", **more}
        return connection.call(SEND, send_ext("t", properties), ident.encode())

    first, second = send("first"), send("second", TIMER_DELIVER_MS=due + 1)
    same([0, 0], [first.code, second.code], "codes")
    same([None, "true"], [answer.ext.get("duplicate") for answer in (first, second)], "field duplicate")
    for field in ("msgId", "queueId", "transactionId", "recallHandle"):
        same(first.ext[field], second.ext[field], field)
    refused = send("half", TRAN_MSG="true", PGROUP="p")
    same(13, refused.code, "code of a transactional one")
    check(KEY in refused.remark, refused.remark)
    refused = send("long", **{KEY: "k" * 256})
    same(13, refused.code, "code of one with a long key")
    for word in (KEY, "256", "255"):
        check(word in refused.remark, refused.remark)
    connection.close()
    same(0, server.stop(), "exit code")
    return f"marked; refused with: {refused.remark}"


run("dedup", [("scheduled-again-with-a-key-is-one-message-over-a-kill", 60, over_a_kill),
              ("a-recall-sets-a-key-free", 40, recall_frees),
              ("a-double-is-marked-by-remoting", 20, by_remoting)])
