//! `SELECT *` means the columns of the payload: metadata columns are there for those who name them.

use std::ops::ControlFlow;

use arrow_schema::Schema;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Ident, ObjectName, Query, Select, SelectItem, SetExpr, TableFactor, VisitMut, VisitorMut,
    WildcardAdditionalOptions,
};
use sluicebox_core::column::METADATA_MARK;

use crate::context::MESSAGE;

/// Leaves the metadata columns of `input` out of every wildcard over the table `message` itself.
pub(crate) fn leave_out_metadata(query: &mut Query, input: &Schema) {
    let marked = input.fields().iter().filter(|field| field.metadata().contains_key(METADATA_MARK));
    let names: Vec<ObjectName> = marked.map(|field| ObjectName::from(Ident::with_quote('"', field.name()))).collect();
    if !names.is_empty() {
        let _ = query.visit(&mut LeaveOut(names));
    }
}

struct LeaveOut(Vec<ObjectName>);

impl VisitorMut for LeaveOut {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut()
            && over_message(select)
        {
            for item in &mut select.projection {
                if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = item {
                    self.exclude(options);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl LeaveOut {
    fn exclude(&self, options: &mut WildcardAdditionalOptions) {
        let mut names = match options.opt_exclude.take() {
            None => Vec::new(),
            Some(ExcludeSelectItem::Single(name)) => vec![name],
            Some(ExcludeSelectItem::Multiple(names)) => names,
        };
        names.extend(self.0.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(names));
    }
}

fn over_message(select: &Select) -> bool {
    select
        .from
        .iter()
        .any(|from| matches!(&from.relation, TableFactor::Table { name, .. } if name.to_string().trim_matches('"') == MESSAGE))
}
