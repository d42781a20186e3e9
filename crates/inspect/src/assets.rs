//! The files of the page, from a table in the binary: no path is joined, and no file system is asked.

use std::sync::LazyLock;

use bytes::Bytes;

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) media_type: &'static str,
    pub(crate) content: Bytes,
}

macro_rules! assets {
    ($($name:literal)*) => {
        /// The files by name.
        const ASSETS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../assets/", $name)))),*];
    };
}

assets! {
    "api.js"
    "body.js"
    "compare.js"
    "columns.js"
    "contract.js"
    "copy.js"
    "detail.js"
    "dom.js"
    "filter.js"
    "findings.js"
    "icon.svg"
    "index.html"
    "keys.js"
    "list.js"
    "main.js"
    "route.js"
    "run.js"
    "style.css"
    "timeline.js"
    "window.js"
}

/// The same as browsers get them: without what is for the readers of the source.
static SERVED: LazyLock<Vec<(&str, Bytes)>> = LazyLock::new(|| {
    let served = |name: &str, text| if kind(name) == "css" { style(text) } else { script(text) };
    ASSETS.iter().map(|(name, text)| (*name, served(name, text).into())).collect()
});

/// Without lines of comment or of nothing, indentation, and `/** … */`.
fn script(text: &str) -> String {
    let code = without(text, "/**");
    let lines = code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Without comments, and without white space that says nothing.
fn style(text: &str) -> String {
    let mut rules = String::new();
    for line in without(text, "/*").lines().map(str::trim) {
        rules.push_str(line);
        if !line.ends_with(['{', '}', ';', ',']) {
            rules.push(' ');
        }
    }
    rules.replace(": ", ":").replace(" {", "{")
}

/// The text without its comments, which begin like this.
fn without(text: &str, comment: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, begun)) = rest.split_once(comment) {
        code.push_str(before);
        rest = begun.split_once("*/").map_or("", |(_, after)| after);
    }
    code + rest
}

/// The file at this path, `/` being the page.
pub(crate) fn find(path: &str) -> Option<Asset> {
    let wanted = match path.strip_prefix('/')? {
        "" => "index.html",
        name => name,
    };
    let (name, content) = SERVED.iter().find(|(name, _)| *name == wanted)?;
    let media_type = match kind(name) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    };
    Some(Asset { media_type, content: from_disk(name).unwrap_or_else(|| content.clone()) })
}

/// The kind of file that a name ends with.
fn kind(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, kind)| kind)
}

/// While the page is written, its files are read from this folder.
#[cfg(debug_assertions)]
fn from_disk(name: &str) -> Option<Bytes> {
    let folder = std::env::var_os("CONTRAIL_INSPECT_ASSETS")?;
    std::fs::read(std::path::Path::new(&folder).join(name)).ok().map(Bytes::from)
}

#[cfg(not(debug_assertions))]
fn from_disk(_: &str) -> Option<Bytes> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_stays_within_its_budget_and_every_file_of_the_folder_is_in_the_table() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
        let mut files: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        let mut held: Vec<&str> = ASSETS.iter().map(|(name, _)| *name).collect();
        held.sort_unstable();
        assert_eq!(files, held);
        assert!(ASSETS.len() <= 20, "{}", ASSETS.len());
        let size: usize = SERVED.iter().map(|(_, content)| content.len()).sum();
        assert!(size <= 180 << 10, "{size}");
    }

    #[test]
    fn comments_and_indentation_are_not_served() {
        let text =
            "// Why.\n\n/**\n * @param {T} at\n */\nfunction f(at) {\n  return /** @type {T} */ (at) + \"//\";\n}\n";
        assert_eq!(script(text), "function f(at) {\nreturn  (at) + \"//\";\n}");
        let text = "/* Why. */\na:hover,\nb {\n  color: red;\n  font:\n    1px x;\n}\n";
        assert_eq!(style(text).trim(), "a:hover,b{color:red;font:1px x;}");
        // A text of several lines would lose its indentation.
        for (name, text) in ASSETS.iter().filter(|(name, _)| kind(name) == "js") {
            let marks = |line: &str| line.replace("\"`\"", "").replace("^`|", "").matches('`').count();
            assert!(text.lines().all(|line| marks(line).is_multiple_of(2)), "{name}");
        }
    }

    #[test]
    fn a_name_that_is_not_in_the_table_is_no_file() {
        for path in
            ["/../Cargo.toml", "/%2e%2e/Cargo.toml", "//index.html", "/index.html/", "/INDEX.HTML", "index.html", "/."]
        {
            assert!(find(path).is_none(), "{path}");
        }
        assert!(find("/").is_some());
    }

    #[test]
    fn nothing_in_the_page_can_turn_text_into_markup() {
        let sinks = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "srcdoc",
            "DOMParser",
            "javascript:",
            "eval(",
            "new Function",
            "setHTML",
            "createContextualFragment",
        ];
        for (name, content) in ASSETS {
            for sink in sinks {
                assert!(!content.contains(sink), "{name}: {sink}");
            }
        }
    }
}
