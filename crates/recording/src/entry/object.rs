//! Objects with members of known names, read from the tape of an entry's text.
//!
//! A file may be of any producer: a text that is no strict JSON is mended where its structure is beyond doubt, and
//! members that are not requested are not looked at.

use std::borrow::Cow;

use contrail_exchange::json::{Document, Kind, Node};

/// The document of a text: half of a surrogate pair, and what is not UTF-8, become U+FFFD; names may repeat. `None` if it
/// is not JSON all the same.
pub(crate) fn document(text: &[u8]) -> Option<Document> {
    let strict = Document::parse(text.to_vec()).ok();
    strict.or_else(|| Document::mended(String::from_utf8_lossy(text).as_bytes()))
}

/// Why a value is not what was asked for, and where: the names of the members that lead there, a dot between them; `*`
/// stands for any item of an array.
#[derive(Debug)]
pub(crate) struct Misfit(Box<(Fault, String)>);

/// What is wrong with a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// A member is missing, a number is out of range, or the type is another one (found, expected).
    Shape(Option<(Kind, Kind)>),
    /// A member that is read has this name twice.
    Duplicate(&'static str),
}

impl Misfit {
    pub(crate) fn fault(&self) -> Fault {
        self.0.0
    }

    pub(crate) fn place(&self) -> &str {
        &self.0.1
    }

    /// The same in what holds the value: its member of this name, or `*`.
    #[cold]
    pub(crate) fn within(mut self, name: &str) -> Self {
        let place = &mut self.0.1;
        *place = if place.is_empty() { name.to_owned() } else { format!("{name}.{place}") };
        self
    }

    #[cold]
    fn of(value: Node<'_>, expected: Kind) -> Self {
        let kinds = (value.kind(), expected);
        Fault::Shape(Some(kinds).filter(|(found, expected)| found != expected)).into()
    }
}

impl From<Fault> for Misfit {
    #[cold]
    fn from(fault: Fault) -> Self {
        Self(Box::new((fault, String::new())))
    }
}

/// Something that a value can stand for.
pub(crate) trait Read<'a>: Sized {
    fn read(value: Node<'a>) -> Result<Self, Misfit>;
}

impl<'a> Read<'a> for Node<'a> {
    fn read(value: Node<'a>) -> Result<Self, Misfit> {
        Ok(value)
    }
}

impl<'a> Read<'a> for Cow<'a, str> {
    fn read(value: Node<'a>) -> Result<Self, Misfit> {
        value.as_str().ok_or_else(|| Misfit::of(value, Kind::String))
    }
}

impl Read<'_> for String {
    fn read(value: Node<'_>) -> Result<Self, Misfit> {
        Cow::read(value).map(Cow::into_owned)
    }
}

impl Read<'_> for bool {
    fn read(value: Node<'_>) -> Result<Self, Misfit> {
        value.as_bool().ok_or_else(|| Misfit::of(value, Kind::Boolean))
    }
}

impl Read<'_> for u64 {
    fn read(value: Node<'_>) -> Result<Self, Misfit> {
        let number = value.as_number().and_then(|number| number.parse().ok());
        number.ok_or_else(|| Misfit::of(value, Kind::Number))
    }
}

impl Read<'_> for usize {
    fn read(value: Node<'_>) -> Result<Self, Misfit> {
        u64::read(value)?.try_into().map_err(|_| Fault::Shape(None).into())
    }
}

/// `null` is nothing.
impl<'a, T: Read<'a>> Read<'a> for Option<T> {
    fn read(value: Node<'a>) -> Result<Self, Misfit> {
        if value.kind() == Kind::Null { Ok(None) } else { T::read(value).map(Some) }
    }
}

impl<'a, T: Read<'a>> Read<'a> for Vec<T> {
    fn read(value: Node<'a>) -> Result<Self, Misfit> {
        items(value)?.map(|item| T::read(item).map_err(|misfit| misfit.within("*"))).collect()
    }
}

/// The items of an array.
pub(crate) fn items(value: Node<'_>) -> Result<impl Iterator<Item = Node<'_>>, Misfit> {
    if value.kind() == Kind::Array { Ok(value.items()) } else { Err(Misfit::of(value, Kind::Array)) }
}

/// The members of an object.
pub(crate) fn members(value: Node<'_>) -> Result<impl Iterator<Item = (Cow<'_, str>, Node<'_>)>, Misfit> {
    if value.kind() == Kind::Object { Ok(value.members()) } else { Err(Misfit::of(value, Kind::Object)) }
}

/// The number that a value is, however it is written (`12`, `12.0`, `"12"`); `None` if it is none.
pub(crate) fn number(value: Node<'_>) -> Option<f64> {
    value.raw().trim_matches('"').trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Declares types that are objects in JSON, with the name of each member, and how it is read where not by its type.
/// What the text lacks is as it is by default; what a type needs is an `Option` that must not be left out.
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

        impl<'a> $crate::entry::object::Read<'a> for $type $(<$life>)? {
            fn read(value: contrail_exchange::json::Node<'a>) -> Result<Self, $crate::entry::object::Misfit> {
                #[derive(Default)]
                struct Seen {
                    $($field: bool,)*
                }
                let mut seen = Seen::default();
                let mut held = Self::default();
                for (name, value) in $crate::entry::object::members(value)? {
                    match &*name {
                        $($name => {
                            if std::mem::replace(&mut seen.$field, true) {
                                let twice = $crate::entry::object::Fault::Duplicate($name);
                                return Err($crate::entry::object::Misfit::from(twice).within($name));
                            }
                            let read = $crate::entry::object::objects!(@read value $(, $read)?);
                            held.$field = read.map_err(|misfit| misfit.within($name))?;
                        })*
                        _ => {}
                    }
                }
                $($(if held.$needed.is_none() {
                    return Err($crate::entry::object::Fault::Shape(None).into());
                })+)?
                Ok(held)
            }
        }
    )*};
    (@read $value:ident) => { $crate::entry::object::Read::read($value) };
    (@read $value:ident, $read:expr) => { $read($value) };
}

pub(crate) use objects;
