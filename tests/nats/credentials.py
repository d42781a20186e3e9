"""Credentials for a NATS server: an NKey, a credentials file, and certificates, made with openssl."""

import base64
import json
import subprocess

SEED, USER, ACCOUNT, OPERATOR = (number << 3 for number in (18, 20, 0, 14))


def openssl(*arguments, text=None):
    return subprocess.run(["openssl", *arguments], input=text, capture_output=True, check=True).stdout


def checked(raw):
    """As NATS writes keys: base32, with a checksum."""
    crc = 0
    for byte in raw:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return base64.b32encode(raw + crc.to_bytes(2, "little")).decode().rstrip("=")


class Key:
    """A pair of Ed25519 keys of one kind."""

    def __init__(self, work, kind):
        self.file = f"{work}/{kind}.pem"
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.file)
        private, public = (openssl("pkey", "-in", self.file, *more, "-outform", "DER")[-32:] for more in ([], ["-pubout"]))
        self.public = checked(bytes([kind]) + public)
        self.seed = checked(bytes([SEED | kind >> 5, (kind & 31) << 3]) + private)

    def token(self, work, subject, **about):
        """A JWT of this issuer."""
        plain = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=").decode()
        parts = {"typ": "JWT", "alg": "ed25519-nkey"}, {"iss": self.public, "sub": subject, "nats": {"version": 2, **about}}
        signed = ".".join(plain(json.dumps(part).encode()) for part in parts)
        with open(f"{work}/signed", "w") as file:
            file.write(signed)
        return f"{signed}.{plain(openssl('pkeyutl', '-sign', '-rawin', '-inkey', self.file, '-in', f'{work}/signed'))}"


def certificates(work):
    """An authority, and a certificate of it for a server and for a client: `NAME.pem` and `NAME.key`."""
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *new, "-subj", "/CN=authority", "-keyout", f"{work}/ca.key", "-out", f"{work}/ca.pem")
    for name in ("server", "client"):
        about = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
        about += ["-addext", "basicConstraints=critical,CA:FALSE", "-CA", f"{work}/ca.pem", "-CAkey", f"{work}/ca.key"]
        openssl("req", "-x509", *new, *about, "-keyout", f"{work}/{name}.key", "-out", f"{work}/{name}.pem")
