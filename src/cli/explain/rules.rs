//! What each rule means, its source, and what to do. `docs/rules.md` is written from this table.

use contrail_exchange::finding::Rule;

/// The explanation of one rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Explanation {
    /// What a finding of this rule says, in full sentences.
    pub(super) means: &'static str,
    /// The passage of the tenant's documentation that it comes from; empty where that is silent.
    pub(super) source: &'static str,
    /// One exchange that gives it.
    pub(super) example: &'static str,
    /// What to do about it, for the client, the tenant, or the contract's owner.
    pub(super) now: &'static str,
}

/// The explanation of a rule.
#[must_use]
#[allow(clippy::too_many_lines)] // a table
pub(super) fn explanation(rule: Rule) -> Explanation {
    match rule {
        Rule::OperationUndocumented => Explanation {
            means: "The contract has no operation with this method and path, so nothing else was judged, except whether the response came whole. Paths are compared exactly. Case and doubled or trailing slashes count, and an empty id is no \
                    id. HEAD and OPTIONS are methods like any other. Any host may serve the base path. An unreserved character (RFC 3986, section 2.3) equals its percent-encoding.",
            source: "Section 4 lists the operations, section 5 the token endpoint `/oauth/token/` (without its last \
                     slash it is the same operation, with this gap).",
            example: "`GET /api/v2/rate-limit-policies/` (no id), `GET /api/v2/users`",
            now: "If the path is a slip, fix the client; the message names the nearest operation. If the tenant really has this operation, add it with \
                  `--overlay` or `--contract`, and its traffic is judged.",
        },
        Rule::PathParameter => Explanation {
            means: "A path parameter breaks what its schema says. Lengths count characters (Unicode scalar values) after \
                    percent-decoding; percent-encoding that is broken or no UTF-8 breaks any parameter.",
            source: "Sections 4.1 and 4.5: `id` has at most 26 characters; section 4.4: `id` and `event_id` have exactly \
                     26; section 8 repeats them.",
            example: "`GET /api/v2/rate-limit-policies/abcdefghijklmnopqrstuvwxyz1`: 27 characters",
            now: "Fix the client; `at` names the parameter. If it is an id, look where the client got it from.",
        },
        Rule::QueryParameter => Explanation {
            means: "A documented query parameter breaks its schema, is missing although it is required, or comes more than once where it is not a list. An integer in a query is digits with an optional minus: `5.0`, `+5` and `05` are none.",
            source: "Section 4.3: `take` is an integer from 1 to 100; section 8 repeats it.",
            example: "`GET /api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=101`",
            now: "Fix the client; `at` names the parameter.",
        },
        Rule::HeaderParameter => Explanation {
            means: "A documented header parameter breaks its schema, or is missing although it is required. Arrays and \
                    objects are read in the style `simple`; several fields of one name are one list. `Accept`, \
                    `Content-Type` and `Authorization` are no parameters.",
            source: "The tenant's documentation names no header parameter.",
            example: "`X-Page: five`, where the contract requires an integer",
            now: "Fix the client; `at` names the header.",
        },
        Rule::CookieParameter => Explanation {
            means: "A documented cookie parameter breaks its schema, or is missing although it is required. In an export \
                    without cookies it is unchecked (`request-parameters`).",
            source: "The tenant's documentation names no cookie parameter.",
            example: "No cookie `session`, where the contract requires it",
            now: "Fix the client; `at` names the cookie.",
        },
        Rule::QueryUndocumented => Explanation {
            means: "The client sends a query parameter that the documentation does not name. The tenant may ignore it, \
                    refuse it, or act on it.",
            source: "Section 4 names the parameters of each operation (4.3: `from` and `take`; 4.2: none are listed).",
            example: "`…/synchronized-groups?q=name`, as newer SDKs allow",
            now: "Drop the parameter, or add it with an overlay once the tenant's behaviour is known.",
        },
        Rule::RequestContentType => Explanation {
            means: "The request has a body, and its Content-Type is missing or none of the documented ones. Of several differing media types one has to be documented; recipients differ in which one they take, so the body is unchecked. An empty body is no body, whatever the header says.",
            source: "Sections 4.5 and 4.6: `application/json` or `application/x-www-form-urlencoded`.",
            example: "`PATCH …/templates/vct_1` with `Content-Type: text/plain`",
            now: "Set the Content-Type that the body has.",
        },
        Rule::ResponseContentType => Explanation {
            means: "The response has a body whose Content-Type is missing or none of the documented ones; errors are held to this, too. Of several differing media types one has to be documented, and the body is unchecked.",
            source: "Section 1: requests and responses are JSON, so `application/json` with any parameters and every \
                     `+json` type are fine.",
            example: "A 502 page of a load balancer with `Content-Type: text/html`",
            now: "Look who answered: a gateway before the tenant, or the tenant itself.",
        },
        Rule::RequestBody => Explanation {
            means: "The request body breaks its documented schema. A value has another type, length or pattern, or an object has \
                    too few or too many keys. Or a form field cannot be read as its type. A missing body breaks it where the document requires one. `at` points to the place. A body that the file lacks is unchecked.",
            source: "Sections 4.5 and 4.6 (request fields and their constraints), 2.4 (shape of `presentation`), 8.",
            example: "`PATCH …/templates/vct_1` with `{\"dialect\": \"simplified/2.0\"}`",
            now: "Fix the client; the message shows the expected and the sent value.",
        },
        Rule::ResponseBody => Explanation {
            means: "The response body breaks its documented schema. A required field is missing, a forbidden field is \
                    present, or a value breaks a type, bound, enumeration or format. A success without its documented body breaks it, too, but for a text that may be empty. A part of a body (status 206) is unchecked, as is a body that was cut or that the file lacks.",
            source: "Section 2 (the resources, field by field), section 4 (the body of each success), section 8. Only the \
                     Required column of 2.1 makes fields required, and only 2.1 says that there are no others.",
            example: "A policy whose `configuration` is `{\"action\": \"block\", \"limit\": 10001}`",
            now: "The tenant does not keep its documentation: report it with the exchange, and check whether the client \
                  copes. If the documentation is outdated, correct the contract with an overlay.",
        },
        Rule::RequestBodyMalformed => Explanation {
            means: "The request body is not the media type that it claims to be. JSON has to follow RFC 8259, without \
                    duplicate keys, byte-order mark, lone surrogates or invalid UTF-8; any number of JSON's grammar is \
                    fine. A form has to percent-decode to UTF-8, and only an array may come as several fields of one name. A \
                    multipart body has its boundary and a name for each part. The same holds for a JSON text in a form field. \
                    The bytes have to be in the coding that Content-Encoding names (RFC 9110, section 8.4).",
            source: "Section 1: requests and responses are JSON.",
            example: "`{\"name\": \"a\", \"name\": \"b\"}`",
            now: "Fix the client's serialiser. The message names the fault.",
        },
        Rule::ResponseBodyMalformed => Explanation {
            means: "The response body is not the media type that it claims to be; the same strictness as for requests.",
            source: "Section 1: requests and responses are JSON.",
            example: "A body cut by a proxy that still counts as whole: `{\"groups\": [`",
            now: "Look who made the body: the tenant, or something between it and you.",
        },
        Rule::RequestBodyUnexpected => Explanation {
            means: "The request has a body where the documentation states that there is none.",
            source: "Sections 4.1, 4.2 and 4.4: request body: none.",
            example: "`POST …/redeliver/evt_…` with `{}`",
            now: "Send no body. `Content-Length: 0` and a Content-Type without a body are fine.",
        },
        Rule::RequestBodyUndocumented => Explanation {
            means: "The request body holds a field or a value that the documentation does not show. Or there is a body \
                    where it mentions none. It cannot be judged. A field that it marks `readOnly` is one, too.",
            source: "Section 4.5 names the fields; section 2.4 the attributes; section 4.3 mentions no body.",
            example: "`PATCH …/templates/vct_1` with `{\"colour\": \"blue\"}`",
            now: "Check the spelling. If the tenant knows the field, add it to the contract with an overlay.",
        },
        Rule::ResponseBodyUndocumented => Explanation {
            means: "The response body holds a field, or a value of an open set, that the documentation does not show. A field that it marks `writeOnly` is one, too.",
            source: "Section 2, where it is silent: further fields of 2.2 to 2.4, and the three strategy keys without a \
                     name. Also other values of `enabled_features`, `show_as_button` and \
                     `assign_membership_on_login`, and forms of `consumer_selector`.",
            example: "A synchronized group `{\"id\": \"grp_1\", \"name\": \"Staff\"}`",
            now: "Nothing is wrong yet; do not rely on it. Once it is known, an overlay turns the gap into a fact.",
        },
        Rule::AuthMissing => Explanation {
            means: "The request satisfies none of the alternatives of `security`: no bearer token, Basic credentials or API \
                    key where the document asks for one. `at` names the header, query parameter or cookie. For the tenant: \
                    no Authorization header, an empty one, or another scheme than Bearer.",
            source: "Sections 4 and 5: every endpoint takes the bearer header.",
            example: "`Authorization: Basic …`",
            now: "Get a token at the token endpoint and send it as `Authorization: Bearer …`. In a browser's export the \
                  header is stripped; contrail then says `auth` is unchecked instead.",
        },
        Rule::AuthMalformed => Explanation {
            means: "The bearer token is not a JWT: not three base64url parts of which the first two are JSON objects, no \
                    signature part, or `alg: none`. An encrypted token (JWE) is not malformed: `auth` and `required-scope` are unchecked. Under another contract this holds where the security scheme says \
                    `bearerFormat: JWT` or `x-contrail-token: jwt`; elsewhere a token may be opaque, and `auth` is unchecked. Under any contract, a bearer token has only letters, digits and `-._~+/=`, and `Basic` credentials have to be base64 of `user:password`.",
            source: "Section 5: the token format is a JWT.",
            example: "`Authorization: Bearer not-a-token`",
            now: "Look where the client got the token: often a variable that was never set, or the wrong one.",
        },
        Rule::AuthExpired => Explanation {
            means: "At the instant of the exchange, not today, the token was at or after its `exp` or before its `nbf`. \
                    `--clock-skew` allows for clocks that differ.",
            source: "Section 7: 401, token invalid.",
            example: "A token with `exp` one minute before the request",
            now: "Renew the token before it ends, or set the clock.",
        },
        Rule::AuthSignature => Explanation {
            means: "None of the keys that were given with `--jwks` verifies the token's signature. Where none of them has \
                    the token's `kid`, `signature` is unchecked instead: they cannot tell.",
            source: "Section 7: 401, the JWT signature failed validation.",
            example: "A token of the staging tenant, sent to production",
            now: "Check that the keys are those of the token's issuer, then where the token came from.",
        },
        Rule::AuthScope => Explanation {
            means: "The token lacks the scope that the documentation requires for this operation. Scopes are read from \
                    `scope` (text or list), `scp` and `permissions`.",
            source: "Section 4.1: required scope `read:rate_limit_policies`. For 4.2 to 4.6 it is not shown; an overlay \
                     can add it.",
            example: "`GET /api/v2/rate-limit-policies/rlp_1` with a token of scope `read:clients`",
            now: "Grant the client the scope, and only that one.",
        },
        Rule::AuthScopeUndeclared => Explanation {
            means: "The token carries a scope that is not in the declared catalogue. It may be old, misspelled, or of \
                    another API.",
            source: "Section 5 declares 242 scopes of 89 resources.",
            example: "`scope: read:rate_limit_policies read:everything`",
            now: "Take the scope away from the client, or add it to the catalogue with an overlay.",
        },
        Rule::AuthUnenforced => Explanation {
            means: "The tenant answered 2xx to a request that it had to refuse. The token was missing, malformed, outside its time or \
                    badly signed, or lacked the required scope.",
            source: "Sections 4, 5 and 7: all endpoints require bearer authentication; 401 and 403 of 4.1.",
            example: "200 to a request without an Authorization header",
            now: "This is the tenant's fault and a security problem: report it.",
        },
        Rule::AuthRefused => Explanation {
            means: "The tenant answered 403 although the token carries the required scope and is inside its time. Only a \
                    403 whose meaning the document states is judged: its response says `x-contrail-means: \
                    scope-missing`. Elsewhere a 403 can have any reason.",
            source: "Section 7: 403 of 4.1 means that the token lacks the scope `read:rate_limit_policies`. What a 403 of \
                     4.2 to 4.6 means is not shown.",
            example: "403 to a token of scope `read:rate_limit_policies`",
            now: "Ask the tenant what else it demands; the documentation gives this 403 one meaning only.",
        },
        Rule::StatusSuccess => Explanation {
            means: "The tenant answered with another 2xx than the documented one.",
            source: "Section 4.1: status 200. For 4.2 to 4.6 the success status is not shown, so this cannot fire there.",
            example: "203 where 200 is documented",
            now: "Check whether the client accepts it; tell the tenant.",
        },
        Rule::StatusUndocumented => Explanation {
            means: "The tenant answered with a status that the documentation does not list, for an operation whose \
                    statuses it does list. It may be right or wrong. A 206 to a request with `Range` is one, too.",
            source: "Sections 4.1 and 7: 200, 401, 403, 404, 429.",
            example: "400 or 500 from `GET /api/v2/rate-limit-policies/rlp_1`",
            now: "See that the client copes. An overlay can add the status once it is known.",
        },
        Rule::ResponseHeaders => Explanation {
            means: "A response lacks a header that the documentation promises. The header's value is not judged.",
            source: "Sections 7 and 8: a 429 of any operation carries `X-RateLimit-Limit`, `X-RateLimit-Remaining` and \
                     `X-RateLimit-Reset`.",
            example: "429 without `X-RateLimit-Reset`",
            now: "Clients wait by these headers: check what yours does without. Often a gateway answered, not the tenant.",
        },
        Rule::ResponseHeader => Explanation {
            means: "The value of a documented response header breaks its schema. A documented header that is missing is \
                    `response.headers`.",
            source: "The tenant's documentation does not show what the values of its headers are.",
            example: "`X-Total: many`, where the contract requires an integer",
            now: "Tell the tenant, and check what the client makes of the value.",
        },
        Rule::ExchangeIdentity => Explanation {
            means: "The resource in a 2xx response has another id than the one in the request's path.",
            source: "Sections 4.1 and 2.1, 4.5 and 2.4: the path's `id` and the body's `id` identify the same resource.",
            example: "`GET /api/v2/rate-limit-policies/rlp_1` answered with `{\"id\": \"rlp_2\", …}`",
            now: "Stop and look: a cache or a gateway may have mixed up answers.",
        },
        Rule::ExchangePageSize => Explanation {
            means: "A page holds more items than the parameter for its size (`take`) asked for, or than its default. One that is not a number or comes twice asks for none.",
            source: "Section 4.3: `take` is the number of results per page, 50 by default.",
            example: "`?take=10` answered with 11 groups",
            now: "Do not size buffers by `take`; tell the tenant.",
        },
        Rule::ExchangeEcho => Explanation {
            means: "A field that the request set came back with another value. Only values that were sent and came back \
                    are compared.",
            source: "Section 4.5: the success body is the updated template.",
            example: "`{\"name\": \"A\"}` sent, `{\"name\": \"B\", …}` returned with 2xx",
            now: "The update was not done as asked, or another one came in between: read the resource again.",
        },
        Rule::TransportIncomplete => Explanation {
            means: "The response ended before it was whole (the connection broke, or there was no response at all), so \
                    its body was not judged. The request, the status and the header fields were. A client that leaves \
                    before the end contradicts nothing: such an exchange has no finding for it. The same holds for a \
                    browser or a test that blocks the request, answers it, or keeps the answer from its page.",
            source: "",
            example: "`Content-Length: 500`, and the connection closed after 200 bytes; status 0 in a browser's export",
            now: "Look at the network and at timeouts.",
        },
    }
}

