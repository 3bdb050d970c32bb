//! A row-local plan as a list of stages that run one after the other over a batch, on the caller's thread.
//!
//! DataFusion parses, plans, optimises and evaluates expressions. Its streams are not needed for projections and filters, and the
//! number of the row that each row came from travels beside the columns, so nothing of it shows in the SQL.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::compute::{FilterBuilder, cast};
use arrow_array::builder::UInt32Builder;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Column, DFSchema, DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, Filter as LogicalFilter, LogicalPlan, Projection, Unnest as LogicalUnnest};

use crate::checked::may_fail;
use crate::expression::{Expression, Fault};
use crate::unnest::Unnest;

/// A plan that is ready to run.
#[derive(Debug)]
pub(crate) struct Program {
    select: Vec<usize>,
    stages: Vec<Stage>,
    output: SchemaRef,
}

/// Rows on their way: the columns, and the input row of each, unless nothing changed.
struct Rows {
    columns: RecordBatch,
    numbers: Option<UInt32Array>,
}

#[derive(Debug)]
enum Stage {
    Filter(Filter),
    Project { expressions: Vec<Expression>, schema: SchemaRef },
    Unnest(Unnest),
}

#[derive(Debug)]
struct Filter {
    condition: Expression,
    keep: Vec<usize>,
    schema: SchemaRef,
}

impl Program {
    /// Makes a program of an optimised plan of projections, filters and unnests.
    pub(crate) fn new(plan: &LogicalPlan, context: Arc<TaskContext>) -> Result<Self> {
        let mut compiler = Compiler { select: Vec::new(), stages: Vec::new(), context };
        let schema = compiler.compile(plan, None)?;
        let fields: Vec<Field> = schema.fields().iter().map(|f| plain(f)).collect();
        Ok(Self { select: compiler.select, stages: compiler.stages, output: Arc::new(Schema::new(fields)) })
    }

    /// Schema of the rows that come out.
    pub(crate) fn output(&self) -> SchemaRef {
        self.output.clone()
    }

    /// Columns of the input that are needed for the columns `wanted` of the output.
    pub(crate) fn reads(&self, wanted: &[usize]) -> Vec<usize> {
        let mut wanted = wanted.to_vec();
        for stage in self.stages.iter().rev() {
            wanted = match stage {
                Stage::Filter(filter) => {
                    let kept = wanted.iter().map(|i| filter.keep[*i]);
                    kept.chain(filter.condition.reads.iter().copied()).collect()
                }
                Stage::Project { expressions, .. } => wanted.iter().flat_map(|i| expressions[*i].reads.clone()).collect(),
                Stage::Unnest(unnest) => unnest.reads(&wanted),
            };
            wanted.sort_unstable();
            wanted.dedup();
        }
        wanted.into_iter().map(|i| self.select[i]).collect()
    }

    /// Runs it. The numbers are those of the input rows, `None` when each row gave one.
    pub(crate) fn run(&self, input: &RecordBatch) -> Result<(RecordBatch, Option<UInt32Array>), Fault> {
        let columns = input.project(&self.select).map_err(|error| Fault::of(&error.into()))?;
        let mut rows = Rows { columns, numbers: None };
        for stage in &self.stages {
            if rows.columns.num_rows() == 0 {
                return Ok((RecordBatch::new_empty(self.output.clone()), Some(UInt32Array::from(Vec::<u32>::new()))));
            }
            rows = stage.run(rows)?;
        }
        Ok((self.finish(&rows.columns).map_err(|error| Fault::of(&error))?, rows.numbers))
    }

    /// Columns in the types that travel outside of SQL.
    fn finish(&self, columns: &RecordBatch) -> Result<RecordBatch> {
        let of = |(array, field): (&ArrayRef, &Arc<Field>)| {
            if array.data_type() == field.data_type() { Ok(array.clone()) } else { Ok(cast(array, field.data_type())?) }
        };
        let arrays = columns.columns().iter().zip(self.output.fields()).map(of).collect::<Result<Vec<_>>>()?;
        batch(&self.output, arrays, columns.num_rows())
    }
}

