//! Logs for the operator: warnings, or as much as `CONTRAIL_LOG` asks for, on standard error.
//!
//! Only contrail's own events are shown. Libraries log what goes by, and what goes by holds secrets.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

/// The variable that says how much is shown.
pub(super) const VARIABLE: &str = "CONTRAIL_LOG";

/// Starts logging.
///
/// # Errors
///
/// The variable holds no level.
pub(super) fn start(level: Option<&str>) -> Result<(), String> {
    let level = match level.map(str::trim).filter(|level| !level.is_empty()) {
        None => LevelFilter::WARN,
        Some(word) => word
            .parse()
            .map_err(|_| format!("{VARIABLE}: `{word}` is no level; write off, error, warn, info, debug or trace"))?,
    };
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(colours).with_target(false).without_time().compact();
    let own = Targets::new().with_target("contrail", level);
    // A second start in one process (a test) keeps the first.
    let _ = tracing_subscriber::registry().with(lines.with_filter(own)).try_init();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused_with_the_words_that_are() {
        assert!(start(Some("loud")).unwrap_err().contains("debug"));
        assert!(start(None).is_ok());
        assert!(start(Some("debug")).is_ok());
    }
}
