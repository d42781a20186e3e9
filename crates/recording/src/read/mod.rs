//! Opening a recording, whatever it is: a HAR file of any producer, a journal, a folder of them, standard input.
//!
//! Entries are read one at a time, so that a file's size does not matter.

pub(super) mod entry_texts;
pub(super) mod folders;
pub(super) mod form;
pub(super) mod parallel;
pub(super) mod reader;
mod recording;
pub(super) mod scan;
pub(super) mod tool;
pub(super) mod trails;
mod walk;

pub use recording::{Recording, open, open_again, open_text, open_to_judge, open_up_to};
pub use walk::is_recording_name;
pub use walk::sources;