/// The standard that a rule follows under any contract; empty where the contract alone decides.
#[must_use]
pub(super) fn standard(rule: Rule) -> &'static str {
    match rule {
        Rule::HeaderParameter => "OpenAPI, Parameter Object (`in: header`); RFC 9110, section 5.3.",
        Rule::CookieParameter => "OpenAPI, Parameter Object (`in: cookie`); RFC 6265, section 4.2.",
        Rule::RequestBodyMalformed => "RFC 8259 and RFC 7493 (JSON), the URL standard (forms).",
        Rule::ResponseBodyMalformed => "RFC 8259 and RFC 7493 (JSON).",
        Rule::AuthMissing => "RFC 6750, section 2.1; OpenAPI, Security Requirement Object.",
        Rule::AuthMalformed => {
            "RFC 7519, RFC 7515; RFC 6750, section 2.1 (bearer tokens); RFC 7617, section 2 (Basic)."
        }
        Rule::AuthExpired => "RFC 7519, sections 4.1.4 and 4.1.5.",
        Rule::AuthSignature => "RFC 7515, RFC 7517.",
        Rule::ResponseHeader => "OpenAPI 3.1.1, section 4.8.21 (Header Object).",
        Rule::TransportIncomplete => "RFC 9112, section 8: a message that is cut is incomplete.",
        _ => "",
    }
}
