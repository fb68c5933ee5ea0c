"""Sends and receives with the Python client, and says so line by line: see clients.py."""
import os
import sys
import threading
import time

from rocketmq import (ClientConfiguration, ConsumeResult, Credentials, FilterExpression, Message, MessageListener,
                      Producer, PushConsumer, SimpleConsumer)

CONFIG = ClientConfiguration(os.environ["GRPC"], Credentials())
INVISIBLE_SECONDS = 10
lock = threading.Lock()


def say(what):
    line = f"{' '.join(what.split())} {int(time.time() * 1000)}\n"
    with lock:
        sys.stdout.write(line)
        sys.stdout.flush()


class Listener(MessageListener):
    def consume(self, message):
        say(f"push got {message.body.decode()}")
        return ConsumeResult.SUCCESS


def receive(consumer):
    while True:
        try:
            got = consumer.receive(16, INVISIBLE_SECONDS) or []
            for message in got:
                say(f"simple got {message.body.decode()}")
            for message in got:
                consumer.ack(message)
                say(f"simple acked {message.body.decode()}")
        except Exception as e:
            say(f"error simple {type(e).__name__} {e}")
            time.sleep(0.2)


def send(producer, topic):
    i = 0
    while True:
        message = Message()
        message.topic, message.body = topic, f"python-{i}".encode()
        try:
            producer.send(message)
            say(f"send sent python-{i}")
        except Exception as e:
            say(f"error send {type(e).__name__} {e}")
        i += 1
        time.sleep(0.25)


def main(topic, group, roles, seconds):
    roles = roles.split(",")
    if "push" in roles:
        PushConsumer(CONFIG, f"{group}_push", Listener(), {topic: FilterExpression()}, consumption_thread_count=4).startup()
    if "simple" in roles:
        consumer = SimpleConsumer(CONFIG, f"{group}_simple", {topic: FilterExpression()}, 10)
        consumer.startup()
        threading.Thread(target=receive, args=(consumer,), daemon=True).start()
    if "send" in roles:
        producer = Producer(CONFIG, (topic,))
        producer.startup()
        threading.Thread(target=send, args=(producer, topic), daemon=True).start()
    say("ready")
    time.sleep(int(seconds))
    os._exit(0)


main(*sys.argv[1:])
