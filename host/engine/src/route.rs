//! The way of a batch, planned once: decode, check, protect, compute, the user's steps, sinks.
//!
//! [`Route::plan`] does everything that can fail at start, so `check` calls it too. It plans twice: first with all columns, to learn which
//! ones something reads, then with only those, so that the decoder builds no other.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use sluicebox_config::spec::{PipelineSpec, SinkSpec, StepSpec, Target};
use sluicebox_core::column::Column;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::{TableName, TenantName};
use sluicebox_core::port::{ComponentContext, Components, Decoder, Decoders, Planner, Script, Sink, Store, Validator};

use crate::stage::Stage;
use crate::steps::protect::{KeyProtect, Protect};
use crate::steps::reject::RejectWriter;
use crate::steps::validate::Patterns;

/// What a route is planned with.
#[derive(Clone)]
pub struct RoutePorts {
    /// Makes decoders.
    pub decoders: Arc<dyn Decoders>,
    /// Plans SQL.
    pub planner: Arc<dyn Planner>,
    /// Opens components.
    pub components: Arc<dyn Components>,
}

/// A planned pipeline without its sinks: from records to the batches that sinks take.
pub struct Route {
    pub(crate) decoder: Box<dyn Decoder>,
    pub(crate) patterns: Patterns,
    pub(crate) validators: Vec<Box<dyn Validator>>,
    pub(crate) protect: Protect,
    pub(crate) stages: Vec<Stage>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) rejects: RejectWriter,
}

/// One way out: the condition of the sink, the columns that it takes and where they go.
pub struct Output {
    /// `where` of the sink.
    pub(crate) condition: Option<Stage>,
    /// The table.
    pub table: TableName,
    /// Schema of the rows.
    pub schema: SchemaRef,
}

/// A route whose sinks are open.
pub struct OpenRoute {
    pub(crate) route: Route,
    pub(crate) sinks: Vec<Box<dyn Sink>>,
}

impl Route {
    /// Plans a pipeline.
    ///
    /// # Errors
    /// Anything of the pipeline that can fail before the first record: SQL, components, formats.
    pub fn plan(tenant: &TenantName, spec: &PipelineSpec, ports: &RoutePorts) -> Result<Route> {
        let draft = Draft { tenant, spec, ports };
        let all = vec![true; draft.declared().len()];
        let full = draft.plan(&all)?;
        let build = full.reads(&draft.declared());
        if build == all { Ok(full) } else { draft.plan(&build) }
    }

    /// Schema of the rows of each sink.
    pub fn outputs(&self) -> impl Iterator<Item = (&TableName, &SchemaRef)> {
        self.outputs.iter().map(|output| (&output.table, &output.schema))
    }

    /// Opens the sinks in the store.
    ///
    /// # Errors
    /// A table has another owner or another schema.
    pub fn open(self, spec: &PipelineSpec, store: &dyn Store) -> Result<OpenRoute> {
        let open = |(sink, output): (&SinkSpec, &Output)| {
            let Target::Table { table, retention } = &sink.target;
            store.table(table, &output.schema, &spec.name, *retention)
        };
        let sinks = spec.sinks.iter().zip(&self.outputs).map(open).collect::<Result<_>>()?;
        Ok(OpenRoute { route: self, sinks })
    }

    /// Which declared columns something reads.
    fn reads(&self, declared: &[Column]) -> Vec<bool> {
        let mut build: Vec<bool> = declared.iter().map(|c| has_pattern(c) || !c.validate.is_empty()).collect();
        let decoded = self.decoder.schema();
        for validator in &self.validators {
            for column in validator.reads().unwrap_or_else(|| (0..decoded.fields().len()).collect()) {
                build[column] = true;
            }
        }
        let mut wanted: Vec<usize> = Vec::new();
        for output in &self.outputs {
            let all: Vec<usize> = (0..output.schema.fields().len()).collect();
            wanted.extend(output.condition.as_ref().map_or(all.clone(), |stage| stage.reads(&all)));
        }
        wanted.sort_unstable();
        wanted.dedup();
        for stage in self.stages.iter().rev() {
            wanted = stage.reads(&wanted);
        }
        wanted.into_iter().for_each(|column| build[column] = true);
        build
    }
}

/// Whether a column or something inside it has a pattern to check.
fn has_pattern(column: &Column) -> bool {
    let nested = |c: &Column| match &c.kind {
        sluicebox_core::column::Kind::Struct(children) => children.iter().any(has_pattern),
        _ => false,
    };
    column.pattern.is_some() || nested(column)
}

struct Draft<'a> {
    tenant: &'a TenantName,
    spec: &'a PipelineSpec,
    ports: &'a RoutePorts,
}

