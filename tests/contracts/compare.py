"""Compares contrail's verdicts on bodies and parameters with those of jsonschema and ajv. `run` starts it."""

import argparse
import fnmatch
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from urllib.parse import unquote

import yaml
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

import bodies
import parameters

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CONTRAIL = os.environ["CONTRAIL"]
METHODS = ("get", "put", "post", "delete", "options", "patch", "trace")
OWN = ("contracts", "tests/data/contracts", "fixtures/cases/contracts")


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML 1.2, as OpenAPI reads it: dates and words like `yes` are texts."""


for first, held in list(Loader.yaml_implicit_resolvers.items()):
    kept = [(tag, regex) for tag, regex in held if not tag.endswith((":timestamp", ":bool"))]
    Loader.yaml_implicit_resolvers = {**Loader.yaml_implicit_resolvers, first: kept}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def texts(value):
    """The same with every key as a text, as JSON has it."""
    if isinstance(value, dict):
        return {str(key): texts(held) for key, held in value.items()}
    return [texts(held) for held in value] if isinstance(value, list) else value


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file) if path.endswith(".json") else texts(yaml.load(file, Loader))


def follow(document, value):
    """What a chain of references leads to."""
    for _ in range(64):
        target = value.get("$ref") if isinstance(value, dict) else None
        if not isinstance(target, str) or not target.startswith("#/"):
            return value
        value = document
        for token in target[2:].split("/"):
            token = unquote(token).replace("~1", "/").replace("~0", "~")
            try:
                value = value[int(token) if isinstance(value, list) else token]
            except (KeyError, IndexError, TypeError, ValueError):
                return {}
    return {}


def base(document):
    """The path of the first server."""
    server = (document.get("servers") or [{"url": "/"}])[0]
    url = server["url"]
    for name, variable in (server.get("variables") or {}).items():
        url = url.replace("{" + name + "}", variable["default"])
    return re.sub(r"^(https?:)?//[^/]*", "", url).rstrip("/")


def operations(document):
    """(path, path item, method, operation, path of the server) of each operation that a request can have."""
    for path, item in (document.get("paths") or {}).items():
        if not path.startswith("/") or "?" in path or "#" in path:
            continue
        item = follow(document, item)
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, dict):
                yield path, item, method, operation, base(
                    operation if "servers" in operation else item if "servers" in item else document)


def places(document):
    """(label, side, method, url, status, schema, the document's own examples) of each JSON body."""
    for path, _, method, operation, prefix in operations(document):
        url = "https://a.example" + prefix + re.sub(r"\{[^}]*\}", "x", path)
        name = operation.get("operationId", f"{method} {path}")
        schema, own = described(document, operation.get("requestBody") or {})
        if schema is not None:
            yield f"{name} request", "request", method, url, 200, schema, own
        for status, response in (operation.get("responses") or {}).items():
            schema, own = (None, []) if status.startswith("x-") else described(document, response)
            if schema is not None:
                code = {"default": "599"}.get(status, status.upper().replace("X", "0"))
                yield f"{name} {status}", "response", method, url, int(code), schema, own


def described(document, holder):
    """The schema of the content `application/json`, and its examples."""
    media = follow(document, (follow(document, holder).get("content") or {}).get("application/json") or {})
    examples = [follow(document, one) for one in (media.get("examples") or {}).values()]
    values = [one["value"] for one in examples if isinstance(one, dict) and "value" in one]
    return media.get("schema"), values + ([media["example"]] if "example" in media else [])


def judges(document, schemas, side, valuess, judge):
    """(jsonschema, ajv): for each schema a list with a message where a value is invalid, else None."""
    whole = bodies.plain(document, side)
    registry = Registry().with_resource("https://document.example/", Resource.from_contents(whole, default_specification=DRAFT202012))
    ours = [bodies.anchored(bodies.schema(schema, document, side)) for schema in schemas]
    checker = FormatChecker()
    python = []
    for schema, values in zip(ours, valuess, strict=True):
        validator = Draft202012Validator(schema, registry=registry, format_checker=checker)
        verdicts = []
        for value in values:
            try:
                fault = next(validator.iter_errors(value), None)
                verdicts.append(fault and f"/{'/'.join(map(str, fault.absolute_path))}: {fault.message}")
            except Exception as error:  # noqa: BLE001
                verdicts.append({"error": str(error)[:200]})
        python.append(verdicts)
    lines = [json.dumps(whole)]
    lines += [json.dumps({"schema": schema, "values": values}) for schema, values in zip(ours, valuess, strict=True)]
    done = subprocess.run(["node", judge], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True)
    javascript = []
    for line, values in zip(done.stdout.splitlines(), valuess, strict=True):
        verdicts = json.loads(line)
        javascript.append([verdicts] * len(values) if isinstance(verdicts, dict) else verdicts)
    return python, javascript


def entry(side, method, url, status, text):
    """A HAR entry with a body on one side."""
    headers = [{"name": "Content-Type", "value": "application/json"}]
    made = {
        "startedDateTime": "2026-01-01T00:00:00Z", "time": 0, "cache": {},
        "timings": {"send": 0, "wait": 0, "receive": 0},
        "request": {"method": method.upper(), "url": url, "httpVersion": "HTTP/1.1", "headers": [],
                    "queryString": [], "cookies": [], "headersSize": -1, "bodySize": -1},
        "response": {"status": status, "statusText": "", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
                     "content": {"size": 0, "mimeType": ""}, "redirectURL": "", "headersSize": -1, "bodySize": -1},
    }
    made[side]["headers"] = headers
    if side == "request":
        made["request"]["postData"] = {"mimeType": "application/json", "text": text}
    else:
        made["response"]["content"] = {"size": len(text), "mimeType": "application/json", "text": text}
    return made


def verify(path, entries):
    """The exchanges that `contrail verify` reports."""
    with tempfile.TemporaryDirectory() as folder:
        har = os.path.join(folder, "bodies.har")
        with open(har, "w", encoding="utf-8") as file:
            log = {"version": "1.2", "creator": {"name": "contracts", "version": "1"}, "entries": entries}
            json.dump({"log": log}, file)
        done = subprocess.run([CONTRAIL, "verify", "--contract", path, "--format", "json", har],
                              capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{path}: contrail ended with status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["exchanges"]


def parametrised(path, name, document, arguments, explained):
    """Prints what the parameters of a document come to; gives the number of differences that nothing explains."""
    chance = random.Random(f"{arguments.seed}:{name}:parameters")
    whole = bodies.plain_cached(document, "request")
    resource = Resource.from_contents(whole, default_specification=DRAFT202012)
    registry = Registry().with_resource("https://document.example/", resource)
    cases, entries = [], []
    for route, item, method, operation, prefix in operations(document):
        for held in parameters.of(document, follow, item, operation):
            if held.get("in") not in parameters.RULES or held["name"].lower() in parameters.IGNORED:
                continue
            parameter = parameters.Parameter(document, held)
            if not parameter.is_read:
                continue
            validator = Draft202012Validator(bodies.anchored(parameter.schema), registry=registry, format_checker=FormatChecker())
            label = f"{operation.get('operationId', f'{method} {route}')} {parameter.place} {parameter.name}"
            for sent in parameters.requests(parameter, whole, chance, arguments.count):
                try:
                    says = parameters.verdict(parameter, whole, validator, sent)
                except Unresolvable:
                    # A reference beyond the schemas, which jsonschema is not given.
                    break
                target, headers = parameters.request(parameter, route, sent)
                made = entry("request", method, "https://a.example" + prefix + target, 200, "")
                made["request"]["headers"] = headers
                made["request"].pop("postData")
                entries.append(made)
                cases.append((label, parameter, sent, says))
    counts = {"parameters": 0, "invalid": 0, "unchecked": 0, "explained": 0}
    wrong = 0
    for (label, parameter, sent, says), exchange in zip(cases, verify(path, entries) if entries else [], strict=True):
        counts["parameters"] += 1
        rule = parameters.RULES[parameter.place]
        findings = [one for one in exchange["findings"] if one["rule"] == rule and parameter.has_name(one["at"])]
        counts["invalid"] += bool(findings)
        if "request-parameters" in exchange["unchecked"] and not findings:
            counts["unchecked"] += 1
            continue
        if bool(findings) == (says is not None):
            continue
        ours = "; ".join(one["message"] for one in findings) or "conforms"
        difference = {"by": "jsonschema", "place": label, "says": f"contrail: {ours} | jsonschema: {says or 'valid'}"}
        item = is_explained(explained, name, difference)
        counts["explained"] += item is not None
        wrong += item is None
        if item is None or arguments.list:
            why = f" [{item['because']}]" if item else ""
            print(f"{name}: {label}: {difference['says'][:600]}{why}\n    {sent} {json.dumps(parameter.schema)[:300]}")
    if cases:
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()) + f", {wrong} differences")
    return wrong


