"""An S3 server on a free port (moto), which checks signatures and keeps its objects over a restart; and a TCP proxy in
front of it that breaks connections at chosen places."""

import atexit
import json
import os
import random
import select
import signal
import socket
import ssl
import subprocess
import sys
import threading

import boto3
import requests

from proxy import eventually, free_port


class Store:
    """A server with one user. It keeps nothing on disk, so what it holds is taken along by `stop` and `start`. Its port
    opens when its user and its objects are there."""

    ALL = []

    def __init__(self):
        self.ALL.append(self)
        atexit.register(lambda: self.process.kill())
        self.secrets = []
        self.port = free_port()
        self.seed = random.randrange(1 << 30)
        self.process = self.front = self.inner = None
        self.kept = {}
        self.start()

    def start(self):
        self.inner = free_port()
        command = [os.path.join(os.path.dirname(sys.executable), "moto_server"), "-H", "127.0.0.1", "-p", str(self.inner)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(self.is_up)
        # The same key after a restart.
        self.set(f"seed?a={self.seed}")
        self.iam = self.client("iam", "none", "none")
        self.iam.create_user(UserName="contrail")
        may = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
        self.iam.put_user_policy(UserName="contrail", PolicyName="all", PolicyDocument=json.dumps(may))
        self.key, self.secret = self.another_key()
        # From now on, signatures and permissions count.
        self.set("reset-auth", b"0")
        self.iam, self.s3 = (self.client(service, self.key, self.secret) for service in ("iam", "s3"))
        for bucket, objects in self.kept.items():
            self.s3.create_bucket(Bucket=bucket)
            for name, content in objects.items():
                self.s3.put_object(Bucket=bucket, Key=name, Body=content)
        self.front = Wire(self.inner, self.port)

    def is_up(self):
        assert self.process.poll() is None, "moto does not start"
        try:
            socket.create_connection(("127.0.0.1", self.inner)).close()
        except OSError:
            return False
        return True

    def set(self, what, value=None):
        requests.post(f"http://127.0.0.1:{self.inner}/moto-api/{what}", value, timeout=60).raise_for_status()

    def client(self, service, key, secret):
        address = f"http://127.0.0.1:{self.inner}"
        return boto3.client(
            service, endpoint_url=address, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret
        )

    def stop(self):
        self.front.close()
        self.kept = {bucket["Name"]: self.objects(bucket["Name"]) for bucket in self.s3.list_buckets()["Buckets"]}
        self.process.kill()
        self.process.wait()

    def pause(self):
        """From now on, it takes connections and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def make(self, bucket):
        self.s3.create_bucket(Bucket=bucket)

    def names(self, bucket):
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def read(self, bucket, name):
        return self.s3.get_object(Bucket=bucket, Key=name)["Body"].read()

    def objects(self, bucket):
        return {name: self.read(bucket, name) for name in self.names(bucket)}

    def another_key(self):
        """A further key of the user."""
        made = self.iam.create_access_key(UserName="contrail")["AccessKey"]
        key, secret = made["AccessKeyId"], made["SecretAccessKey"]
        self.secrets += [key, secret]
        return key, secret

    def remove_key(self, key):
        self.iam.delete_access_key(UserName="contrail", AccessKeyId=key)

    def environment(self, port=None, key=None, secret=None):
        """Where the store is, and who asks, in its own variables."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": key or self.key,
            "AWS_SECRET_ACCESS_KEY": secret or self.secret,
        }


# Where the wire ends a connection.
CUT = "in the middle of the body"
LOST = "when the store has answered, before the answer goes on"
GIVEN = "when the answer has gone on"


class Wire:
    """Passes requests on, each on a connection of its own, and notes them. For each, `fault` gives `None`, or where the
    connection ends, with what is called then."""

    def __init__(self, to, port=0):
        self.to = to
        self.requests = []
        self.fault = lambda method, path: None
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def count(self, method, ending=""):
        return sum(1 for sent, path in self.requests if sent == method and path.endswith(ending))

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.guarded, args=(client,), daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def guarded(self, client):
        try:
            with client, socket.create_connection(("127.0.0.1", self.to)) as server:
                self.pass_on(client, server)
        except OSError:
            pass

    def pass_on(self, client, server):
        head = b""
        while b"\r\n\r\n" not in head:
            data = client.recv(1 << 16)
            if not data:
                return
            head += data
        head, body = head.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        self.requests.append((method, path))
        ends, call = self.fault(method, path) or (None, None)
        length = int(fields.get("content-length", 0))
        length = length // 2 if ends == CUT else length
        server.sendall(head + b"\r\n\r\n" + body[:length])
        left = length - len(body[:length])
        while left > 0:
            data = client.recv(min(left, 1 << 16))
            if not data:
                return
            server.sendall(data)
            left -= len(data)
        if ends != CUT:
            answer = server.recv(1 << 16)
            if ends != LOST:
                client.sendall(answer)
        if call:
            call()
        if ends:
            return
        both(client, server)


def both(one, other):
    """Passes bytes on in both directions, until one of the two ends."""
    while True:
        for end in select.select([one, other], [], [])[0]:
            data = end.recv(1 << 16)
            if not data:
                return
            (other if end is one else one).sendall(data)


class Tls:
    """The same server behind TLS, with a certificate of its own."""

    def __init__(self, port, folder):
        self.to = port
        self.certificate, key = f"{folder}/store.pem", f"{folder}/store.key"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-subj", "/CN=store", "-addext", "subjectAltName=IP:127.0.0.1"]
        command += ["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key, "-out", self.certificate]
        subprocess.run(command, check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.pass_on, args=(client,), daemon=True).start()

    def pass_on(self, client):
        try:
            with self.context.wrap_socket(client, server_side=True) as client:
                with socket.create_connection(("127.0.0.1", self.to)) as server:
                    forth = threading.Thread(target=self.copy, args=(client, server), daemon=True)
                    forth.start()
                    self.copy(server, client)
        except OSError:
            pass

    @staticmethod
    def copy(source, target):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