impl Stage {
    fn run(&self, rows: Rows) -> Result<Rows, Fault> {
        match self {
            Stage::Filter(filter) => filter.run(rows),
            Stage::Project { expressions, schema } => {
                let count = rows.columns.num_rows();
                let arrays = expressions.iter().map(|e| e.evaluate(&rows.columns)).collect::<Result<Vec<_>, _>>()?;
                let columns = batch(schema, arrays, count).map_err(|error| Fault::of(&error))?;
                Ok(Rows { columns, numbers: rows.numbers })
            }
            Stage::Unnest(unnest) => {
                let (columns, parents) = unnest.run(&rows.columns).map_err(|error| Fault::of(&error))?;
                let numbers = match &rows.numbers {
                    Some(numbers) => {
                        UInt32Array::from_iter_values(parents.values().iter().map(|row| numbers.value(*row as usize)))
                    }
                    None => parents,
                };
                Ok(Rows { columns, numbers: Some(numbers) })
            }
        }
    }
}

impl Filter {
    fn run(&self, rows: Rows) -> Result<Rows, Fault> {
        let mask = self.condition.evaluate(&rows.columns)?;
        let Some(mask) = mask.as_any().downcast_ref::<BooleanArray>() else {
            return Err(self.condition.fault(&DataFusionError::Plan(format!("not a condition but {}", mask.data_type()))));
        };
        self.keep(rows, mask).map_err(|error| self.condition.fault(&error))
    }

    fn keep(&self, rows: Rows, mask: &BooleanArray) -> Result<Rows> {
        let kept = mask.true_count();
        if kept == mask.len() {
            let arrays = self.keep.iter().map(|i| rows.columns.column(*i).clone()).collect();
            return Ok(Rows { columns: batch(&self.schema, arrays, kept)?, numbers: rows.numbers });
        }
        let predicate = FilterBuilder::new(mask).optimize().build();
        let filtered = |i: &usize| Ok(predicate.filter(rows.columns.column(*i))?);
        let arrays = self.keep.iter().map(filtered).collect::<Result<Vec<_>>>()?;
        let numbers = selected(mask, rows.numbers.as_ref(), kept);
        Ok(Rows { columns: batch(&self.schema, arrays, kept)?, numbers: Some(numbers) })
    }
}

/// Numbers of the rows for which the mask is true.
fn selected(mask: &BooleanArray, numbers: Option<&UInt32Array>, kept: usize) -> UInt32Array {
    let mut builder = UInt32Builder::with_capacity(kept);
    let mut push = |row: usize| builder.append_value(numbers.map_or(row as u32, |numbers| numbers.value(row)));
    match mask.nulls() {
        Some(nulls) => mask.values().set_indices().filter(|row| nulls.is_valid(*row)).for_each(&mut push),
        None => mask.values().set_indices().for_each(&mut push),
    }
    builder.finish()
}

fn batch(schema: &SchemaRef, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?)
}

/// A field of the output: nullable, in a type that travels outside of SQL.
fn plain(field: &Field) -> Field {
    let kind = match field.data_type() {
        DataType::Utf8View | DataType::LargeUtf8 | DataType::Null => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        other => other.clone(),
    };
    // What was selected is payload from here on, also what was a metadata column.
    let mut metadata = field.metadata().clone();
    metadata.remove(sluicebox_core::column::METADATA_MARK);
    field.clone().with_data_type(kind).with_nullable(true).with_metadata(metadata)
}

/// Turns a plan into stages, from the scan upwards.
struct Compiler {
    select: Vec<usize>,
    stages: Vec<Stage>,
    context: Arc<TaskContext>,
}

