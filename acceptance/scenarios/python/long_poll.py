"""A receiver that waits in a long poll, in each language: how late after its due moment does it have a message?

All five wait at once, each in a topic of its own; the due moments of one are between those of the others, so that no
two are woken together. Each wants the message's moment to the millisecond, so one that sends none sends for all.
"""
import time

from clients import LANGUAGES, Client
from harness import RUN_ID, check, now, run, same
from histogram import histogram
from remoting import BROKER, SEND, Connection, create_topic, send_ext

COUNT, MEDIAN_MS, PERIOD_MS = 20, 20, 1000


def long_poll():
    connection, clients = Connection(BROKER), {}
    topic = {language: f"acc_long_poll_{language}_{RUN_ID}" for language in LANGUAGES}
    try:
        for language in LANGUAGES:
            same(0, create_topic(connection, topic[language], 1, "DELAY").code, "topic")
            clients[language] = Client(language, topic[language], topic[language], "simple", 90)
        for client in clients.values():
            client.wait_ready()
        time.sleep(2)  # the first poll of each is at the server
        base = now() + 1000
        # The first two warm a client up: they are not counted.
        for i in range(COUNT + 2):
            for turn, language in enumerate(LANGUAGES):
                due = base + i * PERIOD_MS + turn * PERIOD_MS // len(LANGUAGES)
                time.sleep(max(0, (due - 800 - now()) / 1000))
                same(0, connection.call(SEND, send_ext(topic[language], {"TIMER_DELIVER_MS": due}), str(due).encode()).code, "send")
        for client in clients.values():
            client.wait(lambda got: len(got) >= COUNT + 2, 20, "simple", "got")
        time.sleep(0.5)
        return " ".join(f"{language}: {lateness(clients[language])}" for language in LANGUAGES)
    finally:
        for client in clients.values():
            client.kill()
        connection.close()


def lateness(client):
    got = client.all("simple", "got")
    same(COUNT + 2, len(got), f"{client.language}: messages (more are doubles)")
    late = [at - int(due) for at, due in got][2:]
    check(min(late) >= 0, f"{client.language}: one came {-min(late)} ms early")
    median = sorted(late)[len(late) // 2]
    check(median <= MEDIAN_MS, f"{client.language}: the median is {median} ms late, more than {MEDIAN_MS}: {histogram(late)}")
    return histogram(late)


run("long-poll", [("a-due-message-reaches-a-waiting-receiver-in-five-languages", 85, long_poll)])
