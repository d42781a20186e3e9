//! Secrets of a request's line: a method that the client made up, and the target's path, query and authority.

use contrail_exchange::{Target, known_method};
use http::Method;

use super::redaction::{Redaction, lossy};
use crate::{
    find::fields,
    known::{index::Index, marking::mark_known_fields, search},
    mark::Mark,
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

    pub(super) fn detect_target(&self, target: &Target) -> (Vec<Mark>, Vec<Mark>) {
        let (mut path, mut query) = (Vec::new(), Vec::new());
        self.redactor.detect_text(target.path().as_bytes(), 2, &mut path);
        if let Some(text) = target.query() {
            let fields = fields::fields(text.as_bytes());
            self.redactor.detect_fields(text.as_bytes(), &fields, false, &mut query);
        }
        (path, query)
    }

    pub(super) fn write_target(
        &mut self,
        index: &Index,
        target: &mut Target,
        mut path: Vec<Mark>,
        mut query: Vec<Mark>,
    ) {
        let text = target.path_and_query.as_bytes();
        let blanks = index.blanks && memchr::memchr(b'+', text).is_some();
        if path.is_empty() && query.is_empty() && !blanks && !search::is_worth(index, text) {
            self.write_authority(index, target);
            return;
        }
        let raw = target.path();
        search::find(index, raw.as_bytes(), true, &mut path);
        let mut changed = self.replaced(raw.as_bytes(), path, None);
        let mut text = changed.take().map_or_else(|| raw.to_owned(), |bytes| lossy(&bytes));
        // A secret may begin with the path's slash (a cookie that says where to return to); without it, what follows
        // would be a part of the host.
        if raw.starts_with('/') && !text.starts_with('/') {
            text.insert(0, '/');
        }
        if let Some(raw) = target.query() {
            let fields = fields::fields(raw.as_bytes());
            mark_known_fields(index, raw.as_bytes(), &fields, &mut query);
            self.remember(&query, raw.as_bytes(), false);
            let new = self.replaced(raw.as_bytes(), query, None);
            text.push('?');
            text.push_str(&new.map_or_else(|| raw.to_owned(), |bytes| lossy(&bytes)));
        }
        if *text != *target.path_and_query {
            target.path_and_query = text.into();
            self.touched.elsewhere = true;
        }
        self.write_authority(index, target);
    }

    fn write_authority(&mut self, index: &Index, target: &mut Target) {
        let mut authority = Vec::new();
        search::find(index, target.authority.as_bytes(), false, &mut authority);
        if let Some(new) = self.replaced(target.authority.as_bytes(), authority, None) {
            target.authority = lossy(&new).into();
            self.touched.elsewhere = true;
        }
    }
}
