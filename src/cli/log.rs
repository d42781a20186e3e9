//! Logs for the operator: warnings, or as much as `CONTRAIL_LOG` asks for, on standard error.
//!
//! Only contrail's own events are shown. Libraries log what goes by, and what goes by holds secrets.

use std::io;

use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use super::printer::stderr_in_colour;

/// The variable that says how much is shown.
pub(super) const VARIABLE: &str = "CONTRAIL_LOG";

/// Starts logging.
///
/// # Errors
///
/// The variable holds no level.
pub(super) fn start(level: Option<&str>) -> Result<(), String> {
    let level = level_of(level)?;
    let lines =
        fmt::layer().with_writer(io::stderr).with_ansi(stderr_in_colour()).with_target(false).without_time().compact();
    let own = Targets::new().with_target("contrail", level);
    // A second start in one process (a test) keeps the first.
    let _ = tracing_subscriber::registry().with(lines.with_filter(own)).try_init();
    Ok(())
}

fn level_of(word: Option<&str>) -> Result<LevelFilter, String> {
    let Some(word) = word.map(str::trim).filter(|word| !word.is_empty()) else { return Ok(LevelFilter::WARN) };
    let unknown = || format!("{VARIABLE}: `{word}` is not a level; write off, error, warn, info, debug or trace");
    word.parse().map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused_with_the_words_that_are() {
        assert_eq!(
            start(Some("loud")).unwrap_err(),
            "CONTRAIL_LOG: `loud` is not a level; write off, error, warn, info, debug or trace"
        );
        assert!(start(None).is_ok());
        assert!(start(Some("debug")).is_ok());
    }

    #[test]
    fn each_level_of_the_configuration_page_is_one_and_the_default_is_that_of_the_page() {
        let page = include_str!("../../docs/configuration.md");
        let row = page.lines().find(|line| line.starts_with("| `CONTRAIL_LOG` |")).unwrap();
        let words: Vec<&str> = row.split('`').skip(3).step_by(2).collect();
        let levels: Vec<String> = words.iter().map(|word| level_of(Some(word)).unwrap().to_string()).collect();
        assert_eq!(levels, ["off", "error", "warn", "info", "debug", "trace"]);
        assert!(row.contains(&format!("`{}` (the default)", level_of(None).unwrap())), "{row}");
    }
}
