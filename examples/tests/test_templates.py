"""A client's test for pytest. Without contrail, CONTRAIL_URL is the tenant's address."""

import json
import os
from urllib.parse import urlencode
from urllib.request import Request, urlopen

URL = os.environ["CONTRAIL_URL"]


def call(path, data=None, headers={}):
    with urlopen(Request(URL + path, data, headers)) as answer:
        return json.load(answer)


def test_templates():
    client = os.environ.get("CONTRAIL_SANDBOX_CLIENT_ID", "sandbox-full")
    secret = os.environ.get("CONTRAIL_SANDBOX_CLIENT_SECRET", "any")
    form = {"grant_type": "client_credentials", "audience": "/api/v2/", "client_id": client, "client_secret": secret}
    token = call("/oauth/token/", urlencode(form).encode())["access_token"]
    templates = call("/api/v2/connection-profiles/templates", headers={"Authorization": f"Bearer {token}"})
    assert templates["connection_profile_templates"]
