//! Entries on all cores: texts are cut out of the file, others make entries of them and do what is asked with each,
//! and the caller gets the results in the file's order.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    entry_texts::{EntryPosition, EntryTexts},
    reader::Reader,
};
use crate::{
    Entry, Head, ReadError, ReadFault, Recording,
    ordered::{BATCH, in_order, threads},
};

/// What is known of a recording at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadEnd {
    /// What the file states of itself.
    pub head: Head,
    /// How many entries were left out because they are not HTTP.
    pub skipped: usize,
    /// Entries that [`Recording::each`] left out.
    pub unreadable: Unreadable,
}

/// Entries that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unreadable {
    /// How many.
    pub count: usize,
    /// What is wrong with the first of them: a sentence each, with file and entry.
    pub first: Vec<String>,
}

impl Unreadable {
    /// Maximum entries whose fault is kept.
    const MAX_LISTED: usize = 10;

    fn add(&mut self, error: &ReadError) {
        self.count += 1;
        if self.first.len() < Self::MAX_LISTED {
            self.first.push(error.to_string());
        }
    }
}

/// Texts that go to one thread together.
#[derive(Default)]
struct Batch {
    text: Vec<u8>,
    /// Where each entry stands in the file, and where its text ends here.
    ends: Vec<(EntryPosition, usize)>,
}

/// What became of a batch: a result per entry, `None` for one that is not HTTP; after an error that is not of one entry
/// nothing follows.
type Done<T> = Vec<Result<Option<T>, ReadError>>;

/// What is done with a text.
trait Work<T>: Fn(&mut Reader, &[u8], EntryPosition) -> Result<Option<T>, ReadError> + Sync {}

impl<T, F: Fn(&mut Reader, &[u8], EntryPosition) -> Result<Option<T>, ReadError> + Sync> Work<T> for F {}

impl Batch {
    /// The next texts; an empty batch at the end. An error comes with the texts before it.
    fn next(texts: &mut EntryTexts) -> (Self, Option<ReadError>) {
        let mut batch = Self { text: Vec::with_capacity(BATCH + BATCH / 4), ends: Vec::new() };
        while batch.text.len() < BATCH {
            match texts.next(&mut batch.text) {
                Ok(Some(position)) => batch.ends.push((position, batch.text.len())),
                Ok(None) => break,
                Err(error) => return (batch, Some(error)),
            }
        }
        (batch, None)
    }

    fn done<T>(&self, reader: &mut Reader, work: &impl Work<T>) -> Done<T> {
        let mut start = 0;
        let mut done = Vec::with_capacity(self.ends.len());
        for (position, end) in &self.ends {
            let text = &self.text[start..*end];
            start = *end;
            let worked = catch_unwind(AssertUnwindSafe(|| work(reader, text, *position)));
            let result = worked.unwrap_or_else(|_| {
                let reason = "contrail failed on it; please report it".to_owned();
                Err(reader.fail(ReadFault::Entry { index: position.index, reason }))
            });
            let ends = result.as_ref().is_err_and(|error| !error.is_of_one_entry());
            done.push(result);
            if ends {
                break;
            }
        }
        done
    }
}

impl Recording {
    /// Does `work` with every entry that is left, on all cores, and hands what it gives to `sink` in the file's order.
    /// An entry that cannot be read costs itself, not the file: see [`ReadEnd::unreadable`].
    ///
    /// # Errors
    ///
    /// What keeps the rest of the file from being read, after `sink` had all before it; or the error of `sink`, after
    /// which nothing more is read.
    pub fn each<T, E>(
        self,
        work: impl Fn(Entry) -> T + Sync,
        sink: impl FnMut(T) -> Result<(), E>,
    ) -> Result<ReadEnd, E>
    where
        T: Send,
        E: From<ReadError>,
    {
        let work = |reader: &mut Reader, text: &[u8], position| Ok(reader.entry(text, position)?.map(&work));
        self.each_on(threads, true, work, sink)
    }

    /// As [`Recording::each`], where no entry is left out.
    ///
    /// # Errors
    ///
    /// That of the first entry that cannot be read, too; else as [`Recording::each`].
    pub fn each_or_fail<T, E>(
        self,
        work: impl Fn(Entry) -> T + Sync,
        sink: impl FnMut(T) -> Result<(), E>,
    ) -> Result<ReadEnd, E>
    where
        T: Send,
        E: From<ReadError>,
    {
        let work = |reader: &mut Reader, text: &[u8], position| Ok(reader.entry(text, position)?.map(&work));
        self.each_on(threads, false, work, sink)
    }

