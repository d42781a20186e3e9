//! The file elsewhere that keeps heads of a trail's chain (`--head-to`, `--head`): one JSON object per line.
//!
//! A full disk or a power cut can leave a torn line. The next writer ends it; readers skip it and count it.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use super::chain::ChainHead;
use crate::{
    WriteError,
    disk::{failed_to, folder_of, is_at, make_folder, private},
};

/// Maximum bytes of a line; a head has about 150.
const MAX_LINE: u64 = 4096;

/// The heads that a file keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptHeads {
    /// The file.
    pub file: PathBuf,
    /// The heads, by their position in the chain. A head before the first link proves nothing and is left out.
    pub heads: Vec<ChainHead>,
    /// Torn lines, which were skipped.
    pub torn: usize,
}

impl KeptHeads {
    /// Reads the heads that the file at `path` keeps.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a line of it is neither a head nor a torn head.
    pub fn read(path: &Path) -> io::Result<Self> {
        let (heads, _) = Self::read_from(&File::open(path)?, path)?;
        Ok(heads)
    }

    /// Refuses to add the heads of this trail where those of another one are.
    pub(super) fn refuse_other(&self, own: &ChainHead) -> Result<(), WriteError> {
        let Some(other) = self.heads.iter().map(|head| &head.trail).find(|trail| **trail != own.trail) else {
            return Ok(());
        };
        let reason = format!(
            "it keeps heads of another trail ({other}); name another file for `--head-to`. If the trail's folder was \
             emptied, keep this file: it proves what was removed"
        );
        Err(WriteError::Unwritable { path: self.file.clone(), reason })
    }

    /// The same of an open file; also whether its last line has no end.
    fn read_from(file: &File, path: &Path) -> io::Result<(Self, bool)> {
        let mut input = BufReader::new(file);
        let mut kept = Self { file: path.to_path_buf(), ..Self::default() };
        let (mut line, mut number, mut open_end) = (Vec::new(), 0, false);
        loop {
            line.clear();
            if input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                kept.heads.sort_by_key(|head| head.seq);
                kept.heads.dedup();
                return Ok((kept, open_end));
            }
            number += 1;
            open_end = !line.ends_with(b"\n");
            let Some((head, torn)) = parse(&line) else {
                let reason = format!("line {number} is not a head");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            };
            kept.torn += torn;
            kept.heads.extend(head.filter(|head| head.seq > 0));
        }
    }
}

