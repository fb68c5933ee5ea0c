"""A server of the scenario's own, beside the one on the standard ports: it may be killed."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

DUEMQ = os.environ.get("DUEMQ", "target/release/duemq")


PORT_IN_USE = 71  # the server's exit code


class PortTaken(Exception):
    pass


def free_ports():
    """Three that are free now: name server, broker (and the one two below it), gRPC."""
    while True:
        with socket.socket() as a, socket.socket() as b, socket.socket() as c, socket.socket() as d:
            for s in (a, b, c):
                s.bind(("127.0.0.1", 0))
            broker = b.getsockname()[1]
            try:
                d.bind(("127.0.0.1", broker - 2))
            except OSError:
                continue
            return a.getsockname()[1], broker, c.getsockname()[1]


class Server:
    def __init__(self, *flags):
        self.folder = tempfile.mkdtemp(prefix="duemq-scenario-")
        self.flags = flags
        self.process = None
        while True:
            self.namesrv, self.broker, self.grpc = free_ports()
            try:
                self.start()
                return
            except PortTaken:
                pass  # by another case, or a connection, since it was seen free

    @property
    def address(self):
        return "127.0.0.1", self.broker

    def start(self):
        """Starts it and waits until it is ready; gives how many ms that took."""
        began = time.monotonic()
        log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(
            [DUEMQ, "serve", "--data", os.path.join(self.folder, "data"), "--namesrv-port", str(self.namesrv),
             "--broker-port", str(self.broker), "--proxy-port", "0", "--grpc-port", str(self.grpc), *self.flags],
            stdout=subprocess.PIPE, stderr=log, text=True)
        log.close()
        for line in self.process.stdout:
            if line.startswith("ready in "):
                self.ready_ms = int(line.split()[2])
                return (time.monotonic() - began) * 1000
        if self.process.wait(20) == PORT_IN_USE:
            raise PortTaken
        raise RuntimeError(f"the server did not get ready, see {self.folder}/log")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def alive(self):
        return self.process.poll() is None

    def resident_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    def stop(self, keep=False):
        """Stops it in good order; gives its exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        self.process.stdout.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        return code