    fn each_on<T, E>(
        self,
        threads: impl FnOnce() -> usize,
        leaves_out: bool,
        work: impl Work<T>,
        mut sink: impl FnMut(T) -> Result<(), E>,
    ) -> Result<ReadEnd, E>
    where
        T: Send,
        E: From<ReadError>,
    {
        let Self { mut texts, reader, mut skipped, .. } = self;
        let mut failed = None;
        let next = || {
            if failed.is_some() {
                return None;
            }
            let (batch, error) = Batch::next(&mut texts);
            failed = error;
            (!batch.ends.is_empty()).then_some(batch)
        };
        let worker = || {
            let (mut reader, work) = (reader.clone(), &work);
            move |batch: Batch| batch.done(&mut reader, work)
        };
        let mut unreadable = Unreadable::default();
        let take = |done: Done<T>| -> Result<(), E> {
            for result in done {
                match result {
                    Ok(Some(result)) => sink(result)?,
                    Ok(None) => skipped += 1,
                    Err(error) if leaves_out && error.is_of_one_entry() => unreadable.add(&error),
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        };
        in_order(threads, next, worker, take)?;
        failed.map_or(Ok(()), |error| Err(E::from(error)))?;
        Ok(ReadEnd { head: texts.head().clone(), skipped, unreadable })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use super::*;

    fn recording(entries: usize, broken: Option<usize>) -> Recording {
        let entry = |index: usize| {
            if broken == Some(index) {
                return r#"{"request":{"method":"GET","url":"nowhere"}}"#.to_owned();
            }
            let scheme = if index % 10 == 7 { "data:" } else { "https://a.example" };
            let padding = "x".repeat(index % 1999);
            format!(r#"{{"request":{{"method":"GET","url":"{scheme}/{index}"}},"comment":"{padding}"}}"#)
        };
        let entries: Vec<String> = (0..entries).map(entry).collect();
        let file = format!(r#"{{"log":{{"entries":[{}],"creator":{{"name":"contrail"}}}}}}"#, entries.join(","));
        Recording::new("x.har".into(), Box::new(BufReader::new(Cursor::new(file))), None).unwrap()
    }

    fn paths(recording: Recording, threads: usize) -> (Vec<String>, Result<ReadEnd, ReadError>) {
        let mut paths = Vec::new();
        let work = |reader: &mut Reader, text: &[u8], position| {
            let path = |entry: Entry| format!("{} {}", entry.index, entry.exchange.request.target.path());
            Ok(reader.entry(text, position)?.map(path))
        };
        let ended = recording.each_on(
            || threads,
            false,
            work,
            |path| {
                paths.push(path);
                Ok(())
            },
        );
        (paths, ended)
    }

    fn expected(entries: usize) -> Vec<String> {
        (0..entries).filter(|index| index % 10 != 7).map(|index| format!("{index} /{index}")).collect()
    }

    #[test]
    fn results_come_in_the_order_of_the_file_whatever_the_number_of_threads() {
        for (entries, threads) in [(0, 2), (1, 2), (50, 2), (2000, 1), (2000, 2), (2000, 3), (2000, 7)] {
            let (paths, ended) = paths(recording(entries, None), threads);
            assert_eq!(paths, expected(entries), "{entries} entries on {threads} threads");
            let ended = ended.unwrap();
            assert_eq!(ended.skipped, (0..entries).filter(|index| index % 10 == 7).count());
            assert!(ended.head.by_contrail, "what stands behind the entries is known at the end");
        }
    }

    #[test]
    fn an_entry_that_cannot_be_read_ends_it_after_all_before_it() {
        for at in [0, 3, 1500] {
            let (paths, ended) = paths(recording(2000, Some(at)), 3);
            assert_eq!(paths, expected(at));
            assert_eq!(
                ended.unwrap_err().to_string(),
                format!(
                    "`x.har`, entry {at}: its URL names no host; a recording holds absolute URLs (https://host/path)"
                )
            );
        }
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_left_out_and_counted() {
        let path = |entry: Entry| entry.exchange.request.target.path().to_owned();
        for at in [0, 3, 1500] {
            let mut paths = Vec::new();
            let ended = recording(2000, Some(at)).each(path, |path| {
                paths.push(path);
                Ok::<(), ReadError>(())
            });
            let expected = (0..2000).filter(|index| index % 10 != 7 && *index != at).map(|index| format!("/{index}"));
            assert_eq!(paths, expected.collect::<Vec<_>>());
            let Unreadable { count, first } = ended.unwrap().unreadable;
            assert_eq!(count, 1);
            assert!(first[0].starts_with(&format!("`x.har`, entry {at}: its URL names no host")), "{first:?}");
        }
    }

    #[test]
    fn a_file_that_breaks_off_gives_its_whole_entries_first() {
        let mut file = br#"{"log":{"entries":["#.to_vec();
        for index in 0..2000 {
            file.extend_from_slice(
                format!(r#"{{"request":{{"method":"GET","url":"https://a/{index}"}}}},"#).as_bytes(),
            );
        }
        let recording = Recording::new("x.har".into(), Box::new(BufReader::new(Cursor::new(file))), None).unwrap();
        let (paths, ended) = paths(recording, 2);
        assert_eq!(paths.len(), 2000);
        assert_eq!(
            ended.unwrap_err().to_string(),
            "`x.har` ends in the middle, after 2000 whole entries; export or copy it again"
        );
    }

    #[test]
    fn a_failure_of_ours_costs_its_entry_and_what_the_sink_says_ends_it() {
        let panics = |entry: Entry| assert_ne!(entry.index, 1600);
        let ended = recording(2000, None).each(panics, |()| Ok::<(), ReadError>(()));
        assert_eq!(ended.unwrap().unreadable.first, ["`x.har`, entry 1600: contrail failed on it; please report it"]);

        let mut taken = 0;
        let ended = recording(20_000, None).each(drop, |()| {
            taken += 1;
            let fault = ReadFault::NotFound;
            if taken < 1500 { Ok(()) } else { Err(ReadError { source_name: "the sink".into(), fault }) }
        });
        assert_eq!((taken, ended.unwrap_err().source_name), (1500, "the sink".to_owned()));
    }
}