impl Compiler {
    /// Compiles a plan of which only the columns `keep` are needed (all when `None`); answers the schema that there is after it, which may
    /// have more columns.
    fn compile(&mut self, plan: &LogicalPlan, keep: Option<&HashSet<Column>>) -> Result<DFSchema> {
        match plan {
            LogicalPlan::TableScan(scan) => {
                let all = (0..scan.source.schema().fields().len()).collect();
                self.select = scan.projection.clone().unwrap_or(all);
                Ok(scan.projected_schema.as_ref().clone())
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let schema = self.compile(&alias.input, None)?;
                let fields = schema.iter().map(|(_, field)| (Some(alias.alias.clone()), field.clone())).collect();
                DFSchema::new_with_metadata(fields, schema.metadata().clone())
            }
            LogicalPlan::Projection(projection) => self.project(projection, keep),
            LogicalPlan::Filter(filter) => self.filter(filter, keep),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest),
            other => Err(DataFusionError::Plan(format!("a step cannot run {}", other.display()))),
        }
    }

    fn project(&mut self, projection: &Projection, keep: Option<&HashSet<Column>>) -> Result<DFSchema> {
        let outputs = projection.schema.iter();
        let wanted = |(qualifier, field): (_, &Arc<Field>)| keep.is_none_or(|k| k.contains(&Column::from((qualifier, field))));
        let chosen: Vec<(&Expr, _)> = projection.expr.iter().zip(outputs).filter(|(_, output)| wanted(*output)).collect();
        let reads: HashSet<Column> = chosen.iter().flat_map(|(expr, _)| expr.column_refs()).cloned().collect();
        let input = self.compile(&projection.input, Some(&reads))?;
        let expressions =
            chosen.iter().map(|(expr, (_, field))| Expression::new(expr, field.name(), &input)).collect::<Result<Vec<_>>>()?;
        let fields = chosen.into_iter().map(|(_, (qualifier, field))| (qualifier.cloned(), field.clone())).collect();
        let schema = DFSchema::new_with_metadata(fields, projection.schema.metadata().clone())?;
        self.stages.push(Stage::Project { expressions, schema: nullable(&schema) });
        Ok(schema)
    }

    fn filter(&mut self, filter: &LogicalFilter, keep: Option<&HashSet<Column>>) -> Result<DFSchema> {
        let below = keep.map(|keep| keep.iter().chain(filter.predicate.column_refs()).cloned().collect());
        let input = self.compile(&filter.input, below.as_ref())?;
        let conditions = conditions(&filter.predicate);
        let last = conditions.len() - 1;
        let mut schema = input;
        for (number, condition) in conditions.iter().enumerate() {
            let condition = Expression::new(condition, "", &schema)?;
            let wanted =
                |(qualifier, field): (_, &Arc<Field>)| keep.is_none_or(|k| k.contains(&Column::from((qualifier, field))));
            let all = schema.iter().enumerate();
            let kept: Vec<usize> = all.filter(|(_, column)| number < last || wanted(*column)).map(|(i, _)| i).collect();
            let fields = kept.iter().map(|i| schema.qualified_field(*i)).map(|(q, f)| (q.cloned(), f.clone())).collect();
            schema = DFSchema::new_with_metadata(fields, schema.metadata().clone())?;
            self.stages.push(Stage::Filter(Filter { condition, keep: kept, schema: nullable(&schema) }));
        }
        Ok(schema)
    }

    fn unnest(&mut self, unnest: &LogicalUnnest) -> Result<DFSchema> {
        let input = self.compile(&unnest.input, None)?;
        self.stages.push(Stage::Unnest(Unnest::new(unnest, input.as_arrow(), self.context.clone())));
        Ok(unnest.schema.as_ref().clone())
    }
}

/// The parts of a condition that are tried one after the other: what may fail only sees rows for which the parts before it are true.
fn conditions(predicate: &Expr) -> Vec<Expr> {
    let mut conditions: Vec<Expr> = Vec::new();
    for part in split_conjunction(predicate) {
        match conditions.pop() {
            Some(before) if may_fail(part) => conditions.extend([before, part.clone()]),
            Some(before) => conditions.push(before.and(part.clone())),
            None => conditions.push(part.clone()),
        }
    }
    conditions
}

fn nullable(schema: &DFSchema) -> SchemaRef {
    Arc::new(Schema::new(schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect::<Vec<_>>()))
}
