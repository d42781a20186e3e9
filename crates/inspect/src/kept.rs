//! The bytes of exchanges, in an unnamed temporary file of bounded size. The oldest leave when it is full.
//!
//! Each exchange is an entry of a journal (as `record` writes it), followed by what no journal keeps ([`Beside`]).

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Cursor},
    os::unix::fs::FileExt as _,
    sync::Arc,
};

use contrail_exchange::{
    Exchange,
    finding::{Reason, Unchecked, Verdict},
};
use contrail_recording::{JournalContext, Recording, encode};
use contrail_redact::{JudgedExchange, Redacted};
use serde::{Deserialize, Serialize};

/// A file that is written around.
#[derive(Debug)]
pub(crate) struct Kept {
    file: File,
    /// Its maximum size.
    capacity: u64,
    /// Bytes that were ever written.
    written: u64,
    buffer: Vec<u8>,
}

/// Where the bytes of an exchange are: as of all bytes that were ever written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    offset: u64,
    entry: u32,
    beside: u32,
}

/// What is kept of an exchange beside its entry.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Beside {
    /// Why something is unchecked: aspect, place, reason.
    reasons: Vec<(String, String, String)>,
    remarks: Vec<String>,
}

/// What comes back with an exchange.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// Where the upstream was.
    pub(crate) upstream: Option<Arc<str>>,
    /// What contrail remarked beside the exchange's line.
    pub(crate) remarks: Vec<String>,
}

/// Why there are no bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    /// They were overwritten.
    Left,
    /// They were never there: the disk is full, or they are larger than all the room.
    NotKept,
    /// The temporary file could not be written or read.
    Unreadable,
}

