"""Plants made-up keys, each once, in an exchange of its own; searches what contrail wrote for every one of them."""

import base64
import http.client
import http.server
import json
import os
import random
import shutil
import string
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path

from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
RANDOM = random.Random(1)

# What the issuers publish: texts, and how many characters of which alphabet.
KEYS = {
    "AWS": ["AKIA", (16, UPPER)],
    "Databricks": ["dapi", (32, HEX)],
    "age": ["AGE-SECRET-KEY-1", (58, UPPER)],
    "Atlassian": ["ATATT3", (60, ALNUM)],
    "Brevo": ["xkeysib-", (64, HEX), "-", (16, ALNUM)],
    "DigitalOcean": ["dop_v1_", (64, HEX)],
    "Doppler": ["dp.pt.", (43, ALNUM)],
    "Docker": ["dckr_pat_", (27, ALNUM)],
    "Figma": ["figd_", (40, ALNUM)],
    "GitHub": ["ghp_", (36, ALNUM)],
    "GitHub, fine-grained": ["github_pat_", (22, ALNUM), "_", (59, ALNUM)],
    "GitLab": ["glpat-", (20, ALNUM)],
    "Google": ["AIza", (35, ALNUM)],
    "Grafana": ["glsa_", (32, ALNUM), "_", (8, HEX)],
    "Google, access": ["ya29.", (40, ALNUM)],
    "Google, client": ["GOCSPX-", (28, ALNUM)],
    "Groq": ["gsk_", (52, ALNUM)],
    "Vault": ["hvs.", (24, ALNUM)],
    "Terraform Cloud": [(14, ALNUM), ".atlasv1.", (67, ALNUM)],
    "HubSpot": ["pat-na1-", (8, HEX), "-", (4, HEX), "-", (4, HEX), "-", (4, HEX), "-", (12, HEX)],
    "Hugging Face": ["hf_", (34, string.ascii_letters)],
    "Linear": ["lin_api_", (40, ALNUM)],
    "Mailgun": ["key-", (32, HEX)],
    "New Relic": ["NRAK-", (27, UPPER)],
    "Notion": ["ntn_", (46, ALNUM)],
    "npm": ["npm_", (36, ALNUM)],
    "OpenAI": ["sk-", (20, ALNUM), "T3BlbkFJ", (20, ALNUM)],
    "Anthropic": ["sk-ant-api03-", (93, ALNUM), "AA"],
    "PlanetScale": ["pscale_tkn_", (43, ALNUM)],
    "Postman": ["PMAK-", (24, HEX), "-", (34, HEX)],
    "Pulumi": ["pul-", (40, HEX)],
    "PyPI": ["pypi-AgEIcHlwaS5vcmc", (70, ALNUM)],
    "Resend": ["re_", (8, ALNUM), "_", (24, ALNUM)],
    "RubyGems": ["rubygems_", (48, HEX)],
    "SendGrid": ["SG.", (22, ALNUM), ".", (43, ALNUM)],
    "Sentry": ["sntryu_", (64, HEX)],
    "Shopify": ["shpat_", (32, HEX)],
    "Slack": ["xoxb-", (12, "123456789"), "-", (12, "123456789"), "-", (24, ALNUM)],
    "Square": ["sq0csp-", (43, ALNUM)],
    "Stripe": ["sk_live_", (24, ALNUM)],
    "Stripe, webhooks": ["whsec_", (32, ALNUM)],
    "Supabase": ["sbp_", (40, HEX)],
    "Telegram": [(10, "123456789"), ":AA", (33, ALNUM)],
}


def made_up(parts):
    """A key of this shape."""
    return "".join(
        part if isinstance(part, str) else "".join(RANDOM.choice(part[1]) for _ in range(part[0])) for part in parts
    )


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


def percent(text):
    return "".join(f"%{byte:02X}" for byte in text.encode())


def escapes(text):
    return "".join(f"\\u{ord(char):04x}" for char in text)


# How the key stands in its place.
CODINGS = {
    "plain": lambda key: key,
    "base64": base64_of,
    "base64 twice": lambda key: base64_of(base64_of(key)),
    "hex": lambda key: key.encode().hex(),
}
# Two that only some places have.
PERCENT = {"percent": percent}
ESCAPES = {"JSON escapes": escapes}

