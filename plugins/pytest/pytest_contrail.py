"""Gives each test a session of contrail: recorded once, replayed from then on.

A test's requests reach contrail by the proxy variables and by CONTRAIL_URL, which are set while it runs. A request that
is not recorded fails the test that made it, with the nearest recordings. See docs/ci.md of contrail.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

# Seconds that contrail may take until it listens, and until its fixtures are written.
START, END = 30, 120
PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")
SERVERS = pytest.StashKey()
SESSION = pytest.StashKey()
PRINTED = pytest.StashKey()


def pytest_addoption(parser):
    group = parser.getgroup("contrail")
    group.addoption(
        "--contrail",
        choices=["replay", "record", "missing", "off"],
        default="replay",
        help="replay recorded sessions (default), record them again, record only tests that have none, or neither",
    )
    parser.addini("contrail_folder", "folder of the sessions' fixtures", default="tests/contrail")
    upstreams = "origin of the API, or NAME=ORIGIN of several, one a line; `--contrail record` and `missing` need it"
    parser.addini("contrail_upstream", upstreams, type="linelist")
    parser.addini("contrail_arguments", "further arguments of contrail", type="args")


def pytest_configure(config):
    mark = "contrail(session, off=False): the session whose fixture the test shares; off: the test runs without contrail"
    config.addinivalue_line("markers", mark)
    mode = config.getoption("--contrail")
    runs_none = config.option.collectonly or config.option.help or config.option.markers
    if mode == "off" or runs_none:
        return
    # A contrail around pytest serves all; and the one of the first process serves the workers of pytest-xdist.
    if "CONTRAIL_CONTROL" in os.environ:
        config.stash[SERVERS] = [Server.of(kind) for kind in ("", "RECORD_") if f"CONTRAIL_{kind}CONTROL" in os.environ]
        return
    folder = config.rootpath / config.getini("contrail_folder")
    upstreams = [word for upstream in config.getini("contrail_upstream") for word in ("--upstream", upstream)]
    arguments = config.getini("contrail_arguments")
    if mode != "replay" and not upstreams:
        raise pytest.UsageError(f"--contrail {mode} needs the API's origin: contrail_upstream = https://…, in pytest's configuration")
    folder.mkdir(parents=True, exist_ok=True)
    record = ["record", *upstreams, "--sessions", str(folder), *arguments]
    # By these names replay knows the hosts of several APIs behind the proxy.
    named = upstreams if len(upstreams) > 2 else []
    replay = ["replay", *named, "--sessions", str(folder), *arguments]
    append = [*record, "--append", "--allow", "unused"]  # nothing may be missing
    commands = {"record": [[*record, "--overwrite"]], "replay": [replay], "missing": [replay, append]}[mode]
    config.stash[SERVERS] = []
    for command in commands:
        server = Server.start(command, folder)
        config.add_cleanup(server.process.kill)  # where pytest ends before its tests
        config.stash[SERVERS].append(server)
        prefix = "CONTRAIL_RECORD_" if len(config.stash[SERVERS]) > 1 else "CONTRAIL_"
        server.export(prefix)


class Server:
    """A contrail that listens."""

    def __init__(self, environment, known=None, process=None, log=None):
        self.environment, self.known, self.process, self.log = environment, known, process, log
        self.control = environment["CONTRAIL_CONTROL"]

    @classmethod
    def of(cls, kind):
        """The one that an outer process started."""
        environment = json.loads(os.environ.get(f"CONTRAIL_{kind}ENVIRONMENT", "null")) or dict(os.environ)
        known = os.environ.get(f"CONTRAIL_{kind}KNOWN")
        return cls(environment, known.split(":") if known else None)

    @classmethod
    def start(cls, command, folder):
        binary = os.environ.get("CONTRAIL", "contrail")
        scratch = Path(tempfile.mkdtemp(prefix="pytest-contrail-"))
        file, log = scratch / "environment", scratch / "log"
        # What is there already is replayed where the rest is recorded.
        known = [path.name.removesuffix(".har") for path in folder.iterdir()]
        command = [binary, *command, "--control", "127.0.0.1:0", "--env-file", str(file)]
        try:
            with log.open("wb") as out:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        except FileNotFoundError:
            raise pytest.UsageError(f"there is no `{binary}`: install contrail, or name it with CONTRAIL=PATH") from None
        deadline = time.monotonic() + START
        while not (file.exists() and "CONTRAIL_CONTROL=" in file.read_text()):
            if process.poll() is not None:
                raise pytest.UsageError(log.read_text().strip())
            if time.monotonic() > deadline:
                process.kill()
                raise pytest.UsageError(f"contrail does not listen after {START} s: {log.read_text()}")
            time.sleep(0.01)
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        return cls(dict(line.split("=", 1) for line in lines), known, process, log)

    def export(self, prefix):
        """Lets requests outside of tests, and workers, find it."""
        os.environ[prefix + "ENVIRONMENT"] = json.dumps(self.environment)
        os.environ[prefix + "KNOWN"] = ":".join(self.known)
        os.environ[prefix + "CONTROL"] = self.control
        if prefix == "CONTRAIL_":
            os.environ.update(self.environment)

    def ask(self, method, session):
        request = Request(f"{self.control}/sessions/{session}", method=method)
        try:
            with build_opener(ProxyHandler({})).open(request) as answer:
                return json.load(answer)
        except HTTPError as refused:
            answer = json.load(refused)
            if refused.code != 409:
                pytest.fail(f"contrail: {answer['detail']}", pytrace=False)
            return answer

    def variables(self, session):
        """The environment of a test."""
        variables = dict(self.environment)
        for name, value in self.environment.items():
            if name in PROXIES:
                variables[name] = value.replace("://", f"://{session}:x@", 1)
            elif name.startswith("CONTRAIL_URL"):
                variables[name] = f"{value}/~{session}"
        return variables

    def stop(self):
        """Ends it; its exit status, and what it printed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        printed = self.log.read_text()
        shutil.rmtree(self.log.parent)
        return status, printed


