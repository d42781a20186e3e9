"""Runs a proxy under traffic, and reads its metrics with the parsers of Prometheus' Python client."""

import http.client
import os
import re
import signal
import subprocess
import tempfile
import threading

from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client import parser as prometheus

CLIENTS, REQUESTS = 8, 50
PATH = "/api/v2/connection-profiles/templates"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def get(address, path, headers=None):
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("GET", path, headers=headers or {})
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response, body


def scrape(address, accept, parser):
    response, body = get(address, "/metrics", {"Accept": accept})
    assert response.status == 200, response.status
    families = list(parser.text_string_to_metric_families(body))
    names = [family.name for family in families]
    assert len(names) == len(set(names)), "a family is there twice"
    assert all(family.documentation for family in families), "a family without help"
    assert all(family.type != "unknown" for family in families), "a family without a type"
    samples = {}
    for family in families:
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in samples, f"{key} is there twice"
            samples[key] = sample.value
    return response.getheader("Content-Type"), samples


def total(samples, name, **labels):
    return sum(value for (held, own), value in samples.items() if held == name and labels.items() <= dict(own).items())


def client(address):
    connection = http.client.HTTPConnection(address, timeout=30)
    for number in range(REQUESTS):
        connection.request("GET", PATH if number % 2 else "/undocumented")
        connection.getresponse().read()
    connection.close()


def main():
    folder = tempfile.TemporaryDirectory()
    command = [os.environ["CONTRAIL"], "watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--workers", "4"]
    command += ["--metrics", "127.0.0.1:0", "--trail", "trail"]
    proxy = subprocess.Popen(command, cwd=folder.name, stderr=subprocess.PIPE, text=True)
    addresses = []
    while len(addresses) < 2:
        addresses += re.findall(r"listening on http://(\S+)", proxy.stderr.readline())
    threading.Thread(target=proxy.stderr.read, daemon=True).start()
    listener, metrics = addresses
    clients = [threading.Thread(target=client, args=(listener,)) for _ in range(CLIENTS)]
    for one in clients:
        one.start()
    # Under load every page is whole, and no counter goes back.
    before = {}
    while any(one.is_alive() for one in clients):
        _, samples = scrape(metrics, "text/plain", prometheus)
        for (name, labels), value in before.items():
            counts = name.endswith(("_total", "_count", "_sum", "_bucket"))
            assert not counts or samples[name, labels] >= value, f"{name} {labels} went back"
        before = samples
    for one in clients:
        one.join()
    all_of_them = CLIENTS * REQUESTS
    for accept, parser, kind in [("text/plain", prometheus, "0.0.4"), (OPENMETRICS, openmetrics, "1.0.0")]:
        content_type, samples = scrape(metrics, accept, parser)
        assert f"version={kind}" in content_type, content_type
        duration = "http_server_request_duration_seconds"
        half = all_of_them / 2
        expected = {
            all_of_them: total(samples, "contrail_exchanges_total"),
            half: total(samples, "contrail_exchanges_total", operation="undocumented", verdict="gap"),
        }
        for want, seen in expected.items():
            assert want == seen, (kind, want, seen)
        assert total(samples, f"{duration}_count") == all_of_them
        assert total(samples, f"{duration}_bucket", le="+Inf") == all_of_them
        assert total(samples, "contrail_findings_total", rule="auth.missing") == half
        assert total(samples, "contrail_journal_entries_total") == all_of_them
        print(f"ok  {kind}: {len(samples)} samples, {all_of_them} exchanges")
    proxy.send_signal(signal.SIGTERM)
    assert proxy.wait(timeout=30) == 1, "requests without a token violate the contract"


main()