# Names that say nothing of a secret: the key's own shape has to be enough.
PLACES = {
    "member": ("application/json", '{{"note":"{}"}}', ESCAPES),
    "text in JSON": ("application/json", '{{"note":"please use {} today"}}', ESCAPES),
    "JSON in JSON": ("application/json", '{{"note":"{{\\"deep\\":\\"{}\\"}}"}}', ESCAPES),
    "form": ("application/x-www-form-urlencoded", "a=1&note={}&b=2", PERCENT),
    "XML": ("application/xml", "<a><note>{}</note></a>", {}),
    "part": ("multipart/form-data; boundary=x",
             '--x\r\nContent-Disposition: form-data; name="note"\r\n\r\n{}\r\n--x--\r\n', {}),
    "text": ("text/plain", "please use {} today", {}),
    "query": (None, "/things?note={}", PERCENT),
    "path": (None, "/things/{}/parts", PERCENT),
    "header": (None, "X-Note", {}),
}


# Names of the table in docs/redaction.md select a value that has no shape, in these places.
NAMED = {
    "member": ("application/json", '{{"{}":"{}"}}'),
    "deep": ("application/json", '{{"a":[{{"b":{{"{}":"{}"}}}}]}}'),
    "JSON in JSON": ("application/json", '{{"note":"{{\\"{}\\":\\"{}\\"}}"}}'),
    "form": ("application/x-www-form-urlencoded", "a=1&{}={}&b=2"),
    "part": ("multipart/form-data; boundary=x",
             '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n--x--\r\n'),
    "element": ("application/xml", "<a><{0}>{1}</{0}></a>"),
    "input": ("text/html", '<input type="hidden" name="{}" value="{}">'),
    "text": ("text/plain", "it said {}={} and left"),
    "list": ("application/yaml", "- name: {}\n  value: {}\n"),
    "query": (None, "/things?a=1&{}={}"),
    "header": (None, "{}"),
}
# Where the names of each sort count.
WHERE = {
    "a whole name": {"header"},
    "a whole name or its end": {"header"},
    "a whole name or its last word": {"header"},
    "a whole name, unless the value is a word": {"header"},
    "a whole name, if the value looks random": {"header", "list"},
    "a whole name in forms and queries": set(NAMED) - {"form", "part", "query"},
    "the same, if the value looks random": set(NAMED) - {"form", "part", "query"},
    "a part of a header field's name": set(NAMED) - {"header"},
}
PERSONAL = {"email", "phone", "card", "person"}


def names():
    """The names of the table, and where they do not count."""
    page = (Path(__file__).parents[2] / "docs" / "redaction.md").read_text()
    for line in page.split("| names | count as |")[1].split("<!--")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[2] not in PERSONAL and cells[1] in WHERE:
            for name in cells[0].split(","):
                yield name.strip(" `"), WHERE[cells[1]]


def plant_names():
    """The cases of names: as those of keys."""
    for name, without in names():
        for place, (media, shape) in NAMED.items():
            if place in without:
                continue
            value = made_up([(1, string.ascii_uppercase), (1, "123456789"), (22, ALNUM)])
            target, headers, body = "/things", {}, ""
            if place == "header":
                headers["X-" + name.replace("_", "-")] = value
            elif media is None:
                target = shape.format(name, value)
            else:
                headers["Content-Type"] = media
                body = shape.format(name, value)
            yield f"{name}: {place}", value, (target, headers, body)


def searched(key):
    """The key in its codings, also as a form or a query quotes them."""
    for coding, text in coded(key):
        yield coding, text
        if (quoted := urllib.parse.quote(text, safe="")) != text:
            yield f"{coding}, quoted", quoted


