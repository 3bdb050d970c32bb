//! Patterns in Java's dialect to those of the `regex` crate.
//!
//! A pattern matches in full: it is grouped before it is anchored. `.` matches line ends too, unless the pattern begins with `(?`.
//! `\d \w \s \b` and their negations are ASCII, in classes as well. What our library cannot do in linear time (lookaround,
//! possessive quantifiers, back-references) is refused in words rather than read as something else.

use std::iter::Peekable;
use std::str::Chars;

use regex::RegexBuilder;
use sluicebox_core::column::Pattern;

/// The largest compiled pattern: a thousand of any character fit, a bomb does not.
const COMPILED_BYTES_MAX: usize = 8 << 20;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t\n\x0B\f\r\x20";
const HORIZONTAL: &str = r"\t\x20\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}";
const VERTICAL: &str = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}";
/// `.` of Java without DOTALL: everything but its line ends.
const NO_LINE_END: &str = r"[^\n\r\x{85}\x{2028}\x{2029}]";

/// Translates and compiles a pattern once.
pub(crate) fn parse(written: &str) -> Result<Pattern, String> {
    let own_flags = written.starts_with("(?");
    let translated = Translator::new(written, own_flags).run()?;
    let dot = if own_flags { "" } else { "(?s)" };
    let regex = format!(r"{dot}\A(?:{translated})\z");
    match RegexBuilder::new(&regex).size_limit(COMPILED_BYTES_MAX).build() {
        Ok(_) => Ok(Pattern { written: written.to_owned(), regex }),
        Err(regex::Error::CompiledTooBig(_)) => Err("the pattern is too large once compiled; repeat less in it".to_owned()),
        Err(error) => {
            let text = error.to_string();
            let reason = text.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or("it cannot be compiled");
            Err(format!("the pattern is wrong: {reason}"))
        }
    }
}

/// Whether a value matches in full.
pub(crate) fn matches(pattern: &Pattern, value: &str) -> bool {
    RegexBuilder::new(&pattern.regex).size_limit(COMPILED_BYTES_MAX).build().is_ok_and(|regex| regex.is_match(value))
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    /// Classes that are open.
    classes: usize,
    /// Nothing that can be repeated stands before, or a quantifier does.
    after_quantifier: bool,
    /// `.` leaves line ends out.
    no_line_ends: bool,
}

impl<'a> Translator<'a> {
    fn new(written: &'a str, own_flags: bool) -> Self {
        let no_line_ends = own_flags && !sets_dotall(written);
        Self { rest: written.chars().peekable(), out: String::new(), classes: 0, after_quantifier: false, no_line_ends }
    }

    fn run(mut self) -> Result<String, String> {
        while let Some(c) = self.rest.next() {
            if c == '\\' {
                self.escape()?;
                self.after_quantifier = false;
            } else if self.classes > 0 {
                self.in_class(c);
            } else {
                self.outside(c)?;
            }
        }
        Ok(self.out)
    }

    fn outside(&mut self, c: char) -> Result<(), String> {
        let quantifier = matches!(c, '*' | '+' | '?');
        match c {
            '+' if self.after_quantifier => {
                return Err("possessive quantifiers (`*+`, `++`, `?+`, `}+`) are not supported; write the plain one".to_owned());
            }
            '[' => self.open_class(),
            '(' => return self.group(),
            '{' => return self.braces(),
            '.' if self.no_line_ends => self.out.push_str(NO_LINE_END),
            _ => self.out.push(c),
        }
        self.after_quantifier = quantifier && !self.after_quantifier;
        Ok(())
    }

    /// `{2,5}` is copied; it may be followed by `?`.
    fn braces(&mut self) -> Result<(), String> {
        self.out.push('{');
        for c in self.rest.by_ref() {
            self.out.push(c);
            if c == '}' {
                break;
            }
        }
        self.after_quantifier = true;
        Ok(())
    }

    fn group(&mut self) -> Result<(), String> {
        self.out.push('(');
        self.after_quantifier = false;
        if self.rest.peek() != Some(&'?') {
            return Ok(());
        }
        self.rest.next();
        self.out.push('?');
        let mut ahead = self.rest.clone();
        match (ahead.next(), ahead.next()) {
            (Some('=' | '!'), _) | (Some('<'), Some('=' | '!')) => {
                Err("lookaround (`(?=`, `(?!`, `(?<=`, `(?<!`) is not supported; write what the whole value looks like"
                    .to_owned())
            }
            (Some('>'), _) => Err("atomic groups (`(?>`) are not supported; write `(?:`".to_owned()),
            (Some('<' | ':'), _) => Ok(()),
            _ => self.flags(),
        }
    }

