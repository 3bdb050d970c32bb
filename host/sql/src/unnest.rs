//! `unnest`: a row becomes one for each element, and each keeps the number of the row that it came from.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use datafusion::common::{DataFusionError, Result, UnnestOptions};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Unnest as LogicalUnnest;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::unnest::{ListUnnest, UnnestExec};
use futures::TryStreamExt;

/// The hidden column.
const ROW: &str = "__sluicebox_row";

/// A planned unnest.
#[derive(Debug)]
pub(crate) struct Unnest {
    input: SchemaRef,
    output: SchemaRef,
    lists: Vec<ListUnnest>,
    structs: Vec<usize>,
    options: UnnestOptions,
    context: Arc<TaskContext>,
    depends_on: Vec<usize>,
}

impl Unnest {
    /// Prepares an unnest of rows with this schema.
    pub(crate) fn new(plan: &LogicalUnnest, input: &Schema, context: Arc<TaskContext>) -> Self {
        let lists = plan
            .list_type_columns
            .iter()
            .map(|(index, list)| ListUnnest { index_in_input_schema: *index, depth: list.depth })
            .collect();
        Self {
            input: with_row(input),
            output: with_row(plan.schema.as_arrow()),
            lists,
            structs: plan.struct_type_columns.clone(),
            options: plan.options.clone(),
            context,
            depends_on: plan.dependency_indices.clone(),
        }
    }

    /// Columns of the input that the columns `wanted` of the output need; the lists always, since they say how many rows there are.
    pub(crate) fn reads(&self, wanted: &[usize]) -> Vec<usize> {
        let lists = self.lists.iter().map(|list| list.index_in_input_schema);
        wanted.iter().filter_map(|i| self.depends_on.get(*i).copied()).chain(lists).collect()
    }

    /// Unnests rows; the numbers are those of the input rows.
    pub(crate) fn run(&self, rows: &RecordBatch) -> Result<(RecordBatch, UInt32Array)> {
        let numbers = UInt32Array::from_iter_values(0..rows.num_rows() as u32);
        let mut columns = rows.columns().to_vec();
        columns.push(Arc::new(numbers));
        let rows = RecordBatch::try_new(self.input.clone(), columns)?;
        let source = MemorySourceConfig::try_new_exec(&[vec![rows]], self.input.clone(), None)?;
        let (lists, structs) = (self.lists.clone(), self.structs.clone());
        let unnest = UnnestExec::new(source, lists, structs, self.output.clone(), self.options.clone())?;
        let batches: Vec<RecordBatch> = futures::executor::block_on(unnest.execute(0, self.context.clone())?.try_collect())?;
        let mut unnested = concat_batches(&self.output, &batches)?;
        let numbers = unnested.remove_column(unnested.num_columns() - 1);
        let numbers = numbers.as_any().downcast_ref::<UInt32Array>().cloned();
        let numbers = numbers.ok_or_else(|| DataFusionError::Internal("row numbers lost in unnest".into()))?;
        Ok((unnested, numbers))
    }
}

fn with_row(schema: &Schema) -> SchemaRef {
    let mut fields: Vec<_> = schema.fields().iter().map(|f| Arc::new(f.as_ref().clone().with_nullable(true))).collect();
    fields.push(Arc::new(Field::new(ROW, DataType::UInt32, false)));
    Arc::new(Schema::new(fields))
}
