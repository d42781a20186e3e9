"""Traces and metrics of real proxies, compared with what the proxies themselves report."""

import collections
import datetime
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

from receiver import Receiver, attributes, points

CONTRAIL = os.environ["CONTRAIL"]
TEMPLATES = "/api/v2/connection-profiles/templates"
POLICY = "/api/v2/rate-limit-policies/an-id-of-more-than-26-characters"
TARGETS = [TEMPLATES, POLICY, "/undocumented?a=1", f"{TEMPLATES}?take=5&unknown=1"]
LABELS = re.compile(r'(\w+)="([^"]*)"')


class Proxy:
    """`contrail watch` with the sandbox behind it."""

    def __init__(self, work, url, *options, **environment):
        self.work = work
        command = [CONTRAIL, "watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--format", "json"]
        command += ["--metrics", "127.0.0.1:0", "--report", "json=report.json", "--otlp", url, *options]
        environment = {**os.environ, **environment}
        self.process = subprocess.Popen(command, cwd=work, stderr=subprocess.PIPE, text=True, env=environment)
        self.lines = []
        self.heard = threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()
        self.address = self.hears(r"listening on http://([^\s\"]+)\"")[1]
        self.metrics = self.hears(r"listening on http://([^\s\"]+) \(metrics\)")[1]

    def listen(self):
        for line in self.process.stderr:
            with self.heard:
                self.lines.append(line)
                self.heard.notify_all()

    def hears(self, pattern, seconds=60):
        """Waits until it prints something."""
        until = time.monotonic() + seconds
        with self.heard:
            while True:
                for line in self.lines:
                    if found := re.search(pattern, line):
                        return found
                assert time.monotonic() < until, f"never printed {pattern}:\n{''.join(self.lines[-20:])}"
                self.heard.wait(1)

    def load(self, requests, targets=TARGETS, headers=None):
        """Sends requests on one connection; every one gets an answer."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        for number in range(requests):
            connection.request("GET", targets[number % len(targets)], headers=headers or {})
            answer = connection.getresponse()
            assert answer.status in (401, 404), answer.status
            answer.read()
        connection.close()

    def page(self):
        """The samples at `/metrics`."""
        connection = http.client.HTTPConnection(self.metrics, timeout=60)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        samples = {}
        for line in lines:
            if not line.startswith("#"):
                name, number = line.rsplit(" ", 1)
                name, _, labels = name.partition("{")
                samples[name, tuple(sorted(LABELS.findall(labels)))] = float(number)
        return samples

    def stop(self):
        """Its summary and its report."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.hears('"summary"')
        line = next(line for line in self.lines if '"summary"' in line)
        with open(f"{self.work}/report.json") as report:
            return json.loads(line)["summary"], json.load(report)

    def logged(self, part):
        return [line for line in self.lines if part in line]


def shown(span):
    """A span as the report shows an exchange."""
    of = attributes(span)
    query = f"?{of['url.query']}" if "url.query" in of else ""
    events = [attributes(event) for event in span.events]
    assert len(of["server.address"]) > 0 and of["http.response.status_code"] > 0, of
    found = [tuple(event[f"contrail.{key}"] for key in ("rule", "kind", "at", "message")) for event in events]
    kinds = [kind for _, kind, _, _ in found]
    assert (kinds.count("violation"), kinds.count("gap")) == (of["contrail.violations"], of["contrail.gaps"]), of
    return (
        of["http.request.method"],
        f"{of['url.scheme']}://{of['server.address']}{of['url.path']}{query}",
        of["http.response.status_code"],
        of["contrail.operation"],
        of["contrail.verdict"],
        tuple(found),
        tuple(of.get("contrail.unchecked", ())),
        span.start_time_unix_nano // 1_000_000_000,
    )


def reported(exchange):
    started = datetime.datetime.fromisoformat(exchange["started"].replace("Z", "+00:00"))
    return (
        exchange["method"],
        exchange["url"],
        exchange["status"],
        exchange["operation"] or "undocumented",
        exchange["verdict"],
        tuple((found["rule"], found["kind"], found["at"], found["message"]) for found in exchange["findings"]),
        tuple(exchange["unchecked"]),
        int(started.timestamp()),
    )


def same_spans(receiver, report):
    spans, exchanges = collections.Counter(map(shown, receiver.spans)), report["exchanges"]
    assert len(receiver.spans) == len(exchanges), (len(receiver.spans), len(exchanges))
    difference = spans - collections.Counter(map(reported, exchanges))
    assert not difference, next(iter(difference))
    assert len({span.span_id for span in receiver.spans}) == len(exchanges)


