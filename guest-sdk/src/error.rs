//! Why a call fails as a whole. Words and errors of Arrow become fatal ones with `?`.

use crate::Error;

/// What a call answers with. What is one row's fault is a reject, not an error.
pub type Result<T> = std::result::Result<T, Error>;

impl From<String> for Error {
    fn from(words: String) -> Error {
        Error::Fatal(words)
    }
}

impl From<&str> for Error {
    fn from(words: &str) -> Error {
        Error::Fatal(words.to_owned())
    }
}

#[cfg(feature = "batch")]
impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Error {
        Error::Fatal(error.to_string())
    }
}
