"""Trails of real proxies, sent to a real NATS server and read back."""

import json
import os
import re
import sys
import tempfile
import threading
import time
import urllib.request

import proxy
from broker import Broker, Slow
from credentials import ACCOUNT, OPERATOR, USER, Key, certificates
from proxy import SHOWN, audited, eventually, main, run

REQUEST = b"GET /api/v2/connection-profiles/templates HTTP/1.1\r\nHost: tenant.example\r\n\r\n"
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class Proxy(proxy.Proxy):
    """One that gets many requests in little time."""

    def load(self, requests, at_a_time=50):
        """Sends requests on one connection; the statuses of their answers."""
        connection, statuses = self.connect(), []
        while len(statuses) < requests:
            some = min(at_a_time, requests - len(statuses))
            connection.sendall(REQUEST * some)
            seen, found = b"", []
            while len(found) < some:
                data = connection.recv(1 << 20)
                assert data, "the proxy closed the connection"
                seen += data
                found = STATUS.findall(seen)
            statuses += found
        connection.close()
        return statuses

    def metric(self, name):
        """A value of its metrics."""
        base = self.hears(r'listening on (http://[^\s"]+) \(metrics\)')[1]
        with urllib.request.urlopen(f"{base}/metrics", timeout=60) as page:
            return float(re.search(rf"^{name} (\S+)$", page.read().decode(), re.MULTILINE)[1])


def a_server_that_is_killed_and_restarted_in_the_middle_of_traffic(work):
    with Broker() as broker:
        url = f"nats://127.0.0.1:{broker.port}/TRAILS"
        proxy = Proxy(work, url)
        proxy.load(1000)
        loading = threading.Thread(target=proxy.load, args=(2000,))
        loading.start()
        broker.kill()
        loading.join()
        proxy.hears("cannot be sent to")
        proxy.load(500)
        broker.start()
        proxy.hears("is sent to .* again")
        proxy.load(500)
        proxy.stop()
        audited(work, url, 4000)
        # Nobody left a consumer behind.
        assert broker.api("CONSUMER.NAMES.TRAILS")["total"] == 0


def a_full_stream_keeps_entries_in_the_buffer_until_there_is_room(work):
    with Broker() as broker:
        limits = {"name": "SMALL", "subjects": ["SMALL.>"], "storage": "file", "max_bytes": 200_000, "discard": "new"}
        broker.api("STREAM.CREATE.SMALL", limits)
        before = broker.api("STREAM.INFO.SMALL")["config"]
        url = f"nats://127.0.0.1:{broker.port}/SMALL"
        proxy = Proxy(work, url)
        proxy.load(1000)
        said = proxy.hears("cannot be sent to .*")
        assert "maximum bytes exceeded" in said[0], said
        left = proxy.stop()
        assert "bytes" in json.dumps(left), left
        assert broker.api("STREAM.INFO.SMALL")["config"] == before
        broker.api("STREAM.UPDATE.SMALL", {**before, "max_bytes": -1})
        proxy = Proxy(work, url)
        proxy.load(100)
        proxy.stop()
        audited(work, url, 1100)


def a_slow_server_delays_responses_only_under_durable(work):
    with Broker() as broker:
        slow = Slow(broker.port, 0.3)
        url = f"nats://127.0.0.1:{slow.port}/SLOW"
        proxy = Proxy(work, url)
        proxy.load(1)
        begun = time.monotonic()
        proxy.load(20, at_a_time=1)
        assert time.monotonic() - begun < 20 * 0.3
        proxy.stop()
        proxy = Proxy(work, url, "buffer", "--durable")
        proxy.load(1)
        begun = time.monotonic()
        proxy.load(4, at_a_time=1)
        assert time.monotonic() - begun > 4 * 0.3
        proxy.stop()
        slow.close()
        audited(work, f"nats://127.0.0.1:{broker.port}/SLOW", 26)


