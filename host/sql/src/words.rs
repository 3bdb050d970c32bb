//! Errors of DataFusion in our words: a lower-case fragment, one line, without the layers that it went through.

use datafusion::common::{DataFusionError, SchemaError};

/// What went wrong, for a person.
pub(crate) fn words(error: &DataFusionError) -> String {
    let root = error.find_root();
    let message = match root {
        DataFusionError::SchemaError(error, _) => schema(error),
        DataFusionError::SQL(error, _) => error.to_string(),
        DataFusionError::ArrowError(error, _) => error.to_string(),
        DataFusionError::External(error) => error.to_string(),
        other => other.message().into_owned(),
    };
    tidy(&message)
}

fn schema(error: &SchemaError) -> String {
    match error {
        SchemaError::AmbiguousReference { field } => {
            format!("the name {} fits columns of several tables; write it with its table", field.quoted_flat_name())
        }
        SchemaError::DuplicateQualifiedField { name, .. } | SchemaError::DuplicateUnqualifiedField { name } => {
            format!("two columns are called \"{name}\"; give one of them another name with AS")
        }
        other => other.to_string(),
    }
}

/// One line, lower-case at the start, no full stop, no prefix of a library's layer.
fn tidy(message: &str) -> String {
    const PREFIXES: [&str; 8] = [
        "Error during planning: ",
        "Execution error: ",
        "Arrow error: ",
        "Cast error: ",
        "Compute error: ",
        "Parser error: ",
        "Invalid argument error: ",
        "sql parser error: ",
    ];
    let mut rest = message.trim();
    while let Some(shorter) = PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = shorter;
    }
    if rest.starts_with("Divide by zero") {
        return "division by zero".to_owned();
    }
    let line: Vec<&str> = rest.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect();
    let line = line.join("; ");
    let mut chars = line.trim_end_matches('.').chars();
    let second_is_lower = line.chars().nth(1).is_some_and(|c| !c.is_uppercase());
    match chars.next() {
        Some(first) if second_is_lower => first.to_lowercase().chain(chars).collect(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::error::ArrowError;

    #[test]
    fn layers_are_taken_off() {
        let cast = ArrowError::CastError("Cannot cast string 'x' to value of Int64 type".into());
        let error = DataFusionError::Context("here".into(), Box::new(DataFusionError::from(cast)));
        assert_eq!(words(&error), "cannot cast string 'x' to value of Int64 type");
        assert_eq!(words(&DataFusionError::from(ArrowError::DivideByZero)), "division by zero");
        assert_eq!(words(&DataFusionError::Plan("SQL is wrong.\nHere".into())), "SQL is wrong.; Here");
    }
}
