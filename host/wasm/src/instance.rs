//! One component of one pipeline: its instances, made anew after a trap, and calls within limits.

use std::path::PathBuf;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sluicebox_core::error::{Domain, Error, Result};
use wasmtime::component::{Component, Linker};
use wasmtime::{Store, Trap};

use crate::bindings::types;
use crate::plan::Plan;
use crate::plane::{Answer, Fault, Guest, Instantiate};
use crate::sandbox::Sandbox;
use crate::state::{State, Stopped, cpu_time};

/// CPU time that starting an instance and its `open` may take: language runtimes set themselves up there.
const OPEN_CPU: Duration = Duration::from_secs(5);

/// What a component runs with.
pub(crate) struct Setting {
    pub(crate) component: Component,
    pub(crate) linker: Linker<State>,
    pub(crate) instantiate: Instantiate,
    pub(crate) path: PathBuf,
    pub(crate) memory_max: usize,
    pub(crate) context: types::Context,
    pub(crate) input: SchemaRef,
    /// Columns of the input that hold protected values.
    pub(crate) protected: Vec<usize>,
}

/// Why a call on some rows failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Because of one of the rows, as far as can be told.
    Guilty(String),
    /// It used up its CPU time.
    Overran,
    /// For a reason that is no row's.
    Stop(Error),
}

/// Instances of one component, one at a time.
pub(crate) struct Instances {
    setting: Setting,
    plan: Plan,
    live: Option<(Store<State>, Box<dyn Guest>)>,
    /// CPU time of the calls so far.
    pub(crate) spent: Duration,
    closed_at: i64,
}

impl Instances {
    /// Starts the first instance and takes its plan.
    ///
    /// # Errors
    /// It does not start, refuses, or its plan does not fit.
    pub(crate) fn open(setting: Setting) -> Result<Self> {
        let (store, guest, plan) = setting.start(0)?;
        Ok(Self { setting, plan, live: Some((store, guest)), spent: Duration::ZERO, closed_at: 0 })
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn setting(&self) -> &Setting {
        &self.setting
    }

    /// A batch begins.
    pub(crate) fn begin_batch(&mut self, closed_at: i64) {
        self.closed_at = closed_at;
        if let Some((store, _)) = &mut self.live {
            store.data_mut().begin_batch(closed_at);
        }
    }

    /// Calls `process` on rows that have the plan's columns. After anything but an answer the instance is thrown away.
    pub(crate) fn process(&mut self, rows: &RecordBatch, cpu: Duration) -> std::result::Result<Answer, Failure> {
        let (mut store, guest) = match self.live.take() {
            Some(live) => live,
            None => self.restart().map_err(Failure::Stop)?,
        };
        let sandbox = Sandbox::get().map_err(Failure::Stop)?;
        let began = cpu_time();
        store.data_mut().begin(cpu);
        store.set_epoch_deadline(1);
        let running = sandbox.run();
        let answer = guest.process(&mut store, &self.plan, rows);
        drop(running);
        self.spent += cpu_time().saturating_sub(began);
        let answer = answer.and_then(|answer| self.check(answer, rows.num_rows()));
        match answer {
            Ok(answer) => {
                self.live = Some((store, guest));
                Ok(answer)
            }
            Err(fault) => Err(self.setting.failure(fault, store.data().stopped)),
        }
    }

    /// A new instance must answer `open` as the first one did.
    fn restart(&self) -> Result<(Store<State>, Box<dyn Guest>)> {
        let (store, guest, plan) = self.setting.start(self.closed_at)?;
        if plan != self.plan {
            let words = "a new instance answered `open` with another plan than the first one; all instances must answer the same";
            return Err(self.setting.error(words));
        }
        Ok((store, guest))
    }

    /// Row numbers and codes of an answer.
    fn check(&self, answer: Answer, rows: usize) -> std::result::Result<Answer, Fault> {
        if let Some(batch) = &answer.batch {
            match &answer.origin {
                None if batch.num_rows() != rows => {
                    return Err(format!("answered {} rows for {rows} and said that they are the same", batch.num_rows()).into());
                }
                Some(origin) if origin.len() != batch.num_rows() => {
                    return Err(format!("answered {} rows with {} origins", batch.num_rows(), origin.len()).into());
                }
                Some(origin) if !origin.values().is_sorted() || origin.values().last().is_some_and(|row| *row as usize >= rows) => {
                    return Err(format!("answered row numbers that do not rise, or are not below {rows}").into());
                }
                _ => {}
            }
        }
        for reject in &answer.rejects {
            if reject.row as usize >= rows {
                return Err(format!("refused row {} of {rows}", reject.row).into());
            }
            if !self.plan.codes.iter().any(|code| code.as_str() == reject.code) {
                return Err("refused a row with a code that its plan does not name".to_owned().into());
            }
        }
        Ok(answer)
    }
}

impl Setting {
    /// Instantiates and opens.
    fn start(&self, closed_at: i64) -> Result<(Store<State>, Box<dyn Guest>, Plan)> {
        let sandbox = Sandbox::get()?;
        let types::Context { tenant, pipeline, component, .. } = &self.context;
        let place = format!("{tenant}/{pipeline}: component {component}");
        let mut store = Store::new(sandbox.engine(), State::new(self.memory_max, place, !self.protected.is_empty()));
        store.limiter(|state| state);
        store.epoch_deadline_callback(|mut store| Ok(store.data_mut().tick()));
        store.data_mut().begin_batch(closed_at);
        store.data_mut().begin(OPEN_CPU);
        store.set_epoch_deadline(1);
        let _running = sandbox.run();
        let opened = (self.instantiate)(&mut store, &self.component, &self.linker)
            .map_err(Fault::from)
            .and_then(|guest| Ok((guest.open(&mut store, &self.context, &self.input)?, guest)));
        match opened {
            Ok((plan, guest)) => Ok((store, guest, plan)),
            Err(fault) => Err(match self.failure(fault, store.data().stopped) {
                Failure::Stop(error) => error,
                Failure::Guilty(words) => self.error(format!("`open` {words}")),
                Failure::Overran => self.error(format!("`open` took more than {OPEN_CPU:?} of CPU time")),
            }),
        }
    }

    /// What a fault means. Words about a payload are not in it.
    fn failure(&self, fault: Fault, stopped: Option<Stopped>) -> Failure {
        match (fault, stopped) {
            (Fault::Guest(types::Error::Fatal(words)), _) => Failure::Stop(self.error(words)),
            (Fault::Guest(types::Error::Retry(words)), _) => {
                Failure::Stop(Error::backoff(Domain::Guest, format!("component {}: {words}", self.context.component)))
            }
            (Fault::Malformed(words), _) => Failure::Guilty(words),
            (Fault::Trap(_), Some(Stopped::Cpu)) => Failure::Overran,
            (Fault::Trap(_), Some(Stopped::Wall)) => Failure::Stop(self.error("a call took 30 s; a component must not wait")),
            (Fault::Trap(error), Some(Stopped::Memory)) => {
                Failure::Guilty(format!("wanted more than its {} MiB of memory, or too many table entries ({})", self.memory_max >> 20, trap(&error)))
            }
            (Fault::Trap(error), None) => Failure::Guilty(trap(&error)),
        }
    }

    pub(crate) fn error(&self, words: impl std::fmt::Display) -> Error {
        Error::fatal(Domain::Guest, format!("component {} ({}): {words}", self.context.component, self.path.display()))
    }
}

fn trap(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(trap) => format!("trapped: {trap}"),
        None => format!("failed: {}", error.root_cause()),
    }
}
