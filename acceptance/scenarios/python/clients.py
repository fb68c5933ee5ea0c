"""The programs of ../clients, one a language: each sends and receives with its official gRPC client, and says so.

A program is started with TOPIC GROUP ROLES SECONDS, and ends after so long by itself. Its roles are «simple» (a simple
consumer in the group GROUP_simple, which takes for 10 s and acks), «push» (a push consumer in GROUP_push) and «send» (a
message each 250 ms). Its lines: «ready», «simple got BODY», «simple acked BODY», «push got BODY», «push done BODY», «send
sent BODY», «error ROLE TEXT», each with a space and the time in ms at its end. Java's and Go's listeners work for HOLD_MS.
Go's simple consumer says «lease ends BODY MS» of all it takes; once it has taken HOLD_FROM messages, it holds half of what it
took last and goes on no more.
"""
import os
import subprocess
import threading

from harness import GRPC, check

CACHE = os.environ["ACCEPTANCE_CACHE"]
CLIENTS = os.path.join(os.environ["scenarios"], "clients")
HOME = os.path.join(CACHE, "home")
LANGUAGES = ("java", "go", "rust", "python", "node")
INVISIBLE_MS = 10_000


def command(language):
    if language == "java":
        jars = f"{CACHE}/client-java/classes:{CACHE}/client-java/lib/*"
        return ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Duser.home={HOME}", f"-Drocketmq.log.root={CACHE}/log",
                "-cp", jars, "Client"]
    return {"go": [f"{CACHE}/client-go/program"], "rust": [f"{CACHE}/client-rust/program"],
            "python": [f"{CACHE}/python-grpc/venv/bin/python", "-u", f"{CLIENTS}/client.py"],
            "node": ["node", f"{CLIENTS}/client.js"]}[language]


class Client:
    """One program, and what it said: (time in ms, role, word, the rest)."""

    def __init__(self, language, topic, group, roles, seconds, grpc=GRPC, **environment):
        self.language, self.said, self.changed = language, [], threading.Condition()
        environment = {"GRPC": grpc, "NODE_PATH": f"{CACHE}/node-grpc/node_modules", "HOME": HOME, **environment}
        # What the client itself logs goes nowhere: its errors are among its lines.
        self.process = subprocess.Popen(command(language) + [topic, group, roles, str(seconds)], cwd=HOME, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **environment})
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            words = line.split(" ")
            if not words[-1].strip().isdigit():
                continue  # the client's own
            words, at = words[:-1], int(words[-1])
            with self.changed:
                self.said.append((at, words[0], words[1] if len(words) > 1 else "", " ".join(words[2:])))
                self.changed.notify_all()

    def all(self, role, word=None):
        """What it said in a role: (time, the rest)."""
        with self.changed:
            return [(at, rest) for at, r, w, rest in self.said if r == role and word in (None, w)]

    def wait(self, what, seconds, *words):
        """Waits until `what`, given those lines, is true."""
        with self.changed:
            done = self.changed.wait_for(lambda: what([(at, rest) for at, r, w, rest in self.said if (r, w) == words]), seconds)
        check(done, f"{self.language}: not done in {seconds} s; its last lines: {self.said[-3:]}")

    def wait_ready(self, seconds=30):
        self.wait(bool, seconds, "ready", "")

    def kill(self):
        self.process.kill()
        self.process.wait()