impl Draft<'_> {
    /// Columns that the payload carries.
    fn declared(&self) -> Vec<Column> {
        self.spec.columns.iter().filter(|c| c.script.is_none()).cloned().collect()
    }

    fn plan(&self, build: &[bool]) -> Result<Route> {
        let declared = self.declared();
        let decoder = self.ports.decoders.json(&declared, build)?;
        let decoded = decoder.schema();
        let built: Vec<Column> = declared.into_iter().zip(build).filter(|(_, build)| **build).map(|(column, _)| column).collect();
        let patterns = Patterns::new(&built, &decoded)?;
        let validators = self.validators(&built, &decoded)?;
        let protect = Protect::new(&built, &decoded)?;
        let key = Arc::new(KeyProtect::new(&self.spec.key_privacy)?);
        let (stages, schema) = self.stages(&built, protect.output_schema(), &key)?;
        let outputs = self.outputs(&schema, &key)?;
        let rejects = RejectWriter::new(&self.spec.columns, self.spec.rejects.raw, &self.spec.key_privacy);
        Ok(Route { decoder, patterns, validators, protect, stages, outputs, rejects })
    }

    fn context(&self, schema: &SchemaRef, column: Option<usize>, protected: Vec<usize>) -> ComponentContext {
        let (tenant, pipeline) = (self.tenant.clone(), self.spec.name.clone());
        ComponentContext { tenant, pipeline, schema: schema.clone(), column, protected }
    }

    fn validators(&self, built: &[Column], decoded: &SchemaRef) -> Result<Vec<Box<dyn Validator>>> {
        let protected: Vec<usize> = (0..built.len()).filter(|i| built[*i].protects()).collect();
        let mut validators = Vec::new();
        for (index, column) in built.iter().enumerate() {
            for component in &column.validate {
                let context = self.context(decoded, Some(index), protected.clone());
                validators.push(self.ports.components.validator(component, context)?);
            }
        }
        Ok(validators)
    }

    /// Stages between protect and the sinks, and the schema after them.
    fn stages(&self, built: &[Column], protected_schema: SchemaRef, key: &Arc<KeyProtect>) -> Result<(Vec<Stage>, SchemaRef)> {
        let planner = self.ports.planner.as_ref();
        let mut protected: Vec<String> = built.iter().filter(|c| c.protects()).map(|c| c.output_name().to_owned()).collect();
        let mut schema = protected_schema;
        let mut stages = Vec::new();
        let scripts = self.scripts();
        if !scripts.is_empty() {
            let stage = Stage::keeping(&schema, key, |input: &SchemaRef| planner.scripts(&scripts, input))?;
            schema = stage.output();
            stages.push(stage);
        }
        if let Some(filter) = &self.spec.filter {
            stages.push(Stage::keeping(&schema, key, |input: &SchemaRef| planner.filter("filter", filter, input))?);
        }
        let ignored: Vec<&str> = self.spec.columns.iter().filter(|c| c.ignore).map(Column::output_name).collect();
        if let Some(stage) = Stage::without(&schema, &ignored) {
            schema = stage.output();
            stages.push(stage);
        }
        for (number, step) in self.spec.steps.iter().enumerate() {
            let stage = match step {
                StepSpec::Sql(sql) => {
                    let name = format!("sql step {}", number + 1);
                    Stage::sql(&schema, key, |input: &SchemaRef| planner.sql(&name, sql, input))?
                }
                StepSpec::Component(component) => {
                    let hidden = indexes(&schema, &protected);
                    Stage::component(self.ports.components.transform(component, self.context(&schema, None, hidden))?)
                }
            };
            schema = stage.output();
            if matches!(step, StepSpec::Sql(_)) && !protected.is_empty() {
                // SQL may carry a protected value under any name: from here on every column counts as protected.
                protected = schema.fields().iter().map(|f| f.name().clone()).collect();
            }
            stages.push(stage);
        }
        Ok((stages, schema))
    }

    fn scripts(&self) -> Vec<Script> {
        let script = |c: &Column| {
            let expression = c.script.clone()?;
            Some(Script { column: c.output_name().to_owned(), expression, data_type: c.decoded_type() })
        };
        self.spec.columns.iter().filter_map(script).collect()
    }

    fn outputs(&self, schema: &SchemaRef, key: &Arc<KeyProtect>) -> Result<Vec<Output>> {
        let planner = self.ports.planner.as_ref();
        let output = |sink: &SinkSpec| {
            let Target::Table { table, .. } = &sink.target;
            let name = format!("where of table {table}");
            let plan = |sql: &String| Stage::keeping(schema, key, |input: &SchemaRef| planner.filter(&name, sql, input));
            let condition = sink.filter.as_ref().map(plan).transpose()?;
            if schema.fields().is_empty() {
                return Err(Error::config(format!("table {table}: the steps leave no column")));
            }
            Ok(Output { condition, table: table.clone(), schema: plain(schema) })
        };
        self.spec.sinks.iter().map(output).collect()
    }
}

fn indexes(schema: &Schema, names: &[String]) -> Vec<usize> {
    schema.fields().iter().enumerate().filter(|(_, f)| names.contains(f.name())).map(|(i, _)| i).collect()
}

/// Every column of a table may be null: a later version of its schema may lack it.
fn plain(schema: &Schema) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    Arc::new(Schema::new(fields))
}
