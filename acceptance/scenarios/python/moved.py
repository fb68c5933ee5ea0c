"""Messages of a real client are given another moment by `duemq pending reschedule`: it has each at the new one, once."""
import json
import os
import subprocess
import time

from rocketmq import ClientConfiguration, Credentials, Message, Producer

from harness import GRPC, RUN_ID, Inbox, check, late, now, run, same
from push import consume_into
from remoting import BROKER, Connection, create_topic


def reschedule(topic, key, *when):
    """Gives what it was told: the one message that moved."""
    command = [os.environ["DUEMQ"], "pending", "reschedule", topic, key, *when, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    same(0, done.returncode, f"{command}: {done.stderr}")
    told = json.loads(done.stdout)
    same(("moved", 1), (told["outcome"], len(told["moved"])), "outcome")
    return told["moved"][0]


def moved():
    topic, box = f"acc_scenarios_moved_{RUN_ID}", Inbox()
    same(0, create_topic(Connection(BROKER), topic, 1, "DELAY").code, "topic")
    config = ClientConfiguration(GRPC, Credentials(), request_timeout=5)
    producer = Producer(config, (topic,))
    producer.startup()
    consumer = consume_into(box, config, topic)
    due, receipts = {}, {}
    for body, seconds in (("earlier", 60), ("later", 4), ("recalled", 60), ("stays", 4)):
        message = Message()
        message.topic, message.body, message.keys = topic, body.encode(), f"key-{body}"
        message.delivery_timestamp = now() // 1000 + seconds
        due[body] = message.delivery_timestamp
        receipts[body] = producer.send(message)
    due = {body: ms if ms > 10**12 else ms * 1000 for body, ms in due.items()}
    by_key = reschedule(topic, "key-earlier", "--in", "3s")
    by_id = reschedule(topic, receipts["later"].message_id, "--in", "8s")
    by_handle = reschedule(topic, receipts["recalled"].recall_handle, "--in", "5s")
    for body, told in (("earlier", by_key), ("later", by_id), ("recalled", by_handle)):
        same((receipts[body].message_id, due[body]), (told["id"], told["fromMs"]), f"id and old moment of {body}")
        due[body] = told["toMs"]
    same(receipts["recalled"].message_id, producer.recall_message(topic, receipts["recalled"].recall_handle),
         "id of the one called back by its old handle")
    box.wait(3, 15, "messages not called back")
    time.sleep(2)
    got = [(message.body.decode(), at) for message, at in box.wait(3, 0, "messages")]
    same(["earlier", "later", "stays"], sorted(body for body, _ in got), "messages")
    lateness = {body: late(due[body], at, body) for body, at in got}
    check(due["earlier"] < due["later"], "the moments are in the wrong order")
    return f"late ms: {lateness}"


run("scenarios", [("moved", 50, moved)])
