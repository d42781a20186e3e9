"""Parameters written by the text of OpenAPI alone, mutations of them, and whether they are valid by jsonschema.

A text on the wire has no types: it is valid where one reading of it is. Each style is read by its table in the Parameter
Object ("Style Values", "Style Examples"); then jsonschema judges the readings."""

import itertools
import json
import re
from urllib.parse import quote, unquote

import bodies

RULES = {"path": "path.parameter", "query": "query.parameter", "header": "header.parameter", "cookie": "cookie.parameter"}
USUAL = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
STYLES = {
    "path": ("simple", "label", "matrix"), "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",), "cookie": ("form",),
}
IGNORED = ("accept", "content-type", "authorization")
# Bound on the readings of one text.
READINGS = 512


def of(document, follow, item, operation):
    """The parameters of an operation: its own, and those of the path item that it does not repeat."""
    own = [follow(document, one) for one in operation.get("parameters") or []]
    known = {(one.get("name"), one.get("in")) for one in own}
    inherited = [follow(document, one) for one in item.get("parameters") or []]
    return own + [one for one in inherited if (one.get("name"), one.get("in")) not in known]


class Parameter:
    """A parameter that is judged by a schema."""

    def __init__(self, document, held):
        self.name, self.place = held["name"], held["in"]
        self.required = self.place == "path" or held.get("required") is True
        self.style = held.get("style", USUAL[self.place])
        self.explode = held.get("explode", self.style == "form")
        content = held.get("content") or {}
        self.is_json = list(content) == ["application/json"]
        schema = content["application/json"].get("schema") if self.is_json else held.get("schema")
        self.schema = bodies.schema(schema, document, "request") if isinstance(schema, dict) else None
        self.allows_empty = held.get("allowEmptyValue") is True
        self.is_read = self.schema is not None and (self.is_json or not content) and self.style in STYLES[self.place]

    # Writing

    def written(self, value):
        """The parts of a request that carry a value; `None` where OpenAPI does not define how."""
        if self.is_json:
            return self.sent(self.name, json.dumps(value))
        name = quote(self.name, safe="")
        if isinstance(value, list):
            return self.array(name, value)
        if isinstance(value, dict):
            return self.object(name, value)
        text = plain(value)
        if text is None or self.style in ("deepObject", "spaceDelimited", "pipeDelimited"):
            return None
        prefix = {"label": ".", "matrix": f";{name}="}.get(self.style, "")
        return self.sent(self.name, text, prefix)

    def sent(self, name, text, prefix=""):
        """One text under one name, percent-encoded where the place takes that."""
        coded = text if self.place == "header" else quote(text, safe="")
        return prefix + coded if self.place == "path" else [(name, coded)]

    def array(self, name, items):
        texts = [plain(item) for item in items]
        if not texts or None in texts or self.style == "deepObject":
            return None
        coded = texts if self.place == "header" else [quote(text, safe="") for text in texts]
        if self.place == "header" and any("," in text or text != text.strip() for text in texts):
            return None
        if self.style in ("form", "spaceDelimited", "pipeDelimited"):
            if self.explode:
                return [(self.name, text) for text in coded] if self.place == "query" else None
            return [(self.name, {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}[self.style].join(coded))]
        if self.style == "matrix":
            return "".join(f";{name}={text}" for text in coded) if self.explode else f";{name}=" + ",".join(coded)
        joined = ("." if self.style == "label" and self.explode else ",").join(coded)
        if self.style == "label" and self.explode and any("." in text for text in texts):
            return None
        return [(self.name, joined)] if self.place == "header" else {"label": "."}.get(self.style, "") + joined

    def object(self, name, members):
        texts = {key: plain(member) for key, member in members.items()}
        if not texts or None in texts.values() or any(not key or set(key) & set(",.;=[]&") for key in texts):
            return None
        if self.place == "header" and any(set(text) & set(",=") or text != text.strip() for text in texts.values()):
            return None
        if self.style == "label" and self.explode and any("." in text for text in texts.values()):
            return None
        code = (lambda text: text) if self.place == "header" else (lambda text: quote(text, safe=""))
        pairs = [(code(key), code(text)) for key, text in texts.items()]
        if self.style == "deepObject":
            return [(f"{self.name}[{key}]", text) for key, text in pairs] if self.explode else None
        if self.style == "form" and self.explode:
            return [(unquote(key), text) for key, text in pairs] if self.place == "query" else None
        between = "=" if self.explode else ","
        joined = [f"{key}{between}{text}" for key, text in pairs]
        if self.style in ("spaceDelimited", "pipeDelimited"):
            return None
        if self.style == "matrix":
            return "".join(f";{one}" for one in joined) if self.explode else f";{name}=" + ",".join(joined)
        text = ("." if self.style == "label" and self.explode else ",").join(joined)
        if self.place == "path":
            return {"label": "."}.get(self.style, "") + text
        return [(self.name, text)]

    # Reading

    def readings(self, sent, kinds):
        """Values that what was sent may stand for."""
        if self.is_json:
            text = sent if isinstance(sent, str) else sent[0][1]
            try:
                yield json.loads(text if self.place == "header" else unquote(text))
            except ValueError:
                return
            return
        for kind in kinds:
            yield from getattr(self, "read_" + kind)(sent)

    def has_name(self, name):
        """Whether it is the parameter's, or that of a member in brackets."""
        return name == self.name or name.startswith(self.name + "[")

    def texts(self, sent):
        return [text for name, text in sent if name == self.name]

    def read_scalar(self, sent):
        if self.place == "path":
            prefix = {"label": ".", "matrix": f";{quote(self.name, safe='')}="}.get(self.style, "")
            texts = [sent[len(prefix):]] if sent.startswith(prefix) else []
        else:
            texts = self.texts(sent)
        if len(texts) == 1 and self.style not in ("deepObject", "spaceDelimited", "pipeDelimited"):
            yield from typed(self.decoded(texts[0]))

    def read_array(self, sent):
        name = quote(self.name, safe="")
        if self.place == "path":
            if self.style == "simple":
                texts = sent.split(",")
            elif self.style == "label":
                texts = sent[1:].split("." if self.explode else ",") if sent.startswith(".") else None
            elif self.explode:
                parts = [part.partition("=") for part in sent[1:].split(";")] if sent.startswith(";") else []
                texts = [text for _, _, text in parts] if parts and all(key == name for key, _, _ in parts) else None
            else:
                texts = sent[len(name) + 2:].split(",") if sent.startswith(f";{name}=") else None
        else:
            texts = self.texts(sent)
            if not (self.style in ("form", "spaceDelimited", "pipeDelimited") and self.explode and self.place == "query"):
                between = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(self.style, ",")
                texts = re.split(r"[ \t]*,[ \t]*" if self.place == "header" else re.escape(between), texts[0]) if len(texts) == 1 else None
        if texts:
            yield from combined([list(typed(self.decoded(text))) for text in texts])

    def read_object(self, sent):
        if self.style == "deepObject":
            inner = re.compile(re.escape(self.name) + r"\[([^\[\]]+)\]")
            pairs = [(inner.fullmatch(name), text) for name, text in sent]
            pairs = [(name and name[1], text) for name, text in pairs]
        elif self.style == "form" and self.explode:
            pairs = sent
        else:
            text = sent if isinstance(sent, str) else (self.texts(sent) or [""])[0]
            pairs = self.pairs(text)
        if not pairs or any(not key for key, _ in pairs) or len({key for key, _ in pairs}) < len(pairs):
            return
        keys = [key if self.style == "deepObject" else self.decoded(key) for key, _ in pairs]
        for values in combined([list(typed(self.decoded(text))) for _, text in pairs]):
            yield dict(zip(keys, values))

    def pairs(self, text):
        """Keys and texts of an object that is one text."""
        between = ","
        if self.style == "label":
            if not text.startswith("."):
                return None
            text, between = text[1:], "." if self.explode else ","
        elif self.style == "matrix":
            prefix = ";" if self.explode else f";{quote(self.name, safe='')}="
            if not text.startswith(prefix):
                return None
            text, between = text[len(prefix):], ";" if self.explode else ","
        parts = text.split(between)
        if self.explode:
            return [part.partition("=")[::2] for part in parts] if all("=" in part for part in parts) else None
        return list(zip(parts[::2], parts[1::2])) if len(parts) % 2 == 0 else None

    def decoded(self, text):
        return text if self.place == "header" else unquote(text)


