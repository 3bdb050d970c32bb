//! Full match of one text against the pattern of its type.

use regex::{Regex, RegexBuilder};
use sluicebox_core::column::Pattern;
use sluicebox_core::error::{Error, Result};

/// The pattern of the built-in type `email`, which is common enough for a matcher of its own.
pub(super) const EMAIL: &str = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,6}";
/// Anything but empty text, for `.` matches line ends too.
pub(super) const ANYTHING: &str = ".+";
/// The bound of the configuration, which has compiled the pattern once already.
const COMPILED_BYTES_MAX: usize = 8 << 20;

const LOCAL: u8 = 1;
const DOMAIN: u8 = 2;

/// Which part of an address a byte may stand in.
const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() || b == b'.' || b == b'-' {
            class[byte] = LOCAL | DOMAIN;
        } else if b == b'_' || b == b'%' || b == b'+' {
            class[byte] = LOCAL;
        }
        byte += 1;
    }
    class
}

/// A pattern, ready to run.
pub(super) enum Matcher {
    Anything,
    Email,
    Regex(Box<Regex>),
}

impl Matcher {
    pub(super) fn new(pattern: &Pattern) -> Result<Self> {
        match pattern.written.as_str() {
            ANYTHING => Ok(Self::Anything),
            EMAIL => Ok(Self::Email),
            written => {
                let regex = RegexBuilder::new(&pattern.regex).size_limit(COMPILED_BYTES_MAX).build();
                regex.map(|r| Self::Regex(Box::new(r))).map_err(|error| Error::config(format!("pattern `{written}`: {error}")))
            }
        }
    }

    /// Whether the whole text matches.
    #[inline]
    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Anything => !text.is_empty(),
            Self::Email => email(text.as_bytes()),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

/// `@` is in neither class, and `.` not in the last part, so that there is one way to read an address.
#[inline]
fn email(text: &[u8]) -> bool {
    let local = text.iter().take_while(|byte| CLASS[usize::from(**byte)] & LOCAL != 0).count();
    if local == 0 || text.get(local) != Some(&b'@') {
        return false;
    }
    let domain = &text[local + 1..];
    let last = domain.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let Some(dot) = domain.len().checked_sub(last + 1).filter(|dot| *dot > 0) else { return false };
    (2..=6).contains(&last) && domain[dot] == b'.' && domain[..dot].iter().all(|byte| CLASS[usize::from(*byte)] & DOMAIN != 0)
}

#[cfg(test)]
mod tests;