def under_durable_requests_are_refused_while_the_server_is_gone(work):
    with Broker() as broker:
        url = f"nats://127.0.0.1:{broker.port}/DURABLE"
        proxy = Proxy(work, url, "buffer", "--durable", "--metrics", "127.0.0.1:0")
        assert set(proxy.load(20, at_a_time=1)) == {b"401"}
        assert broker.messages("DURABLE") >= 20
        broker.kill()
        try:
            statuses = proxy.load(1)
        except (AssertionError, OSError):
            statuses = [b"503"]
        assert statuses == [b"503"], statuses
        proxy.hears("requests get 503")
        begun = time.monotonic()
        assert proxy.load(3, at_a_time=1) == [b"503"] * 3
        assert time.monotonic() - begun < 5
        assert proxy.metric("contrail_journal_failing") == 1
        broker.start()
        # Without a request: the next one is forwarded.
        eventually(lambda: proxy.metric("contrail_journal_failing") == 0)
        assert proxy.load(1) == [b"401"]
        proxy.stop()
        report = json.loads(run(work, "audit", url, "--format", "json").stdout)
        [chain] = report["integrity"]
        assert chain["broken"] is None and chain["entries"] >= 24, chain


def a_killed_proxy_sends_the_rest_at_its_next_start(work):
    with Broker() as broker:
        url = f"nats://127.0.0.1:{broker.port}/TRAILS"
        answered = 0
        for _ in range(3):
            proxy = Proxy(work, url)
            loading = threading.Thread(target=lambda: quietly(proxy.load, 5000), daemon=True)
            loading.start()
            until = time.monotonic() + 60
            while sum(1 for line in list(proxy.said) if line and '"method"' in line) < 300:
                assert time.monotonic() < until
                time.sleep(0.01)
            proxy.kill()
            loading.join()
            answered += 300
        proxy = Proxy(work, url)
        proxy.load(10)
        proxy.stop()
        report = json.loads(run(work, "audit", url, "--format", "json").stdout)
        [chain] = report["integrity"]
        assert chain["broken"] is None and chain["entries"] >= answered + 10, chain


def quietly(call, *arguments):
    try:
        call(*arguments)
    except (AssertionError, OSError):
        pass


def segments_that_the_server_has_are_removed_from_the_buffer(work):
    with Broker() as broker:
        url = f"nats://127.0.0.1:{broker.port}/TRAILS"
        proxy = Proxy(work, url, "buffer", "--trail-segment", "20000")
        proxy.load(1000)
        summary = proxy.stop()
        assert summary["exit"]["status"] == 1, summary["exit"]
        left = [name for name in os.listdir(f"{work}/buffer") if name.startswith("trail-")]
        assert len(left) == 1, left
        audited(work, url, 1000)


def no_password_is_ever_shown(work):
    with Broker(["--user", "proxy", "--pass", "right-password"]) as broker:
        host = f"127.0.0.1:{broker.port}/TRAILS"
        url = f"nats://proxy:wrong-password@{host}"
        for command in [["watch", "--upstream", "sandbox", "--trail", url, "--trail-buffer", "b"], ["audit", url]]:
            wrong = run(work, *command, status=2)
            assert "uthorization" in wrong.stderr and "wrong-password" not in wrong.stderr, wrong.stderr
        proxy = Proxy(work, f"nats://proxy:right-password@{host}")
        proxy.load(10)
        proxy.stop()
        right = run(work, "verify", f"nats://proxy:right-password@{host}")
        assert "right-password" not in "".join(filter(None, proxy.said)) + right.stderr + right.stdout
        audited(work, f"nats://proxy:right-password@{host}", 10)


