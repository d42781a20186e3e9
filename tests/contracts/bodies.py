"""OpenAPI schemas as plain JSON Schema 2020-12, by the text of OpenAPI alone, and bodies made from them."""

import copy
import re

try:
    from re import _parser as parser
except ImportError:
    import sre_parse as parser

LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
ONE = ("items", "not", "additionalProperties", "if", "then", "else", "contains", "propertyNames",
       "unevaluatedProperties", "unevaluatedItems")
MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs")
RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
COMPONENTS = "#/components/schemas/"
MOST = 6


def schema(value, document, side):
    """A schema in the words of JSON Schema."""
    if not isinstance(value, dict):
        return value
    is_3_0 = document["openapi"].startswith("3.0")
    if is_3_0 and isinstance(value.get("$ref"), str):
        # 3.0.3, Reference Object: "any properties added SHALL be ignored".
        made = {"$ref": value["$ref"]}
        return or_null(made) if value.get("nullable") is True else made
    made = {}
    for keyword, held in value.items():
        if keyword in MAPS and isinstance(held, dict):
            made[keyword] = {name: schema(one, document, side) for name, one in held.items()}
        elif keyword in LISTS and isinstance(held, list):
            made[keyword] = [schema(one, document, side) for one in held]
        elif keyword in ONE:
            made[keyword] = schema(held, document, side)
        elif keyword not in ("example", "examples", "default", "description") and not keyword.startswith("x-"):
            made[keyword] = held
    nullable = is_3_0 and made.pop("nullable", False) is True
    if is_3_0:
        dialect_of_3_0(made, nullable)
    low, high = RANGES.get(made.get("format"), (None, None))
    if low is not None:
        # The format registry: "signed 32-bit integer", "signed 64-bit integer".
        number = {"if": {"type": "number"}, "then": {"minimum": low, "maximum": high}}
        made["allOf"] = made.get("allOf", []) + [number]
    discriminate(made, document, side)
    one_side(made, document, side)
    excludes = "enum" in made and None not in made["enum"] or any(one in made for one in (*LISTS, "not"))
    return or_null(made) if nullable and (excludes or "type" not in made) else made


def or_null(made):
    """`nullable` beside anything but `type`. Before 3.0.3 it "allows sending a null value for the defined schema"; 3.0.3
    "adds "null" to the allowed type". contrail reports a gap, so null is no violation."""
    return {"anyOf": [made, {"type": "null"}]}


def dialect_of_3_0(made, nullable):
    """`nullable` and boolean exclusive bounds (3.0.3, Schema Object)."""
    if nullable and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(exclusive), bool) and made.pop(exclusive) and bound in made:
            made[exclusive] = made.pop(bound)


def discriminate(made, document, side):
    """A discriminator beside a choice selects the branch (3.1.0, Discriminator Object). `defaultMapping` names the branch
    of every other value, and of values without the member (3.2.0)."""
    held = made.pop("discriminator", None)
    keyword = next((one for one in ("oneOf", "anyOf") if one in made), None)
    if not isinstance(held, dict) or keyword is None:
        return
    branches = made.pop(keyword)
    mapping = held.get("mapping") or {}
    guard = lambda names: {"type": "object", "required": [held["propertyName"]],
                           "properties": {held["propertyName"]: {"enum": names}}}
    every, parts, otherwise = [], [], {keyword: branches}
    for branch in branches:
        target = branch.get("$ref") if isinstance(branch, dict) else None
        if not isinstance(target, str):
            continue
        name = target.rsplit("/", 1)[1]
        leads = lambda to: target == (to if "#" in to else COMPONENTS + to)
        names = [one for one, to in mapping.items() if leads(to)]
        names += [name] if name not in mapping else []
        every += names
        parts.append({"if": guard(names), "then": branch})
        if leads(held.get("defaultMapping", "")):
            otherwise = branch
    made["allOf"] = made.get("allOf", []) + parts + [{"if": guard(every), "else": otherwise}]


