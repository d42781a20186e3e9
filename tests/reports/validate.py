"""Validates r.sarif, r.xml and r.csv of a folder."""

import csv
import json
import pathlib
import sys

import jsonschema
import xmlschema

schemas, work = map(pathlib.Path, sys.argv[1:])
sarif = json.loads((work / "r.sarif").read_text())
schema = json.loads((schemas / "sarif-schema-2.1.0.json").read_text())
jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker()).validate(sarif)
xmlschema.XMLSchema(str(schemas / "junit-10.xsd")).validate(str(work / "r.xml"))
with (work / "r.csv").open(newline="") as file:
    rows = list(csv.reader(file, strict=True))
assert rows and all(len(row) == len(rows[0]) for row in rows), rows
if rows[0][0] == "suite":
    assert len(rows) - 1 == len(sarif["runs"][0]["results"]), "a row for each result"
