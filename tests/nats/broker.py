"""A NATS server on a free port, a client that asks its JetStream API, and a TCP proxy in front of it that is slow."""

import json
import re
import socket
import subprocess
import tempfile
import threading
import time

from proxy import free_port


class Broker:
    """A server whose streams outlive it: it can be killed and started again."""

    def __init__(self, options=()):
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.options = options
        self.process = None
        self.start()

    def start(self):
        command = ["nats-server", "-js", "-sd", self.folder.name, "-a", "127.0.0.1", "-p", str(self.port)]
        command += self.options
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if "Server is ready" in line:
                break
        else:
            raise AssertionError("nats-server does not start: " + "".join(said))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.folder.cleanup()

    def api(self, subject, request=None, options=None):
        """An answer of the JetStream API."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        payload = json.dumps(request).encode() if request is not None else b""
        options = json.dumps({"verbose": False, **(options or {})})
        connection.sendall(f"CONNECT {options}\r\nSUB answer 1\r\n".encode())
        connection.sendall(f"PUB $JS.API.{subject} answer {len(payload)}\r\n".encode() + payload + b"\r\n")
        seen = b""
        while True:
            head = re.search(rb"MSG answer 1 (?:\S+ )?(\d+)\r\n", seen)
            if head and len(seen) >= head.end() + int(head[1]):
                connection.close()
                return json.loads(seen[head.end() : head.end() + int(head[1])])
            more = connection.recv(1 << 16)
            assert more, seen
            seen += more

    def messages(self, stream):
        return self.api(f"STREAM.INFO.{stream}")["state"]["messages"]


class Slow:
    """Passes bytes on, those of the server only after a delay, in seconds."""

    def __init__(self, port, delay):
        self.delay = delay
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.to = port
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                return
            threading.Thread(target=self.pass_on, args=(client, server, 0), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, self.delay), daemon=True).start()

    @staticmethod
    def pass_on(source, target, delay):
        try:
            while data := source.recv(1 << 16):
                time.sleep(delay)
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            end.close()

    def close(self):
        self.listener.close()