def is_explained(explained, name, difference):
    """The entry of the list that a difference matches."""
    for item in explained:
        if (fnmatch.fnmatch(name, item["document"]) and difference["by"] in item["by"]
                and re.search(item["place"], difference["place"]) and re.search(item["says"], difference["says"])):
            return item
    return None


def compare(path, arguments, explained):
    """Prints what a document comes to; gives the number of differences that nothing explains."""
    name = os.path.basename(path)
    document = read(path)
    if not isinstance(document, dict) or "openapi" not in document:
        return 0
    wrong = parametrised(path, name, document, arguments, explained)
    found = list(places(document))
    if not found:
        return wrong
    chance = random.Random(f"{arguments.seed}:{name}")
    valuess = []
    for _, side, _, _, _, schema, own in found:
        plain = bodies.schema(schema, document, side)
        valuess.append(own + bodies.values(bodies.plain_cached(document, side), plain, chance, arguments.count))
    entries = [entry(side, method, url, status, json.dumps(value))
               for (_, side, method, url, status, *_), values in zip(found, valuess, strict=True) for value in values]
    exchanges = iter(verify(path, entries))
    verdicts = {}
    for side in ("request", "response"):
        chosen = [index for index, place in enumerate(found) if place[1] == side]
        python, javascript = judges(document, [found[index][5] for index in chosen], side,
                                    [valuess[index] for index in chosen], arguments.judge)
        verdicts |= {index: both for index, *both in zip(chosen, python, javascript, strict=True)}
    counts = {"bodies": 0, "invalid": 0, "unchecked": 0, "explained": 0, "not judged by the other": 0,
              "examples of the document": 0, "of these invalid": 0}
    for index, (label, side, *_, own) in enumerate(found):
        for number, value in enumerate(valuess[index]):
            exchange = next(exchanges)
            counts["bodies"] += 1
            if side + "-body" in exchange["unchecked"]:
                counts["unchecked"] += 1
                continue
            findings = [one for one in exchange["findings"] if one["rule"] == side + ".body"]
            findings = [one for one in findings if one["kind"] == "violation"]
            counts["invalid"] += bool(findings)
            counts["examples of the document"] += number < len(own)
            counts["of these invalid"] += number < len(own) and bool(findings)
            for by, verdict in zip(("jsonschema", "ajv"), verdicts[index], strict=True):
                says = verdict[number]
                if isinstance(says, dict):
                    counts["not judged by the other"] += 1
                    continue
                if bool(findings) == (says is not None):
                    continue
                ours = "; ".join(f"{one['at']}: {one['message']}" for one in findings) or "conforms"
                difference = {"by": by, "place": label, "says": f"contrail: {ours} | {by}: {says or 'valid'}"}
                item = is_explained(explained, name, difference)
                counts["explained"] += item is not None
                wrong += item is None
                if item is None or arguments.list:
                    why = f" [{item['because']}]" if item else ""
                    print(f"{name}: {label}: {difference['says'][:600]}{why}\n    {json.dumps(value)[:300]}")
    print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()) + f", {wrong} differences")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--documents", metavar="DIR")
    parser.add_argument("--seed", default="1", metavar="TEXT")
    parser.add_argument("--count", type=int, default=12, metavar="N", help="bodies for each schema")
    parser.add_argument("--list", action="store_true", help="print the explained differences, too")
    arguments = parser.parse_args()
    with open(os.path.join(HERE, "explained.json"), encoding="utf-8") as file:
        explained = json.load(file)
    folders = [arguments.documents] if arguments.documents else [os.path.join(ROOT, folder) for folder in OWN]
    names = [os.path.join(folder, name) for folder in folders for name in sorted(os.listdir(folder))]
    # The places of one document are broken on purpose, and no validator reads it.
    own = [name for name in names if arguments.documents or os.path.basename(name) != "places.yaml"]
    documents = [name for name in own if name.endswith((".json", ".yaml", ".yml"))]
    return sum(compare(os.path.abspath(name), arguments, explained) for name in documents) > 0


if __name__ == "__main__":
    sys.exit(main())