def one_side(made, document, side):
    """What a message of this side need not have: 3.0.3 and JSON Schema, `readOnly`, `writeOnly`."""
    keyword = "readOnly" if side == "request" else "writeOnly"
    marked = set()
    for part in parts(document, made):
        for name, member in (part.get("properties") or {}).items():
            if any(one.get(keyword) is True for one in parts(document, member)):
                marked.add(name)
    if marked and isinstance(made.get("required"), list):
        made["required"] = [name for name in made["required"] if name not in marked]


def parts(document, value, depth=0):
    """A schema and those that apply with it by `$ref` and `allOf`."""
    if not isinstance(value, dict) or depth > 16:
        return
    yield value
    target = value.get("$ref")
    if isinstance(target, str) and target.startswith("#/"):
        yield from parts(document, pointed(document, target), depth + 1)
    for part in value.get("allOf") or []:
        yield from parts(document, part, depth + 1)


def pointed(document, target):
    for token in target[2:].split("/"):
        token = token.replace("~1", "/").replace("~0", "~")
        try:
            document = document[int(token)] if isinstance(document, list) else document[token]
        except (KeyError, IndexError, ValueError, TypeError):
            return {}
    return document


def plain(document, side):
    """The document's components as plain schemas."""
    held = (document.get("components") or {}).get("schemas") or {}
    return {"components": {"schemas": {name: schema(one, document, side) for name, one in held.items()}}}


_plain = {}


def plain_cached(document, side):
    key = (id(document), side)
    if key not in _plain:
        _plain[key] = plain(document, side)
    return _plain[key]


def anchored(value):
    """The same with references into `https://document.example/`."""
    if isinstance(value, dict):
        return {key: "https://document.example/" + held if key == "$ref" and isinstance(held, str) and held.startswith("#/")
                else anchored(held) for key, held in value.items()}
    return [anchored(one) for one in value] if isinstance(value, list) else value


def values(document, root, chance, count):
    """Bodies: some as the schema has them, the others with one mutation."""
    made = [Maker(document, chance, optional).make(root, 0) for optional in (True, False, None)]
    while len(made) < count:
        value = copy.deepcopy(chance.choice(made[:3]))
        for _ in range(chance.choice((1, 1, 1, 2))):
            value = mutated(value, chance)
        made.append(value)
    return made


