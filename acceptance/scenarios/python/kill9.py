"""kill -9 while messages are pending and some are being delivered."""
import random
import threading
import time

from harness import Inbox, check, now, run, same
from histogram import histogram
from remoting import FOUND, MOVED, PULL, RETRY, SEND, Connection, create_topic, everything, messages, pull_ext, send_ext
from server import Server

QUEUES, COUNT, KILLS = 4, 1000, (3.0, 5.0, 7.0)


class Reader(threading.Thread):
    """Long-polls one queue through every death of the server, from where it was."""
    def __init__(self, server, topic, queue, inbox, done):
        super().__init__(daemon=True)
        self.server, self.topic, self.queue, self.inbox, self.done = server, topic, queue, inbox, done

    def run(self):
        offset, connection = 0, None
        while not self.done.is_set():
            try:
                connection = connection or Connection(self.server.address)
                answer = connection.call(PULL, pull_ext(self.topic, "kill9", self.queue, offset, 2000))
            except OSError:
                connection = None
                time.sleep(0.02)
                continue
            if answer.code == FOUND:
                for message in messages(answer.body):
                    self.inbox.put(message)
            if answer.code in (FOUND, RETRY, MOVED):
                offset = int(answer.ext["nextBeginOffset"])


def send_all(server, topic, base):
    """Sends with 64 in flight; gives the due time of each that was acknowledged."""
    random.seed(9)
    connection, due, acknowledged, asked = Connection(server.address), {}, {}, {}

    def hear():
        answer = connection.answer()
        body = asked.pop(answer.opaque)
        same(0, answer.code, f"answer to message {body} ({answer.remark})")
        acknowledged[body] = due[body]

    for i in range(COUNT):
        body = str(i)
        due[body] = base + random.randrange(8000)
        opaque = connection.ask(SEND, send_ext(topic, {"TIMER_DELIVER_MS": due[body], "UNIQ_KEY": f"K{i}"}, i % QUEUES, now()), body.encode())
        asked[opaque] = body
        if len(asked) >= 64:
            hear()
    while asked:
        hear()
    connection.close()
    return acknowledged


def kill9():
    server, topic, inbox, done = Server(), "kill9", Inbox(), threading.Event()
    try:
        same(0, create_topic(Connection(server.address), topic, QUEUES).code, "topic")
        for queue in range(QUEUES):
            Reader(server, topic, queue, inbox, done).start()
        base = now() + 2000
        due = send_all(server, topic, base)
        same(COUNT, len(due), "acknowledged")
        restarts, pending = [], []
        for after in KILLS:
            time.sleep(max(0, base / 1000 + after - time.time()))
            with inbox.changed:
                pending.append(COUNT - len(inbox.all))
            server.kill()
            restarts.append(server.start())
        got = inbox.wait(COUNT, 20, "acknowledged messages")
        time.sleep(0.5)
        done.set()
        stored = everything(Connection(server.address), topic, QUEUES)
        bodies = [m.body.decode() for m in stored]
        check(set(due) <= set(bodies), f"lost {len(set(due) - set(bodies))} messages")
        same(COUNT, len(bodies), "messages stored in the topic (more are doubles)")
        same(COUNT, len(got), "messages received (more are doubles)")
        early = [m for m in stored if m.stored < due[m.body.decode()]]
        check(not early, f"{len(early)} were delivered early")
        check(all(at >= due[m.body.decode()] for m, at in got), "a message came early")
        late = [at - due[m.body.decode()] for m, at in got]
        check(server.alive(), "the server is gone")
        return (f"{COUNT} acknowledged, killed with {pending} pending, ready again after "
                f"{[round(ms) for ms in restarts]} ms; none lost, early or double; late ms: {histogram(late)}")
    finally:
        done.set()
        server.stop()


run("kill9", [("pending-messages-survive-kill-9", 120, kill9)])
