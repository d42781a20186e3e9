"""Trails of real proxies, kept in a real S3 server and read back."""

import base64
import http.client
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time

import requests

from azurite import Azurite
from proxy import SHOWN, Proxy, audited, eventually, main, run
from server import CUT, GIVEN, LOST, Store, Tls, Wire

STORE = Store()
TARGET = "/api/v2/connection-profiles/templates?n="
SEGMENT = ["--trail-segment", "20000"]
HEAD = "/heads/"


class Traffic:
    """Requests that differ in a number. A number is received when its whole response is."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sent = 0
        self.received = []

    def number(self):
        with self.lock:
            self.sent += 1
            return self.sent

    def send(self, proxy, count, connections=4):
        """Sends so many requests, or as many as the proxy answers before it is killed."""
        each = [count // connections + (n < count % connections) for n in range(connections)]
        threads = [threading.Thread(target=self.on_one, args=(proxy, part)) for part in each]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def on_one(self, proxy, count):
        connection = http.client.HTTPConnection(proxy.address[0], int(proxy.address[1]), timeout=60)
        for _ in range(count):
            number = self.number()
            try:
                connection.request("GET", f"{TARGET}{number}")
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                return
            assert answer.status == 401, answer.status
            with self.lock:
                self.received.append(number)
        connection.close()


def numbers(content):
    """The requests of a journal."""
    lines = [json.loads(line) for line in content.decode().splitlines()]
    urls = [line["request"]["url"] for line in lines if "request" in line]
    return [int(re.search(r"[?]n=(\d+)$", url)[1]) for url in urls]


def stored(bucket):
    """The requests in all segments of a bucket; each segment is as its head says."""
    objects = STORE.objects(bucket)
    found = []
    for name, content in objects.items():
        if HEAD in name:
            continue
        trail, segment = name.split("/")[-2:]
        head = json.loads(objects[name.replace(segment, f"heads/{segment.removesuffix('.journal')}.json")])
        if not content:
            # A kill left it before its first line; the next start begins another one.
            assert (head["size"], head["seq"], head["trail"]) == (0, 0, ""), head
            continue
        assert head["size"] == len(content) and head["trail"] == trail, head
        last = [json.loads(line)["_chain"] for line in content.decode().splitlines() if line.startswith('{"_chain"')][-1]
        assert (head["seq"], head["hash"]) == (last["seq"] + 1, last["hash"]), (head, last)
        found += numbers(content)
    return found


def holds_exactly(bucket, traffic):
    """The store has what clients received, once, and nothing else."""
    assert sorted(stored(bucket)) == sorted(traffic.received), (len(stored(bucket)), len(traffic.received))


def segments(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("trail-"))


def reasons(summary):
    return json.dumps(summary["exit"])


def begun(url, buffer="begun"):
    """The arguments of a run that ends by itself."""
    return ["watch", "--upstream", "sandbox", "--trail", url, "--trail-buffer", buffer, "--", "echo", "STARTED"]


def new_bucket():
    name = f"trails-{random.randrange(1 << 40):x}"
    STORE.make(name)
    return name, f"s3://{name}/some/prefix"


def a_trail_is_uploaded_segment_by_segment_and_audited_in_the_store(work):
    bucket, _ = new_bucket()
    url = f"s3://{bucket}"
    own, traffic = STORE.environment(), Traffic()
    proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
    traffic.send(proxy, 200)
    eventually(lambda: len(STORE.names(bucket)) > 3)
    summary = proxy.stop()
    assert summary["exit"]["status"] == 1 and "not uploaded" not in reasons(summary), summary
    assert len(segments(f"{work}/buffer")) == 1
    holds_exactly(bucket, traffic)
    audited(work, url, 200, environment=own)
    verified = run(work, "verify", url, environment=own, status=1)
    assert "is intact: 200 entries" in verified.stdout, verified.stdout
    # A second run goes on with the chain.
    proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
    traffic.send(proxy, 100)
    proxy.stop()
    holds_exactly(bucket, traffic)
    audited(work, url, 300, environment=own)


def uploads_go_through_tls_and_only_to_a_server_that_the_system_trusts(work):
    bucket, url = new_bucket()
    traffic, tls, other = Traffic(), Tls(STORE.port, work), Tls(STORE.port, tempfile.mkdtemp(dir=work))
    own = {**STORE.environment(), "AWS_ENDPOINT_URL": f"https://127.0.0.1:{tls.port}", "AWS_ALLOW_HTTP": "false"}
    refused = run(work, *begun(url), status=2, environment={**own, "SSL_CERT_FILE": other.certificate})
    assert "certificate" in refused.stderr, refused.stderr
    own["SSL_CERT_FILE"] = tls.certificate
    proxy = Proxy(work, url, environment=own)
    traffic.send(proxy, 20)
    proxy.stop()
    audited(work, url, 20, environment=own)
    holds_exactly(bucket, traffic)
    refused = run(work, "verify", url, status=2, environment={**STORE.environment(), "AWS_ALLOW_HTTP": "false"})
    assert "AWS_ALLOW_HTTP=true allows http" in refused.stderr, refused.stderr


def an_upload_that_is_cut_in_the_middle_is_made_again(work):
    bucket, url = new_bucket()
    wire, traffic, cut = Wire(STORE.port), Traffic(), []

    def once(method, path):
        if method == "PUT" and path.endswith(".journal") and path not in cut:
            cut.append(path)
            return CUT, None
        return None

    proxy = Proxy(work, url, "buffer", *SEGMENT, environment=STORE.environment(wire.port))
    wire.fault = once
    traffic.send(proxy, 200)
    # A failure after a success is tried again soon: with waits that grow, twelve would take minutes.
    eventually(lambda: len(cut) > 10)
    summary = proxy.stop()
    assert "not uploaded" not in reasons(summary), summary
    holds_exactly(bucket, traffic)
    audited(work, url, 200, environment=STORE.environment())


def a_segment_of_which_the_answer_is_lost_is_compared_and_counts_as_uploaded(work):
    bucket, url = new_bucket()
    wire, traffic, lost = Wire(STORE.port), Traffic(), []

    def once(method, path):
        if method == "PUT" and path not in lost and len(lost) < 10:
            lost.append(path)
            return LOST, None
        return None

    proxy = Proxy(work, url, "buffer", *SEGMENT, environment=STORE.environment(wire.port))
    wire.fault = once
    traffic.send(proxy, 200)
    eventually(lambda: len(lost) == 10)
    summary = proxy.stop()
    assert "not uploaded" not in reasons(summary) and "ALARM" not in proxy.text(), proxy.text()
    assert len(segments(f"{work}/buffer")) == 1
    holds_exactly(bucket, traffic)


def another_object_of_a_segments_name_is_kept_and_so_is_the_segment(work):
    bucket, url = new_bucket()
    own, traffic = STORE.environment(), Traffic()
    proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
    [trail] = {name.split("/heads/")[0] for name in STORE.names(bucket)}
    STORE.s3.put_object(Bucket=bucket, Key=f"{trail}/trail-00000001.journal", Body=b"another")
    traffic.send(proxy, 100)
    proxy.hears("ALARM: .*has another .*trail-00000001.journal")
    summary = proxy.stop()
    assert summary["exit"]["status"] == 2 and "not uploaded" in reasons(summary), summary
    assert "trail-00000001.journal" in segments(f"{work}/buffer")
    assert STORE.read(bucket, f"{trail}/trail-00000001.journal") == b"another"
    stored = [name for name in STORE.names(bucket) if name.endswith(".journal")]
    assert stored == [f"{trail}/trail-00000001.journal"], "the segments after it wait in the buffer"
    assert len(segments(f"{work}/buffer")) > 2


def a_store_that_was_stopped_has_everything_when_it_is_back(work):
    with Store() as store:
        store.make("trails")
        own, url, traffic = store.environment(), "s3://trails/some/prefix", Traffic()
        proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
        traffic.send(proxy, 100)
        eventually(lambda: sum(name.endswith(".journal") for name in store.names("trails")) > 1)
        store.stop()
        traffic.send(proxy, 150)
        said = proxy.hears("cannot write to s3://trails/some/prefix: .*; segments wait in `buffer`")
        assert "cannot reach http://127.0.0.1" in said[0] or "connection" in said[0], said
        traffic.send(proxy, 50)
        # Killed while it waits, and started again while the store is still gone.
        proxy.kill()
        proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
        proxy.hears("cannot write to s3://trails/some/prefix")
        traffic.send(proxy, 50)
        waiting = len(segments(f"{work}/buffer"))
        assert waiting > 2, segments(f"{work}/buffer")
        store.start()
        proxy.hears("s3://trails/some/prefix takes segments again", seconds=90)
        traffic.send(proxy, 50)
        summary = proxy.stop()
        assert "not uploaded" not in reasons(summary), summary
        assert proxy.text().count("segments wait in") == 1, proxy.text()
        audited(work, url, 400, environment=own)
        found = [n for name, text in store.objects("trails").items() if name.endswith(".journal") for n in numbers(text)]
        assert sorted(found) == sorted(traffic.received)


def a_store_that_hangs_delays_no_response_and_the_rest_is_named_at_the_end(work):
    with Store() as store:
        store.make("trails")
        own, url, traffic = store.environment(), "s3://trails", Traffic()
        proxy = Proxy(work, url, "buffer", *SEGMENT, "--drain", "1", environment=own)
        store.pause()
        traffic.send(proxy, 200)
        summary = proxy.stop()
        store.go_on()
        assert summary["exit"]["status"] == 2 and "not uploaded" in reasons(summary), summary
        assert re.search(r"\d+ bytes in buffer; the next start", summary["not_uploaded_yet"]), summary
        proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
        traffic.send(proxy, 20)
        proxy.stop()
        audited(work, url, 220, environment=own)


def another_object_of_the_same_length_is_another_one(work):
    bucket, url = new_bucket()
    own, traffic = STORE.environment(), Traffic()
    proxy = Proxy(work, url, "buffer", environment=own)
    traffic.send(proxy, 20)
    proxy.stop()
    [name] = [name for name in STORE.names(bucket) if name.endswith(".journal")]
    content = STORE.read(bucket, name)
    STORE.s3.put_object(Bucket=bucket, Key=name, Body=content[:-2] + b"x\n")
    proxy = Proxy(work, url, "buffer", environment=own)
    proxy.hears("ALARM: .*has another .*trail-00000001.journal")
    proxy.stop()
    assert "trail-00000001.journal" in segments(f"{work}/buffer")


def a_second_signal_ends_the_wait_for_a_store_that_hangs(work):
    with Store() as store:
        store.make("trails")
        proxy = Proxy(work, "s3://trails", "buffer", *SEGMENT, "--drain", "3600", environment=store.environment())
        Traffic().send(proxy, 100)
        store.pause()
        proxy.process.send_signal(signal.SIGTERM)
        # Nobody listens any more: what is left is to be uploaded.
        eventually(lambda: not proxy.listens())
        until = time.monotonic() + 30
        while proxy.process.poll() is None:
            assert time.monotonic() < until
            proxy.process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        summary = proxy.summary()
        assert summary["exit"]["status"] == 2 and "not uploaded" in reasons(summary), summary


def wrong_credentials_end_the_first_start_and_every_reader(work):
    bucket, url = new_bucket()
    right = STORE.environment()
    for change, code in [
        ({"AWS_SECRET_ACCESS_KEY": "wrong-secret"}, "SignatureDoesNotMatch"),
        ({"AWS_ACCESS_KEY_ID": "AKIAWRONGKEY00000000"}, "InvalidAccessKeyId"),
        ({"AWS_SESSION_TOKEN": "wrong-session"}, "InvalidToken"),
    ]:
        for command in [begun(url), ["audit", url], ["replay", f"{url}/x.har", "--", "true"]]:
            refused = run(work, *command, status=2, environment={**right, **change})
            assert "STARTED" not in refused.stdout and len(refused.stderr.splitlines()) == 1, refused
            expected = f"the store refuses these credentials ({code}); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"
            assert expected in refused.stderr, refused.stderr
            assert not any(secret in refused.stderr for secret in change.values()), refused.stderr
    refused = run(work, *begun("s3://no-such-bucket/x"), status=2, environment=right)
    assert "there is no such bucket (NoSuchBucket); create it, or correct its name" in refused.stderr, refused.stderr
    assert STORE.names(bucket) == []


def credentials_that_are_withdrawn_stop_uploads_loudly_and_new_ones_bring_the_rest(work):
    bucket, url = new_bucket()
    key, secret = STORE.another_key()
    traffic = Traffic()
    own = STORE.environment(key=key, secret=secret)
    proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
    traffic.send(proxy, 50)
    STORE.remove_key(key)
    traffic.send(proxy, 150)
    said = proxy.hears("cannot write to .*")[0]
    assert "refuses these credentials (InvalidAccessKeyId); check AWS_ACCESS_KEY_ID" in said, said
    traffic.send(proxy, 20)
    summary = proxy.stop()
    assert summary["exit"]["status"] == 2 and "refuses these credentials" in reasons(summary), summary
    # They are no outage: a start with them ends, too.
    again = run(work, *begun(url, "buffer"), status=2, environment=own)
    assert "refuses these credentials (InvalidAccessKeyId)" in again.stderr, again.stderr
    proxy = Proxy(work, url, "buffer", *SEGMENT, environment=STORE.environment())
    proxy.stop()
    holds_exactly(bucket, traffic)
    audited(work, url, 220, environment=STORE.environment())


def two_proxies_write_to_one_prefix_at_once(work):
    bucket, url = new_bucket()
    own, traffic = STORE.environment(), Traffic()
    proxies = [Proxy(work, url, f"buffer-{n}", *SEGMENT, environment=own) for n in range(2)]
    loading = [threading.Thread(target=traffic.send, args=(proxy, 150)) for proxy in proxies]
    for thread in loading:
        thread.start()
    for thread in loading:
        thread.join()
    taken = run(work, *begun(url, "buffer-0"), status=2, environment=own)
    assert "another contrail writes its trail" in taken.stderr, taken.stderr
    for proxy in proxies:
        proxy.stop()
    report = audited(work, url, 300, trails=2, environment=own)
    assert [chain["entries"] for chain in report["integrity"]] == [150, 150]
    holds_exactly(bucket, traffic)


def a_proxy_that_is_killed_at_any_request_to_the_store_loses_nothing_and_stores_nothing_twice(work):
    bucket, url = new_bucket()
    wire, traffic = Wire(STORE.port), Traffic()
    own = STORE.environment(wire.port)
    Proxy(work, url, "buffer", *SEGMENT, environment=own).stop()
    killed = 0
    # At the first request of a run, the second, and so on: also between upload and removal.
    for at in range(1, 19):
        for ends in (CUT, LOST, GIVEN):
            until, started, proxies = len(wire.requests) + at, threading.Event(), []

            def kill():
                started.wait()
                proxies[0].kill()

            wire.fault = lambda method, path: (ends, kill) if len(wire.requests) == until else None
            proxies.append(Proxy(work, url, "buffer", *SEGMENT, environment=own, is_awaited=False))
            started.set()
            try:
                proxies[0].starts()
                traffic.send(proxies[0], 80)
                proxies[0].stop()
            except (AssertionError, StopIteration):
                pass
            killed += proxies[0].process.wait() == -9
    wire.fault = lambda method, path: None
    assert killed > 40, killed
    all_there_once(work, bucket, url, own, traffic, 4 * killed)


def a_proxy_that_is_killed_at_any_instant_loses_nothing_and_stores_nothing_twice(work):
    bucket, url = new_bucket()
    own, traffic = STORE.environment(), Traffic()
    Proxy(work, url, "buffer", *SEGMENT, environment=own).stop()
    rounds = 30
    for _ in range(rounds):
        proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
        timer = threading.Timer(random.uniform(0, 1.5), proxy.kill)
        timer.start()
        traffic.send(proxy, 100_000)
        timer.join()
    all_there_once(work, bucket, url, own, traffic, 4 * rounds)


def all_there_once(work, bucket, url, own, traffic, unanswered):
    """After a last run, the store has all that clients received, once; and at most the requests that were in progress at
    the kills besides."""
    for _ in range(12):
        proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
        traffic.send(proxy, 10)
        summary = proxy.stop()
        # A run waits 10 s for the store at its end; the next one uploads the rest.
        if "not uploaded" not in reasons(summary):
            break
    assert "not uploaded" not in reasons(summary), summary
    found = stored(bucket)
    assert len(found) == len(set(found)), "some are there twice"
    assert set(traffic.received) <= set(found), sorted(set(traffic.received) - set(found))
    assert len(found) - len(traffic.received) <= unanswered, (len(found), len(traffic.received))
    audited(work, url, len(found), environment=own)
    assert len(segments(f"{work}/buffer")) == 1


def a_recording_keeps_its_segments_until_its_fixture_is_written(work):
    bucket, url = new_bucket()
    own = STORE.environment()
    script = f'for n in $(seq 60); do curl -s -o /dev/null "$CONTRAIL_URL{TARGET}$n"; done; ls buffer | grep -c trail- > there'
    line = ["record", "--upstream", "sandbox", "--out", "fixture.har", "--trail", url, "--trail-buffer", "buffer", *SEGMENT]
    recorded = run(work, *line, "--", "sh", "-c", script, environment=own)
    assert "good" in recorded.stderr + recorded.stdout, recorded
    with open(f"{work}/there") as there:
        assert int(there.read()) > 3
    assert sorted(stored(bucket)) == list(range(1, 61))
    assert "60 exchanges" in run(work, "verify", "fixture.har").stdout


def a_recording_in_the_store_is_downloaded_once_and_again_when_it_changes(work):
    bucket, url = new_bucket()
    wire = Wire(STORE.port)
    own = STORE.environment(wire.port)
    answers = ["first answer", "other answer"]

    def put(answer):
        STORE.s3.put_object(Bucket=bucket, Key="some/prefix/fixtures/a.har", Body=har(answer).encode())

    def replayed():
        script = "curl -s $CONTRAIL_URL/v1/thing"
        done = run(work, "replay", f"{url}/fixtures/a.har", "--", "sh", "-c", script, environment=own)
        return done.stdout

    put(answers[0])
    for times in range(3):
        assert answers[0] in replayed()
        assert wire.count("GET", "/a.har") == 1, wire.requests
        assert wire.count("HEAD", "/a.har") == times + 1, wire.requests
    put(answers[1])
    assert answers[1] in replayed()
    assert wire.count("GET", "/a.har") == 2
    # The prefix is listed, and nothing of it is downloaded again, by another command.
    verify = run(work, "verify", f"{url}/fixtures", environment=own)
    assert "1 exchange" in verify.stdout + verify.stderr, verify
    assert wire.count("GET", "/a.har") == 2, wire.requests
    # A copy that goes missing or is cut is made again.
    [copy] = [f"{folder}/a.har" for folder, _, names in os.walk(f"{work}/cache") if "a.har" in names]
    os.truncate(copy, 10)
    assert answers[1] in replayed()
    assert wire.count("GET", "/a.har") == 3
    STORE.s3.delete_object(Bucket=bucket, Key="some/prefix/fixtures/a.har")
    gone = run(work, "verify", f"{url}/fixtures", environment=own, status=2)
    assert "there is nothing of this name" in gone.stderr, gone.stderr


def a_trail_in_the_store_is_downloaded_by_what_is_new(work):
    bucket, url = new_bucket()
    wire, traffic = Wire(STORE.port), Traffic()
    own = STORE.environment()
    for _ in range(2):
        proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
        traffic.send(proxy, 100)
        proxy.stop()
        audited(work, url, len(traffic.received), environment=STORE.environment(wire.port))
        there = sum(name.endswith(".journal") for name in STORE.names(bucket))
        assert wire.count("GET", ".journal") == there, (there, wire.requests)


def a_full_buffer_is_loud_and_takes_entries_again_when_the_store_is_back(work):
    with Store() as store:
        store.make("trails")
        own, url, traffic = store.environment(), "s3://trails/some/prefix", Traffic()
        options = [*SEGMENT, "--trail-buffer-size", "100KB", "--metrics", "127.0.0.1:0"]
        proxy = Proxy(work, url, "buffer", *options, environment=own)
        metrics = proxy.hears(r"listening on (http://\S+) \(metrics\)")[1]
        ready = lambda: requests.get(f"{metrics}/readyz", timeout=60).status_code
        store.stop()
        traffic.send(proxy, 120)
        # The folder is looked at every second.
        eventually(lambda: traffic.send(proxy, 5) or '"alarm"' in proxy.text())
        said = proxy.hears('"alarm".*')[0]
        assert "the journal cannot be written; traffic continues unrecorded" in said, said
        assert "`buffer` holds as much as --trail-buffer-size allows" in said, said
        assert ready() == 503
        before = len(traffic.received)
        # It is back only for who noticed that it was gone.
        proxy.hears("segments wait in", seconds=90)
        store.start()
        proxy.hears("takes segments again", seconds=90)
        eventually(lambda: ready() == 200)
        traffic.send(proxy, 20)
        summary = proxy.stop()
        assert summary["exit"]["status"] == 2 and summary["unwritten"] > 0, summary
        found = [n for name, text in store.objects("trails").items() if name.endswith(".journal") for n in numbers(text)]
        assert len(found) == len(set(found)) and set(found) < set(traffic.received)
        assert len(found) + summary["unwritten"] == len(traffic.received)
        assert set(traffic.received[before:]) <= set(found), "what came after the outage is recorded"
        [chain] = audited(work, url, len(found), environment=own)["integrity"]
        assert sum(gap["exchanges"] for gap in chain["unrecorded"]) == summary["unwritten"], chain


def a_trail_is_kept_in_azure_blob_storage(work):
    with tempfile.TemporaryDirectory() as folder:
        store, url, traffic = Azurite(folder, "trails"), "az://trails/some/prefix", Traffic()
        own = store.environment()
        wrong = {**own, "AZURE_STORAGE_ACCOUNT_KEY": base64.b64encode(b"wrong").decode()}
        for command in [begun(url), ["audit", url]]:
            refused = run(work, *command, status=2, environment=wrong)
            assert "the store refuses these credentials" in refused.stderr, refused.stderr
            assert "AZURE_STORAGE_ACCOUNT_KEY" in refused.stderr and wrong["AZURE_STORAGE_ACCOUNT_KEY"] not in refused.stderr
        nowhere = run(work, *begun("az://none/x"), status=2, environment=own)
        assert "there is no such container (ContainerNotFound)" in nowhere.stderr, nowhere.stderr
        for _ in range(2):
            proxy = Proxy(work, url, "buffer", *SEGMENT, environment=own)
            traffic.send(proxy, 60)
            # The last segment of the run before is there already.
            assert "not uploaded" not in reasons(proxy.stop())
            audited(work, url, len(traffic.received), environment=own)
        assert len(segments(f"{work}/buffer")) == 1
        assert not any(text and store.key in text for text in SHOWN)


def har(answer):
    """A recording of one exchange."""
    request = {"method": "GET", "url": "https://tenant.example/v1/thing", "httpVersion": "HTTP/1.1", "cookies": [],
               "headers": [], "queryString": [], "headersSize": -1, "bodySize": 0}
    content = {"size": len(answer), "mimeType": "text/plain", "text": answer}
    response = {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "content": content,
                "headers": [{"name": "content-type", "value": "text/plain"}], "redirectURL": "", "headersSize": -1,
                "bodySize": len(answer)}
    entry = {"startedDateTime": "2026-01-31T09:30:00.000Z", "time": 1, "request": request, "response": response,
             "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0}}
    return json.dumps({"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [entry]}})


CHECKS = [
    a_trail_is_uploaded_segment_by_segment_and_audited_in_the_store,
    uploads_go_through_tls_and_only_to_a_server_that_the_system_trusts,
    an_upload_that_is_cut_in_the_middle_is_made_again,
    a_segment_of_which_the_answer_is_lost_is_compared_and_counts_as_uploaded,
    another_object_of_a_segments_name_is_kept_and_so_is_the_segment,
    a_store_that_was_stopped_has_everything_when_it_is_back,
    a_store_that_hangs_delays_no_response_and_the_rest_is_named_at_the_end,
    another_object_of_the_same_length_is_another_one,
    a_second_signal_ends_the_wait_for_a_store_that_hangs,
    wrong_credentials_end_the_first_start_and_every_reader,
    credentials_that_are_withdrawn_stop_uploads_loudly_and_new_ones_bring_the_rest,
    two_proxies_write_to_one_prefix_at_once,
    a_proxy_that_is_killed_at_any_request_to_the_store_loses_nothing_and_stores_nothing_twice,
    a_proxy_that_is_killed_at_any_instant_loses_nothing_and_stores_nothing_twice,
    a_recording_keeps_its_segments_until_its_fixture_is_written,
    a_recording_in_the_store_is_downloaded_once_and_again_when_it_changes,
    a_trail_in_the_store_is_downloaded_by_what_is_new,
    a_full_buffer_is_loud_and_takes_entries_again_when_the_store_is_back,
    a_trail_is_kept_in_azure_blob_storage,
]


def no_credential_is_shown_or_kept(work):
    """Neither in anything that contrail printed nor in its folders."""
    secrets = [secret for store in Store.ALL for secret in store.secrets]
    shown = [text for text in SHOWN if text and any(secret in text for secret in secrets)]
    assert not shown, shown
    files = [os.path.join(folder, name) for folder, _, names in os.walk(work) for name in names]
    kept = [file for file in files if any(secret.encode() in open(file, "rb").read() for secret in secrets)]
    assert not kept, kept


main(CHECKS, sys.argv[1:], no_credential_is_shown_or_kept)
