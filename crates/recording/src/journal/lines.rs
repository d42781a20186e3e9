//! The lines of a journal: entries, and those that say something of the journal, which are known by how they begin.

/// A link of a trail's hash chain.
pub const CHAIN: &[u8] = b"{\"_chain\"";
/// What the journal records of its own fold.
pub(super) const FOLD: &[u8] = b"{\"_fold\"";
/// A segment of a trail that is to be folded with the journal.
pub(super) const SEGMENT: &[u8] = b"{\"_trail\"";
/// Exchanges that could not be written.
pub(super) const UNRECORDED: &[u8] = b"{\"_unrecorded\"";

/// Whether a line of a journal is an entry, and none that says something of the journal.
pub(crate) fn is_entry(line: &[u8]) -> bool {
    ![SEGMENT, CHAIN, UNRECORDED, FOLD].iter().any(|start| line.starts_with(start))
}

/// A file's text without a byte-order mark.
pub(crate) fn unmarked(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}
