"""The newest major of the Python SDK: six operations, the pager, and errors."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from auth0.authentication import GetToken
from auth0.management import ManagementClient

from python_common import domain, facts, full, step, weak

client = ManagementClient(domain=domain, client_id=full["id"], client_secret=full["secret"])
provisioning = client.connections.directory_provisioning

step("policy", lambda: client.rate_limit_policies.get(facts["rate_limit_policy"]))
step("templates", lambda: client.connection_profiles.list_templates())
step("groups, first page", lambda: provisioning.list_synchronized_groups(facts["connection"], take=7).items)
step("groups, all pages", lambda: [group.id for group in provisioning.list_synchronized_groups(facts["connection"])])
step("redeliver", lambda: client.event_streams.redeliveries.create_by_id(facts["event_stream"], facts["event"]))
step(
    "update template",
    lambda: client.verifiable_credentials.verification.templates.update(
        facts["verifiable_credential_template"], name="Renamed by the SDK", version=1
    ),
)
step("test action", lambda: client.actions.test(facts["action"], payload={"user": {"name": "Zoë", "logins": 3}}))
step("no such policy", lambda: client.rate_limit_policies.get("rlp_0000000000000000000000"))
step("an id that needs escaping", lambda: client.rate_limit_policies.get("a/b|c d"))
step("a page that is too large", lambda: provisioning.list_synchronized_groups(facts["connection"], take=101).items)

token = GetToken(domain, weak["id"], client_secret=weak["secret"]).client_credentials(f"https://{domain}/api/v2/")
bearer = ManagementClient(domain=domain, token=token["access_token"])
step("a token without the scope", lambda: bearer.rate_limit_policies.get(facts["rate_limit_policy"]))
nonsense = ManagementClient(domain=domain, token="not-a-token")
step("a token that is none", lambda: nonsense.rate_limit_policies.get(facts["rate_limit_policy"]))
