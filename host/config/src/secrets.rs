//! `${env:NAME}` in values: found after YAML was parsed, so that no character of a secret can change the document.

/// Reads the environment: a name to its value. The crate itself never looks.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Stores that a later version reads.
const STORES_LATER: [&str; 8] =
    ["secrets", "file", "vault", "keyring", "kubernetes", "aws_secrets_manager", "azure_keyvault", "gcp_secret_manager"];

/// Where secrets may come from, for one file.
#[derive(Clone, Copy)]
pub(crate) struct Secrets<'a> {
    /// None for a tenant's file, which may not name the environment.
    pub(crate) environment: Option<Environment<'a>>,
}

/// Text with its secrets in place, and whether there were any.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) text: String,
    pub(crate) secret: bool,
}

impl Secrets<'_> {
    /// Puts secrets in place. `private` text (a client property's value) is never quoted in an error, not even by a part that
    /// looks like a name.
    pub(crate) fn resolve(&self, written: &str, private: bool) -> Result<Resolved, String> {
        let (mut text, mut secret, mut rest) = (String::with_capacity(written.len()), false, written);
        while let Some(at) = rest.find('$') {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("$${") {
                text.push_str("${");
                rest = after;
            } else if let Some(after) = rest.strip_prefix("${") {
                let end = after.find('}').ok_or("`${` without `}`; write `${env:NAME}`, or `$${` for the characters `${`")?;
                text.push_str(&self.look_up(&after[..end], private)?);
                secret = true;
                rest = &after[end + 1..];
            } else {
                text.push('$');
                rest = &rest[1..];
            }
        }
        text.push_str(rest);
        Ok(Resolved { text, secret })
    }

    fn look_up(&self, reference: &str, private: bool) -> Result<String, String> {
        let Some((store, key)) = reference.split_once(':') else {
            let name = if private || !is_variable(reference) { "NAME" } else { reference };
            let found = if name == "NAME" { "`${…}` names no store" } else { &format!("`${{{name}}}` names no store") };
            return Err(format!("{found}; write `${{env:{name}}}`, or `$${{` for the characters `${{`"));
        };
        if store != "env" {
            return Err(other_store(store, private));
        }
        if !is_variable(key) {
            return Err("the name of an environment variable has letters, digits and `_`; write `${env:NAME}`".to_owned());
        }
        let environment =
            self.environment.ok_or_else(|| "a tenant's file may not name the environment; only the operator's may".to_owned())?;
        environment(key).ok_or_else(|| format!("environment variable `{key}` is not set; set it, or write the value"))
    }
}

fn other_store(store: &str, private: bool) -> String {
    if STORES_LATER.contains(&store) {
        return format!("the secret store `{store}` is not in this version; write `${{env:NAME}}`");
    }
    let found = if private || !is_variable(store) {
        "unknown secret store".to_owned()
    } else {
        format!("unknown secret store `{store}`")
    };
    format!("{found}; expected `env`: write `${{env:NAME}}`, or `$${{` for the characters `${{`")
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str) -> Result<Resolved, String> {
        let environment = |name: &str| match name {
            "PW" => Some("a#b: \"}\n${X}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        Secrets { environment: Some(&environment) }.resolve(text, false)
    }

    #[test]
    fn b165_a_secret_is_put_in_byte_for_byte_whole_or_in_part() {
        let resolved = |text: &str| resolve(text).map(|resolved| (resolved.text, resolved.secret));
        assert_eq!(resolved("${env:PW}"), Ok(("a#b: \"}\n${X}".to_owned(), true)));
        assert_eq!(resolved("pre-${env:PW}-${env:EMPTY}$"), Ok(("pre-a#b: \"}\n${X}-$".to_owned(), true)));
        assert_eq!(resolved("$5 $${NAME} $$"), Ok(("$5 ${NAME} $$".to_owned(), false)));
    }

    #[test]
    fn a_wrong_reference_says_the_right_form() {
        for (text, part) in [
            ("${PW}", "`${PW}` names no store; write `${env:PW}`"),
            ("${env:PW", "`${` without `}`"),
            ("${env:NONE}", "environment variable `NONE` is not set"),
            ("${vault:x}", "the secret store `vault` is not in this version"),
            ("${foo:x}", "unknown secret store `foo`"),
            ("${env:PW:-x}", "the name of an environment variable"),
        ] {
            let message = resolve(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn private_text_is_not_quoted_even_where_it_looks_like_a_name() {
        let secrets = Secrets { environment: None };
        for text in ["abc${hunter2}", "abc${hunter2:x}", "abc${hunter2"] {
            let message = secrets.resolve(text, true).unwrap_err();
            assert!(!message.contains("hunter2") && message.contains("${env:NAME}"), "{message}");
        }
    }
}
