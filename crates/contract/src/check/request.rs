//! Checks the request: parameters and body.

use contrail_exchange::{
    Presence, Withheld,
    finding::{Finding, Rule, Unchecked},
    is_redacted,
};

use super::{
    body::{LABELLED, NOT_SAVED, REQUEST},
    state::Check,
};
use crate::model::RequestBody;

impl Check<'_> {
    pub(super) fn request(&mut self) {
        // Set where the place of a parameter is unusable.
        self.touch(Unchecked::RequestParameters);
        self.path();
        self.query();
        self.header_parameters();
        self.cookies();
        self.request_body();
    }

    fn request_body(&mut self) {
        let request = &self.exchange.request;
        let body = &request.body;
        match &self.operation.request_body {
            _ if body.presence == Presence::Withheld(Withheld::NotSaved) => {
                // It is unknown whether there was one.
                self.touch(Unchecked::RequestRequired);
                self.leave(Unchecked::RequestBody, "", NOT_SAVED);
            }
            RequestBody::None | RequestBody::NotShown if body.is_absent() => {}
            RequestBody::None => {
                if is_redacted(&body.redacted, "") {
                    self.leave(Unchecked::RequestBody, "", LABELLED);
                }
                self.find(Finding::new(Rule::RequestBodyUnexpected, "", "no body"));
            }
            RequestBody::NotShown => {
                self.touch(Unchecked::RequestBody);
                self.find(Finding::new(Rule::RequestBodyUndocumented, "", "nothing that the document shows"));
            }
            RequestBody::Documented { content, required } => {
                self.touch(Unchecked::RequestRequired);
                if body.is_absent() {
                    if *required {
                        self.find(Finding::new(Rule::RequestBody, "", "a body"));
                    }
                    return;
                }
                self.request_body = self.judge_body(REQUEST, &request.headers, body, content, false);
            }
        }
    }
}
