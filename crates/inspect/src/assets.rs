//! The files of the page, from a table in the binary: no path is joined, and no file system is asked.

use bytes::Bytes;

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) media_type: &'static str,
    pub(crate) content: Bytes,
}

macro_rules! assets {
    ($($name:literal)*) => {
        /// The files by name.
        const ASSETS: &[(&str, &[u8])] = &[$(($name, include_bytes!(concat!("../assets/", $name)))),*];
    };
}

assets! {
    "api.js"
    "body.js"
    "callers.js"
    "compare.js"
    "columns.js"
    "contract.js"
    "copy.js"
    "detail.js"
    "dom.js"
    "filter.js"
    "findings.js"
    "groups.js"
    "icon.svg"
    "index.html"
    "keys.js"
    "kinds.js"
    "list.js"
    "main.js"
    "misses.js"
    "operations.js"
    "route.js"
    "run.js"
    "stream.js"
    "style.css"
    "timeline.js"
    "window.js"
}

/// The file at this path, `/` being the page.
pub(crate) fn find(path: &str) -> Option<Asset> {
    let wanted = match path.strip_prefix('/')? {
        "" => "index.html",
        name => name,
    };
    let (name, content) = ASSETS.iter().find(|(name, _)| *name == wanted)?;
    let media_type = match name.rsplit_once('.').map(|(_, kind)| kind) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    Some(Asset { media_type, content: from_disk(name).unwrap_or(Bytes::from_static(content)) })
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
        assert!(ASSETS.len() <= 28, "{}", ASSETS.len());
        let size: usize = ASSETS.iter().map(|(_, content)| content.len()).sum();
        assert!(size <= 240 << 10, "{size}");
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
            let text = std::str::from_utf8(content).unwrap();
            for sink in sinks {
                assert!(!text.contains(sink), "{name}: {sink}");
            }
        }
    }
}