def plain(value):
    """A scalar as text; `None` for what OpenAPI does not define."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return json.dumps(value)
    return value if isinstance(value, str) and value else None


def typed(text):
    """The scalars that a text may stand for."""
    yield text
    if text in ("true", "false") or re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        yield json.loads(text)


def combined(choices):
    """All combinations, up to a bound; the number before the text, since both rarely fit."""
    return (list(values) for values in itertools.islice(itertools.product(*(one[::-1] for one in choices)), READINGS))


def kinds(document, schema):
    """The kinds of values that a schema allows, as far as its types say."""
    found, todo, seen = set(), [schema], 0
    while todo and seen < 200:
        seen += 1
        one = todo.pop()
        for part in bodies.parts(document, one):
            types = part.get("type", [])
            for name in types if isinstance(types, list) else [types]:
                found.add(name if name in ("array", "object") else "scalar")
            if "enum" in part or "const" in part:
                found.add("scalar")
            todo += [*(part.get("oneOf") or []), *(part.get("anyOf") or [])]
            found |= {"object"} if "properties" in part and "type" not in part else set()
            found |= {"array"} if "items" in part and "type" not in part else set()
    return sorted(found) or ["scalar"]


def requests(parameter, document, chance, count):
    """What is sent for a parameter, some as the schema has it, the others with one mutation; `None` is nothing."""
    values = bodies.values(document, parameter.schema, chance, count)
    written = [parameter.written(value) for value in values if value is not None]
    written = [sent for sent in written if sent is not None and len(str(sent)) < 2000 and sendable(sent)]
    return ([] if parameter.place == "path" else [None]) + written


def sendable(sent):
    """Without what no request can carry: an empty segment, or a header field with anything but printable ASCII."""
    if isinstance(sent, str):
        return sent not in ("", ".", "..")
    return all(name.isascii() and text.isascii() and text.isprintable() for name, text in sent)


def request(parameter, path, sent):
    """The path, and the headers, of a request that sends one parameter."""
    headers = []
    if parameter.place == "path" and sent is not None:
        path = path.replace("{" + parameter.name + "}", sent)
    path = re.sub(r"\{[^}]*\}", "x", path)
    if parameter.place == "query" and sent:
        path += "?" + "&".join(f"{quote(name, safe='[]')}={text}" for name, text in sent)
    elif parameter.place == "header" and sent:
        headers = [{"name": name, "value": text} for name, text in sent]
    elif parameter.place == "cookie":
        # A request without any cookie may have been stripped of them.
        pairs = [("other", "1"), *(sent or [])]
        headers = [{"name": "Cookie", "value": "; ".join(f"{name}={text}" for name, text in pairs)}]
    return path, headers


def verdict(parameter, document, validator, sent):
    """`None` where what was sent is valid, else why not."""
    allowed = kinds(document, parameter.schema)
    # Members of an exploded object come under names of their own, and not under the parameter's.
    spread = parameter.style == "form" and parameter.explode and parameter.place == "query" and allowed == ["object"]
    if sent is None or parameter.place == "query" and not spread and not any(
            parameter.has_name(name) for name, _ in sent):
        return "the parameter is missing" if parameter.required else None
    fault = "no value has this notation"
    for value in parameter.readings(sent, allowed):
        found = next(validator.iter_errors(value), None)
        if found is None:
            return None
        fault = found.message
    return fault[:300]
