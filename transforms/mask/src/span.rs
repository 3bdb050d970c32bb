//! Where something private stands in a text.

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An e-mail address.
    Email,
    /// A bank account number.
    Iban,
    /// A phone number.
    Phone,
}

impl Kind {
    /// Every kind, in the order in which they are looked for: what one has taken, the next does not see.
    pub const ALL: [Kind; 3] = [Kind::Email, Kind::Iban, Kind::Phone];

    /// The name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Email => "email",
            Kind::Iban => "iban",
            Kind::Phone => "phone",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What stands in its place unless the settings say otherwise.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Email => "[email]",
            Kind::Iban => "[iban]",
            Kind::Phone => "[phone]",
        }
    }
}

/// Bytes `start..end` of a text; both ends are character boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// What stands there.
    pub kind: Kind,
}

/// The stretches of a text of `len` bytes that no span has taken. `taken` is sorted.
pub fn gaps(taken: &[Span], len: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let starts = std::iter::once(0).chain(taken.iter().map(|span| span.end));
    let ends = taken.iter().map(|span| span.start).chain(std::iter::once(len));
    starts.zip(ends).filter(|(start, end)| start < end)
}
