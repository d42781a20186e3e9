//! Why an exchange over HTTP/2 failed, as far as that decides what may be tried again.

use std::error::Error as _;

fn http2(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref()
}

/// Whether the upstream says that it did nothing with the request (RFC 9113, section 8.7), so that even one whose
/// repetition would do harm can go out again.
pub(super) fn is_unprocessed(error: &hyper::Error) -> bool {
    http2(error).is_some_and(|error| {
        error.is_remote()
            && (error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM)
                || error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR))
    })
}

/// Whether the upstream ended this request's stream, and not the connection.
pub(super) fn is_reset(error: &hyper::Error) -> bool {
    http2(error).is_some_and(h2::Error::is_reset)
}
