//! Objects with members of known names.

/// Declares types that are objects in JSON, with the name of each member, and how it is read where not by its type. All
/// other members are skipped. What the text lacks is as it is by default; what a type needs is an `Option` that must
/// not be left out.
#[macro_export]
#[doc(hidden)]
macro_rules! objects {
    ($(
        $(#[$attribute:meta])*
        $vis:vis struct $type:ident $(<$life:lifetime>)? $(where $($needed:ident),+)? {
            $($(#[$comment:meta])* $field_vis:vis $field:ident: $of:ty = $name:literal $(=> $read:expr)?),* $(,)?
        }
    )*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Default)]
        $vis struct $type $(<$life>)? {
            $($(#[$comment])* $field_vis $field: $of,)*
        }

        impl<'a> $crate::json::lenient::Read<'a> for $type $(<$life>)? {
            fn read(
                reader: &mut $crate::json::lenient::Reader<'a>,
            ) -> Result<Self, $crate::json::lenient::LenientError> {
                #[derive(Default)]
                struct Seen {
                    $($field: bool,)*
                }
                let mut seen = Seen::default();
                let mut held = Self::default();
                reader.object(|name, reader| match name {
                    $($name => {
                        if std::mem::replace(&mut seen.$field, true) {
                            return Err($crate::json::lenient::LenientFault::Duplicate($name).into());
                        }
                        held.$field = $crate::json::lenient::objects!(@read reader $(, $read)?)?;
                        Ok(())
                    })*
                    _ => reader.skip(),
                })?;
                $($(if held.$needed.is_none() {
                    return Err($crate::json::lenient::LenientFault::Shape(None).into());
                })+)?
                Ok(held)
            }
        }
    )*};
    (@read $reader:ident) => { $crate::json::lenient::Read::read($reader) };
    (@read $reader:ident, $read:expr) => { $read($reader) };
}

pub use crate::objects;
