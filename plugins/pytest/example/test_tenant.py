"""Forty tests of a client, each with a session of its own."""

import json
import os
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest


def call(path, data=None, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urlopen(Request(os.environ["CONTRAIL_URL"] + path, data, headers)) as answer:
        return json.load(answer)


@pytest.fixture
def token():
    client = os.environ.get("CONTRAIL_SANDBOX_CLIENT_ID", "sandbox-full")
    secret = os.environ.get("CONTRAIL_SANDBOX_CLIENT_SECRET", "any")
    form = {"grant_type": "client_credentials", "audience": "/api/v2/", "client_id": client, "client_secret": secret}
    return call("/oauth/token/", urlencode(form).encode())["access_token"]


@pytest.mark.parametrize("number", range(38))
def test_each_sees_what_was_recorded_for_it(token, number):
    with pytest.raises(HTTPError) as missing:
        call(f"/api/v2/rate-limit-policies/rlp_{number:03}", token=token)
    assert missing.value.code == 404
    assert call("/api/v2/connection-profiles/templates", token=token)["connection_profile_templates"]


@pytest.mark.contrail("templates")
def test_a_shared_session(token):
    assert call("/api/v2/connection-profiles/templates", token=token)


@pytest.mark.contrail(off=True)
def test_without_contrail():
    assert "HTTPS_PROXY" not in os.environ
