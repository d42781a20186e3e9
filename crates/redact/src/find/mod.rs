//! Where an exchange holds secrets: by field, by header, by shape.

/// A regular expression that is compiled at its first use; `None` if it does not compile, which a test rules out.
macro_rules! expression {
    ($name:ident, $text:expr) => {
        static $name: std::sync::LazyLock<Option<regex::bytes::Regex>> =
            std::sync::LazyLock::new(|| regex::bytes::Regex::new($text).ok());
    };
}

mod assigned;
mod body;
mod coded;
pub(super) mod detect;
pub(super) mod fields;
pub(super) mod formats;
pub(super) mod grammar;
mod header;
pub(super) mod header_names;
pub(super) mod hints;
mod lines;
mod multipart;
mod named;
pub(super) mod names;
mod paths;
mod prefilter;
mod shapes;
pub(super) mod steps;
mod tags;
pub(super) mod walk;
mod windows;
