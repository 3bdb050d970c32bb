//! What the decoder answers where JSON, or a declared type, leaves a question open.
//!
//! Each answer stands here once, in [`RULES`], and holds in every step: a record is read once, and all that follows sees the
//! columns. The tests of this crate prove them; documentation prints the table.

/// A question and its one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// What a producer may send.
    pub question: &'static str,
    /// What becomes of it.
    pub answer: &'static str,
}

/// Writes the table, and the same as its documentation.
macro_rules! answers {
    ($($question:literal => $answer:literal,)*) => {
        /// All answers.
        ///
        /// | payload | answer |
        /// |---|---|
        $(#[doc = concat!("| ", $question, " | ", $answer, " |")])*
        pub const RULES: &[Answer] = &[$(Answer { question: $question, answer: $answer }),*];
    };
}

answers! {
    // The document.
    "a tombstone (no value)" => "no row, no reject: filtered",
    "an empty value (zero bytes), white space only" => "rejected",
    "a value that is no object (array, string, number, literal)" => "rejected, named as what it is",
    "two documents in one value, bytes after the object" => "rejected",
    "JSON that is broken" => "no row and one reject of code syntax: path, what was expected, byte within the value; no payload is quoted",
    "values that do not fit their columns" => "a reject with all errors of the record, the first 20 one by one; neighbours are unharmed",
    "a UTF-8 byte order mark at the start" => "ignored",
    "UTF-16, with or without byte order mark" => "rejected, named UTF-16",
    "invalid UTF-8 anywhere, undeclared fields too" => "rejected",
    "a lone surrogate in an escape" => "rejected",
    "nesting of more than 128 levels, the outermost object included" => "rejected, named depth limit; counted in all fields",
    "a key that comes twice in one object, at any depth, however it is escaped" => "rejected",
    "keys that differ in case only" => "two keys: names match byte by byte",
    "undeclared fields" => "checked for syntax completely, then dropped",
    "NaN, Infinity, numbers with + or leading zeros, comments, trailing commas" => "rejected: no JSON",
    "the five-byte prefix of a schema registry" => "rejected, named with its schema id",
    "an object of schema and payload alone, neither declared" => "rejected, named as Kafka Connect's envelope",
    // Any column.
    "an absent field" => "the default, else null; where required, is required",
    "null" => "the default, else null; where required, can't be null",
    "empty text, after trim" => "null where empty_is_null (the default), in every type but variant",
    "null inside an array" => "a null element; required and default are about the array",
    "a scalar or object where an array is declared" => "is not an array",
    "a value for a struct that is no object" => "expected to be a struct",
    "the path of an error" => "declared columns and array places only; undeclared keys are payload and are not shown",
    // Types.
    "a number or boolean for text" => "the literal as written: 1.50 stays 1.50",
    "an object or array for text" => "rejected",
    "a variant" => "the JSON as written, every digit and escape kept; JSON null is null",
    "1.0 or 1e2 for an integer type" => "taken: whole and exact",
    "1.5 for an integer type" => "rejected: not a whole number",
    "an integer outside the type's range" => "rejected: out of range; a variant keeps every digit",
    "a number in text, for a number type" => "taken when the whole text is a number of the type; + before digits for int and integer only",
    "text for byte" => "one ASCII character, its code; longer text is rejected, digits in it too",
    "1e400 for double" => "rejected: out of range",
    "1e-400 for double" => "zero, with its sign",
    "-0.0 for double" => "kept",
    "more fraction digits than a decimal's scale" => "rejected, unless they are zeros",
    "boolean" => "true and false; text and numbers that the type's patterns match in full",
    // Times.
    "a number for date or timestamp" => "only with epoch_second or epoch_milli; the unit is never guessed",
    "a date in the plain type date" => "2011-12-03, or 2011-12 for its first day",
    "a timestamp in the plain type" => "RFC 3339 with T or space, else local time of the column's zone, else a date at the start of the day",
    "a time without offset" => "of the column's zone (UTC unless declared), never of the machine's",
    "a local time that clocks jumped over" => "moved forward by the length of the jump",
    "a local time that comes twice" => "the earlier instant",
    "an offset that is not the zone's, where the zone is not UTC" => "rejected; Z agrees with every zone",
    "years outside 1 to 9999, in UTC" => "rejected",
    "a day or time that does not exist: 30 February, hour 24, second 60" => "rejected, never moved",
    "a fraction finer than microseconds" => "cut off",
    "names of months and days, AM and PM" => "English",
    "zone names in a pattern" => "IANA names, UTC, GMT, and the short names of Europe and the United States that mean one offset",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_question_has_two_answers() {
        let mut questions: Vec<_> = RULES.iter().map(|rule| rule.question).collect();
        questions.sort_unstable();
        questions.dedup();
        assert_eq!(questions.len(), RULES.len());
    }
}
