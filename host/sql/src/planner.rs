//! Plans SQL over the table `message`: steps, scripts and conditions.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::{DataFusionError, config::ConfigOptions};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion::optimizer::common_subexpr_eliminate::CommonSubexprEliminate;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{Analyzer, Optimizer, OptimizerContext, OptimizerRule};
use datafusion::sql::parser::{DFParser, Statement as DfStatement};
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, Ident, Query, Statement};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::port::{Planner, Script, Step};

use crate::checked::check_constants;
use crate::context::{Functions, MESSAGE, MessageContext, options};
use crate::names;
use crate::now::Moment;
use crate::program::Program;
use crate::row_local;
use crate::step::SqlStep;
use crate::wildcard;
use crate::words::words;

/// Plans row-local SQL. One is enough for a process: it keeps the functions, a step keeps its own plan.
#[derive(Debug)]
pub struct SqlPlanner {
    functions: Functions,
    options: Arc<ConfigOptions>,
    task: Arc<TaskContext>,
}

impl Default for SqlPlanner {
    fn default() -> Self {
        Self::new()
    }
}

impl SqlPlanner {
    /// A planner with the functions that SQL has.
    pub fn new() -> Self {
        Self { functions: Functions::new(), options: Arc::new(options()), task: Arc::new(TaskContext::default()) }
    }

    /// Optimises a plan that was found row-local, and makes a step of it.
    fn step(
        &self,
        name: &str,
        input: &SchemaRef,
        plan: LogicalPlan,
        moment: Moment,
        written: &BTreeSet<String>,
    ) -> Result<Box<dyn Step>> {
        check_names(&plan)?;
        let plan = Analyzer::new().execute_and_check(plan, &self.options, |_, _| {}).map_err(config)?;
        check_constants(&plan).map_err(Error::config)?;
        // Only what keeps each row to itself and each guard before what it guards: no filter moves.
        let rules: Vec<Arc<dyn OptimizerRule + Send + Sync>> = vec![
            Arc::new(SimplifyExpressions::new()),
            Arc::new(CommonSubexprEliminate::new()),
            Arc::new(OptimizeProjections::new()),
        ];
        let context = OptimizerContext::new_with_config_options(self.options.clone()).without_query_execution_start_time();
        let plan = Optimizer::with_rules(rules).optimize(plan, &context, |_, _| {}).map_err(config)?;
        let program = Program::new(&plan, self.task.clone()).map_err(config)?;
        let named = (0..input.fields().len()).filter(|i| written.contains(input.field(*i).name())).collect();
        Ok(Box::new(SqlStep::new(name, input, program, moment, named)))
    }

    fn context(&self, input: &SchemaRef) -> (MessageContext, Moment) {
        let moment = Moment::default();
        (MessageContext::new(input, self.functions.at(&moment)), moment)
    }
}

impl Planner for SqlPlanner {
    fn sql(&self, name: &str, sql: &str, input: &SchemaRef) -> Result<Box<dyn Step>> {
        let plan = || {
            let (context, moment) = self.context(input);
            let mut query = parse(sql)?;
            row_local::check_query(&query)?;
            names::tables(&mut query, message_table);
            wildcard::leave_out_metadata(&mut query, input);
            let planned = names::plan(&mut query, |query| {
                let statement = Statement::Query(Box::new(query.clone()));
                sql_to_rel(&context).statement_to_plan(DfStatement::Statement(Box::new(statement)))
            })?;
            row_local::check_plan(&planned)?;
            self.step(name, input, planned, moment, &names::written(&query))
        };
        plan().map_err(|error: Error| error.at(name))
    }

    fn scripts(&self, scripts: &[Script], input: &SchemaRef) -> Result<Box<dyn Step>> {
        let (context, moment) = self.context(input);
        let mut plan = scan(&context)?;
        let mut written = BTreeSet::new();
        for script in scripts {
            let mut add = || {
                let expr = expression(&context, &plan, &script.expression, &mut written)?;
                // A cast that changes nothing would only stand in the user's messages.
                let same = expr.get_type(plan.schema()).is_ok_and(|found| found == script.data_type);
                let expr = if same { expr } else { cast(expr, script.data_type.clone()) };
                with_column(plan.clone(), &script.column, expr)
            };
            plan = add().map_err(|error| error.at(format!("script of {}", script.column)))?;
        }
        self.step("script", input, plan, moment, &written).map_err(|error| error.at("script"))
    }