def every_kind_of_credentials_is_taken_and_a_wrong_one_refused(work):
    certificates(work)
    user, other = Key(work, USER), Key(f"{tempfile.mkdtemp(dir=work)}", USER)
    operator, system, account = Key(work, OPERATOR), Key(f"{tempfile.mkdtemp(dir=work)}", ACCOUNT), Key(work, ACCOUNT)
    limits = dict.fromkeys(["subs", "conn", "data", "payload", "imports", "exports", "leaf"], -1)
    streams = dict.fromkeys(["mem_storage", "disk_storage", "streams", "consumer"], -1)
    given = [(system, limits), (account, {**limits, **streams})]
    rights = [operator.token(work, one.public, type="account", limits=limits) for one, limits in given]
    jwt = account.token(work, user.public, type="user", subs=-1, data=-1, payload=-1)
    files = {
        "user.nk": user.seed,
        "other.nk": other.seed,
        "user.creds": f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n",
        "nkey.conf": f"authorization {{ users = [ {{ nkey: {user.public} }} ] }}",
        "jwt.conf": f"operator: {operator.token(work, operator.public, type='operator')}\nresolver: MEMORY\n"
        f"system_account: {system.public}\n"
        f"resolver_preload: {{ {system.public}: {rights[0]}, {account.public}: {rights[1]} }}",
    }
    for name, text in files.items():
        with open(f"{work}/{name}", "w") as file:
            file.write(text)
    tls = ["--tls", "--tlscert", f"{work}/server.pem", "--tlskey", f"{work}/server.key"]
    client = ["--tlsverify", "--tlscacert", f"{work}/ca.pem"]
    own, authority = {"NATS_CERT": "client.pem", "NATS_KEY": "client.key"}, {"NATS_CA": "ca.pem"}
    for number, (options, right, wrong) in enumerate(
        [
            (["--auth", "right-token"], {"NATS_TOKEN": "right-token"}, {"NATS_TOKEN": "wrong-token"}),
            (
                ["--user", "proxy", "--pass", "right-password"],
                {"NATS_USER": "proxy", "NATS_PASSWORD": "right-password"},
                {"NATS_USER": "proxy", "NATS_PASSWORD": "wrong-password"},
            ),
            (["-c", f"{work}/nkey.conf"], {"NATS_NKEY": "user.nk"}, {"NATS_NKEY": "other.nk"}),
            (["-c", f"{work}/jwt.conf"], {"NATS_CREDS": "user.creds"}, {"NATS_NKEY": "user.nk"}),
            (tls, authority, {}),
            ([*tls, *client], {**authority, **own}, authority),
        ]
    ):
        with Broker(options) as broker:
            url, buffer = f"nats://127.0.0.1:{broker.port}/TRAILS", f"buffer-{number}"
            start = ["watch", "--upstream", "sandbox", "--trail", url, "--trail-buffer", buffer, "--", "true"]
            run(work, *start, status=2, environment=wrong)
            run(work, "verify", url, status=2, environment=wrong)
            proxy = Proxy(work, url, buffer, environment=right)
            proxy.load(10)
            proxy.stop()
            audited(work, url, 10, environment=right)
    secrets = ["right-token", "wrong-token", "right-password", "wrong-password", user.seed, other.seed, jwt]
    shown = [text for text in SHOWN if any(secret in text for secret in secrets)]
    assert not shown, shown


def a_removed_message_breaks_the_chain(work):
    with Broker() as broker:
        url = f"nats://127.0.0.1:{broker.port}/TRAILS"
        proxy = Proxy(work, url)
        proxy.load(20, at_a_time=1)
        proxy.stop()
        audited(work, url, 20)
        broker.api("STREAM.MSG.DELETE.TRAILS", {"seq": 7})
        found = run(work, "verify", url, status=1)
        assert "altered" in found.stdout + found.stderr, found
        missing = run(work, "verify", url.replace("TRAILS", "NONE"), status=2)
        assert "there is no stream NONE" in missing.stderr, missing.stderr


def a_hundred_thousand_entries_of_three_proxies_are_audited_as_one(work):
    entries = 100_000
    with Broker() as broker:
        url = f"nats://127.0.0.1:{broker.port}/FLEET"
        proxies = [Proxy(work, url, f"buffer-{number}") for number in range(3)]
        parts = [entries // 3, entries // 3, entries - 2 * (entries // 3)]
        loading = [threading.Thread(target=proxy.load, args=(part,)) for proxy, part in zip(proxies, parts)]
        for thread in loading:
            thread.start()
        for thread in loading:
            thread.join()
        for proxy in proxies:
            proxy.stop()
        report = audited(work, url, entries, trails=3)
        assert sorted(chain["entries"] for chain in report["integrity"]) == sorted(parts)


CHECKS = [
    a_server_that_is_killed_and_restarted_in_the_middle_of_traffic,
    a_full_stream_keeps_entries_in_the_buffer_until_there_is_room,
    a_slow_server_delays_responses_only_under_durable,
    under_durable_requests_are_refused_while_the_server_is_gone,
    a_killed_proxy_sends_the_rest_at_its_next_start,
    segments_that_the_server_has_are_removed_from_the_buffer,
    no_password_is_ever_shown,
    every_kind_of_credentials_is_taken_and_a_wrong_one_refused,
    a_removed_message_breaks_the_chain,
    a_hundred_thousand_entries_of_three_proxies_are_audited_as_one,
]


main(CHECKS, sys.argv[1:])
