//! Findings about credentials.

use super::*;

#[test]
fn a_request_without_a_bearer_token_breaks_the_contract() {
    for credential in [Credential::Missing, Credential::other_scheme("Basic")] {
        let case = Case::book().credential(credential);
        case.finds(&["auth.missing Authorization", "auth.unenforced Authorization"]).blames(Some(Blame::Laxer));
        case.clone().answer(404, "").finds(&["auth.missing Authorization"]).blames(Some(Blame::Caught));
        case.answer(429, "").header("x-rate").finds(&["auth.missing Authorization"]);
    }
    Case::book()
        .credential(Credential::Malformed("two parts".to_owned()))
        .finds(&["auth.malformed Authorization", "auth.unenforced Authorization"]);
}

#[test]
fn a_token_is_judged_at_the_instant_of_its_exchange() {
    let noon = 1_800_000_000;
    let at = |seconds: u64, facts: TokenFacts| {
        Case::book().token(facts).change(|exchange| {
            exchange.started = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        })
    };
    let expires = TokenFacts { expires_at: Some(noon), not_before: Some(noon - 10), ..token(&["read:books"]) };
    at(1_799_999_999, expires.clone()).finds(&[]);
    at(1_800_000_000, expires.clone()).finds(&["auth.expired Authorization", "auth.unenforced Authorization"]);
    at(1_799_999_989, expires.clone()).finds(&["auth.expired Authorization", "auth.unenforced Authorization"]);
    at(1_800_000_000, expires.clone()).options(|options| options.clock_skew = Duration::from_secs(1)).finds(&[]);
    at(1_800_000_000, expires).answer(403, "").finds(&["auth.expired Authorization", "status.undocumented"]);
    let noted = |time| TokenFacts { time, ..token(&["read:books"]) };
    Case::book().token(noted(TokenTime::Valid)).finds(&[]);
    for time in [TokenTime::Expired, TokenTime::NotYet] {
        Case::book().token(noted(time)).finds(&["auth.expired Authorization", "auth.unenforced Authorization"]);
    }
}

#[test]
fn a_signature_counts_only_where_it_was_checked() {
    let signed = |signature| Case::book().token(TokenFacts { signature, ..token(&["read:books"]) });
    signed(SignatureCheck::Good).finds(&[]).leaves(&[]);
    signed(SignatureCheck::Bad).finds(&["auth.signature Authorization", "auth.unenforced Authorization"]);
}

#[test]
fn a_signature_that_was_not_checked_is_unchecked_where_the_tenant_took_the_token() {
    let case = || Case::book().token(TokenFacts { signature: SignatureCheck::NotChecked, ..token(&["read:books"]) });
    case().finds(&[]).leaves(&["signature"]);
    case().answer(404, "").finds(&[]).leaves(&["error-body"]);
    // With keys, a signature that was not checked is unchecked in a refused request, too.
    let keys = |case: Case| case.options(|options| options.signatures = true);
    keys(case()).finds(&[]).leaves(&["signature"]);
    keys(case()).answer(404, "").finds(&[]).leaves(&["error-body", "signature"]);
    // What is not judged leaves no part of it unchecked.
    case().options(|options| options.response = false).finds(&[]).leaves(&[]);
    case().options(|options| options.auth = false).finds(&[]).leaves(&["auth"]);
}

#[test]
fn scopes_are_judged_from_both_sides() {
    let with = |scopes: &[&str]| Case::book().token(token(scopes));
    with(&["update:books"])
        .finds(&["auth.scope Authorization", "auth.unenforced Authorization"])
        .blames(Some(Blame::Laxer));
    with(&["update:books"]).answer(404, "").finds(&["auth.scope Authorization"]);
    with(&[]).answer(401, "").finds(&["auth.scope Authorization", "status.undocumented"]).blames(Some(Blame::Caught));
    Case::book().token(TokenFacts::default()).answer(404, "").finds(&["auth.scope Authorization"]);
    with(&["read:books"]).answer(403, "").finds(&["status.undocumented"]);
    with(&["read:books", "write:moon", "x"])
        .finds(&["auth.scope.undeclared Authorization", "auth.scope.undeclared Authorization"]);
    let list = Case::list("").token(token(&[]));
    list.finds(&[]).leaves(&["required-scope", "success-status"]);
    list.clone().answer(403, "").finds(&[]);
    list.credential(Credential::Missing).finds(&["auth.missing Authorization", "auth.unenforced Authorization"]);
}