    fn filter(&self, name: &str, condition: &str, input: &SchemaRef) -> Result<Box<dyn Step>> {
        let plan = || {
            let (context, moment) = self.context(input);
            let plan = scan(&context)?;
            let mut written = BTreeSet::new();
            let expr = expression(&context, &plan, condition, &mut written)?;
            let plan = LogicalPlanBuilder::from(plan).filter(expr).and_then(LogicalPlanBuilder::build).map_err(config)?;
            self.step(name, input, plan, moment, &written)
        };
        plan().map_err(|error: Error| error.at(name))
    }
}

fn config(error: DataFusionError) -> Error {
    Error::config(words(&error))
}

fn sql_to_rel(context: &MessageContext) -> SqlToRel<'_, MessageContext> {
    use datafusion::logical_expr::planner::ContextProvider;
    SqlToRel::new_with_options(context, ParserOptions::from(&context.options().sql_parser))
}

/// The one query of a step.
fn parse(sql: &str) -> Result<Query> {
    let mut statements = DFParser::parse_sql(sql).map_err(config)?;
    match (statements.pop_front(), statements.is_empty()) {
        (Some(DfStatement::Statement(statement)), true) => match *statement {
            Statement::Query(query) => Ok(*query),
            other => Err(not_a_query(&other.to_string())),
        },
        (Some(other), true) => Err(not_a_query(&other.to_string())),
        (None, _) => Err(Error::config(format!("a step is one SELECT over the table {MESSAGE}, and this is empty"))),
        (Some(_), false) => {
            Err(Error::config(format!("a step is one SELECT over the table {MESSAGE}, and these are several statements")))
        }
    }
}

fn not_a_query(text: &str) -> Error {
    let word = text.split_whitespace().next().unwrap_or_default().to_uppercase();
    Error::config(format!("a step is one SELECT over the table {MESSAGE}, not {word}"))
}

fn message_table(idents: &[Ident]) -> Option<Vec<String>> {
    match idents {
        [ident] if names::means(ident, MESSAGE) => Some(vec![MESSAGE.to_owned()]),
        _ => None,
    }
}

fn scan(context: &MessageContext) -> Result<LogicalPlan> {
    LogicalPlanBuilder::scan(MESSAGE, context.source(), None).and_then(LogicalPlanBuilder::build).map_err(config)
}

/// Parses an expression over the columns of a plan; adds the names that it writes.
fn expression(context: &MessageContext, plan: &LogicalPlan, text: &str, written: &mut BTreeSet<String>) -> Result<Expr> {
    let parsed = DFParser::parse_sql_into_expr(text).map_err(config)?;
    if parsed.alias.is_some() {
        return Err(Error::config("an expression takes no AS: the column has its name already"));
    }
    let mut ast: SqlExpr = parsed.expr;
    let schema = plan.schema();
    let expr = names::plan(&mut ast, |ast| {
        let expr = sql_to_rel(context).sql_to_expr(ast.clone(), schema, &mut PlannerContext::new())?;
        // Finds what is missing while the place in the text is still known.
        LogicalPlanBuilder::from(plan.clone()).project([expr.clone()])?;
        Ok(expr)
    })?;
    row_local::check_expr(&expr)?;
    written.extend(names::written(&ast));
    Ok(expr)
}

/// All columns of a plan, with one added or put in the place of the one that has its name.
fn with_column(plan: LogicalPlan, name: &str, expr: Expr) -> Result<LogicalPlan> {
    let mut made = Some(expr.alias(name));
    let mut columns: Vec<Expr> = Vec::new();
    for column in plan.schema().columns() {
        if column.name == name { columns.extend(made.take()) } else { columns.push(Expr::Column(column)) }
    }
    columns.extend(made);
    LogicalPlanBuilder::from(plan).project(columns).and_then(LogicalPlanBuilder::build).map_err(config)
}

/// Refuses an answer in which two columns have one name.
fn check_names(plan: &LogicalPlan) -> Result<()> {
    let mut seen = BTreeSet::new();
    match plan.schema().fields().iter().find(|field| !seen.insert(field.name())) {
        Some(field) => {
            Err(Error::config(format!("two columns are called \"{}\"; give one of them another name with AS", field.name())))
        }
        None => Ok(()),
    }
}
