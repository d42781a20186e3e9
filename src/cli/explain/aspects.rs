//! What each name of `unchecked` means. `docs/rules.md` is written from this table.

use contrail_exchange::finding::Unchecked;

/// Why an aspect can be unchecked, the passage of the tenant's documentation that leaves it out (empty where none
/// does), and what would let it be checked.
#[must_use]
pub(super) fn aspect(aspect: Unchecked) -> (&'static str, &'static str, &'static str) {
    match aspect {
        Unchecked::RequiredScope => (
            "The documentation does not show which scope the operation requires.",
            "Sections 4 and 5 (4.2 to 4.6).",
            "Add it with an overlay: `security` on the operation, with the scope.",
        ),
        Unchecked::SuccessStatus => (
            "The documentation does not show the status of success, so any 2xx is taken as one.",
            "Section 4 (4.2 to 4.6).",
            "With an overlay, add the status to `responses`, remove `2XX` there, and take `success-status` out of `x-contrail-not-shown`.",
        ),
        Unchecked::ErrorStatus => (
            "The documentation does not show the error statuses, so this one was not judged.",
            "Section 7 (4.2 to 4.6).",
            "Add the statuses to `responses` with an overlay, and take `error-status` out of `x-contrail-not-shown`.",
        ),
        Unchecked::ErrorBody => (
            "The documentation does not show the shape of error bodies.",
            "Section 7. That they are JSON (section 1) was checked.",
            "Add a schema to the error responses with an overlay.",
        ),
        Unchecked::RequestRequired => (
            "The documentation does not show which request fields, or whether a body, is required.",
            "Sections 4.5 and 4.6.",
            "Add `required` with an overlay, and take `request-required` out of `x-contrail-not-shown`.",
        ),
        Unchecked::RequestBody => (
            "The request body could not be judged: it was cut, withheld or not saved, or saved as text while compressed. Or it is nested too deep, or has no or several media types, or one that contrail does not read. Or contrail cannot decode it within `--max-decoded` and `--max-ratio`. Or it has more than 100 violations or 1,000 gaps; these are all that are listed. Or its documentation uses something that contrail does not implement (`contrail contract` lists that). Or the documentation does not show it.",
            "",
            "Raise the bound that cut it or kept it coded (`--max-capture`, `--max-decoded`, `--max-ratio`), or record it again.",
        ),
        Unchecked::ResponseBody => (
            "The response body could not be judged: it was cut, withheld or not saved, or saved as text while compressed. Or it is nested too deep, or has no or several media types, or one that contrail does not read. Or contrail cannot decode it within `--max-decoded` and `--max-ratio`. Or it has more than 100 violations or 1,000 gaps; these are all that are listed. Or its documentation uses something that contrail does not implement (`contrail contract` lists that). Or it is a part (status 206), or the documentation does not show it.",
            "Section 4.4.",
            "Raise the bound that cut it or kept it coded (`--max-capture`, `--max-decoded`, `--max-ratio`), or record it again. Or add a schema with an overlay.",
        ),
        Unchecked::ResponseRequired => (
            "The documentation does not show which fields are always present, so none was missed.",
            "Sections 2.2 and 2.4; 4.3 and 4.6 are silent.",
            "Add `required` with an overlay, and take `response-required` out of `x-contrail-not-shown`.",
        ),
        Unchecked::RequestParameters => (
            "A parameter could not be judged: a media type that contrail does not read, an array or object in a notation \
             that OpenAPI does not define, an unusable place of the contract, or cookies that the file's producer strips.",
            "",
            "`contrail contract` lists the place; correct it with an overlay.",
        ),
        Unchecked::ResponseHeaders => (
            "The value of a response header could not be judged: a media type that contrail does not read, or an unusable \
             place of the contract.",
            "",
            "`contrail contract` lists the place; correct it with an overlay.",
        ),
        Unchecked::Auth => (
            "It is unknown whether the caller may call: the file's producer strips the Authorization header, \
             authentication is not judged (replay without `--check-auth`), the token is encrypted or opaque, or the contract asks for something that no \
             message shows (mutual TLS).",
            "",
            "Record with contrail, which keeps a token's public facts, or use `--check-auth`. Where tokens are JWTs, state it \
             with an overlay (`bearerFormat: JWT` on the scheme).",
        ),
        Unchecked::Signature => (
            "The tenant accepted a token whose signature was not checked: no keys were given, none of them has the token's `kid`, or a label replaces the token. A forged token would look the same.",
            "",
            "Give the tenant's keys with `--jwks` while you record, or check the file of a tool that keeps tokens.",
        ),
    }
}