def prometheus(metric):
    """The name that Prometheus' rules make of a metric's."""
    unit = {"s": "_seconds", "By": "_bytes"}.get(metric.unit, "")
    total = "_total" if metric.WhichOneof("data") == "sum" and metric.sum.is_monotonic else ""
    return metric.name.replace(".", "_") + unit + total


def same_metrics(sent, page):
    """Every number of the page that does not change by itself is in the last metrics."""
    compared = 0
    for metric in sent.values():
        name = prometheus(metric)
        for labels, number in points(metric):
            plain = {key.removeprefix("contrail.").replace(".", "_"): str(text) for key, text in labels.items()}
            if metric.name == "http.server.request.duration":
                continue
            if metric.WhichOneof("data") == "histogram":
                assert number.count == page[name + "_count", ()], name
            elif not name.startswith("contrail_otlp") and name != "contrail_connections":
                assert page[name, tuple(sorted(plain.items()))] == number, (name, plain)
            compared += 1
    assert compared > 50, compared
    duration = collections.Counter()
    for labels, point in points(sent["http.server.request.duration"]):
        assert sum(point.bucket_counts) == point.count and len(point.explicit_bounds) == 14, point
        assert labels["url.scheme"] == "https", labels
        assert ("http.route" in labels) == (labels["contrail.operation"] != "undocumented"), labels
        kind = f"{labels['http.response.status_code'] // 100}xx"
        key = ("http_request_method", labels["http.request.method"]), ("operation", labels["contrail.operation"])
        duration[*key, ("status_class", kind)] += point.count
    for labels, count in duration.items():
        assert page["http_server_request_duration_seconds_count", tuple(sorted(labels))] == count, labels


