"""A year of a small team's traffic with a tenant, made up: `python3 year.py > year.har` (docs/audit.md).

Four clients call the Management API, each in its own way. The same file comes out each time.
"""

import base64
import json
import random
from datetime import datetime, timedelta, timezone

DICE = random.Random(2025)
ORIGIN = "https://tenant.example"
POLICY = {
    "id": "rlp_1",
    "resource": "oauth_authentication_api",
    "consumer": "client",
    "consumer_selector": "default",
    "configuration": {"action": "allow"},
}
# What each client's tokens hold. `importer` holds more than it uses.
SCOPES = {
    "dashboard": "read:rate_limit_policies",
    "importer": "read:directory_provisionings read:rate_limit_policies update:event_deliveries",
    "deploy": "create:actions update:vdcs_templates",
    "intern": "read:connection_profiles",
}


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def bearer(client, at):
    """A token of an hour; what follows the second dot is no signature."""
    issued = int(at.timestamp()) - 60
    claims = {"iss": f"{ORIGIN}/", "azp": client, "iat": issued, "exp": issued + 3600, "scope": SCOPES[client]}
    return f"Bearer {part({'alg': 'RS256', 'typ': 'JWT'})}.{part(claims)}.{part('no signature, but as long as one')}"


def entry(client, at, method, path, status, body=None, sent=None, headers=()):
    request = {
        "method": method,
        "url": f"{ORIGIN}/api/v2{path}",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": [{"name": "Authorization", "value": bearer(client, at)}],
        "queryString": [],
        "headersSize": -1,
        "bodySize": 0,
    }
    if sent is not None:
        text = json.dumps(sent)
        request["headers"].append({"name": "Content-Type", "value": "application/json"})
        request["postData"] = {"mimeType": "application/json", "text": text}
        request["bodySize"] = len(text)
    text = "" if body is None else json.dumps(body)
    fields = [{"name": name, "value": value} for name, value in headers]
    if text:
        fields.append({"name": "Content-Type", "value": "application/json"})
    took = DICE.randint(20, 180)
    return {
        "startedDateTime": at.isoformat().replace("+00:00", "Z"),
        "time": took,
        "request": request,
        "response": {
            "status": status,
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": fields,
            "content": {"size": len(text), "mimeType": "application/json" if text else "x-unknown", "text": text},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": len(text),
        },
        "cache": {},
        "timings": {"send": 1, "wait": took - 2, "receive": 1},
    }


def error(status, name, message):
    return {"statusCode": status, "error": name, "message": message}


def day(date):
    """The calls of one day."""
    def at(hour, minute, second=0):
        return date + timedelta(hours=hour, minutes=minute, seconds=second)

    # The dashboard reads a policy twice a day.
    for hour in (8, 16):
        yield entry("dashboard", at(hour, DICE.randint(0, 59)), "GET", "/rate-limit-policies/rlp_1", 200, POLICY)
    # The importer reads its groups at night, page by page. Some nights it is too fast, and asks again at once.
    groups = "/connections/con_1/directory-provisioning/synchronized-groups"
    for minute in range(3):
        yield entry("importer", at(2, minute), "GET", f"{groups}?take=50", 200, {"groups": [{"id": "grp_1"}]})
    if DICE.random() < 0.1:
        refused = error(429, "Too Many Requests", "Global limit has been reached")
        wait = (("Retry-After", "30"), ("X-RateLimit-Limit", "10"), ("X-RateLimit-Remaining", "0"))
        reset = (("X-RateLimit-Reset", str(int(at(2, 10, 30).timestamp()))),)
        yield entry("importer", at(2, 10), "GET", "/rate-limit-policies/rlp_1", 429, refused, headers=wait + reset)
        yield entry("importer", at(2, 10, 2), "GET", "/rate-limit-policies/rlp_1", 429, refused, headers=wait + reset)
        yield entry("importer", at(2, 11), "GET", "/rate-limit-policies/rlp_1", 200, POLICY)
    # A deployment on some working days tries an action.
    if date.weekday() < 5 and DICE.random() < 0.2:
        payload = {"payload": {"user": "test"}}
        yield entry("deploy", at(14, 5), "POST", "/actions/actions/act_1/test", 200, payload, sent=payload)
    # In July somebody explores: one policy without the scope, and users, which nothing documents.
    if date.month == 7 and date.day <= 5:
        refused = error(403, "Forbidden", "Insufficient scope, expected any of: read:rate_limit_policies")
        yield entry("intern", at(11, 0), "GET", "/rate-limit-policies/rlp_1", 403, refused)
        yield entry("intern", at(11, 5), "GET", "/users?per_page=100", 200, [])
    # For two days in September the tenant does not enforce scopes.
    if date.month == 9 and date.day in (17, 18):
        yield entry("intern", at(9, 30), "GET", "/rate-limit-policies/rlp_1", 200, POLICY)


def main():
    start = datetime(2025, 1, 1, tzinfo=timezone.utc)
    entries = [one for number in range(365) for one in day(start + timedelta(days=number))]
    entries.sort(key=lambda one: one["startedDateTime"])
    log = {"version": "1.2", "creator": {"name": "year.py", "version": "1"}, "entries": entries}
    print(json.dumps({"log": log}, indent=1))


main()
