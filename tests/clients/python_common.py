"""What both majors of the Python SDK share: the facts of the sandbox, and one JSON line per step on stdout."""

import json
import os
import sys
import traceback

facts = json.loads(os.environ["TENANT_FACTS"])
domain = os.environ["TENANT_DOMAIN"]
full = facts["clients"][0]
weak = next(one for one in facts["clients"] if "read:rate_limit_policies" not in one["scopes"])


def plain(value):
    """What the SDK gave, as JSON can hold it."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def step(name, call):
    """Runs one step and prints what the SDK gave: its answer, or the error's name and status."""
    try:
        line = {"step": name, "answer": plain(call())}
    except Exception as error:  # every failure of the SDK is an outcome to compare
        status = getattr(error, "status_code", None)
        if status is None:
            traceback.print_exc(file=sys.stderr)
        line = {"step": name, "error": type(error).__name__, "status": status}
    print(json.dumps(line, sort_keys=True), flush=True)
