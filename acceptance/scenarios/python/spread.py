"""1,000 messages with random due times by the Python gRPC client, which takes them in whole seconds."""
import random
from concurrent.futures import ThreadPoolExecutor

from rocketmq import ClientConfiguration, Credentials, Message, Producer

from harness import GRPC, RUN_ID, Inbox, check, now, run, same
from histogram import histogram
from push import consume_into

COUNT = 1000


def spread():
    topic, inbox = f"acc_scenarios_spread_{RUN_ID}", Inbox()
    config = ClientConfiguration(GRPC, Credentials(), request_timeout=5)
    producer = Producer(config, (topic,))
    producer.startup()
    consumer = consume_into(inbox, config, topic, 4)
    random.seed(4)
    base = now() // 1000 + 6

    def send(i):
        message = Message()
        message.topic, message.body = topic, f"{i}".encode()
        message.delivery_timestamp = base + random.randrange(10)
        check(now() < message.delivery_timestamp * 1000 - 500, "sending took too long for this case to mean anything")
        producer.send(message)
        return str(i), message.delivery_timestamp * 1000

    with ThreadPoolExecutor(8) as pool:
        due = dict(pool.map(send, range(COUNT)))
    got = inbox.wait(COUNT, 40, "messages")
    late = [at - due[m.body.decode()] for m, at in got]
    check(min(late) >= 0, f"one came {-min(late)} ms early")
    same(COUNT, len({m.body for m, _ in got}), "different messages (fewer: some came twice)")
    return f"none early, lost or double; late ms: {histogram(late)}"


run("spread-python", [("1000-random-due-times", 120, spread)])
