//! What a step's SQL can see: the table `message` and the functions, nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result, TableReference};
use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::logical_plan::builder::LogicalTableSource;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner};
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};

use crate::now::Moment;

/// The one table of a step.
pub(crate) const MESSAGE: &str = "message";

/// All functions, by each of their names.
#[derive(Debug, Clone)]
pub(crate) struct Functions {
    scalar: HashMap<String, Arc<ScalarUDF>>,
    higher: HashMap<String, Arc<HigherOrderUDF>>,
    aggregate: HashMap<String, Arc<AggregateUDF>>,
    window: HashMap<String, Arc<WindowUDF>>,
    planners: Vec<Arc<dyn ExprPlanner>>,
}

impl Functions {
    /// Those that DataFusion has. Aggregates and windows are known so that they can be refused by name.
    pub(crate) fn new() -> Self {
        let mut functions = Self {
            scalar: HashMap::new(),
            higher: HashMap::new(),
            aggregate: HashMap::new(),
            window: HashMap::new(),
            planners: SessionStateDefaults::default_expr_planners(),
        };
        for f in SessionStateDefaults::default_scalar_functions() {
            named(&mut functions.scalar, f.name(), f.aliases(), &f);
        }
        for f in SessionStateDefaults::default_higher_order_functions() {
            named(&mut functions.higher, f.name(), f.aliases(), &f);
        }
        for f in SessionStateDefaults::default_aggregate_functions() {
            named(&mut functions.aggregate, f.name(), f.aliases(), &f);
        }
        for f in SessionStateDefaults::default_window_functions() {
            named(&mut functions.window, f.name(), f.aliases(), &f);
        }
        functions
    }

    /// The same with the functions of time bound to a step's moment.
    pub(crate) fn at(&self, moment: &Moment) -> Self {
        let mut bound = self.clone();
        for (name, function) in moment.functions() {
            bound.scalar.insert(name.to_owned(), function);
        }
        bound
    }
}

fn named<F>(map: &mut HashMap<String, Arc<F>>, name: &str, aliases: &[String], function: &Arc<F>) {
    for name in std::iter::once(name).chain(aliases.iter().map(String::as_str)) {
        map.insert(name.to_owned(), function.clone());
    }
}

/// The view of one step: its input as `message`.
pub(crate) struct MessageContext {
    source: Arc<dyn TableSource>,
    functions: Functions,
    options: ConfigOptions,
}

impl MessageContext {
    /// A view of a schema.
    pub(crate) fn new(input: &SchemaRef, functions: Functions) -> Self {
        Self { source: Arc::new(LogicalTableSource::new(input.clone())), functions, options: options() }
    }

    /// The table.
    pub(crate) fn source(&self) -> Arc<dyn TableSource> {
        self.source.clone()
    }
}

/// Options of planning: names as written, text stays `Utf8`.
pub(crate) fn options() -> ConfigOptions {
    let mut options = ConfigOptions::default();
    options.sql_parser.enable_ident_normalization = false;
    options.sql_parser.collect_spans = true;
    options.sql_parser.map_string_types_to_utf8view = false;
    options.execution.target_partitions = 1;
    options
}

impl ContextProvider for MessageContext {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        if name.schema().is_none() && name.table() == MESSAGE {
            return Ok(self.source.clone());
        }
        Err(DataFusionError::Plan(format!(
            "no table {name}: a step sees only its own records, as the table \"{MESSAGE}\"; join and look up in a query over the tables"
        )))
    }

    fn get_table_function_source(&self, name: &str, _: Vec<datafusion::logical_expr::Expr>) -> Result<Arc<dyn TableSource>> {
        Err(DataFusionError::Plan(format!(
            "no table function {name} in a step: it sees only its own records, as the table \"{MESSAGE}\""
        )))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.functions.planners
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.functions.scalar.get(name).cloned()
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.functions.higher.get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.functions.aggregate.get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.functions.window.get(name).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        self.functions.scalar.keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.functions.higher.keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udwf_names(&self) -> Vec<String> {
        Vec::new()
    }
}
