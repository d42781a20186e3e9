"""An Azure Blob server on a free port (Azurite)."""

import atexit
import base64
import email.utils
import hashlib
import hmac
import os
import subprocess

import requests

from proxy import eventually, free_port

VERSION = "2021-08-06"


class Azurite:
    """A server with one account, and one container."""

    ACCOUNT = "contrail"

    def __init__(self, work, container):
        self.port = free_port()
        self.key = base64.b64encode(os.urandom(32)).decode()
        environment = {**os.environ, "AZURITE_ACCOUNTS": f"{self.ACCOUNT}:{self.key}"}
        command = [os.environ["AZURITE"], "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--location", f"{work}/azurite"]
        command += ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        eventually(lambda: self.makes(container))

    def makes(self, container):
        assert self.process.poll() is None, "Azurite does not start"
        date = email.utils.formatdate(usegmt=True)
        headers = {"x-ms-date": date, "x-ms-version": VERSION}
        signed = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{VERSION}\n"
        signed += f"/{self.ACCOUNT}/{self.ACCOUNT}/{container}\nrestype:container"
        signature = hmac.new(base64.b64decode(self.key), signed.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"SharedKey {self.ACCOUNT}:{base64.b64encode(signature).decode()}"
        try:
            made = requests.put(f"{self.address()}/{self.ACCOUNT}/{container}?restype=container", headers=headers, timeout=10)
        except requests.ConnectionError:
            return False
        assert made.status_code == 201, made.text
        return True

    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def environment(self):
        """Where the store is, and who asks, in its own variables and those of its emulator."""
        return {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": self.address(),
            "AZURE_STORAGE_ACCOUNT_NAME": self.ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": self.key,
        }