impl Kept {
    pub(crate) fn new(capacity: u64) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, capacity: capacity.max(1), written: 0, buffer: Vec::new() })
    }

    /// Keeps an exchange; `None` if it is larger than all the room there is, or the disk is full.
    pub(crate) fn keep(
        &mut self,
        judged: &Redacted<JudgedExchange>,
        remarks: &[String],
        context: &JournalContext,
    ) -> Option<Place> {
        self.buffer.clear();
        encode(judged, None, context, &mut self.buffer);
        let entry = self.buffer.len();
        let reasons =
            judged.verdict.reasons.iter().map(|Reason { aspect, at, reason }| {
                (aspect.name().to_owned(), at.clone(), reason.clone().into_owned())
            });
        let beside = Beside { reasons: reasons.collect(), remarks: remarks.to_vec() };
        if !beside.reasons.is_empty() || !beside.remarks.is_empty() {
            serde_json::to_writer(&mut self.buffer, &beside).ok()?;
        }
        let length = self.buffer.len();
        let place = Place {
            offset: self.written,
            entry: u32::try_from(entry).ok()?,
            beside: u32::try_from(length - entry).ok()?,
        };
        if length as u64 > self.capacity {
            return None;
        }
        self.written += length as u64;
        self.around(place.offset, length, |at, range| self.file.write_all_at(&self.buffer[range], at)).ok()?;
        self.buffer.shrink_to(1 << 20);
        Some(place)
    }

    /// The bytes of an exchange.
    fn bytes(&self, place: Place) -> Result<Vec<u8>, Gone> {
        if self.written - place.offset > self.capacity {
            return Err(Gone::Left);
        }
        let mut bytes = vec![0; place.entry as usize + place.beside as usize];
        self.around(place.offset, bytes.len(), |at, range| self.file.read_exact_at(&mut bytes[range], at))
            .map_err(|_| Gone::Unreadable)?;
        Ok(bytes)
    }

    /// The exchange.
    pub(crate) fn read(&self, place: Place) -> Result<(JudgedExchange, Surroundings), Gone> {
        let mut entry = self.bytes(place)?;
        let beside = entry.split_off(place.entry as usize);
        let beside: Beside = match &*beside {
            [] => Beside::default(),
            text => serde_json::from_slice(text).map_err(|_| Gone::Unreadable)?,
        };
        let recording = Recording::new(String::new(), Box::new(Cursor::new(entry)), None);
        let entry = recording.ok().and_then(|mut one| one.next()?.ok()).ok_or(Gone::Unreadable)?;
        let note = entry.note.unwrap_or_default();
        let reasons = beside.reasons.into_iter().filter_map(|(aspect, at, reason)| {
            Some(Reason { aspect: Unchecked::from_name(&aspect)?, at, reason: Cow::Owned(reason) })
        });
        let exchange: Exchange = entry.exchange;
        let verdict = Verdict { reasons: reasons.collect(), ..note.verdict };
        let surroundings = Surroundings { upstream: note.upstream, remarks: beside.remarks };
        Ok((JudgedExchange::new(exchange, verdict), surroundings))
    }

    /// Does something with a range of the file, in two parts where it goes over the end.
    fn around(
        &self,
        offset: u64,
        length: usize,
        mut with: impl FnMut(u64, std::ops::Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let at = offset % self.capacity;
        let first = usize::try_from(self.capacity - at).unwrap_or(usize::MAX).min(length);
        with(at, 0..first)?;
        if first < length { with(0, first..length) } else { Ok(()) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use contrail_exchange::{Body, Headers, Request, Response, Target, Timings, Transport, finding::Finding};
    use contrail_redact::{Plan, Redactor};

    use super::*;

    fn context() -> JournalContext {
        JournalContext { upstream: Arc::from("https://tenant.example"), contract: Arc::from("c0ffee") }
    }

    pub(crate) fn exchange(body: &str) -> Redacted<JudgedExchange> {
        let request = Request {
            method: http::Method::GET,
            target: Target::new("https", "tenant.example", "/a"),
            version: http::Version::HTTP_11,
            headers: Headers::default(),
            body: Body::default(),
            credential: contrail_exchange::Credential::Missing,
        };
        let response = Response {
            status: 200,
            version: http::Version::HTTP_11,
            headers: Headers::default(),
            body: Body::whole(body.to_owned()),
        };
        let exchange = Exchange {
            request,
            response: Some(response),
            started: None,
            timings: Timings::default(),
            transport: Transport::default(),
        };
        let mut verdict = Verdict::default();
        verdict.findings.push(Finding::new(contrail_exchange::finding::Rule::ResponseBody, "/a", "a string").seen("5"));
        verdict.leave(Unchecked::Signature, "no keys were given");
        Redactor::new(Plan::new::<&str>(&[]).unwrap()).redact(JudgedExchange::new(exchange, verdict))
    }

    #[test]
    fn an_exchange_comes_back_with_its_verdict_and_reasons() {
        let mut kept = Kept::new(1 << 20).unwrap();
        let judged = exchange("{\"n\":822106502566256641}");
        let place = kept.keep(&judged, &["a remark".to_owned()], &context()).unwrap();
        let (read, surroundings) = kept.read(place).unwrap();
        assert_eq!(read.verdict, judged.verdict);
        let content = |judged: &JudgedExchange| judged.exchange.response.as_ref().unwrap().body.content.clone();
        assert_eq!(content(&read), content(&judged));
        assert_eq!(surroundings.remarks, ["a remark"]);
    }

    #[test]
    fn the_oldest_leave_when_the_room_is_full_and_the_newest_are_whole() {
        let mut kept = Kept::new(3000).unwrap();
        let places: Vec<Place> =
            (0..20).map(|n| kept.keep(&exchange(&format!("{{\"n\":{n}}}")), &[], &context()).unwrap()).collect();
        assert_eq!(kept.read(places[0]).unwrap_err(), Gone::Left);
        let (last, _) = kept.read(places[19]).unwrap();
        assert_eq!(&last.exchange.response.unwrap().body.content[..], b"{\"n\":19}");
        assert!(kept.file.metadata().unwrap().len() <= 3000);
        assert_eq!(kept.keep(&exchange(&"x".repeat(4000)), &[], &context()), None);
    }
}
