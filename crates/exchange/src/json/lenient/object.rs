//! Objects with members of known names.

/// Reads an object as a value of a type, each field by its own type or by a function, and skips all other members.
#[macro_export]
#[doc(hidden)]
macro_rules! object {
    ($reader:expr, $type:ty { $($field:ident: $name:literal $(= $read:expr)?),* $(,)? }) => {{
        #[derive(Default)]
        struct Seen {
            $($field: bool,)*
        }
        let mut seen = Seen::default();
        let mut held = <$type>::default();
        let taken = $reader.object(|name, reader| match name {
            $($name => {
                if std::mem::replace(&mut seen.$field, true) {
                    return Err($crate::json::lenient::LenientFault::Duplicate($name).into());
                }
                held.$field = $crate::json::lenient::object!(@read reader $(, $read)?)?;
                Ok(())
            })*
            _ => reader.skip(),
        });
        taken.map(|()| held)
    }};
    (@read $reader:ident) => { $crate::json::lenient::Read::read($reader) };
    (@read $reader:ident, $read:expr) => { $read($reader) };
}

/// Makes types readable that are objects in JSON. What the text lacks is as it is by default; what a type needs is an
/// `Option` that must not be left out.
#[macro_export]
#[doc(hidden)]
macro_rules! read_objects {
    ($($type:ty $(where $($needed:ident),+)? { $($members:tt)* })*) => {
        $(impl<'a> $crate::json::lenient::Read<'a> for $type {
            fn read(
                reader: &mut $crate::json::lenient::Reader<'a>,
            ) -> Result<Self, $crate::json::lenient::LenientError> {
                let held = $crate::json::lenient::object!(reader, Self { $($members)* })?;
                $($(if held.$needed.is_none() {
                    return Err($crate::json::lenient::LenientFault::Shape(None).into());
                })+)?
                Ok(held)
            }
        })*
    };
}

pub use crate::{object, read_objects};
