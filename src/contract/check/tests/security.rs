//! Who may call.

use super::*;

#[test]
fn a_request_without_a_bearer_token_breaks_the_contract() {
    for credential in [Credential::Missing, Credential::OtherScheme("Basic".to_owned())] {
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
    signed(SignatureCheck::NotChecked).finds(&[]);
    signed(SignatureCheck::Good).finds(&[]);
    signed(SignatureCheck::Bad).finds(&["auth.signature Authorization", "auth.unenforced Authorization"]);
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
    with(&["read:books"]).answer(403, "").finds(&["auth.refused Authorization", "status.undocumented"]);
    with(&["read:books", "write:moon", "x"])
        .finds(&["auth.scope.undeclared Authorization", "auth.scope.undeclared Authorization"]);
    let list = Case::list("").token(token(&[]));
    list.finds(&[]).leaves(&["required-scope", "success-status"]);
    list.clone().answer(403, "").finds(&[]);
    list.credential(Credential::Missing).finds(&["auth.missing Authorization", "auth.unenforced Authorization"]);
}

#[test]
fn what_nobody_can_see_of_a_token_is_unchecked() {
    Case::book().credential(Credential::Unknown).finds(&[]).leaves(&["auth"]);
    Case::book().credential(Credential::Encrypted).finds(&[]).leaves(&["required-scope", "auth"]);
    Case::book().credential(Credential::Encrypted).answer(403, "").finds(&["status.undocumented"]);
    Case::book().credential(Credential::Missing).options(|options| options.auth = false).finds(&[]).leaves(&["auth"]);
}
