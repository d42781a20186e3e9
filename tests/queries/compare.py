"""The ten queries of examples/queries.sql, answered by DuckDB, beside the audit of the same recordings."""

import collections
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import duckdb

CONTRAIL = os.environ["CONTRAIL"]
QUERIES = os.path.join(os.path.dirname(__file__), "../../examples/queries.sql")
MISBEHAVIOUR = ["auth.unenforced=0.5", "response.body=0.25", "response.body.undocumented=0.25"]
HOUR = datetime.timedelta(hours=1)


def call(url, body=None, **headers):
    """A request, whatever the answer; its body."""
    body = urllib.parse.urlencode(body).encode() if body else None
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        return error.read()


def traffic(sandbox, rounds):
    """Calls of every client of the sandbox, and of none, to CONTRAIL_URL."""
    url = os.environ["CONTRAIL_URL"]
    paths = [f"rate-limit-policies/{sandbox['rate_limit_policy']}", "connection-profiles/templates?unknown=1",
             f"connections/{sandbox['connection']}/directory-provisioning/synchronized-groups?take=101",
             f"connections/{sandbox['connection']}/directory-provisioning/synchronized-groups", "elsewhere"]
    for _ in range(rounds):
        for client in [*sandbox["clients"], None]:
            headers = {}
            if client:
                wanted = {"grant_type": "client_credentials", "audience": "/api/v2/", "client_id": client["id"],
                          "client_secret": client["secret"]}
                token = json.loads(call(f"{url}/oauth/token/", wanted))["access_token"]
                headers["authorization"] = f"Bearer {token}"
            for path in paths:
                call(f"{url}/api/v2/{path}", **headers)


