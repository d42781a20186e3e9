//! Every place where the document is silent and the sandbox had to say something.

/// One choice: the sandbox's, never the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The operation's id; `all` for every one.
    pub operation: &'static str,
    /// What is left open; by the contract's name for it (`required-scope`, as in `unchecked`) where it has one.
    pub aspect: &'static str,
    /// Section of the tenant's document that leaves it open.
    pub section: &'static str,
    /// What the sandbox does.
    pub choice: &'static str,
}

const fn choice(operation: &'static str, aspect: &'static str, section: &'static str, choice: &'static str) -> Choice {
    Choice { operation, aspect, section, choice }
}

/// All of them, in the order of the document's operations.
pub const CHOICES: &[Choice] = &[
    choice("all", "headers of a 401", "7", "`WWW-Authenticate: Bearer`, which RFC 9110, section 15.5.2, asks for"),
    choice("all", "error-body", "7", "{\"statusCode\": NUMBER, \"error\": TEXT, \"message\": TEXT}"),
    choice("all", "order of refusals", "7", "401 for the token, then 429, then 403 for the scope, then 400, then 404"),
    choice(
        "all",
        "request-quotas",
        "8",
        "none but for clients to whom the seed gives a `rate_limit`: so many requests in a window that begins with the first of them",
    ),
    choice(
        "all",
        "meaning of the three headers of 429",
        "7",
        "the limit of the window, 0, and the window's end in epoch seconds; no other answer carries them",
    ),
    choice(
        "all",
        "a client that is not global",
        "7",
        "401 everywhere for clients that the seed marks `\"global\": false`",
    ),
    choice("all", "effects", "1", "none but for 4.4 and 4.5, which change what later requests see"),
    choice("all", "undocumented query parameters", "4", "ignored"),
    choice("all", "request-body", "4", "ignored"),
    choice("all", "another path or method", "4", "404, whatever the token says"),
    choice(
        "getRateLimitPolicy",
        "an id of more than 26 characters",
        "4.1, 7",
        "404: no policy can have it, and 400 is not among the errors of 4.1",
    ),
    choice("getConnectionProfileTemplates", "success-status", "4", "200"),
    choice("getConnectionProfileTemplates", "required-scope", "4, 5", "read:connection_profiles"),
    choice("getConnectionProfileTemplates", "error-status", "7", "401, 403, 429"),
    choice(
        "getConnectionProfileTemplates",
        "response-required",
        "2.2",
        "one template of the seed has all the fields that the document names, another has only a name; connection_config is empty",
    ),
    choice("getConnectionProfileTemplates", "vendors' strategy keys", "2.2", "none of the three is used"),
    choice("getSynchronizedGroups", "success-status", "4", "200"),
    choice("getSynchronizedGroups", "required-scope", "4, 5", "read:directory_provisionings"),
    choice(
        "getSynchronizedGroups",
        "error-status",
        "7",
        "400 for a `take` outside 1 to 100, a repeated parameter or an unknown `from`; 401, 403, 404, 429",
    ),
    choice("getSynchronizedGroups", "other fields of a group", "2.3", "none"),
    choice(
        "getSynchronizedGroups",
        "grammar of `next` and `from`",
        "4.3",
        "an opaque token with `+`, `/` and `=` in it; as `from`, the id of a group of the list is taken too, and an empty one is the start",
    ),
    choice("getSynchronizedGroups", "response-required", "4.3", "`groups` always; `next` on every page but the last"),
    choice("redeliverEvent", "success-status", "4", "202"),
    choice("redeliverEvent", "response-body", "4.4", "none"),
    choice("redeliverEvent", "required-scope", "4, 5", "update:event_deliveries"),
    choice("redeliverEvent", "error-status", "7", "400 for an id that has not 26 characters; 401, 403, 404, 429"),
    choice(
        "redeliverEvent",
        "an event that has arrived",
        "3, 4.4",
        "404: it is no failed event any more. The seed says at which redelivery an event arrives; one for which it does not say fails for ever",
    ),
    choice("updateVerifiableCredentialTemplate", "success-status", "4", "200"),
    choice("updateVerifiableCredentialTemplate", "required-scope", "4, 5", "update:vdcs_templates"),
    choice(
        "updateVerifiableCredentialTemplate",
        "error-status",
        "7",
        "400 for a field that breaks its limits, an id of more than 26 characters or no body at all; 401, 403, 404, 429; 415 for another media type or a content coding",
    ),
    choice(
        "updateVerifiableCredentialTemplate",
        "request-required",
        "4.5",
        "none; {} changes nothing, `updated_at` included",
    ),
    choice("updateVerifiableCredentialTemplate", "other fields in the body", "4.5", "ignored"),
    choice("updateVerifiableCredentialTemplate", "other attributes in `presentation`", "2.4", "400"),
    choice("updateVerifiableCredentialTemplate", "how `presentation` is updated", "4.5", "replaced as a whole"),
    choice(
        "updateVerifiableCredentialTemplate",
        "`version`",
        "4.5",
        "any integer is accepted; it is neither kept nor returned",
    ),
    choice(
        "updateVerifiableCredentialTemplate",
        "response-required",
        "2.4",
        "those that the seed holds, and those that were sent",
    ),
    choice("testAction", "success-status", "4", "200"),
    choice("testAction", "required-scope", "4, 5", "create:actions"),
    choice(
        "testAction",
        "error-status",
        "7",
        "400 for a body that is no JSON object or form or a `payload` that is no object; 401, 403, 404, 429; 415 for another media type or a content coding",
    ),
    choice("testAction", "request-required", "4.6", "no; without it the action starts from {}"),
    choice("testAction", "response-required", "4.6", "`payload` always"),
    choice(
        "testAction",
        "what an action does",
        "2.5",
        "it sets the members that the seed gives it and leaves the others as they were sent, digit for digit",
    ),
    choice("requestToken", "success-status", "5", "200"),
    choice("requestToken", "response-content-type", "5", "application/json"),
    choice(
        "requestToken",
        "response-body",
        "5",
        "access_token, scope, expires_in and token_type, as RFC 6749, section 5.1",
    ),
    choice("requestToken", "error-body", "5", "error and error_description, as RFC 6749, section 5.2"),
    choice("requestToken", "request-required", "5", "grant_type, client_id, client_secret and audience"),
    choice("requestToken", "request-fields", "5", "as RFC 6749, section 4.4.2, with an `audience`"),
    choice("requestToken", "token lifetime", "5", "86400 seconds, or what the seed says"),
    choice("requestToken", "path", "5", "/oauth/token/ as documented, and /oauth/token, where SDKs ask"),
    choice(
        "requestToken",
        "request-content-type",
        "5",
        "a form as documented, and JSON, which one SDK sends; client id and secret also by HTTP Basic",
    ),
    choice(
        "requestToken",
        "other audiences",
        "5",
        "accepts `/api/v2/` on the tenant's host or on this interface's address; 403 for any other audience",
    ),
    choice("requestToken", "a `scope` parameter", "5", "narrows the client's scopes to those named"),
    choice("requestToken", "other parameters", "5", "ignored"),
    choice(
        "requestToken",
        "error-status",
        "5",
        "as RFC 6749, section 5.2: 400, and 401 for an unknown client or a wrong secret",
    ),
    choice(
        "requestToken",
        "claims and keys",
        "5",
        "ES256; iss, sub, aud, iat, exp, scope, gty, azp; the public key at /.well-known/jwks.json",
    ),
];
