"""Ends `contrail watch`, as npm installed it, by signals and by a terminal's Ctrl-C, with a request under way."""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time

COMMAND = ["contrail", "watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0"]
HEAD = b"POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{"


def listening(lines):
    """The port of the proxy, from the lines that it prints."""
    seen = []
    for line in lines:
        seen.append(line)
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
            return int(found[1])
    sys.exit(f"contrail does not listen: {seen}")


def drains(port, end):
    """Begins a request, ends the proxy, and finishes the request: it is answered, since the proxy drains."""
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(30)
    client.sendall(HEAD)
    probe(port)
    end()
    refused(port)
    time.sleep(0.5)  # a signal that came twice would end the proxy at once
    client.sendall(b"}")
    answer = client.recv(12)
    if not answer.startswith(b"HTTP/1.1 "):
        sys.exit(f"the request under way got {answer!r}")


def probe(port):
    """Another request: when it is answered, the one before it was read, too."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(30)
        client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        while client.recv(4096):
            pass


def refused(port):
    """Waits until the proxy takes no connection any more."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            return


def main():
    for sent in (signal.SIGTERM, signal.SIGINT):
        child = subprocess.Popen(COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        drains(listening(child.stderr), lambda: child.send_signal(sent))
        rest = child.communicate(timeout=30)
        if child.returncode != 0:
            sys.exit(f"{sent.name}: exit status {child.returncode}: {rest}")

    child, terminal = pty.fork()
    if child == 0:
        os.execvp(COMMAND[0], COMMAND)
    lines = os.fdopen(os.dup(terminal), encoding="utf-8", errors="replace")
    port = listening(lines)
    # On a terminal it says how it ends.
    if not any("press Ctrl-C to stop" in line for line in lines):
        sys.exit("contrail does not say how it ends")
    drains(port, lambda: os.write(terminal, b"\x03"))
    try:
        rest = lines.read()
    except OSError:  # how Linux reports the end of a terminal
        rest = ""
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"Ctrl-C: exit status {os.waitstatus_to_exitcode(status)}: {rest}")


main()
