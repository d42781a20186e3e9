//! Reports in every format.

/// The formats of `--report`.
pub const FORMATS: [&str; 8] = ["text", "json", "html", "markdown", "junit", "sarif", "github", "csv"];

/// A report's text without what its format escapes or puts between.
pub fn unescaped(format: &str, report: &str) -> String {
    match format {
        "html" => unescaped("junit", &report.replace("<code>", "`").replace("</code>", "`")),
        "junit" => report.replace("<wbr>", "").replace("&#39;", "'"),
        "markdown" => report.replace('\\', ""),
        "github" => report.replace("%3A", ":").replace("%2C", ",").replace("%0A", "\n"),
        "csv" => report.replace("\"\"", "\""),
        _ => report.to_owned(),
    }
}