/// The head in a line, and how many torn heads are in it. `None` for a line that is neither.
fn parse(line: &[u8]) -> Option<(Option<ChainHead>, usize)> {
    // After a power cut, zeros can stand in place of what was written.
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let begin = line.iter().position(|byte| !is_blank(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !is_blank(byte)).map_or(begin, |last| last + 1);
    let torn = usize::from(line.contains(&0));
    let text = &line[begin..end];
    if text.is_empty() {
        return Some((None, torn));
    }
    match serde_json::from_slice::<ChainHead>(text) {
        Ok(head) => Some((Some(head), torn)),
        Err(_) => is_torn(text).then_some((None, torn + 1)),
    }
}

/// Whether a text is the beginning of a head and no more.
fn is_torn(text: &[u8]) -> bool {
    const START: &[u8] = b"{\"seq\":";
    let common = text.len().min(START.len());
    text[..common] == START[..common] && serde_json::from_slice::<ChainHead>(text).is_err_and(|error| error.is_eof())
}

/// The open file that keeps the heads of a trail.
#[derive(Debug)]
pub(super) struct HeadFile {
    path: PathBuf,
    file: File,
    /// It is a regular file that can be read, so that it is known what it holds. A pipe is not.
    regular: bool,
    /// Its last line has no end.
    torn: bool,
}

impl HeadFile {
    /// Opens the file at `path`, makes it if need be, and locks it; the heads that it keeps already.
    pub(super) fn open(path: &Path) -> Result<(Self, KeptHeads), WriteError> {
        let refuse = |reason: String| WriteError::Unwritable { path: path.to_path_buf(), reason };
        let path_buf = path.to_path_buf();
        let is_special = fs::metadata(path).is_ok_and(|found| !found.is_file());
        let opened = private().read(!is_special).append(true).create(true).open(path);
        let file = match opened {
            Ok(file) if !is_special => file,
            Ok(file) => {
                return Ok((Self { path: path_buf, file, regular: false, torn: false }, KeptHeads::default()));
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                // One that can only be added to. An empty line more does no harm.
                let file = private().append(true).open(path).map_err(failed_to("write the head to", path))?;
                return Ok((Self { path: path_buf, file, regular: false, torn: true }, KeptHeads::default()));
            }
            Err(error) => return Err(failed_to("write the head to", path)(error)),
        };
        if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
            let reason = "another process keeps the heads of its trail there; name another file for `--head-to`";
            return Err(refuse(reason.to_owned()));
        }
        let (kept, torn) = KeptHeads::read_from(&file, path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                refuse(format!("it is not a file of heads ({error}); name another file for `--head-to`"))
            }
            _ => failed_to("read the kept heads in", path)(error),
        })?;
        Ok((Self { path: path_buf, file, regular: true, torn }, kept))
    }

    /// Adds a head and waits for the disk. A removed file is created again with all its heads; the returned
    /// alarm reports it.
    pub(super) fn add(&mut self, head: &ChainHead) -> Result<Option<String>, WriteError> {
        let alarm = if self.regular && !is_at(&self.file, &self.path) { Some(self.make_anew()?) } else { None };
        let failed = |error| failed_to("write the head to", &self.path)(error);
        let before = self.file.metadata().map_err(failed)?.len();
        let mut line = Vec::new();
        if self.torn {
            line.push(b'\n');
        }
        head.write(&mut line);
        if let Err(error) = (&self.file).write_all(&line) {
            let taken_back = self.regular && self.file.set_len(before).is_ok();
            self.torn |= !taken_back;
            return Err(failed_to("write the head to", &self.path)(error));
        }
        self.torn = false;
        // A pipe has no disk to wait for.
        if self.regular {
            self.file.sync_data().map_err(failed_to("write the head to", &self.path))?;
        }
        Ok(alarm)
    }

    /// Creates the file again with its full content, since it was removed.
    fn make_anew(&mut self) -> Result<String, WriteError> {
        let path = &self.path;
        if fs::symlink_metadata(path).is_ok() {
            let reason = "another file has taken its place; move it away".to_owned();
            return Err(WriteError::Unwritable { path: path.clone(), reason });
        }
        make_folder(folder_of(path))?;
        let file = private().read(true).append(true).create_new(true).open(path).map_err(failed_to("make", path))?;
        let _ = file.try_lock();
        let copied = (&self.file).seek(SeekFrom::Start(0)).and_then(|_| io::copy(&mut &self.file, &mut &file));
        if let Err(error) = copied {
            let _ = fs::remove_file(path);
            return Err(failed_to("write the kept heads to", path)(error));
        }
        self.file = file;
        Ok(format!("`{}` was removed during the run; contrail created it again with all its heads", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: u64) -> String {
        let mut line = Vec::new();
        ChainHead { seq, hash: "ab".repeat(32), trail: "cd".repeat(16) }.write(&mut line);
        String::from_utf8(line).unwrap()
    }

    fn read(text: &[u8]) -> io::Result<(Vec<u64>, usize)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heads");
        fs::write(&path, text).unwrap();
        KeptHeads::read(&path).map(|kept| (kept.heads.iter().map(|head| head.seq).collect(), kept.torn))
    }

    #[test]
    fn a_head_that_was_torn_anywhere_is_skipped_and_counted_and_the_others_are_kept() {
        let whole = line(2);
        for cut in 1..whole.len() - 2 {
            let torn = &whole[..cut];
            let ended = read(format!("{}{torn}\n{}", line(1), line(3)).as_bytes()).unwrap();
            assert_eq!(ended, (vec![1, 3], 1), "{torn}");
            let last = read(format!("{}{torn}", line(1)).as_bytes()).unwrap();
            assert_eq!(last, (vec![1], 1), "{torn}");
        }
        // Without its line feed a head is whole.
        assert_eq!(read(whole.trim_end().as_bytes()).unwrap(), (vec![2], 0));
        assert_eq!(read(format!("{}\0\0\0\0{}", line(1), line(3)).as_bytes()).unwrap(), (vec![1, 3], 1));
    }

    #[test]
    fn a_line_that_is_no_head_and_no_part_of_one_is_refused_with_its_number() {
        for rubbish in
            ["x", "{}", "{\"seq\":1}", "[1]", "{\"a\":", "head {\"seq\":4", "{\"seq\":1}{\"seq\":2,\"hash\":\"a\"}"]
        {
            let message = read(format!("{}{rubbish}\n", line(1)).as_bytes()).unwrap_err().to_string();
            assert_eq!(message, "line 2 is not a head", "{rubbish}");
        }
        assert!(read("x".repeat(10_000_000).as_bytes()).is_err());
    }

    #[test]
    fn a_head_of_no_link_is_none() {
        assert_eq!(read(format!("{}\n{}{}", line(0), line(2), line(2)).as_bytes()).unwrap(), (vec![2], 0));
    }

    #[test]
    fn a_head_that_could_not_be_written_leaves_nothing_that_spoils_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heads");
        let (mut file, _) = HeadFile::open(&path).unwrap();
        let head = |seq| ChainHead { seq, hash: "ab".repeat(32), trail: "cd".repeat(16) };
        file.add(&head(1)).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let own = std::mem::replace(&mut file.file, full);
        file.regular = false;
        let message = file.add(&head(2)).unwrap_err().with_cause();
        assert_eq!(
            message,
            format!("cannot write the head to `{}`: No space left on device (os error 28)", path.display())
        );
        (file.file, file.regular) = (own, true);
        file.add(&head(3)).unwrap();
        assert_eq!(KeptHeads::read(&path).unwrap().heads, [head(1), head(3)]);
    }
}
