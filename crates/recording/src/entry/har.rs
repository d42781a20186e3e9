//! The types of HAR 1.2 as files hold them, read leniently: any member may be missing, null or of a near type.
//!
//! Strings borrow from the file where they hold no escape. Unneeded members are skipped unread.

use contrail_exchange::{
    Headers,
    json::lenient::{LenientError, LenientFault, Quoted, Raw, Read as _, Reader, object, read_by, read_objects},
};

pub(crate) use super::Text;
use super::{
    fields,
    note::{self, Record},
};

/// `log.entries[]`
#[derive(Debug, Default)]
pub(crate) struct Entry<'a> {
    pub(crate) started_date_time: Option<Text<'a>>,
    pub(crate) time: Option<Raw<'a>>,
    pub(crate) request: Option<Request<'a>>,
    pub(crate) response: Option<Response<'a>>,
    pub(crate) timings: Option<Timings<'a>>,
    /// Playwright: a service worker sent it.
    pub(crate) service_worker: Option<Raw<'a>>,
    /// Playwright: the test ended it.
    pub(crate) was_aborted: Option<Raw<'a>>,
    /// Playwright: the test answered it.
    pub(crate) was_fulfilled: Option<Raw<'a>>,
    /// Ours, by its place; where it is no object, another tool's.
    pub(crate) contrail: Option<Record>,
}

/// `request`
#[derive(Debug, Default)]
pub(crate) struct Request<'a> {
    pub(crate) method: Option<Text<'a>>,
    pub(crate) url: Option<Text<'a>>,
    pub(crate) http_version: Option<Text<'a>>,
    pub(crate) headers: Headers,
    /// What the browser sent of its jar.
    pub(crate) cookies: Option<Vec<Param<'a>>>,
    pub(crate) post_data: Option<PostData<'a>>,
    pub(crate) body_size: Option<Raw<'a>>,
}

/// `response`
#[derive(Debug, Default)]
pub(crate) struct Response<'a> {
    pub(crate) status: Option<Raw<'a>>,
    pub(crate) http_version: Option<Text<'a>>,
    pub(crate) headers: Headers,
    pub(crate) content: Option<Content<'a>>,
    pub(crate) body_size: Option<Raw<'a>>,
    /// Chrome: why it failed.
    pub(crate) error: Option<Text<'a>>,
    /// Playwright: why it failed.
    pub(crate) failure_text: Option<Text<'a>>,
}

/// `request.postData`
#[derive(Debug, Default)]
pub(crate) struct PostData<'a> {
    pub(crate) mime_type: Option<Text<'a>>,
    pub(crate) text: Option<Quoted<'a>>,
    pub(crate) params: Option<Vec<Param<'a>>>,
    /// Some producers have it here as in `content`.
    pub(crate) encoding: Option<Text<'a>>,
    /// Ours: HAR has no member for it in `postData`.
    pub(crate) own_encoding: Option<Text<'a>>,
    pub(crate) file: Option<Text<'a>>,
}

/// `request.postData.params[]`, `request.cookies[]`
#[derive(Debug, Default)]
pub(crate) struct Param<'a> {
    pub(crate) name: Option<Text<'a>>,
    pub(crate) value: Option<Text<'a>>,
    pub(crate) file_name: Option<Text<'a>>,
}

/// `response.content`
#[derive(Debug, Default)]
pub(crate) struct Content<'a> {
    pub(crate) size: Option<Raw<'a>>,
    pub(crate) mime_type: Option<Text<'a>>,
    pub(crate) text: Option<Quoted<'a>>,
    pub(crate) encoding: Option<Text<'a>>,
    pub(crate) file: Option<Text<'a>>,
}

/// `timings`
#[derive(Debug, Default)]
pub(crate) struct Timings<'a> {
    pub(crate) send: Option<Raw<'a>>,
    pub(crate) wait: Option<Raw<'a>>,
    pub(crate) receive: Option<Raw<'a>>,
}

read_objects! {
    PostData<'a> {
        mime_type: "mimeType",
        text: "text",
        params: "params",
        encoding: "encoding",
        own_encoding: "_encoding",
        file: "_file",
    }
    Param<'a> { name: "name", value: "value" = text_of, file_name: "fileName" }
    Content<'a> { size: "size", mime_type: "mimeType", text: "text", encoding: "encoding", file: "_file" }
    Timings<'a> { send: "send", wait: "wait", receive: "receive" }
}

/// A string, or the text of another value: chrome-har reads JSON as a form.
fn text_of<'a>(reader: &mut Reader<'a>) -> Result<Option<Text<'a>>, LenientError> {
    if reader.is_string()? {
        return Text::read(reader).map(Some);
    }
    Ok(Option::<Raw<'a>>::read(reader)?.map(|raw| Text(raw.get().into())))
}

impl<'a> Entry<'a> {
    /// Reads an entry.
    pub(crate) fn read(text: &'a [u8]) -> Result<Self, LenientError> {
        read_by(text, |reader| {
            object!(
                reader,
                Self {
                    started_date_time: "startedDateTime",
                    time: "time",
                    request: "request" = |reader| Reader::optional(reader, Request::read),
                    response: "response" = |reader| Reader::optional(reader, Response::read),
                    timings: "timings",
                    service_worker: "_serviceWorkerRef",
                    was_aborted: "_wasAborted",
                    was_fulfilled: "_wasFulfilled",
                    contrail: "_contrail" = note::read,
                }
            )
        })
    }
}

impl<'a> Request<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, LenientError> {
        object!(
            reader,
            Self {
                method: "method",
                url: "url",
                http_version: "httpVersion",
                headers: "headers" = fields::read,
                cookies: "cookies",
                post_data: "postData",
                body_size: "bodySize",
            }
        )
    }
}

impl<'a> Response<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, LenientError> {
        object!(
            reader,
            Self {
                status: "status",
                http_version: "httpVersion",
                headers: "headers" = fields::read,
                content: "content",
                body_size: "bodySize",
                error: "_error",
                failure_text: "_failureText",
            }
        )
    }
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
