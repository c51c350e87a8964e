//! The parameters of algorithms, as forms show them and tests draw them.

use crate::time::Timestamp;

/// A parameter of an algorithm, as a form shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The name in JSON.
    pub name: &'static str,
    /// The label of its field.
    pub label: &'static str,
    /// The kind of value.
    pub input: Input,
}

/// The kind of value that a parameter takes. Algorithms that take the same kind share a field of the form, so that a value
/// stays when another algorithm is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// The limit or capacity.
    Units,
    /// The window or distance in milliseconds.
    Window,
    /// Units for each [`Input::Every`].
    Rate,
    /// The interval of a rate in milliseconds.
    Every,
    /// Whether denied checks count.
    CountDenied,
    /// A calendar period.
    Period,
    /// An IANA time zone.
    TimeZone,
    /// The first day of a period.
    AnchorDay,
    /// The end of a quota that never renews; optional.
    EndsAt,
}

/// A type of parameter that tests make from a number.
pub(crate) trait FromNumber {
    fn from_number(number: u64) -> Self;
}

impl FromNumber for u64 {
    fn from_number(number: u64) -> Self {
        number
    }
}

impl FromNumber for u16 {
    fn from_number(number: u64) -> Self {
        Self::try_from(number).unwrap_or(Self::MAX)
    }
}

impl FromNumber for bool {
    fn from_number(number: u64) -> Self {
        number % 2 == 1
    }
}

/// An end, which only some quotas have: none.
impl FromNumber for Option<Timestamp> {
    fn from_number(_: u64) -> Self {
        None
    }
}

/// A time zone.
impl FromNumber for String {
    fn from_number(number: u64) -> Self {
        const TIME_ZONES: [&str; 4] =
            ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"];
        let at = usize::try_from(number).unwrap_or(0) % TIME_ZONES.len();
        TIME_ZONES[at].to_owned()
    }
}

impl Parameter {
    pub(super) const fn new(name: &'static str, label: &'static str, input: Input) -> Self {
        Self { name, label, input }
    }
}