def coded(key):
    """The key in its codings; the ends that depend on what adjoins are left out of base64."""
    yield "plain", key
    yield "hex", key.encode().hex()
    yield "HEX", key.encode().hex().upper()
    yield "percent", percent(key)
    yield "JSON escapes", escapes(key)
    for depth in (2, 4):
        yield "JSON escapes in JSON", escapes(key).replace("\\", "\\" * depth)
    for shift in range(3):
        middle = base64_of("x" * shift + key)[4 if shift else 0:][:-4].rstrip("=")
        yield f"base64, alignment {shift}", middle
    yield "base64 twice", base64_of(base64_of(key))[:-6]
    yield "the last half", key[len(key) // 2:]


def plant():
    """The cases: place, coding, key, and the request."""
    for issuer, parts in KEYS.items():
        for place, (media, shape, more) in PLACES.items():
            for coding, code in {**CODINGS, **more}.items():
                key = made_up(parts)
                said = code(key)
                target, headers, body = "/things", {}, ""
                if place == "header":
                    headers[shape] = said
                elif media is None:
                    quoted = said if coding == "percent" else urllib.parse.quote(said, safe="")
                    target = shape.format(quoted)
                else:
                    headers["Content-Type"] = media
                    if place == "form" and coding != "percent":
                        said = urllib.parse.quote_plus(said)
                    if place == "JSON in JSON" and coding == "JSON escapes":
                        said = said.replace("\\", "\\\\")
                    body = shape.format(said)
                yield f"{issuer}: {place}, {coding}", key, (target, headers, body)


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with the request's body and media type."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        if media := self.headers.get("Content-Type"):
            self.send_header("Content-Type", media)
        for name, value in self.headers.items():
            if name.startswith("X-"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def send(requests):
    """The client, behind the proxy."""
    url = urllib.parse.urlsplit(os.environ["CONTRAIL_URL"])
    connection = http.client.HTTPConnection(url.hostname, url.port)
    for target, headers, body in json.load(open(requests)):
        connection.request("POST", target, body.encode(), headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, (answer.status, target)


def har(requests):
    """The same exchanges as another tool writes them."""
    entries = []
    for target, headers, body in requests:
        fields = [{"name": name, "value": value} for name, value in headers.items()]
        media = headers.get("Content-Type", "")
        url = "https://api.example.com" + target
        query = [{"name": name, "value": value} for name, value in
                 urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query)]
        request = {"method": "POST", "url": url, "httpVersion": "HTTP/1.1", "cookies": [], "headers": fields,
                   "queryString": query, "headersSize": -1, "bodySize": len(body)}
        if body:
            request["postData"] = {"mimeType": media, "text": body}
        response = {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "headers": fields,
                    "content": {"size": len(body), "mimeType": media, "text": body}, "redirectURL": "",
                    "headersSize": -1, "bodySize": len(body)}
        entries.append({"startedDateTime": "2026-01-01T00:00:00Z", "time": 1, "request": request,
                        "response": response, "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0}})
    return {"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": entries}}


def contrail(*arguments):
    done = subprocess.run([os.environ["CONTRAIL"], *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"FAILED: contrail {arguments[0]}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def main(work):
    out = Path(work) / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    cases = [*plant(), *plant_names()]
    requests = [request for _, _, request in cases]
    (Path(work) / "requests.json").write_text(json.dumps(requests))
    (Path(work) / "plain.har").write_text(json.dumps(har(requests)))

    upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    said = contrail("record", "--contract", "none", "--out", out / "fixture", "--trail", out / "trail",
                    "--report", f"json={out / 'report.json'}", "--upstream",
                    f"http://127.0.0.1:{upstream.server_port}", "--",
                    sys.executable, __file__, "--send", Path(work) / "requests.json")
    (out / "said").write_text(said)
    contrail("redact", Path(work) / "plain.har", "--out", out / "redacted.har")

    # Half of a key has at least eight characters, so that a file is read once: each window of eight is looked up.
    windows = {}
    for case, key, _ in cases:
        for coding, text in searched(key):
            windows.setdefault(text[:8].encode(), []).append((text.encode(), coding, case))
    plugins = [{"name": name} for name in (
        "AWSKeyDetector", "DiscordBotTokenDetector", "GitHubTokenDetector", "GitLabTokenDetector", "JwtTokenDetector",
        "MailchimpDetector", "NpmDetector", "OpenAIDetector", "PrivateKeyDetector", "PypiTokenDetector",
        "SendGridDetector", "SlackDetector", "SquareOAuthDetector", "StripeDetector", "TelegramBotTokenDetector",
        "TwilioKeyDetector")]

    def matches(content):
        for at in range(len(content) - 7):
            for text, coding, case in windows.get(content[at:at + 8], ()):
                if content.startswith(text, at):
                    yield case, coding

    # What finds nothing proves nothing unless it finds all of them where they are.
    seen = {case for case, _ in matches((Path(work) / "plain.har").read_bytes())}
    if unseen := [case for case, _, _ in cases if case not in seen]:
        sys.exit(f"FAILED: {len(unseen)} are not even found before redaction: {unseen[:5]}")
    found, size, files = set(), 0, 0
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        content, name = path.read_bytes(), path.relative_to(out).parts[0]
        size, files = size + len(content), files + 1
        found.update(f"{name}: {case}: found as {coding}" for case, coding in matches(content))
        with transient_settings({"plugins_used": plugins, "filters_used": []}):
            for line in content.decode(errors="replace").splitlines():
                for secret in scan_line(line):
                    found.add(f"{name}: detect-secrets: {secret.type}")
    for line in sorted(found):
        print(f"FOUND: {line}")
    if len(list(names())) < 80:
        sys.exit("the table of names in docs/redaction.md cannot be read")
    places = (f"{len(cases)} keys and values, of {len(KEYS)} shapes in {len(PLACES)} places and of {len(list(names()))} "
              f"names in {len(NAMED)}; {files} files, {size} bytes searched")
    if size < 100_000 or files < 4:
        sys.exit(f"FAILED: too little was written: {places}")
    if found:
        sys.exit(f"FAILED: {len(found)} found; {places}")
    print(f"scanner: {places}; none found")


if sys.argv[1] == "--send":
    send(sys.argv[2])
else:
    main(sys.argv[1])
