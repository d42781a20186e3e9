//! What can be made of JSON text.

use super::{
    error::{LenientError, LenientFault},
    quoted::Quoted,
    reader::Reader,
};

/// Something that JSON text can stand for.
pub trait Read<'a>: Sized {
    /// Takes the value that begins there.
    ///
    /// # Errors
    ///
    /// [`LenientError`]: the first thing that is wrong.
    fn read(reader: &mut Reader<'a>) -> Result<Self, LenientError>;
}

/// Makes a value of JSON text. Its strings borrow from the text where they hold no escape.
///
/// # Errors
///
/// [`LenientError`]: the first thing that is wrong.
pub fn read<'a, T: Read<'a>>(text: &'a [u8]) -> Result<T, LenientError> {
    read_by(text, T::read)
}

/// As [`read`], by a function.
///
/// # Errors
///
/// As [`read`].
pub fn read_by<'a, T>(
    text: &'a [u8],
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, LenientError>,
) -> Result<T, LenientError> {
    let mut reader = Reader::new(text);
    let value = read(&mut reader)?;
    if reader.is_at_end() { Ok(value) } else { Err(LenientFault::Grammar.into()) }
}

impl Read<'_> for String {
    fn read(reader: &mut Reader<'_>) -> Result<Self, LenientError> {
        Ok(reader.string()?.into_owned())
    }
}

impl<'a> Read<'a> for Quoted<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, LenientError> {
        reader.quoted()
    }
}

impl Read<'_> for bool {
    fn read(reader: &mut Reader<'_>) -> Result<Self, LenientError> {
        reader.boolean()
    }
}

impl Read<'_> for u64 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, LenientError> {
        reader.natural()
    }
}

impl Read<'_> for usize {
    fn read(reader: &mut Reader<'_>) -> Result<Self, LenientError> {
        Self::try_from(reader.natural()?).map_err(|_| LenientFault::Shape(None).into())
    }
}

/// `null` is nothing.
impl<'a, T: Read<'a>> Read<'a> for Option<T> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, LenientError> {
        reader.optional(T::read)
    }
}

impl<'a, T: Read<'a>> Read<'a> for Vec<T> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, LenientError> {
        let mut items = Self::new();
        reader.array(|reader| {
            items.push(T::read(reader)?);
            Ok(())
        })?;
        Ok(items)
    }
}