def under_load_spans_are_those_of_the_report_and_metrics_those_of_the_page(work):
    receiver = Receiver()
    proxy = Proxy(work, receiver.url, "--workers", "4", OTEL_SERVICE_NAME="gateway")
    clients = [threading.Thread(target=proxy.load, args=(300,)) for _ in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    page = proxy.page()
    summary, report = proxy.stop()
    same_spans(receiver, report)
    same_metrics(receiver.metrics[-1], page)
    assert summary["exchanges"] == 2400 and summary["spans_dropped"] == summary["spans_rejected"] == 0, summary
    [sent] = [number for labels, number in points(receiver.metrics[-1]["contrail.otlp_spans"]) if "sent" in labels.values()]
    assert sent == 2400, sent
    assert {resource["service.name"] for resource in receiver.resources} == {"gateway"}
    assert len({resource["service.instance.id"] for resource in receiver.resources}) == 1
    routes = {attributes(span).get("http.route") for span in receiver.spans}
    assert routes == {None, TEMPLATES, "/api/v2/rate-limit-policies/{id}"}, routes
    receiver.close()


def a_receiver_that_is_gone_for_a_while_gets_everything_later(work):
    gone = Receiver()
    port, url = gone.port, gone.url
    gone.close()
    proxy = Proxy(work, url)
    proxy.load(200)
    proxy.hears("telemetry cannot be sent")
    proxy.load(200)
    receiver = Receiver(port)
    receiver.waits_for(lambda: len(receiver.spans) == 400)
    proxy.load(10)
    _, report = proxy.stop()
    same_spans(receiver, report)
    assert len(proxy.logged("telemetry cannot be sent")) == len(proxy.logged("telemetry is sent to")) == 1, proxy.lines
    receiver.close()


def a_receiver_that_does_not_answer_holds_up_no_exchange(work):
    receiver = Receiver()
    receiver.held.clear()
    proxy = Proxy(work, receiver.url)
    proxy.load(2000)
    receiver.held.set()
    summary, report = proxy.stop()
    same_spans(receiver, report)
    assert summary["spans_dropped"] == 0 and len(receiver.spans) == 2000, summary
    receiver.close()


def a_receiver_that_cannot_take_more_is_asked_again_when_it_wants_to_be(work):
    answers, times = iter([(503, {}, b"no"), (429, {"Retry-After": "1"}, b"no")]), []

    def answer(path):
        if path == "/v1/traces":
            times.append(time.monotonic())
            return next(answers, None)

    receiver = Receiver(answer=answer)
    proxy = Proxy(work, receiver.url)
    proxy.load(20)
    receiver.waits_for(lambda: receiver.spans)
    _, report = proxy.stop()
    same_spans(receiver, report)
    assert times[2] - times[1] >= 0.99, times
    receiver.close()


def what_a_receiver_rejects_is_counted(work):
    some = traces.ExportTraceServiceResponse()
    some.partial_success.rejected_spans, some.partial_success.error_message = 1, "hunter2"
    few = metrics.ExportMetricsServiceResponse()
    few.partial_success.rejected_data_points, few.partial_success.error_message = 2, "hunter2"
    answers = {
        "/v1/traces": iter([(200, {}, some.SerializeToString()), (400, {}, b"hunter2")]),
        "/v1/metrics": iter([(200, {}, few.SerializeToString())]),
    }
    receiver = Receiver(answer=lambda path: next(answers[path], None))
    proxy = Proxy(work, receiver.url)
    proxy.load(10)
    receiver.waits_for(lambda: receiver.spans)
    proxy.load(10)
    proxy.hears("refuses traces with 400")
    proxy.load(10)
    summary, _ = proxy.stop()
    refused = 30 - len(receiver.spans)
    assert summary["spans_rejected"] == 1 + refused and refused > 0, (summary, refused)
    assert len(proxy.logged("rejected 1 span of")) == len(proxy.logged("rejected 2 data points of")) == 1, proxy.lines
    assert not proxy.logged("hunter2"), proxy.lines
    receiver.close()


def beyond_the_queue_spans_are_dropped_and_counted(work):
    receiver = Receiver()
    receiver.held.clear()
    proxy = Proxy(work, receiver.url, "--otlp-queue", "100KB")
    proxy.load(2000)
    page = proxy.page()
    receiver.held.set()
    summary, report = proxy.stop()
    dropped = summary["spans_dropped"]
    assert page["contrail_otlp_spans_total", (("outcome", "dropped"),)] == dropped > 1000, (page, dropped)
    assert len(receiver.spans) + dropped == len(report["exchanges"]) == 2000, (len(receiver.spans), dropped)
    receiver.close()


def no_secret_is_sent_or_shown(work):
    receiver = Receiver()
    key, secret = "planted-api-key-0123456789", "planted-s3cr3t-0123456789abcdef"
    proxy = Proxy(work, receiver.url, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20hunter2")
    connection = http.client.HTTPConnection(proxy.address, timeout=60)
    form = f"grant_type=client_credentials&client_id=planted&client_secret={secret}&audience=%2Fapi%2Fv2%2F"
    connection.request("POST", "/oauth/token/", form, {"Content-Type": "application/x-www-form-urlencoded"})
    connection.getresponse().read()
    # What was seen as a secret once is one everywhere.
    connection.request("GET", f"/api/v2/{secret}?x={secret}", headers={"Authorization": f"Bearer {key}"})
    connection.getresponse().read()
    connection.request("GET", f"{TEMPLATES}?api_key={key}&cursor={secret}", headers={"X-Api-Key": key})
    connection.getresponse().read()
    connection.close()
    proxy.stop()
    assert len(receiver.spans) == 3
    for planted in (key, secret, "hunter2"):
        assert not any(planted.encode() in body for body in receiver.bodies), planted
        assert not proxy.logged(planted), planted
    receiver.close()


def a_span_is_a_child_of_the_client_s(work):
    receiver = Receiver()
    proxy = Proxy(work, receiver.url)
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    proxy.load(2, headers={"traceparent": f"00-{trace}-{parent}-00"})
    proxy.load(1, headers={"traceparent": f"00-{trace}-{'0' * 16}-00"})
    proxy.stop()
    first, second, third = receiver.spans
    for span in (first, second):
        assert (span.trace_id.hex(), span.parent_span_id.hex(), span.flags) == (trace, parent, 0x300), span
    assert len(third.trace_id) == 16 and third.trace_id.hex() != trace and not third.parent_span_id, third
    receiver.close()


CHECKS = [
    under_load_spans_are_those_of_the_report_and_metrics_those_of_the_page,
    a_receiver_that_is_gone_for_a_while_gets_everything_later,
    a_receiver_that_does_not_answer_holds_up_no_exchange,
    a_receiver_that_cannot_take_more_is_asked_again_when_it_wants_to_be,
    what_a_receiver_rejects_is_counted,
    beyond_the_queue_spans_are_dropped_and_counted,
    no_secret_is_sent_or_shown,
    a_span_is_a_child_of_the_client_s,
]


def main():
    named = sys.argv[1:]
    for check in CHECKS:
        if not named or any(name in check.__name__ for name in named):
            begun = time.monotonic()
            with tempfile.TemporaryDirectory() as work:
                check(work)
            print(f"ok  {check.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)


main()
