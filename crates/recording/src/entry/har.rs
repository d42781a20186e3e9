//! The types of HAR 1.2 as files hold them, read leniently: any member may be missing, null or of a near type.
//!
//! Strings borrow from the file where they hold no escape. Unneeded members are skipped unread.

use std::borrow::Cow;

use contrail_exchange::{
    Headers,
    json::{Kind, Node},
};

use super::{
    fields,
    object::{Fault, Misfit, number, objects},
};

objects! {
    /// `log.entries[]`
    pub(crate) struct Entry<'a> {
        pub(crate) started_date_time: Option<Cow<'a, str>> = "startedDateTime",
        pub(crate) time: Option<Node<'a>> = "time",
        pub(crate) request: Option<Request<'a>> = "request",
        pub(crate) response: Option<Response<'a>> = "response",
        pub(crate) timings: Option<Timings<'a>> = "timings",
        /// Playwright: a service worker sent it.
        pub(crate) service_worker: Option<Node<'a>> = "_serviceWorkerRef",
        /// Playwright: the test ended it.
        pub(crate) was_aborted: Option<Node<'a>> = "_wasAborted",
        /// Playwright: the test answered it.
        pub(crate) was_fulfilled: Option<Node<'a>> = "_wasFulfilled",
    }

    /// `request`
    pub(crate) struct Request<'a> {
        pub(crate) method: Option<Cow<'a, str>> = "method",
        pub(crate) url: Option<Cow<'a, str>> = "url",
        pub(crate) http_version: Option<Cow<'a, str>> = "httpVersion",
        pub(crate) headers: Headers = "headers" => fields::read,
        /// What the browser sent of its jar.
        pub(crate) cookies: Option<Vec<Param<'a>>> = "cookies",
        pub(crate) post_data: Option<PostData<'a>> = "postData",
        pub(crate) body_size: Option<Node<'a>> = "bodySize",
    }

    /// `response`
    pub(crate) struct Response<'a> {
        pub(crate) status: Option<Node<'a>> = "status",
        pub(crate) http_version: Option<Cow<'a, str>> = "httpVersion",
        pub(crate) headers: Headers = "headers" => fields::read,
        pub(crate) content: Option<Content<'a>> = "content",
        pub(crate) body_size: Option<Node<'a>> = "bodySize",
        /// Chrome: why it failed.
        pub(crate) error: Option<Cow<'a, str>> = "_error",
        /// Playwright: why it failed.
        pub(crate) failure_text: Option<Cow<'a, str>> = "_failureText",
    }

    /// `request.postData`
    pub(crate) struct PostData<'a> {
        pub(crate) mime_type: Option<Cow<'a, str>> = "mimeType",
        pub(crate) text: Option<Cow<'a, str>> = "text",
        pub(crate) params: Option<Vec<Param<'a>>> = "params",
        /// Some producers have it here as in `content`.
        pub(crate) encoding: Option<Cow<'a, str>> = "encoding",
        /// Ours: HAR has no member for it in `postData`.
        pub(crate) own_encoding: Option<Cow<'a, str>> = "_encoding",
        pub(crate) file: Option<Cow<'a, str>> = "_file",
    }

    /// `request.postData.params[]`, `request.cookies[]`
    pub(crate) struct Param<'a> {
        pub(crate) name: Option<Cow<'a, str>> = "name",
        pub(crate) value: Option<Cow<'a, str>> = "value" => text_of,
        pub(crate) file_name: Option<Cow<'a, str>> = "fileName",
    }

    /// `response.content`
    pub(crate) struct Content<'a> {
        pub(crate) size: Option<Node<'a>> = "size",
        pub(crate) mime_type: Option<Cow<'a, str>> = "mimeType",
        pub(crate) text: Option<Cow<'a, str>> = "text",
        pub(crate) encoding: Option<Cow<'a, str>> = "encoding",
        pub(crate) file: Option<Cow<'a, str>> = "_file",
    }

    /// `timings`
    pub(crate) struct Timings<'a> {
        pub(crate) send: Option<Node<'a>> = "send",
        pub(crate) wait: Option<Node<'a>> = "wait",
        pub(crate) receive: Option<Node<'a>> = "receive",
    }
}

/// A string, or the text of another value: chrome-har reads JSON as a form.
#[expect(clippy::unnecessary_wraps, reason = "it is called in place of `Read::read`")]
fn text_of(value: Node<'_>) -> Result<Option<Cow<'_, str>>, Misfit> {
    let text = value.as_str().unwrap_or_else(|| value.raw().into());
    Ok(Some(text).filter(|_| value.kind() != Kind::Null))
}

/// A count; `None` for `-1` and whatever else is no count.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked: not negative, and beyond 2^53 no count goes
pub(crate) fn count(value: Option<Node<'_>>) -> Option<u64> {
    number(value?).filter(|number| *number >= 0.0 && *number < 9e15).map(|number| number as u64)
}

/// What is wrong with an entry, without its place (it is that in one entry) and without the file's content.
pub(crate) fn plain(misfit: &Misfit) -> String {
    match misfit.fault() {
        Fault::Shape(Some((found, expected))) => {
            let named = if misfit.place().is_empty() { "it".to_owned() } else { format!("`{}`", misfit.place()) };
            format!("{named} is {}, and {} in HAR 1.2", found.described(), expected.described())
        }
        Fault::Shape(None) => "a member is missing or of another type than in HAR 1.2".to_owned(),
        Fault::Duplicate(name) => format!("duplicate member `{name}`"),
    }
}
