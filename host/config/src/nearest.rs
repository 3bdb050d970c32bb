//! The nearest valid name to one that was written.

/// How alike two names must be, from 0 to 1, so that one is offered for the other: `topik` and `topic` are 0.9.
const ALIKE_MIN: f64 = 0.75;

/// The candidate most like `written`, if any is like it.
pub(crate) fn nearest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    let wanted = plain(written);
    let likeness = |candidate: &str| {
        let candidate = plain(candidate);
        let edits = strsim::normalized_damerau_levenshtein(&wanted, &candidate);
        // In a short name one wrong letter is a large part.
        let one_letter = wanted.len() >= 3 && strsim::damerau_levenshtein(&wanted, &candidate) == 1;
        edits.max(if one_letter { ALIKE_MIN } else { 0.0 }).max(strsim::jaro_winkler(&wanted, &candidate) - 0.1)
    };
    let best = candidates.into_iter().map(|candidate| (likeness(candidate), candidate)).max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= ALIKE_MIN).map(|(_, candidate)| candidate)
}

/// `; did you mean `x`?` or nothing.
pub(crate) fn did_you_mean<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, candidates).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_gets_its_name_and_a_stranger_gets_none() {
        let names = ["topic", "table", "on_conflict", "enable.auto.commit"];
        assert_eq!(nearest("topik", names), Some("topic"));
        assert_eq!(nearest("onConflict", names), Some("on_conflict"));
        assert_eq!(nearest("enable.autocommit", names), Some("enable.auto.commit"));
        assert_eq!(nearest("zebra", names), None);
    }
}
