//! Names of tenants, pipelines, components and tables.

use std::fmt;
use std::sync::Arc;

/// The tenant that owns what names none.
pub const DEFAULT_TENANT: &str = "default";
/// The schema of a table that names none.
pub const DEFAULT_SCHEMA: &str = "public";

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes a name that the configuration has checked.
            pub fn new(name: impl AsRef<str>) -> Self {
                Self(Arc::from(name.as_ref()))
            }

            /// The name as written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type!(
    /// Owner of pipelines, tables, components, secrets and quotas.
    TenantName
);
name_type!(
    /// One source, steps, sinks and a reject route of a tenant.
    PipelineName
);
name_type!(
    /// A component as the configuration names it.
    ComponentName
);

/// `schema.table`. Names are compared as written; SQL matches them without regard to case when only one fits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// The schema: [`DEFAULT_SCHEMA`] where none was written; `audit` is ours.
    pub schema: Arc<str>,
    /// The table.
    pub table: Arc<str>,
}

impl TableName {
    /// A table of a schema.
    pub fn new(schema: impl AsRef<str>, table: impl AsRef<str>) -> Self {
        Self { schema: Arc::from(schema.as_ref()), table: Arc::from(table.as_ref()) }
    }

    /// Parses `table` or `schema.table`; `None` when a part is empty or there are more than two.
    pub fn parse(text: &str) -> Option<Self> {
        let (schema, table) = text.split_once('.').unwrap_or((DEFAULT_SCHEMA, text));
        (!schema.is_empty() && !table.is_empty() && !table.contains('.')).then(|| Self::new(schema, table))
    }

    /// `audit.rejected`: every reject of the tenant.
    pub fn rejected() -> Self {
        Self::new("audit", "rejected")
    }

    /// `audit.audit`: one row per run and table.
    pub fn audit() -> Self {
        Self::new("audit", "audit")
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_schema_is_public() {
        assert_eq!(TableName::parse("t").map(|t| t.to_string()).as_deref(), Some("public.t"));
        assert_eq!(TableName::parse("a.t").map(|t| t.to_string()).as_deref(), Some("a.t"));
        for wrong in ["", ".t", "a.", "a.b.c"] {
            assert_eq!(TableName::parse(wrong), None, "{wrong}");
        }
    }
}
