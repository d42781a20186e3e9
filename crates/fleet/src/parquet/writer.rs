//! One table, written in row groups that are bounded in rows and in bytes.

use std::{error::Error as _, fmt, io::Write, sync::Arc};

use ::parquet::{
    basic::Compression,
    column::writer::ColumnWriter,
    data_type::ByteArray,
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};
use bytes::Bytes;

/// How large a row group may be.
#[derive(Debug, Clone, Copy)]
pub struct GroupLimits {
    /// Maximum rows.
    pub rows: usize,
    /// Maximum bytes of values in memory, before they are encoded; one row may exceed it alone.
    pub bytes: usize,
}

/// A table that could not be written.
#[derive(Debug)]
pub struct TableError(ParquetError);

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The system's error, without the words around it.
        match self.0.source() {
            Some(cause) => write!(f, "{cause}"),
            None => write!(f, "{}", self.0),
        }
    }
}

impl std::error::Error for TableError {}

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> Self {
        Self(error)
    }
}

/// One value of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    Text(Option<&'a str>),
    Whole(Option<i64>),
    List(Option<&'a [String]>),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(text))
    }
}

impl<'a> From<Option<&'a str>> for Cell<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a Option<String>> for Cell<'a> {
    fn from(text: &'a Option<String>) -> Self {
        Self::Text(text.as_deref())
    }
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Self::Whole(Some(number))
    }
}

impl From<Option<i64>> for Cell<'_> {
    fn from(number: Option<i64>) -> Self {
        Self::Whole(number)
    }
}

impl<'a> From<Option<&'a [String]>> for Cell<'a> {
    fn from(list: Option<&'a [String]>) -> Self {
        Self::List(list)
    }
}

/// A table that is being written.
pub(super) struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Column>,
    limits: GroupLimits,
    /// Of the row group that is being collected.
    held: GroupLimits,
    rows: u64,
    groups: u64,
}

impl<W: Write + Send> Table<W> {
    /// A table of this schema; the file states these facts of itself.
    pub(super) fn new(to: W, schema: &str, facts: &[(&str, String)], limits: GroupLimits) -> Result<Self, TableError> {
        let facts = facts.iter().map(|(name, value)| KeyValue::new(format!("contrail.{name}"), value.clone()));
        let properties = WriterProperties::builder()
            .set_created_by(concat!("contrail ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            // An index of pages stays in memory until the end of the file, and row groups are small.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(facts.collect()))
            .build();
        let schema = Arc::new(parse_message_type(schema)?);
        let writer = SerializedFileWriter::new(to, schema, Arc::new(properties))?;
        let columns = writer.schema_descr().columns().iter();
        let columns = columns.map(|column| Column::new(column.max_def_level())).collect();
        Ok(Self { writer, columns, limits, held: GroupLimits { rows: 0, bytes: 0 }, rows: 0, groups: 0 })
    }

    /// Adds a row: a cell for each column.
    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError> {
        debug_assert_eq!(cells.len(), self.columns.len());
        let bytes = self.columns.iter_mut().zip(cells).map(|(column, cell)| column.push(*cell)).sum::<usize>();
        self.rows += 1;
        self.held.rows += 1;
        self.held.bytes += bytes;
        if self.held.rows >= self.limits.rows || self.held.bytes >= self.limits.bytes {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the rows that are held as a row group.
    fn flush(&mut self) -> Result<(), TableError> {
        if self.held.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            column.write(writer.untyped())?;
            writer.close()?;
        }
        group.close()?;
        self.held = GroupLimits { rows: 0, bytes: 0 };
        self.groups += 1;
        Ok(())
    }

    /// Ends the file; its rows, its row groups, and what it was written to.
    pub(super) fn finish(mut self) -> Result<(u64, u64, W), TableError> {
        self.flush()?;
        let (rows, groups) = (self.rows, self.groups);
        Ok((rows, groups, self.writer.into_inner()?))
    }
}

/// The values of one column in a row group.
#[derive(Default)]
struct Column {
    /// The level of a value; below it, something is missing.
    level: i16,
    texts: Vec<u8>,
    /// Where each text ends.
    ends: Vec<usize>,
    numbers: Vec<i64>,
    levels: Vec<i16>,
    /// 0 where a row begins.
    repeats: Vec<i16>,
}

impl Column {
    fn new(level: i16) -> Self {
        Self { level, ..Self::default() }
    }

    /// Adds a cell; the bytes that it takes.
    fn push(&mut self, cell: Cell<'_>) -> usize {
        match cell {
            Cell::Text(Some(text)) => self.text(text, 0),
            Cell::Whole(Some(number)) => {
                self.numbers.push(number);
                self.leaf(self.level, 0) + size_of::<i64>()
            }
            Cell::List(Some(list)) if !list.is_empty() => {
                list.iter().enumerate().map(|(at, text)| self.text(text, i16::from(at > 0))).sum()
            }
            // One level below its elements.
            Cell::List(Some(_)) => self.leaf(self.level - 1, 0),
            Cell::Text(None) | Cell::Whole(None) | Cell::List(None) => self.leaf(0, 0),
        }
    }

    fn text(&mut self, text: &str, repeat: i16) -> usize {
        self.texts.extend_from_slice(text.as_bytes());
        self.ends.push(self.texts.len());
        self.leaf(self.level, repeat) + size_of::<usize>() + text.len()
    }

    fn leaf(&mut self, level: i16, repeat: i16) -> usize {
        self.levels.push(level);
        self.repeats.push(repeat);
        2 * size_of::<i16>()
    }

    /// Writes what is held, and empties it.
    fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        // A column that needs none takes no notice of them.
        let (levels, repeats) = (Some(&*self.levels), Some(&*self.repeats));
        match writer {
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let texts = Bytes::from(std::mem::take(&mut self.texts));
                let mut begin = 0;
                let texts = self.ends.drain(..).map(|end| {
                    let text = texts.slice(begin..end);
                    begin = end;
                    ByteArray::from(text)
                });
                writer.write_batch(&texts.collect::<Vec<_>>(), levels, repeats)?;
            }
            ColumnWriter::Int64ColumnWriter(writer) => _ = writer.write_batch(&self.numbers, levels, repeats)?,
            ColumnWriter::Int32ColumnWriter(writer) => {
                let numbers = self.numbers.iter().map(|number| i32::try_from(*number).unwrap_or(i32::MAX));
                writer.write_batch(&numbers.collect::<Vec<_>>(), levels, repeats)?;
            }
            _ => return Err(ParquetError::General("a column of this type is not written".to_owned())),
        }
        self.numbers.clear();
        self.levels.clear();
        self.repeats.clear();
        Ok(())
    }
}
