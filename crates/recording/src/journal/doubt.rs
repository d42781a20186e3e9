//! Whether a trail that a run continues goes through the heads that earlier runs kept.
//!
//! Heads are kept where a segment begins and where a run ends, so the first line of each segment holds nearly all of
//! them; a segment is read further only for a head that lies inside it.

use std::{io, path::PathBuf};

use contrail_exchange::plural::plural;

use super::{
    chain::{self, ChainHead},
    heads::KeptHeads,
};

/// Why the trail of these segments, whose chain ends with `end`, is not the one of which these heads were kept; `None`
/// if it goes through them. Earlier segments can be in another folder: heads before the first segment are not compared,
/// unless they are all that was kept.
pub(super) fn doubt(kept: &KeptHeads, end: &ChainHead, segments: &[PathBuf]) -> io::Result<Option<String>> {
    let Some(last) = kept.heads.last() else { return Ok(None) };
    let file = kept.file.display();
    if last.seq > end.seq {
        let (links, kept) = (plural(end.seq, "link"), last.seq);
        return Ok(Some(format!(
            "the trail was cut off: it ends after {links}, and `{file}` keeps a head with {kept}"
        )));
    }
    let mut begun = Vec::new();
    for segment in segments {
        begun.extend(chain::first_heads(segment)?.map(|heads| (heads, segment)));
    }
    if let Some(([first, _], segment)) = begun.first().filter(|([first, _], _)| first.seq > last.seq) {
        let (segment, begins, kept) = (segment.display(), first.seq, last.seq);
        return Ok(Some(format!(
            "the beginning of the trail is missing: `{segment}` begins after link {begins}, but the last head in \
             `{file}` has {kept}"
        )));
    }
    for (at, ([before, first], segment)) in begun.iter().enumerate() {
        let next = begun.get(at + 1).map_or(end, |([next, _], _)| next);
        let own = kept.heads.iter().filter(|head| (before.seq..=next.seq).contains(&head.seq));
        let mut inside: Vec<&ChainHead> =
            own.filter(|head| ![before, first, next].iter().any(|one| one.is(head))).collect();
        if !inside.is_empty() {
            chain::pass(segment, |head| inside.retain(|kept| !head.is(kept)))?;
        }
        if let Some(head) = inside.first() {
            return Ok(Some(format!(
                "the trail was rewritten: `{}` does not go through the head with {} that `{file}` keeps",
                segment.display(),
                plural(head.seq, "link")
            )));
        }
    }
    Ok(None)
}
