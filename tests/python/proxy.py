"""A contrail that a test starts, and what it prints."""

import atexit
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

CONTRAIL = os.environ["CONTRAIL"]

# Everything that contrail printed.
SHOWN = []


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def eventually(condition, seconds=60):
    """Asks until the answer is true; that answer."""
    until = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < until, f"not within {seconds} s: {condition}"
        time.sleep(0.02)
    return answer


class Proxy:
    """`contrail watch` with the sandbox behind it."""

    def __init__(self, work, url, buffer="buffer", *options, environment=None, command="watch", is_awaited=True):
        line = [CONTRAIL, command, "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--format", "json"]
        line += ["--trail", url, "--trail-buffer", buffer, *options]
        environment = {**os.environ, **(environment or {})}
        self.process = subprocess.Popen(line, cwd=work, env=environment, stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.said = []
        self.heard = threading.Condition()
        self.address = None
        threading.Thread(target=self.listen, daemon=True).start()
        if is_awaited:
            self.starts()

    def listen(self):
        for line in self.process.stderr:
            SHOWN.append(line)
            with self.heard:
                self.said.append(line)
                self.heard.notify_all()
        with self.heard:
            self.said.append(None)
            self.heard.notify_all()

    def starts(self):
        """Waits until it listens."""
        self.address = self.hears(r'listening on http://([^\s"]+)"')[1].split(":")

    def hears(self, pattern, seconds=60):
        """Waits until it says something."""
        until = time.monotonic() + seconds
        with self.heard:
            while True:
                for line in filter(None, self.said):
                    if found := re.search(pattern, line):
                        return found
                assert time.monotonic() < until and None not in self.said, f"never said {pattern}:\n{self.text()}"
                self.heard.wait(1)

    def text(self):
        """What it said, without the lines of exchanges."""
        return "".join(line for line in self.said if line and not line.startswith('{"at"') and '"method"' not in line)

    def connect(self):
        return socket.create_connection((self.address[0], int(self.address[1])), timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def listens(self):
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def stop(self, seconds=60):
        """Ends it; its summary."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=seconds)
        return self.summary()

    def summary(self):
        self.hears('"summary"')
        line = next(line for line in self.said if line and '"summary"' in line)
        return json.loads(line)["summary"]


def run(work, *arguments, status=None, environment=None):
    environment = {**os.environ, "XDG_CACHE_HOME": f"{work}/cache", **(environment or {})}
    done = subprocess.run([CONTRAIL, *arguments], cwd=work, env=environment, capture_output=True, text=True, timeout=600)
    SHOWN.extend([done.stdout, done.stderr])
    assert status is None or done.returncode == status, (arguments, done.returncode, done.stderr[-2000:])
    return done


def audited(work, url, entries, trails=1, environment=None):
    """Audits what a URL names: so many entries in so many chains, all intact."""
    done = run(work, "audit", url, "--format", "json", environment=environment)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    chains = report["integrity"]
    assert len(chains) == trails, chains
    assert all(chain["broken"] is None and chain["entries"] for chain in chains), chains
    assert sum(chain["entries"] for chain in chains) == report["summary"]["exchanges"] == entries, (entries, chains)
    return report


def main(checks, named, afterwards=lambda work: None):
    """Runs the checks, or those whose names hold one of these words, each in an empty folder."""
    for check in checks:
        if not named or any(name in check.__name__ for name in named):
            begun = time.monotonic()
            with tempfile.TemporaryDirectory() as work:
                check(work)
                afterwards(work)
            print(f"ok  {check.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