class Maker:
    """Makes a value of a schema, as well as it can: nothing depends on its being valid."""

    def __init__(self, document, chance, optional):
        self.document, self.chance, self.optional = document, chance, optional
        self.steps = 0

    def make(self, value, depth):
        self.steps += 1
        flat = self.flat(value, 0)
        if depth > 12 or self.steps > 2000:
            return None
        if "const" in flat:
            return flat["const"]
        if flat.get("enum"):
            return self.chance.choice(flat["enum"])
        kinds = flat.get("type")
        kind = self.chance.choice(kinds) if isinstance(kinds, list) and kinds else kinds
        if kind is None:
            kind = "object" if "properties" in flat else "array" if "items" in flat else "string"
        return getattr(self, kind, self.null)(flat, depth)

    def flat(self, value, chain):
        """Keywords of a schema with those of its references and parts, and one branch of each choice."""
        made = {}
        if not isinstance(value, dict) or chain > 24:
            return made
        merged = [self.flat(pointed(self.document, value["$ref"]), chain + 1)] if isinstance(value.get("$ref"), str) else []
        merged += [self.flat(part, chain + 1) for part in value.get("allOf") or []]
        for keyword in ("oneOf", "anyOf"):
            if value.get(keyword):
                merged.append(self.flat(self.chance.choice(value[keyword]), chain + 1))
        if "if" in value and self.chance.random() < 0.3:
            merged += [self.flat(value["if"], chain + 1), self.flat(value.get("then"), chain + 1)]
        elif "else" in value:
            merged.append(self.flat(value["else"], chain + 1))
        for part in [*merged, value]:
            for keyword, held in part.items():
                if keyword == "properties":
                    made.setdefault(keyword, {}).update(held)
                elif keyword == "required":
                    made[keyword] = made.get(keyword, []) + held
                elif keyword not in ("$ref", "allOf", "oneOf", "anyOf", "if", "then", "else"):
                    made[keyword] = held
        return made

    def object(self, flat, depth):
        made = {}
        required = flat.get("required") or []
        for name, member in (flat.get("properties") or {}).items():
            wanted = self.chance.random() < 0.5 if self.optional is None else self.optional
            if name in required or wanted and depth < 5:
                made[name] = self.make(member, depth + 1)
        for name in required:
            made.setdefault(name, self.make(flat.get("additionalProperties"), depth + 1))
        if not made and isinstance(flat.get("additionalProperties"), dict) and depth < 5:
            made["key"] = self.make(flat["additionalProperties"], depth + 1)
        return made

    def array(self, flat, depth):
        least = flat.get("minItems") or (1 if depth < 5 else 0)
        return [self.make(flat.get("items"), depth + 1) for _ in range(min(least, MOST))]

    def string(self, flat, _depth):
        if isinstance(flat.get("pattern"), str):
            try:
                return "".join(self.matching(parser.parse(flat["pattern"])))
            except (re.error, ValueError, OverflowError):
                return "a"
        made = {"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "uuid": "123e4567-e89b-42d3-a456-426614174000",
                "email": "a@b.example", "uri": "https://a.example/", "strict-https-uri": "https://a.example/", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
                "time": "03:04:05Z", "duration": "P1D", "hostname": "a.example"}.get(flat.get("format"), "abc")
        made += "a" * max(0, (flat.get("minLength") or 0) - len(made))
        return made[: flat.get("maxLength", len(made))]

    def matching(self, tokens):
        """A text that a pattern takes; look-around is left out."""
        for kind, held in tokens:
            kind = str(kind)
            if kind == "LITERAL":
                yield chr(held)
            elif kind == "IN":
                kind, held = str(held[0][0]), held[0][1]
                yield chr(held) if kind == "LITERAL" else chr(held[0]) if kind == "RANGE" else (
                    "_" if kind == "NEGATE" else {"CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " "}.get(str(held), "w"))
            elif kind in ("MAX_REPEAT", "MIN_REPEAT"):
                for _ in range(max(held[0], min(1, held[1]))):
                    yield from self.matching(held[2])
            elif kind == "SUBPATTERN":
                yield from self.matching(held[3])
            elif kind == "BRANCH":
                yield from self.matching(self.chance.choice(held[1]))
            elif kind in ("ANY", "NOT_LITERAL"):
                yield "x"

    def integer(self, flat, _depth):
        return int(self.number(flat, 0))

    def number(self, flat, _depth):
        low = flat.get("minimum", flat.get("exclusiveMinimum", -1) + 1)
        high = flat.get("maximum", flat.get("exclusiveMaximum", low + 1001) - 1)
        made = min(max(self.chance.randint(0, 1000), low), high)
        step = flat.get("multipleOf")
        return made - made % step if step else made

    def boolean(self, _flat, _depth):
        return self.chance.random() < 0.5

    def null(self, _flat, _depth):
        return None


def paths(value, at=()):
    yield at
    held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in held:
        yield from paths(one, (*at, key))


def mutated(value, chance):
    """The same with one change at one place."""
    at = chance.choice(list(paths(value)))
    if not at:
        return change(value, chance)
    holder = value
    for key in at[:-1]:
        holder = holder[key]
    if chance.random() < 0.25:
        del holder[at[-1]]
    else:
        holder[at[-1]] = change(holder[at[-1]], chance)
    return value


def change(value, chance):
    other = [None, True, 0, -1, 1.5, 3000000000, 10**19, "", "x", "x" * 5000, "2026-02-30", [], {}, [1], {"zz": 1}]
    if isinstance(value, dict):
        other += [{**value, "zz_more": 1}] * 6
    elif isinstance(value, list):
        other += [value + value, value + [None]] * 3
    elif isinstance(value, str):
        other += [value + "é", value.upper(), value[:-1], value + value] * 2
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        other += [value + 1, -value, float(value), value * 1000, str(value)] * 2
    return copy.deepcopy(chance.choice(other))
