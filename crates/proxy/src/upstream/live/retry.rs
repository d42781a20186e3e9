//! Which requests are sent again after an attempt that brought no answer.
//!
//! A kept-alive connection may turn out closed. A request that was not sent on it goes out on another one, whatever its
//! method. One that may have been sent is sent again once, and only if that cannot do harm: its method is idempotent,
//! it has no body, and not one byte of an answer came; or the upstream stated that it did not process the request.

use std::error::Error as _;

/// An attempt that brought no answer.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub(super) struct Attempt {
    /// Its connection had served other requests.
    pub(super) reused: bool,
    /// Nothing of the request was sent.
    pub(super) unsent: bool,
    /// The request was sent twice already.
    pub(super) retried: bool,
    /// Its method is idempotent, and it has no body.
    pub(super) repeatable: bool,
    /// It has no body, or one that is in memory.
    pub(super) replayable: bool,
    /// The upstream stated that it did not process the request.
    pub(super) unprocessed: bool,
    /// Not one byte of an answer came; over HTTP/2, the connection ended and not only the request's stream.
    pub(super) unanswered: bool,
}

/// What follows an [`Attempt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// The same message goes out on another connection; this is no retry for the client.
    Unsent,
    /// The request is sent again, on a fresh connection.
    Again,
    /// The client gets an error.
    Never,
}

/// The rule.
pub(super) fn retry(attempt: Attempt) -> Retry {
    let Attempt { reused, unsent, retried, repeatable, replayable, unprocessed, unanswered } = attempt;
    if unsent {
        return if reused { Retry::Unsent } else { Retry::Never };
    }
    if !retried && (unprocessed && replayable || reused && repeatable && unanswered) {
        Retry::Again
    } else {
        Retry::Never
    }
}

pub(super) fn http2(error: &hyper::Error) -> Option<&h2::Error> {
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

/// The name of an error code (RFC 9113, section 7).
pub(super) fn reason_name(reason: h2::Reason) -> String {
    let debug = format!("{reason:?}");
    if debug.starts_with("Reason") { u32::from(reason).to_string() } else { debug }
}

/// Whether the upstream ended this request's stream, and not the connection.
pub(super) fn is_reset(error: &hyper::Error) -> bool {
    http2(error).is_some_and(h2::Error::is_reset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attempt of these facts.
    fn attempt(facts: &str) -> Attempt {
        let known = ["reused", "unsent", "retried", "repeatable", "replayable", "unprocessed", "unanswered"];
        let facts: Vec<&str> = facts.split_whitespace().collect();
        assert!(facts.iter().all(|fact| known.contains(fact)), "{facts:?}");
        let holds = |fact| facts.contains(&fact);
        Attempt {
            reused: holds("reused"),
            unsent: holds("unsent"),
            retried: holds("retried"),
            repeatable: holds("repeatable"),
            replayable: holds("replayable"),
            unprocessed: holds("unprocessed"),
            unanswered: holds("unanswered"),
        }
    }

    #[test]
    fn only_what_can_do_no_harm_is_sent_again_and_only_once() {
        for (facts, expected) in [
            // A kept connection was closed before the request went out: any method, as often as it takes.
            ("unsent reused", Retry::Unsent),
            ("unsent reused retried", Retry::Unsent),
            ("unsent reused repeatable replayable unanswered", Retry::Unsent),
            // A fresh connection that takes nothing.
            ("unsent", Retry::Never),
            ("unsent repeatable replayable unanswered", Retry::Never),
            // Sent on a kept connection, and no answer.
            ("reused repeatable replayable unanswered", Retry::Again),
            ("reused repeatable replayable unanswered retried", Retry::Never),
            ("reused repeatable replayable", Retry::Never),
            ("reused replayable unanswered", Retry::Never),
            ("repeatable replayable unanswered", Retry::Never),
            // The upstream did not process it: any method whose body can go out again.
            ("unprocessed replayable", Retry::Again),
            ("unprocessed replayable reused", Retry::Again),
            ("unprocessed", Retry::Never),
            ("unprocessed replayable retried", Retry::Never),
            ("", Retry::Never),
        ] {
            assert_eq!(retry(attempt(facts)), expected, "{facts}");
        }
    }
}
