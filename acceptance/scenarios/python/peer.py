"""Apache RocketMQ's own name server and broker, for scenarios in which both makes serve one cluster."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

LIB = os.path.join(os.environ.get("ACCEPTANCE_CACHE", "/tmp/acceptance-cache"), "peer", "lib", "*")
START_SECONDS = 60


def free_port(*beside):
    """A port that is free now, and so are those beside it: a broker opens three."""
    while True:
        with socket.socket() as first:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            others = [socket.socket() for _ in beside]
            try:
                for other, offset in zip(others, beside):
                    other.bind(("127.0.0.1", port + offset))
                return port
            except (OSError, OverflowError):
                continue
            finally:
                for other in others:
                    other.close()


class Peer:
    def __init__(self, main, heap, port, settings):
        self.port = port
        self.folder = tempfile.mkdtemp(prefix="peer-scenario-")
        conf = os.path.join(self.folder, "conf")
        with open(conf, "w") as file:
            settings = {"listenPort": port, "storePathRootDir": os.path.join(self.folder, "store"), **settings}
            file.writelines(f"{key}={value}\n" for key, value in settings.items())
        log = open(os.path.join(self.folder, "out"), "ab")
        # Its limits of disk use are parts of the disk: a machine that is nearly full of other things would fail.
        self.process = subprocess.Popen(
            ["java", f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k",
             "-XX:MaxDirectMemorySize=128m", f"-Duser.home={self.folder}", f"-Drocketmq.home.dir={self.folder}",
             "-Drocketmq.broker.diskSpaceWarningLevelRatio=0.99", "-Drocketmq.broker.diskSpaceCleanForciblyRatio=0.98",
             "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED", "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
             "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
             "-cp", LIB, main, "-c", conf],
            stdout=log, stderr=log, env={**os.environ, "ROCKETMQ_HOME": self.folder})
        log.close()

    @property
    def address(self):
        return "127.0.0.1", self.port

    def ready(self):
        """Waits until its port is open."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(self.address, 1).close()
                return
            except OSError:
                time.sleep(0.1)
        with open(os.path.join(self.folder, "out"), errors="replace") as out:
            raise RuntimeError(f"the peer did not open its port, see {self.folder}: {out.read()[-300:]}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def remove(self):
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def name_server():
    return Peer("org.apache.rocketmq.namesrv.NamesrvStartup", "64m", free_port(), {})


def broker(name, name_servers):
    """A broker on a fresh folder; name_servers is a list of host:port."""
    port = free_port(-2, 1)
    return Peer("org.apache.rocketmq.broker.BrokerStartup", "256m", port, {
        "brokerName": name, "brokerIP1": "127.0.0.1", "namesrvAddr": ";".join(name_servers),
        "mappedFileSizeCommitLog": 64 << 20, "mappedFileSizeTimerLog": 16 << 20, "diskMaxUsedSpaceRatio": 95,
    })