    /// `(?i)`, `(?i-s:`: `d` and `u` mean nothing here, `U` would mean something else.
    fn flags(&mut self) -> Result<(), String> {
        let mut flags = String::new();
        let end = loop {
            match self.rest.next() {
                Some(c @ (')' | ':')) => break c,
                Some('d' | 'u') => {}
                Some('U') => return Err("the flag `U` (Unicode classes) is not supported; write `\\p{…}`".to_owned()),
                Some(c @ ('i' | 'm' | 's' | 'x' | '-')) => flags.push(c),
                _ => return Err("unknown flag after `(?`; expected one of i, m, s, x".to_owned()),
            }
        };
        match (flags.trim_end_matches('-'), end) {
            // A group of flags that is empty once translated.
            ("", ')') => self.out.truncate(self.out.len() - 2),
            (flags, end) => {
                self.out.push_str(flags);
                self.out.push(end);
            }
        }
        Ok(())
    }

    fn open_class(&mut self) {
        self.classes += 1;
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        // A bracket right at the start is text, in both dialects.
        if self.rest.next_if_eq(&']').is_some() {
            self.out.push_str(r"\]");
        }
    }

    fn in_class(&mut self, c: char) {
        match c {
            '[' => self.open_class(),
            ']' => {
                self.classes -= 1;
                self.out.push(']');
            }
            // `--` is an operator of the other dialect. In Java the first is the sign of a range, or text at the start.
            '-' if self.rest.peek() == Some(&'-') && self.at_class_start() => self.out.push_str(r"\-"),
            '-' if self.rest.next_if_eq(&'-').is_some() => self.out.push_str(r"-\-"),
            '~' | ':' | '#' => {
                self.out.push('\\');
                self.out.push(c);
            }
            _ => self.out.push(c),
        }
        self.after_quantifier = false;
    }

    fn at_class_start(&self) -> bool {
        let before = self.out.strip_suffix('^').unwrap_or(&self.out);
        before.ends_with('[') && !before.ends_with(r"\[")
    }

    fn class(&mut self, negated: bool, members: &str) {
        let caret = if negated { "^" } else { "" };
        self.out.push_str(&format!("[{caret}{members}]"));
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(c) = self.rest.next() else { return Err("the pattern ends with a single `\\`".to_owned()) };
        match c {
            'd' | 'D' => self.class(c == 'D', DIGIT),
            'w' | 'W' => self.class(c == 'W', WORD),
            's' | 'S' => self.class(c == 'S', SPACE),
            'h' | 'H' => self.class(c == 'H', HORIZONTAL),
            'v' | 'V' => self.class(c == 'V', VERTICAL),
            'R' => self.out.push_str(&format!(r"(?:\r\n|[{VERTICAL}])")),
            'b' if self.classes == 0 => self.out.push_str(r"(?-u:\b)"),
            'e' => self.out.push_str(r"\x1B"),
            'Q' => self.quote(),
            'E' => {}
            'u' => return self.unicode(),
            '0' => return self.octal(),
            'c' => return self.control(),
            'p' | 'P' => return self.property(c),
            '1'..='9' | 'k' => return Err("back-references (`\\1`, `\\k<name>`) are not supported".to_owned()),
            'B' | 'G' | 'X' | 'Z' | 'N' | 'b' => return Err(format!("`\\{c}` is not supported in a pattern")),
            'A' | 'z' | 'a' | 'f' | 'n' | 'r' | 't' | 'x' => {
                self.out.push('\\');
                self.out.push(c);
            }
            c if c.is_ascii_alphanumeric() => return Err(format!("unknown escape `\\{c}` in a pattern")),
            c => self.out.push_str(&regex::escape(&c.to_string())),
        }
        Ok(())
    }

    /// `\Q…\E`: everything between is text.
    fn quote(&mut self) {
        let mut text = String::new();
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                break;
            }
            text.push(c);
        }
        self.out.push_str(&regex::escape(&text));
    }

    fn unicode(&mut self) -> Result<(), String> {
        let digits: String = self.rest.by_ref().take(4).collect();
        if digits.len() != 4 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err("`\\u` is followed by four hexadecimal digits".to_owned());
        }
        self.out.push_str(&format!(r"\x{{{digits}}}"));
        Ok(())
    }

    fn octal(&mut self) -> Result<(), String> {
        let mut value = 0_u32;
        let mut digits = 0;
        while let Some(digit) = self.rest.peek().and_then(|c| c.to_digit(8)).filter(|digit| digits < 3 && value * 8 + digit < 256)
        {
            (value, digits) = (value * 8 + digit, digits + 1);
            self.rest.next();
        }
        if digits == 0 {
            return Err("`\\0` is followed by one to three octal digits".to_owned());
        }
        self.out.push_str(&format!(r"\x{{{value:X}}}"));
        Ok(())
    }

    fn control(&mut self) -> Result<(), String> {
        match self.rest.next() {
            Some(c) if c.is_ascii() => {
                self.out.push_str(&format!(r"\x{{{:X}}}", u32::from(c) ^ 64));
                Ok(())
            }
            _ => Err("`\\c` is followed by the letter of a control character".to_owned()),
        }
    }

    fn property(&mut self, c: char) -> Result<(), String> {
        let name: String = match self.rest.next() {
            Some('{') => self.rest.by_ref().take_while(|c| *c != '}').collect(),
            Some(letter) => letter.to_string(),
            None => return Err("`\\p` is followed by a property such as `{L}`".to_owned()),
        };
        match posix(&name) {
            Some(members) => self.class(c == 'P', members),
            None if name.starts_with("java") || name.starts_with("In") => {
                return Err(format!(
                    "`\\{c}{{{name}}}` is not supported; write a property such as `\\p{{L}}` or `\\p{{IsGreek}}`"
                ));
            }
            None => self.out.push_str(&format!(r"\{c}{{{}}}", name.strip_prefix("Is").unwrap_or(&name))),
        }
        Ok(())
    }
}