def session_of(item):
    """The name of a test's session: that of its mark, or its place; at most 100 letters, digits, `.`, `_` and `-`."""
    mark = item.get_closest_marker("contrail")
    if mark and mark.args:
        return mark.args[0]
    place = re.sub(r"\.py::|::|/", ".", item.nodeid)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", place).strip("-")
    return name if len(name) <= 100 and name else f"{name[:83]}-{sha256(place.encode()).hexdigest()[:16]}"


@pytest.fixture(autouse=True)
def contrail(request, monkeypatch):
    """The name of the test's session; `None` without contrail."""
    servers = request.config.stash.get(SERVERS, None)
    mark = request.node.get_closest_marker("contrail")
    if not servers or mark and mark.kwargs.get("off"):
        for name in PROXIES if servers else ():
            monkeypatch.delenv(name, raising=False)
        yield None
        return
    session = session_of(request.node)
    server = servers[-1] if len(servers) > 1 and session not in (servers[0].known or []) else servers[0]
    server.ask("PUT", session)
    for name, value in server.variables(session).items():
        monkeypatch.setenv(name, value)
    request.node.stash[SESSION] = (server, session)
    yield session


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    outcome = yield
    server, session = item.stash.get(SESSION, (None, None))
    if server is None:
        return
    misses = server.ask("DELETE", session)["misses"]
    if misses:
        text = "\n\n".join(in_words(miss) for miss in misses)
        item.add_report_section("call", f"contrail session {session}", text)
        if outcome.excinfo is None:
            count = f"{len(misses)} requests are" if len(misses) > 1 else "1 request is"
            outcome.force_exception(pytest.fail.Exception(f"{count} not recorded in session {session}:\n{text}", pytrace=False))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item):
    outcome = yield
    server, session = item.stash.get(SESSION, (None, None))
    if server and outcome.get_result().failed:
        # What a failing test sent replaces no fixture. The report is there, whatever contrail answers.
        with suppress(pytest.fail.Exception, OSError):
            server.ask("DELETE", f"{session}?failed")


def in_words(miss):
    lines = [miss["detail"]]
    for near in miss.get("nearest", []):
        lines.append(f"  nearest: {near['entry']}: {near['request']}")
        for difference in near.get("differences", []):
            option = f"   ({difference['option']})" if difference.get("option") else ""
            lines.append(f"    {difference['place']}: {difference['your request']} → {difference['fixture']}{option}")
    return "\n".join(lines)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    for server in session.config.stash.get(SERVERS, []):
        if server.process is None:
            continue
        status, printed = server.stop()
        # Where all is well, the summary behind the line of each request.
        if printed:
            summary = printed if status else printed.rpartition("\n\n")[2]
            session.config.stash.setdefault(PRINTED, []).append(summary)
        if status and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    for printed in config.stash.get(PRINTED, []):
        terminalreporter.section("contrail")
        terminalreporter.write(printed)