#[test]
fn a_403_contradicts_the_document_only_where_the_document_says_that_it_means_a_missing_scope() {
    let holds = |responses: Value, status: u16| {
        let mut case = Case::book().token(token(&["read:books"])).answer(status, "");
        case.document["paths"]["/books/{isbn}"]["get"]["responses"] = responses;
        case
    };
    let means =
        |key: &str| json!({"200": {"description": ""}, key: {"description": "", "x-contrail-means": "scope-missing"}});
    holds(json!({"403": {"description": "the feature is not enabled"}}), 403).finds(&[]);
    for key in ["403", "4XX", "default"] {
        holds(means(key), 403).finds(&["auth.refused Authorization"]);
        holds(means(key), 403).token(token(&["update:books"])).finds(&["auth.scope Authorization"]);
    }
    holds(means("4XX"), 401).finds(&[]);
    let mut shared = holds(json!({"403": {"$ref": "#/components/responses/Scope"}}), 403);
    shared.document["components"]["responses"] =
        json!({"Scope": {"description": "", "x-contrail-means": "scope-missing"}});
    shared.finds(&["auth.refused Authorization"]);
    // A document that asks for no scope cannot be contradicted about one.
    let mut none = holds(means("403"), 403);
    none.document["paths"]["/books/{isbn}"]["get"]["security"] = json!([{"bearer": []}]);
    none.finds(&[]);
}

#[test]
fn a_bearer_token_is_a_jwt_only_where_the_document_says_so() {
    let opaque = |document: &dyn Fn(&mut Value)| {
        let mut case =
            Case::book().credential(Credential::Malformed("a JWT has three parts joined by dots".to_owned()));
        document(&mut case.document["components"]["securitySchemes"]);
        case
    };
    let malformed: &[&str] = &["auth.malformed Authorization", "auth.unenforced Authorization"];
    opaque(&|_| {}).finds(malformed);
    let silent = |schemes: &mut Value| {
        schemes["bearer"].as_object_mut().unwrap().shift_remove("bearerFormat");
        schemes["oauth"].as_object_mut().unwrap().shift_remove("x-contrail-token");
    };
    let case = opaque(&silent);
    case.finds(&[]).leaves(&["auth"]).blames(Some(Blame::Agreed));
    case.clone().answer(404, "").finds(&[]).leaves(&["error-body", "auth"]);
    // A request can satisfy either scheme.
    for one in ["bearer", "oauth"] {
        opaque(&|schemes| {
            silent(schemes);
            schemes[one]["x-contrail-token"] = json!("jwt");
        })
        .finds(&[])
        .leaves(&["auth"]);
    }
    opaque(&|schemes| {
        silent(schemes);
        schemes["bearer"]["bearerFormat"] = json!("jwt");
        schemes["oauth"]["x-contrail-token"] = json!("jwt");
    })
    .finds(malformed);
    opaque(&|schemes| {
        silent(schemes);
        schemes["bearer"]["bearerFormat"] = json!("opaque");
    })
    .finds(&[])
    .leaves(&["auth"]);
    // A token that is a JWT is read as one, whatever the document states.
    opaque(&silent)
        .token(token(&["update:books"]))
        .finds(&["auth.scope Authorization", "auth.unenforced Authorization"]);
    opaque(&silent)
        .token(TokenFacts { time: TokenTime::Expired, ..token(&["read:books"]) })
        .finds(&["auth.expired Authorization", "auth.unenforced Authorization"]);
    // One without a claim about scopes says nothing of them, where no document says that it is the place for them.
    opaque(&silent).token(TokenFacts::default()).finds(&[]).leaves(&["auth", "signature"]);
    // No token at all is none under any contract.
    for credential in [Credential::Missing, Credential::Malformed(contrail_exchange::token::NO_TOKEN.to_owned())] {
        opaque(&silent).credential(credential).finds(&["auth.missing Authorization", "auth.unenforced Authorization"]);
    }
}

#[test]
fn an_alternative_without_scopes_lifts_those_of_another() {
    let asks = |security: Value| {
        let mut case = Case::book().token(token(&["update:books"]));
        case.document["paths"]["/books/{isbn}"]["get"]["security"] = security;
        case
    };
    let lacks: &[&str] = &["auth.scope Authorization", "auth.unenforced Authorization"];
    asks(json!([{"oauth": ["read:books"]}])).finds(lacks);
    asks(json!([{"bearer": []}, {"oauth": ["read:books"]}])).finds(&[]);
    asks(json!([{"oauth": ["read:books"]}, {"bearer": []}])).finds(&[]);
    // Both are asked for.
    asks(json!([{"bearer": [], "oauth": ["read:books"]}])).finds(lacks);
    // A 403 to a token that may come without that scope contradicts nothing.
    asks(json!([{"bearer": []}, {"oauth": ["read:books"]}])).answer(403, "").finds(&["status.undocumented"]);
}

#[test]
fn what_nobody_can_see_of_a_token_is_unchecked() {
    Case::book().credential(Credential::Unknown).finds(&[]).leaves(&["auth"]);
    Case::book().credential(Credential::Encrypted).finds(&[]).leaves(&["required-scope", "auth"]);
    Case::book().credential(Credential::Encrypted).answer(403, "").finds(&["status.undocumented"]);
    Case::book().credential(Credential::Missing).options(|options| options.auth = false).finds(&[]).leaves(&["auth"]);
}
