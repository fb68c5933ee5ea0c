"""Producers and consumers in five languages run on while the server is away for five seconds, with both ends in each.

Each program sends and receives with the same client from before the server stops until after it is back, and is never
started again. A language has resumed once a message that it sent after the server's return came to each of its consumers.
"""
import time

from clients import LANGUAGES, Client
from harness import check, now, run, same
from remoting import Connection, create_topic
from server import Server

AWAY_SECONDS, RESUMED_MS = 5, 30_000


def roles(language):
    """The published Rust client has no push consumer."""
    return ["simple"] if language == "rust" else ["simple", "push"]


def restart():
    server, clients = Server(), {}
    grpc = f"127.0.0.1:{server.grpc}"
    try:
        connection = Connection(server.address)
        for language in LANGUAGES:
            same(0, create_topic(connection, language, 2, "MIXED").code, "topic")
        connection.close()
        for language in LANGUAGES:
            clients[language] = Client(language, language, language, ",".join([*roles(language), "send"]), 150, grpc)
        for language, client in clients.items():
            client.wait_ready(40)
            for role in roles(language):
                client.wait(bool, 30, role, "got")
        same(0, server.stop(keep=True), "exit code")
        time.sleep(AWAY_SECONDS)
        server.start()
        back = now()
        resumed = {language: resumes(clients[language], roles(language), back) for language in LANGUAGES}
        slow = {language: ms for language, ms in resumed.items() if ms > RESUMED_MS}
        check(not slow, f"resumed after ms: {slow}, more than {RESUMED_MS}")
        nothing_lost(clients)
        same(0, server.stop(), "exit code")
        return "resumed after ms: " + ", ".join(f"{language} {ms}" for language, ms in resumed.items())
    finally:
        for client in clients.values():
            client.kill()
        if server.alive():
            server.kill()


def resumes(client, roles, back):
    """After how many ms the last of a program's parts was at work again."""
    after = []
    limit = RESUMED_MS / 1000 + 15
    for role in roles:
        # A message is delivered 300 ms after it was sent, so one of before the stop may come as well.
        client.wait(lambda got: any(at > back and sent(client, body) > back for at, body in got), limit, role, "got")
        after.append(min(at for at, body in client.all(role, "got") if at > back and sent(client, body) > back) - back)
    return max(after)


def sent(client, body):
    """When a message's send was answered; 0 where it never was."""
    return next((at for at, _, word, other in list(client.said) if word == "sent" and other == body), 0)


def nothing_lost(clients):
    """What was acknowledged before the stop or after it reaches every consumer of its language."""
    for language, client in clients.items():
        wanted = {body for at, body in client.all("send", "sent") if at < now() - 5000}
        for role in roles(language):
            client.wait(lambda got: wanted <= {body for _, body in got}, 30, role, "got")


run("restart", [("clients-in-five-languages-survive-five-seconds-without-a-server", 170, restart)])
