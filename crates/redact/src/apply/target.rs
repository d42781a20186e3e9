//! Secrets of a request's line: a method that the client made up, and the target's path, query and authority.

use contrail_exchange::{Target, known_method};
use http::Method;

use super::redaction::{Redaction, lossy};
use crate::{
    find::fields,
    known::{index::Index, marking::mark_known_fields, search},
    mark::{self, Mark},
};

impl Redaction<'_> {
    /// A method that everybody knows is none.
    pub(super) fn detect_method(&self, method: &Method) -> Vec<Mark> {
        let mut marks = Vec::new();
        if known_method(method).is_none() {
            self.redactor.detect_text(method.as_str().as_bytes(), 2, &mut marks);
        }
        marks
    }

    pub(super) fn write_method(&mut self, index: &Index, method: &mut Method, mut marks: Vec<Mark>) {
        if known_method(method).is_some() {
            return;
        }
        search::find(index, method.as_str().as_bytes(), false, &mut marks);
        if let Some(new) = self.replaced(method.as_str().as_bytes(), marks, None) {
            // A label is a token, as a method is.
            *method = Method::from_bytes(&new).unwrap_or_else(|_| Method::from_bytes(b"!").unwrap_or_default());
            self.touched.elsewhere = true;
        }
    }

    pub(super) fn detect_target(&self, target: &Target) -> Vec<Mark> {
        let mut marks = Vec::new();
        self.redactor.detect_text(target.path().as_bytes(), 2, &mut marks);
        if let Some(query) = target.query().map(str::as_bytes) {
            let found = |inner: &mut _| self.redactor.detect_fields(query, &fields::fields(query), false, inner);
            mark::inside(&mut marks, target.path().len() + 1, None, found);
        }
        marks
    }

    pub(super) fn write_target(&mut self, index: &Index, target: &mut Target, mut marks: Vec<Mark>) {
        let text = target.path_and_query.as_bytes();
        let blanks = index.blanks && memchr::memchr(b'+', text).is_some();
        if !marks.is_empty() || blanks || search::is_worth(index, text) {
            search::find(index, target.path().as_bytes(), true, &mut marks);
            if let Some(query) = target.query().map(str::as_bytes) {
                let found = |inner: &mut _| mark_known_fields(index, query, &fields::fields(query), inner);
                mark::inside(&mut marks, target.path().len() + 1, None, found);
            }
            self.remember(&marks, text, false);
            if let Some(new) = self.replaced(text, marks, None) {
                let mut new = lossy(&new);
                // A secret may begin with the path's slash (a cookie that says where to return to); without it, what
                // follows would be a part of the host.
                if text.starts_with(b"/") && !new.starts_with('/') {
                    new.insert(0, '/');
                }
                target.path_and_query = new.into();
                self.touched.elsewhere = true;
            }
        }
        let mut authority = Vec::new();
        search::find(index, target.authority.as_bytes(), false, &mut authority);
        if let Some(new) = self.replaced(target.authority.as_bytes(), authority, None) {
            target.authority = lossy(&new).into();
            self.touched.elsewhere = true;
        }
    }
}
