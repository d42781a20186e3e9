//! Where an exchange holds secrets: by field, by header, by shape.

/// A regular expression that is compiled at its first use; a test rules out that it does not compile.
macro_rules! expression {
    ($name:ident, $text:expr) => {
        pub(super) static $name: std::sync::LazyLock<regex::bytes::Regex> =
            std::sync::LazyLock::new(|| regex::bytes::Regex::new($text).expect("a test compiles it"));
    };
}

mod assigned;
mod body;
pub(super) mod detect;
pub(super) mod fields;
pub(super) mod formats;
pub(super) mod grammar;
mod header;
pub(super) mod header_names;
pub(super) mod hints;
mod inside;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        let assigned = [&assigned::USER];
        let shapes = [
            &shapes::ACCOUNT,
            &shapes::ADDRESS,
            &shapes::DRIVER,
            &shapes::EMAIL,
            &shapes::JWT,
            &shapes::PEM,
            &shapes::SCHEME,
        ];
        let tags = [&tags::ATTRIBUTE, &tags::BETWEEN, &tags::ELEMENT, &tags::ENTRY, &tags::TAG];
        for expression in assigned.into_iter().chain(shapes).chain(tags).chain([&formats::ALL]) {
            assert!(!expression.as_str().is_empty());
        }
    }
}