/// Java's POSIX classes, which are ASCII.
fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "Lower" => "a-z",
        "Upper" => "A-Z",
        "ASCII" => r"\x00-\x7F",
        "Alpha" => "A-Za-z",
        "Digit" => DIGIT,
        "Alnum" => "0-9A-Za-z",
        "Punct" => r"!-/:-@\[-`{-\~",
        "Graph" => r"!-\~",
        "Print" => r"\x20-\~",
        "Blank" => r"\x20\t",
        "Cntrl" => r"\x00-\x1F\x7F",
        "XDigit" => "0-9A-Fa-f",
        "Space" => SPACE,
        _ => return None,
    })
}

/// Whether a group of flags anywhere sets `s`; then `.` is left to those flags.
fn sets_dotall(written: &str) -> bool {
    written.split("(?").skip(1).any(|rest| {
        let flags = rest.split([')', ':', '-', '<', '=', '!', '>']).next().unwrap_or_default();
        flags.contains('s')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let parsed = parse(pattern).expect(pattern);
        for value in yes {
            assert!(matches(&parsed, value), "`{pattern}` ({}) on {value:?}", parsed.regex);
        }
        for value in no {
            assert!(!matches(&parsed, value), "`{pattern}` ({}) on {value:?}", parsed.regex);
        }
    }

    #[test]
    fn b181_a_pattern_matches_in_full_and_is_grouped_before_it_is_anchored() {
        check("[0-9]{4}", &["1234"], &["abc1234x", "1234\n", "12345"]);
        check("cat|dog", &["cat", "dog"], &["catalog", "hotdog", "cat\n"]);
    }

    #[test]
    fn dot_matches_line_ends_unless_the_pattern_has_flags_of_its_own() {
        check("a.b", &["a\nb", "axb"], &["ab"]);
        check("(?i)a.b", &["AxB"], &["a\nb", "a\rb", "a\u{2028}b"]);
        check("(?is)a.b", &["A\nB"], &[]);
        check("(?:a).b", &["axb"], &["a\nb"]);
    }

    #[test]
    fn classes_are_ascii_as_in_java() {
        check(r"\d+", &["42"], &["٤٢"]);
        check(r"\w+", &["a_1"], &["é"]);
        check(r"\W", &["é", "-"], &["a"]);
        check(r"[\w.]+", &["a.b"], &["é"]);
        check(r"[^\d]", &["x", "٤"], &["4"]);
        check(r"[\D]", &["x"], &["4"]);
        check(r"\s\S", &[" x", "\u{b}x"], &["\u{a0}x"]);
        check(r"\p{Alpha}\p{Lower}\P{Digit}", &["Aax"], &["Éax", "Aa1"]);
        check(r"\p{IsGreek}\pL", &["αβ"], &["aβ"]);
        check(r"\h\v", &[" \n"], &["x\n"]);
    }

    #[test]
    fn what_means_something_else_in_the_other_dialect_keeps_javas_meaning() {
        check(r"[+--]", &["+", ",", "-"], &["a"]);
        check(r"[--/]", &["-", ".", "/"], &["+"]);
        check(r"[[:alpha]]", &[":", "a", "p"], &["b"]);
        check(r"[a-z&&[^b]]", &["a"], &["b"]);
        check(r"\Qa.b\E+", &["a.b", "a.bb"], &["axb"]);
        check(r"\u0041\x42\0103\e", &["ABC\u{1b}"], &[]);
        check(r"[-|+|0-9][0-9]*", &["-12", "+1", "|", "7"], &["1-"]);
        check(r"a{2}?b{1,2}", &["aab", "aabb"], &["ab"]);
        check(r"\[\]\{\}\#\&\~", &["[]{}#&~"], &[]);
    }

    #[test]
    fn what_the_library_lacks_is_refused_in_words() {
        for (pattern, part) in [
            ("a++", "possessive"),
            ("a{2}+", "possessive"),
            ("(?=a)a", "lookaround"),
            ("(?<!a)b", "lookaround"),
            ("(?>a)", "atomic"),
            (r"(a)\1", "back-references"),
            ("(a", "unclosed group"),
            ("[a", "unclosed character class"),
            ("a\\", "single `\\`"),
            (r"\y", "unknown escape `\\y`"),
            ("(?U)a", "flag `U`"),
            (r"(\x{10}{1000}){1000}", "too large"),
        ] {
            let message = parse(pattern).unwrap_err();
            assert!(message.contains(part), "{pattern}: {message}");
        }
    }
}
