"""Version 4 of the Python SDK: it has none of the six operations by name, so they go through its own REST client."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from auth0.authentication import GetToken
from auth0.rest import RestClient, RestClientOptions

from python_common import domain, facts, full, step, weak

base = f"https://{domain}/api/v2"


def rest(one):
    """The SDK's REST client with a token that its own token endpoint client fetched."""
    token = GetToken(domain, one["id"], client_secret=one["secret"]).client_credentials(f"{base}/")
    # Only faults are sent again.
    options = RestClientOptions() if os.environ.get("RETRIES") else RestClientOptions(retries=0)
    return RestClient(jwt=token["access_token"], options=options)


def pages(client):
    """All group ids, page by page."""
    url = f"{base}/connections/{facts['connection']}/directory-provisioning/synchronized-groups"
    ids, start = [], None
    while True:
        page = client.get(url, params={"take": 50, **({"from": start} if start else {})})
        ids += [group["id"] for group in page["groups"]]
        start = page.get("next")
        if not start:
            return ids


client = rest(full)
template = f"{base}/verifiable-credentials/verification/templates/{facts['verifiable_credential_template']}"
step("policy", lambda: client.get(f"{base}/rate-limit-policies/{facts['rate_limit_policy']}"))
step("templates", lambda: client.get(f"{base}/connection-profiles/templates"))
step("groups, all pages", lambda: pages(client))
step("redeliver", lambda: client.post(f"{base}/event-streams/{facts['event_stream']}/redeliver/{facts['event']}"))
step("update template", lambda: client.patch(template, data={"name": "Renamed by the SDK"}))
step("test action", lambda: client.post(f"{base}/actions/actions/{facts['action']}/test", data={"payload": {"n": 1}}))
step("no such policy", lambda: client.get(f"{base}/rate-limit-policies/rlp_0000000000000000000000"))
step("a token without the scope", lambda: rest(weak).get(f"{base}/rate-limit-policies/{facts['rate_limit_policy']}"))
