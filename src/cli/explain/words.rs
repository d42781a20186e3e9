//! The words that `record`, `replay` and their reports print beside rules, explained.

/// A word of contrail's output that is no rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    pub(super) name: &'static str,
    /// What it means, in full sentences.
    pub(super) means: &'static str,
    /// What to do.
    pub(super) now: &'static str,
}

const fn word(name: &'static str, means: &'static str, now: &'static str) -> Word {
    Word { name, means, now }
}

pub(super) const WORDS: &[Word] = &[
    word(
        "replay-miss",
        "A request that no recording answers. The client gets 421 with the reason, the nearest recordings and their \
         differences, and the run ends with exit status 3.",
        "The answer names the option that makes the nearest recording match. Or record the request with `--append`.",
    ),
    word(
        "unknown",
        "The reason of a miss: no recorded request is the same.",
        "Compare the differences to the nearest recording. `--record-missing --upstream URL` records it during the replay.",
    ),
    word(
        "exhausted",
        "The reason of a miss: an unsafe request was sent more often than it was recorded, and every recorded answer was \
         given.",
        "Record all calls, or repeat the last answer with `--exhausted repeat`.",
    ),
    word(
        "unfit",
        "The reason of a miss: the recorded answer is incomplete or withheld, so it cannot be served.",
        "Record it again. The summary of `record` named it then, with the cause.",
    ),
    word("empty", "The reason of a miss: nothing is recorded at all.", "Record first, with `contrail record`."),
    word(
        "host-denied",
        "A request through the forward proxy to a host that contrail does not open. The client gets 403, and `replay` ends \
         with exit status 3.",
        "`--intercept HOST` records it, `--tunnel allow` passes it on, `--allow denied` accepts that it fails.",
    ),
    word(
        "unused",
        "A recorded exchange that no request of the run asked for.",
        "Record again if the client no longer makes the call. `--deny unused` makes it fail, and `contrail unused --prune` \
         removes it.",
    ),
    word(
        "stale",
        "A recorded exchange that the contract in force no longer allows, or whose operation it no longer has.",
        "Record again, or correct the document. `--deny stale` makes it fail.",
    ),
    word(
        "transient",
        "A 429 answer, and a 408 or 5xx before another outcome of the same request. A \
         fixture leaves it out.",
        "Nothing. `--keep 429` or `--keep 5xx` keeps them for a test of retries.",
    ),
    word(
        "proof",
        "The check of a new fixture: it is replayed against itself, verified and scanned for secrets. If it fails, the \
         fixture is kept only where it holds no secret, and the run ends with exit status 1.",
        "The line names the entry and the cause.",
    ),
];

#[cfg(test)]
mod tests {
    use contrail_proxy::upstream::{Miss, Reason};

    use super::*;

    #[test]
    fn every_reason_of_a_miss_is_explained() {
        let unfit = Reason::Unservable { entry: String::new(), why: String::new(), advice: "" };
        let exhausted = Reason::Exhausted { last: String::new(), recorded: 0 };
        let labelled = Reason::Labelled { place: String::new() };
        for reason in [Reason::Empty, Reason::Unknown, labelled, exhausted, unfit] {
            let miss = Miss { reason, asked: String::new(), nearest: Vec::new(), session: None };
            assert!(WORDS.iter().any(|word| word.name == miss.word()), "{}", miss.word());
        }
    }
}
