"""Four consumers of one group, in four languages, share 5,000 messages, and one is killed on the way.

What it held comes to the others when its leases end, and not before: how late is measured from that moment, which its handles
tell, to where another's program has the message. The others are still at work on the rest then, so part of it is theirs.
"""
import time
from collections import Counter

from clients import INVISIBLE_MS, Client
from harness import LATE_MS, RUN_ID, check, run, same
from remoting import BROKER, SEND, Connection, create_topic, send_ext

COUNT, QUEUES = 5000, 8
KILLED, OTHERS = "go", ("java", "rust", "node")
KILL_AT = 300  # messages of the one killed
NAMES_MS = 20  # a handle's moment, which names its pop, may be so far behind the pop: each pop has one of its own
ACK_IN_FLIGHT = 1  # its acks that the server may have had without its saying so


def send_all(topic):
    connection = Connection(BROKER)
    same(0, create_topic(connection, topic, QUEUES, "NORMAL").code, "topic")
    for i in range(COUNT):
        connection.ask(SEND, send_ext(topic, {"UNIQ_KEY": f"K{i}"}, i % QUEUES), str(i).encode())
        if i % 64 == 63:
            for _ in range(64):
                same(0, connection.answer().code, "send")
    for _ in range(COUNT % 64):
        same(0, connection.answer().code, "send")
    connection.close()


def one_killed():
    topic = f"acc_one_killed_{RUN_ID}"
    send_all(topic)
    clients = {}
    try:
        for language in (KILLED, *OTHERS):
            # It is killed while it holds some, however fast it is and however slow this program.
            holds = {"HOLD_FROM": str(KILL_AT)} if language == KILLED else {}
            clients[language] = Client(language, topic, topic, "simple", 110, **holds)
        for client in clients.values():
            client.wait_ready()
        killed = clients[KILLED]
        killed.wait(lambda got: len(got) >= KILL_AT, 40, "simple", "got")
        killed.kill()
        time.sleep(0.3)  # the last of what it said is read
        held = {body for _, body in killed.all("simple", "got")} - {body for _, body in killed.all("simple", "acked")}
        check(held, "the killed consumer held nothing")
        end = time.time() + 60
        while time.time() < end and len(acked(clients)) < COUNT - ACK_IN_FLIGHT:
            time.sleep(0.1)
        time.sleep(INVISIBLE_MS / 1000 + 2)  # whatever was not acked for the server would come again by then
        return judge(clients, held)
    finally:
        for client in clients.values():
            client.kill()


def acked(clients):
    """When each message was first acked, by the word of its consumer."""
    first = {}
    for client in clients.values():
        for at, body in client.all("simple", "acked"):
            first[body] = min(at, first.get(body, at))
    return first


def judge(clients, held):
    done = acked(clients)
    got = [(at, body, language) for language, client in clients.items() for at, body in client.all("simple", "got")]
    missing = {str(i) for i in range(COUNT)} - set(done)
    check(missing <= held and len(missing) <= ACK_IN_FLIGHT, f"{len(missing)} messages were never acked, such as {sorted(missing)[:3]}")
    again = [(body, language) for at, body, language in got if body in done and at > done[body]]
    check(not again, f"{len(again)} messages came again after their ack, such as {again[:3]}")
    twice = {body for body, count in Counter(body for _, body, _ in got).items() if count > 1}
    check(twice <= held, f"{len(twice - held)} messages came twice that the killed consumer did not hold")
    ends = dict(rest.split(" ") for _, rest in clients[KILLED].all("lease", "ends"))
    back = sorted(at - int(ends[body]) for at, body, language in got if body in held and language != KILLED)
    takers = sorted({language for _, body, language in got if body in held and language != KILLED})
    same(len(held) - len(missing), len(back), "messages of the killed consumer that came back")
    check(back[0] >= -NAMES_MS, f"one came back {-back[0]} ms before its lease was over")
    check(back[-1] <= LATE_MS, f"one came back {back[-1]} ms after its lease was over")
    errors = {language: len(client.all("error")) for language, client in clients.items() if client.all("error")}
    check(not errors, f"errors: {errors}, such as {[client.all('error')[:1] for client in clients.values()]}")
    share = ", ".join(f"{language} {len(client.all('simple', 'acked'))}" for language, client in clients.items())
    return (f"{COUNT} acked ({share}), none again after its ack; the {len(back)} that the killed one held came to "
            f"{' and '.join(takers)} {back[0]} to {back[-1]} ms after their leases were over")


run("one-killed", [("5000-messages-four-consumers-one-killed", 115, one_killed)])
