"""Messages that a push consumer is at work on for three minutes. Meant to run beside other suites: it only waits.

`held-and-acked-with-the-first-handle`: messages taken for as long as it takes, on gRPC's own stubs. The server renews them
for three minutes; they are acked with the handles that they came with, and nobody gets them again, in those minutes or until
the last of their leases would have been over.
`held-over-a-restart`: the Java client's listener works on a message for three minutes; the server restarts after one. The
message is acked with the handle it came with and never comes again; nor does it while the listener works.
`held-by-a-killed-consumer`: consumers in two languages hold messages and are killed; another has them within the minute
that their leases last.
"""
import time

from calls import OK, Calls, receive_request
from clients import Client
from harness import check, now, run, same
from remoting import SEND, Connection, create_topic, send_ext
from server import Server

HOLD_MS, RESTART_AFTER, LEASE_MS = 180_000, 60, 60_000
# A lease of a minute is renewed 10 s before its end for another, and 10 s before that one's end for three: in s.
LAST_LEASE_ENDS = 50 + 50 + 180
COUNT = 3


def send(server, topic, count):
    connection = Connection(server.address)
    same(0, create_topic(connection, topic, 1, "NORMAL").code, "topic")
    for i in range(count):
        same(0, connection.call(SEND, send_ext(topic, {"UNIQ_KEY": f"K{i}"}), str(i).encode()).code, "send")
    connection.close()


def nothing_comes(client, topic, seconds, when):
    """Whatever is free comes to whoever polls."""
    end = time.time() + seconds
    while time.time() < end:
        _, found, _ = client.receive(receive_request(topic, topic, wait=min(10, max(1, end - time.time()))))
        check(not found, f"{len(found)} came {when}")


def with_the_first_handle():
    server, topic = Server(), "held"
    try:
        send(server, topic, COUNT)
        holder, other = Calls(f"127.0.0.1:{server.grpc}", "holder"), Calls(f"127.0.0.1:{server.grpc}", "another")
        began = time.time()
        _, held, _ = holder.receive(receive_request(topic, topic, batch=8, invisible=None, auto_renew=True))
        same(COUNT, len(held), "messages taken")
        # That it polls is what tells that it is there.
        nothing_comes(holder, topic, HOLD_MS / 1000, "while they were held")
        same([OK] * COUNT, [holder.ack(topic, topic, message) for message in held], "acks")
        holder.close()
        nothing_comes(other, topic, LAST_LEASE_ENDS + 5 - (time.time() - began), "after their ack")
        other.close()
        same(0, server.stop(), "exit code")
        return f"{COUNT} messages renewed for {HOLD_MS // 1000} s, acked with their first handles, never delivered again"
    finally:
        if server.alive():
            server.kill()


def over_a_restart():
    server, topic = Server(), "held"
    grpc = f"127.0.0.1:{server.grpc}"
    send(server, topic, COUNT)
    client = Client("java", topic, topic, "push", 330, grpc, HOLD_MS=str(HOLD_MS))
    try:
        client.wait_ready()
        client.wait(lambda got: len(got) >= COUNT, 30, "push", "got")
        time.sleep(RESTART_AFTER)
        same(0, server.stop(keep=True), "exit code")
        time.sleep(2)
        server.start()
        # Another member of the group: whatever is free is its own.
        other = Calls(grpc, "another")
        end = time.time() + HOLD_MS / 1000 - RESTART_AFTER - 10
        while time.time() < end:
            _, found, _ = other.receive(receive_request(topic, f"{topic}_push"))
            check(not found, f"{len(found)} came to another consumer while the first was at work")
        client.wait(lambda done: len(done) >= COUNT, 40, "push", "done")
        time.sleep(3)  # the acks are done
        client.kill()
        # Longer than any lease there was: the last renewal before the acks was for three minutes at most, and its
        # client, gone, would have had all given back after 25 s.
        end = time.time() + 60
        while time.time() < end:
            _, found, _ = other.receive(receive_request(topic, f"{topic}_push"))
            check(not found, f"{len(found)} came again after their ack")
        other.close()
        same(COUNT, len(client.all("push", "got")), "messages that the consumer got (more are doubles)")
        same(0, server.stop(), "exit code")
        return f"{COUNT} messages held for {HOLD_MS // 1000} s over a restart, acked with their first handles, never again"
    finally:
        client.kill()
        if server.alive():
            server.kill()


def by_a_killed_consumer():
    server, backs = Server(), []
    grpc = f"127.0.0.1:{server.grpc}"
    try:
        other = Calls(grpc, "another")
        for language in ("java", "go"):
            send(server, language, COUNT)
            client = Client(language, language, language, "push", 200, grpc, HOLD_MS=str(HOLD_MS))
            try:
                client.wait_ready()
                client.wait(lambda got: len(got) >= COUNT, 30, "push", "got")
            finally:
                client.kill()
            killed, found = now(), []
            while len(found) < COUNT:
                check(now() < killed + LEASE_MS, f"{language}: {len(found)} of {COUNT} came back within {LEASE_MS} ms of the kill")
                _, some, at = other.receive(receive_request(language, f"{language}_push", batch=8))
                found += some
                backs += [at - killed] if some else []
            same([2] * COUNT, [m.system_properties.delivery_attempt for m in found], "attempts")
        other.close()
        same(0, server.stop(), "exit code")
        return f"back {min(backs)} to {max(backs)} ms after their consumer was killed"
    finally:
        if server.alive():
            server.kill()


run("held", [("held-and-acked-with-the-first-handle", 330, with_the_first_handle),
             ("held-over-a-restart", 330, over_a_restart), ("held-by-a-killed-consumer", 250, by_a_killed_consumer)])