def record(folder):
    """Two trails below `folder`/fleet, of which the second one pauses for hours."""
    flags = [flag for rule in MISBEHAVIOUR for flag in ("--misbehave", rule)]
    command = [CONTRAIL, "sandbox", "--listen", "127.0.0.1:0", "--format", "json", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tenant:
        try:
            sandbox = json.loads(tenant.stdout.readline())
            for name, rounds in [("a", 3), ("b", 2)]:
                watch = [CONTRAIL, "watch", "--upstream", sandbox["url"], "--listen", "127.0.0.1:0", "--trail",
                         f"fleet/{name}", "--", sys.executable, __file__, json.dumps(sandbox), str(rounds)]
                ran = subprocess.run(watch, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                # The tenant breaks its contract.
                assert ran.returncode == 1, ran.stderr[-3000:]
        finally:
            tenant.kill()
    delay(f"{folder}/fleet/a", lambda share: int(share * 5) * HOUR)
    delay(f"{folder}/fleet/b", lambda share: 4 * HOUR if share > 0.5 else 0 * HOUR)


def delay(trail, by):
    """Moves the exchanges of a trail, each by hours that depend on its place in it, and links its chain anew."""
    [segment] = [f"{trail}/{name}" for name in os.listdir(trail) if name.endswith(".journal")]
    with open(segment, encoding="utf-8") as lines:
        lines = [json.loads(line) for line in lines]
    count = sum("_chain" not in line for line in lines)
    previous, digests, written, seen = "0" * 64, [], [], 0
    for line in lines:
        if "_chain" not in line:
            line = later(line, by(seen / count))
            seen += 1
        else:
            chain = line["_chain"]
            marks = [f"trail {chain['trail']}"] if "trail" in chain else []
            text = "\n".join(["contrail chain 1", str(chain["seq"]), previous, *marks, *digests, ""])
            chain |= {"prev": previous, "lines": digests, "hash": hashlib.sha256(text.encode()).hexdigest()}
            previous, digests = chain["hash"], []
        text = json.dumps(line, separators=(",", ":"), ensure_ascii=False)
        if "_chain" not in line:
            digests.append(hashlib.sha256(text.encode()).hexdigest())
        written.append(text + "\n")
    with open(segment, "w", encoding="utf-8") as out:
        out.writelines(written)


def later(held, time):
    """The same with its `startedDateTime` moved."""
    def moved(found):
        instant = datetime.datetime.fromisoformat(found[1].replace("Z", "+00:00")) + time
        return f'"startedDateTime":"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03}Z"'

    text = json.dumps(held, separators=(",", ":"), ensure_ascii=False)
    text, count = re.subn(r'"startedDateTime":"([^"]+)"', moved, text)
    assert count == 1, text[:300]
    return json.loads(text)


def queries():
    """The views, and each question with its query."""
    with open(QUERIES, encoding="utf-8") as file:
        views, *questions = re.split(r"^-- (?=\d+\. )", file.read(), flags=re.MULTILINE)
    assert len(questions) == 10, f"{len(questions)} questions"
    return views, dict(question.split("\n", 1) for question in questions)


def hours(span):
    instant = datetime.datetime.fromisoformat
    begin, end = (instant(span[name].replace("Z", "+00:00")) for name in ("from", "to"))
    while begin < end:
        yield f"{begin:%Y-%m-%dT%H:%M:%SZ}"
        begin += HOUR


def counted(rows):
    counts = collections.Counter()
    for *key, count in rows:
        counts[tuple(key)] += count
    return {(*key, count) for key, count in counts.items()}


def answers(audit):
    """What the audit answers to each question, and how the rows of the query become that."""
    callers, findings = audit["callers"], audit["findings"]
    undocumented = "undocumented"

    def scopes(key):
        return {(caller["caller"], scope) for caller in callers for scope in caller[key]}

    calls = {(caller["caller"], call["operation"] or undocumented,
              *(call[key] for key in ("count", "accepted", "refused", "limited", "violating")))
             for caller in callers for call in caller["calls"]}
    # The audit lists them by reason and caller, too.
    listed = collections.defaultdict(list)
    for one in findings:
        if one["rule"] == "auth.unenforced":
            listed[one["operation"] or undocumented, one["at"]].append(one)
    unenforced = set()
    for (operation, place), group in listed.items():
        first = min((one["first"]["started"], one["first"]["source"], one["first"]["entry"]) for one in group)
        unenforced.add((operation, place, sum(one["count"] for one in group), f"{first[1]} entry {first[2]}"))
    gaps = [(one["operation"] or undocumented, one["rule"], one["count"]) for one in findings if one["kind"] == "gap"]
    missing = {(trail["id"], hour) for trail in audit["integrity"] for span in trail.get("notRecorded", [])
               for hour in hours(span)}
    return [
        (calls, set),
        (counted((one["rule"], one["kind"], one["count"]) for one in findings), set),
        (scopes("holds"), set),
        (scopes("unneeded"), set),
        (scopes("lacks"), set),
        (unenforced, set),
        # The audit counts these calls by operation and not by caller, and only where a token is required.
        (counted((one["operation"], one["count"]) for one in findings if one["rule"] == "auth.expired"),
         lambda rows: counted((row[2], row[3]) for row in rows if row[2] != undocumented)),
        (set(audit["unchecked"].items()), lambda rows: counted((row[0], row[2]) for row in rows)),
        (counted(gaps), set),
        (missing, set),
    ]


def compare(folder):
    """The questions to which DuckDB and the audit answer differently, or nothing at all."""
    subprocess.run([CONTRAIL, "export", "--parquet", "tables", "fleet"], cwd=folder, check=True)
    audit = subprocess.run([CONTRAIL, "audit", "fleet", "--format", "json"], cwd=folder, stdout=subprocess.PIPE)
    audit = json.loads(audit.stdout)
    assert not any(trail["broken"] for trail in audit["integrity"]), audit["integrity"]
    os.chdir(folder)
    views, questions = queries()
    database = duckdb.connect()
    database.execute(views)
    wrong = 0
    for (question, query), (expected, reads) in zip(questions.items(), answers(audit), strict=True):
        rows = database.execute(query).fetchall()
        found = reads(rows)
        same = found == expected and bool(rows)
        wrong += not same
        print(f"{'same' if same else 'DIFFERENT'}: {question} {len(rows)} rows")
        if not same:
            print(f"  only DuckDB: {sorted(found - expected)}\n  only the audit: {sorted(expected - found)}")
    return wrong


def main():
    if len(sys.argv) == 3:
        traffic(json.loads(sys.argv[1]), int(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        record(folder)
        wrong = compare(folder)
    print(f"queries of examples/queries.sql beside the audit: {wrong} of 10 differ")
    sys.exit(1 if wrong else 0)


main()
