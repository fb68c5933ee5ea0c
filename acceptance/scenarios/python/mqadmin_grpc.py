"""mqadmin asks about consumers that speak gRPC: who and where they are, what they are at, and whether they can consume a
message. A command is a process, as bin/mqadmin makes it, and prints no exception."""
import os
import re
import subprocess

from clients import CACHE, HOME, Client
from harness import NAMESRV, RUN_ID, check, run, same
from remoting import BROKER, SEND, Connection, create_topic, send_ext

LANGUAGES = {"java": "java.lang.Thread", "go": "goroutine"}  # and what its threads are told by
COUNT = 3
topic = {language: f"acc_mqadmin_grpc_{language}_{RUN_ID}" for language in LANGUAGES}
clients = {}


def admin(command, *options, well=True):
    jars = f"{CACHE}/mqadmin/classes:{CACHE}/mqadmin/lib/*"
    done = subprocess.run(
        ["java", "-Xmx200m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Duser.home={HOME}", f"-Drocketmq.home.dir={HOME}",
         "-cp", jars, "org.apache.rocketmq.tools.command.MQAdminStartup", command, "-n", NAMESRV, *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=50, cwd=HOME)
    check(not well or "Exception" not in done.stdout, f"{command}: {done.stdout[:1500]}")
    return done.stdout


def has(text, *patterns):
    for pattern in patterns:
        check(re.search(pattern, text), f"no {pattern!r} in {text[-300:]!r}")


def start():
    connection = Connection(BROKER)
    for language in LANGUAGES:
        same(0, create_topic(connection, topic[language], 2, "NORMAL").code, "topic")
        clients[language] = Client(language, topic[language], topic[language], "push", 200)
    for language, client in clients.items():
        client.wait_ready()
        for i in range(COUNT):
            ext = send_ext(topic[language], {"UNIQ_KEY": f"{RUN_ID}K{i}"}, i % 2)
            same(0, connection.call(SEND, ext, f"m{i}".encode()).code, "send")
        client.wait(lambda got: len(got) >= COUNT, 40, "push", "got")
    connection.close()


def group(language):
    return f"{topic[language]}_push"


def client_id(language):
    text = admin("consumerConnection", "-g", group(language))
    has(text, "CONSUME_PASSIVELY", "CLUSTERING", topic[language], f"(?i){language}")
    # The table's row: the client's id, its address, its language.
    return re.search(r"^(\S+)\s+\d+\.\d+\.\d+\.\d+:\d+", text, re.M).group(1)


def connection():
    return ", ".join(f"{language} {client_id(language)}" for language in LANGUAGES)


def progress():
    for language in LANGUAGES:
        has(admin("consumerProgress", "-g", group(language)), topic[language], "Diff Total: 0")
        has(admin("topicRoute", "-t", f"%RETRY%{group(language)}"), "brokerAddrs")
    return "nothing left, and a retry topic for each group"


def status():
    for language, sign in LANGUAGES.items():
        ident = client_id(language)
        has(admin("consumerStatus", "-g", group(language), "-i", ident, "-s"), topic[language], sign)
        has(admin("consumerStatus", "-g", group(language), "-i", ident), topic[language])
    return "what each wants, and what its threads are at"


def given(language, well):
    ident = client_id(language)
    return admin("queryMsgByUniqueKey", "-t", topic[language], "-i", f"{RUN_ID}K1", "-g", group(language), "-d", ident, well=well)


def consumed():
    java = clients["java"]
    before = len(java.all("push", "got"))
    has(given("java", True), "CR_SUCCESS", "from gRPC client")
    java.wait(lambda got: len(got) > before, 10, "push", "got")
    same("m1", java.all("push", "got")[-1][1], "the message consumed")
    # This version of the Go client has the function and does not call it.
    has(given("go", False), "the client answered NOT_IMPLEMENTED")
    return "Java's consumer consumed a message that it was given; Go's says that it does not"


try:
    start()
except Exception as e:
    print(f"FAIL mqadmin-grpc.start {e}", flush=True)
    os._exit(1)
run("mqadmin-grpc", [("consumer-connection", 60, connection), ("consumer-progress-and-retry-topic", 100, progress),
                     ("consumer-status-with-threads", 150, status), ("message-consumed-directly", 100, consumed)])
