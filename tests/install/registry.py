"""Serves the npm packages of a folder as a registry would. Prints its address.

usage: registry.py FOLDER

Packages of other platforms have a description and no archive: npm must not take them.
"""

import base64
import hashlib
import http.server
import json
import pathlib
import sys
import tarfile

FOLDER = pathlib.Path(sys.argv[1])


def manifests():
    """The package.json of each package, by its name, with the archive or without."""
    found = {}
    for path in FOLDER.glob("*.tgz"):
        with tarfile.open(path) as archive:
            found_here = json.load(archive.extractfile("package/package.json"))
        digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
        found[found_here["name"]] = found_here | {"dist": {"tarball": f"{ADDRESS}/{path.name}", "integrity": f"sha512-{digest}"}}
    for manifest in list(found.values()):
        for name, version in manifest.get("optionalDependencies", {}).items():
            system, processor = name.split("-")[-2:]
            dist = {"tarball": f"{ADDRESS}/none"}
            found.setdefault(name, {"name": name, "version": version, "os": [system], "cpu": [processor], "dist": dist})
    return found


class Registry(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments):
        super().__init__(*arguments, directory=FOLDER)

    def do_GET(self):
        manifest = MANIFESTS.get(self.path[1:])
        if manifest is None:
            return super().do_GET()
        version = manifest["version"]
        body = json.dumps({"name": manifest["name"], "dist-tags": {"latest": version}, "versions": {version: manifest}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        return self.wfile.write(body)

    def log_message(self, *_):
        pass


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
    ADDRESS = f"http://127.0.0.1:{server.server_port}"
    MANIFESTS = manifests()
    print(ADDRESS, flush=True)
    server.serve_forever()
