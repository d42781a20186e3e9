"""A receiver of OpenTelemetry's protocol over HTTP, by the published protobuf definitions."""

import http.server
import threading

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces


class Receiver:
    """Keeps what it gets. `answer(path)` may give (status, header fields, body); `held` holds every answer back."""

    def __init__(self, port=0, answer=None):
        self.answer, self.held = answer, threading.Event()
        self.held.set()
        self.changed = threading.Condition()
        self.bodies, self.spans, self.metrics, self.resources = [], [], [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                receiver.take(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def take(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        assert request.headers["Content-Type"] == "application/x-protobuf", request.headers
        self.bodies.append(body)
        self.held.wait()
        status, fields, answer = (self.answer and self.answer(request.path)) or (200, {}, b"")
        if status == 200:
            self.keep(request.path, body)
        try:
            request.send_response(status)
            for name, value in {**fields, "Content-Length": str(len(answer))}.items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(answer)
        except OSError:
            pass

    def keep(self, path, body):
        with self.changed:
            if path == "/v1/traces":
                for resource in traces.ExportTraceServiceRequest.FromString(body).resource_spans:
                    self.resources.append(attributes(resource.resource))
                    for scope in resource.scope_spans:
                        assert scope.scope.name == "contrail", scope.scope
                        self.spans.extend(scope.spans)
            else:
                assert path == "/v1/metrics", path
                for resource in metrics.ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    self.metrics.append({metric.name: metric for metric in resource.scope_metrics[0].metrics})
            self.changed.notify_all()

    def waits_for(self, condition, seconds=60):
        with self.changed:
            assert self.changed.wait_for(condition, timeout=seconds), "it never came"

    def close(self):
        self.held.set()
        self.server.shutdown()
        self.server.server_close()


def value(any_value):
    kind = any_value.WhichOneof("value")
    if kind == "array_value":
        return [value(one) for one in any_value.array_value.values]
    return getattr(any_value, kind)


def attributes(holder):
    """The attributes of a span, an event, a point or a resource; none is there twice."""
    found = {pair.key: value(pair.value) for pair in holder.attributes}
    assert len(found) == len(holder.attributes), holder
    return found


def points(metric):
    """The points of a metric: attributes, and a number or a histogram."""
    kind = metric.WhichOneof("data")
    data = getattr(metric, kind)
    assert kind == "gauge" or data.aggregation_temporality == 2, metric
    found = []
    for point in data.data_points:
        assert 0 < point.start_time_unix_nano < point.time_unix_nano, metric
        found.append((attributes(point), point if kind == "histogram" else point.as_int))
    keys = [tuple(sorted(labels.items())) for labels, _ in found]
    assert len(keys) == len(set(keys)), f"{metric.name} has two points of the same attributes"
    return found
