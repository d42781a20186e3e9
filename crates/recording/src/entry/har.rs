//! The types of HAR 1.2 as files hold them, read leniently: any member may be missing, null or of a near type.
//!
//! Strings borrow from the file where they hold no escape. Unneeded members are skipped unread.

use contrail_exchange::{
    Headers,
    json::lenient::{LenientError, LenientFault, Quoted, Raw, Read as _, Reader, objects},
};

pub(crate) use super::Text;
use super::{
    fields,
    note::{self, Record},
};

objects! {
    /// `log.entries[]`
    pub(crate) struct Entry<'a> {
        pub(crate) started_date_time: Option<Text<'a>> = "startedDateTime",
        pub(crate) time: Option<Raw<'a>> = "time",
        pub(crate) request: Option<Request<'a>> = "request",
        pub(crate) response: Option<Response<'a>> = "response",
        pub(crate) timings: Option<Timings<'a>> = "timings",
        /// Playwright: a service worker sent it.
        pub(crate) service_worker: Option<Raw<'a>> = "_serviceWorkerRef",
        /// Playwright: the test ended it.
        pub(crate) was_aborted: Option<Raw<'a>> = "_wasAborted",
        /// Playwright: the test answered it.
        pub(crate) was_fulfilled: Option<Raw<'a>> = "_wasFulfilled",
        /// Ours, by its place; where it is no object, another tool's.
        pub(crate) contrail: Option<Record> = "_contrail" => note::read,
    }

    /// `request`
    pub(crate) struct Request<'a> {
        pub(crate) method: Option<Text<'a>> = "method",
        pub(crate) url: Option<Text<'a>> = "url",
        pub(crate) http_version: Option<Text<'a>> = "httpVersion",
        pub(crate) headers: Headers = "headers" => fields::read,
        /// What the browser sent of its jar.
        pub(crate) cookies: Option<Vec<Param<'a>>> = "cookies",
        pub(crate) post_data: Option<PostData<'a>> = "postData",
        pub(crate) body_size: Option<Raw<'a>> = "bodySize",
    }

    /// `response`
    pub(crate) struct Response<'a> {
        pub(crate) status: Option<Raw<'a>> = "status",
        pub(crate) http_version: Option<Text<'a>> = "httpVersion",
        pub(crate) headers: Headers = "headers" => fields::read,
        pub(crate) content: Option<Content<'a>> = "content",
        pub(crate) body_size: Option<Raw<'a>> = "bodySize",
        /// Chrome: why it failed.
        pub(crate) error: Option<Text<'a>> = "_error",
        /// Playwright: why it failed.
        pub(crate) failure_text: Option<Text<'a>> = "_failureText",
    }

    /// `request.postData`
    pub(crate) struct PostData<'a> {
        pub(crate) mime_type: Option<Text<'a>> = "mimeType",
        pub(crate) text: Option<Quoted<'a>> = "text",
        pub(crate) params: Option<Vec<Param<'a>>> = "params",
        /// Some producers have it here as in `content`.
        pub(crate) encoding: Option<Text<'a>> = "encoding",
        /// Ours: HAR has no member for it in `postData`.
        pub(crate) own_encoding: Option<Text<'a>> = "_encoding",
        pub(crate) file: Option<Text<'a>> = "_file",
    }

    /// `request.postData.params[]`, `request.cookies[]`
    pub(crate) struct Param<'a> {
        pub(crate) name: Option<Text<'a>> = "name",
        pub(crate) value: Option<Text<'a>> = "value" => text_of,
        pub(crate) file_name: Option<Text<'a>> = "fileName",
    }

    /// `response.content`
    pub(crate) struct Content<'a> {
        pub(crate) size: Option<Raw<'a>> = "size",
        pub(crate) mime_type: Option<Text<'a>> = "mimeType",
        pub(crate) text: Option<Quoted<'a>> = "text",
        pub(crate) encoding: Option<Text<'a>> = "encoding",
        pub(crate) file: Option<Text<'a>> = "_file",
    }

    /// `timings`
    pub(crate) struct Timings<'a> {
        pub(crate) send: Option<Raw<'a>> = "send",
        pub(crate) wait: Option<Raw<'a>> = "wait",
        pub(crate) receive: Option<Raw<'a>> = "receive",
    }
}

/// A string, or the text of another value: chrome-har reads JSON as a form.
fn text_of<'a>(reader: &mut Reader<'a>) -> Result<Option<Text<'a>>, LenientError> {
    if reader.is_string()? {
        return Text::read(reader).map(Some);
    }
    Ok(Option::<Raw<'a>>::read(reader)?.map(|raw| Text(raw.get().into())))
}

/// A count; `None` for `-1` and whatever else is no count.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked: not negative, and beyond 2^53 no count goes
pub(crate) fn count(raw: Option<Raw<'_>>) -> Option<u64> {
    raw?.number().filter(|number| *number >= 0.0 && *number < 9e15).map(|number| number as u64)
}

/// What is wrong with an entry, without its place (it is that in one entry) and without the file's content.
pub(crate) fn plain(error: &LenientError) -> String {
    match error.fault() {
        LenientFault::Shape(Some((found, expected))) => {
            let named = if error.place().is_empty() { "it".to_owned() } else { format!("`{}`", error.place()) };
            format!("{named} is {}, and {} in HAR 1.2", found.described(), expected.described())
        }
        LenientFault::Shape(None) => "a member is missing or of another type than in HAR 1.2".to_owned(),
        LenientFault::Duplicate(name) => format!("duplicate member `{name}`"),
        LenientFault::Cut => "it ends in the middle; a journal has one entry per line".to_owned(),
        LenientFault::Surrogate => "a string holds half of a surrogate pair".to_owned(),
        LenientFault::Grammar => "it is not valid JSON".to_owned(),
    }
}
