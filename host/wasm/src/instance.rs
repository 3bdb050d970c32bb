//! One component of one pipeline: its instances, made anew after a failure, and calls within limits.

use std::path::PathBuf;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sluicebox_core::error::{Domain, Error, Result, Retry};
use wasmtime::{Store, Trap};

use crate::bindings::types;
use crate::log::Log;
use crate::plan::Plan;
use crate::plane::{Answer, Fault, Guest, Make};
use crate::sandbox::Sandbox;
use crate::state::{State, Stopped, TABLE_ELEMENTS_MAX, WALL_MAX};

/// CPU time that starting an instance and its `open` may take: language runtimes set themselves up there.
const OPEN_CPU: Duration = Duration::from_secs(5);
/// Bytes that the host takes of one answer, and of the arguments of one call to it.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Stands in place of words that could show a protected value.
pub(crate) const WITHHELD: &str = "withheld, for the component sees a column with a privacy rule";

/// What a component runs with.
pub(crate) struct Setting {
    pub(crate) make: Box<dyn Make>,
    pub(crate) path: PathBuf,
    pub(crate) memory_max: usize,
    pub(crate) context: types::Context,
    pub(crate) input: SchemaRef,
    /// Columns of the input that hold protected values.
    pub(crate) protected: Vec<usize>,
    /// The log of all its instances.
    pub(crate) log: Log,
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

/// An instance between two calls.
struct Live {
    store: Store<State>,
    guest: Box<dyn Guest>,
    /// Memory after `open`.
    memory: usize,
}

/// Instances of one component, one at a time.
pub(crate) struct Instances {
    setting: Setting,
    plan: Plan,
    withheld: bool,
    live: Option<Live>,
    closed_at: i64,
}

impl Instances {
    /// Starts the first instance and takes its plan.
    ///
    /// # Errors
    /// It does not start, refuses, or its plan does not fit.
    pub(crate) fn open(setting: Setting) -> Result<Self> {
        let (live, plan) = setting.start(0).map_err(|error| match error.retry {
            Retry::Never => Error { domain: Domain::Config, ..error },
            Retry::Backoff => error,
        })?;
        let withheld = plan.columns.iter().any(|column| setting.protected.contains(column));
        if withheld {
            setting.log.withhold();
        }
        let mut instances = Self { setting, plan, withheld, live: None, closed_at: 0 };
        instances.keep(live);
        Ok(instances)
    }

    /// What the component answered to `open`.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What it runs with.
    pub(crate) fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Whether its calls see a protected column, so that its words are withheld.
    pub(crate) fn withheld(&self) -> bool {
        self.withheld
    }

    /// A batch begins.
    pub(crate) fn begin_batch(&mut self, closed_at: i64) {
        self.closed_at = closed_at;
        self.setting.log.end_batch();
        if let Some(live) = &mut self.live {
            live.store.data_mut().begin_batch(closed_at);
        }
    }

    /// Calls `process` on rows that have the plan's columns. After anything but an answer the instance is thrown away.
    ///
    /// # Errors
    /// What is known of why there is no answer.
    pub(crate) fn process(&mut self, rows: &RecordBatch, cpu: Duration) -> std::result::Result<Answer, Failure> {
        let mut live = match self.live.take() {
            Some(live) => live,
            None => self.restart().map_err(Failure::Stop)?,
        };
        let sandbox = Sandbox::get().map_err(Failure::Stop)?;
        live.store.data_mut().begin(cpu);
        live.store.set_epoch_deadline(1);
        let answer = {
            let _running = sandbox.run();
            live.guest.process(&mut live.store, &self.plan, rows)
        };
        match answer.and_then(|answer| self.check(answer, rows.num_rows()).map_err(Fault::Malformed)) {
            Ok(answer) => {
                self.keep(live);
                Ok(answer)
            }
            Err(fault) => Err(self.setting.failure(fault, live.store.data().stopped(), self.withheld)),
        }
    }

    /// Keeps an instance for the next call, unless its memory has grown so much since it was opened that it may leak.
    fn keep(&mut self, live: Live) {
        let memory = live.store.data().memory();
        if memory > live.memory && memory > self.setting.memory_max / 2 {
            return;
        }
        self.live = Some(live);
    }

    /// A new instance must answer `open` as the first one did.
    fn restart(&self) -> Result<Live> {
        let (live, plan) = self.setting.start(self.closed_at)?;
        if plan != self.plan {
            let words = "a new instance answered `open` with another plan than the first one; all instances must answer the same";
            return Err(self.setting.error(words));
        }
        Ok(live)
    }

    /// Row numbers and codes of an answer. The words quote nothing of it.
    fn check(&self, answer: Answer, rows: usize) -> std::result::Result<Answer, String> {
        if let Some(batch) = &answer.batch {
            let found = batch.num_rows();
            match &answer.origin {
                None if found != rows => {
                    return Err(format!("answered with {found} rows for {rows} and said that they are the same"));
                }
                Some(origin) if origin.len() != found => {
                    return Err(format!("answered with {found} rows and {} row numbers", origin.len()));
                }
                Some(origin) if !rising_below(origin.values(), rows) => {
                    return Err("answered with row numbers that do not rise or are not among the rows of the call".to_owned());
                }
                _ => {}
            }
        }
        if answer.rejects.iter().any(|reject| reject.row as usize >= rows) {
            return Err("refused a row that is not among the rows of the call".to_owned());
        }
        if answer.rejects.iter().any(|reject| !self.plan.codes.iter().any(|code| code.as_str() == reject.code)) {
            return Err("refused a row with a code that its plan does not name".to_owned());
        }
        Ok(answer)
    }
}

fn rising_below(numbers: &[u32], rows: usize) -> bool {
    numbers.is_sorted() && numbers.last().is_none_or(|last| (*last as usize) < rows)
}

impl Drop for Instances {
    fn drop(&mut self) {
        self.setting.log.end_batch();
    }
}

impl Setting {
    /// Instantiates and opens.
    fn start(&self, closed_at: i64) -> Result<(Live, Plan)> {
        let sandbox = Sandbox::get()?;
        let mut store = Store::new(sandbox.engine(), State::new(self.memory_max, self.log.clone()));
        store.limiter(|state| state);
        store.epoch_deadline_callback(|mut store| Ok(store.data_mut().tick()));
        store.set_hostcall_fuel(ANSWER_BYTES_MAX);
        store.data_mut().begin_batch(closed_at);
        store.data_mut().begin(OPEN_CPU);
        store.set_epoch_deadline(1);
        let opened = {
            let _running = sandbox.run();
            let made = self.make.make(&mut store).map_err(|error| unmade(error, store.data().stopped()));
            made.and_then(|guest| Ok((guest.open(&mut store, &self.context, &self.input)?, guest)))
        };
        match opened {
            Ok((plan, guest)) => {
                let memory = store.data().memory();
                Ok((Live { store, guest, memory }, plan))
            }
            Err(fault) => Err(match self.failure(fault, store.data().stopped(), false) {
                Failure::Stop(error) => error,
                Failure::Guilty(words) => self.error(format!("it cannot be opened: it {words}")),
                Failure::Overran => self.error(format!("it cannot be opened: `open` took more than {OPEN_CPU:?} of CPU time")),
            }),
        }
    }

    /// What a fault means. Nothing of a payload is in the words; where `withheld`, nothing that the guest chose either.
    fn failure(&self, fault: Fault, stopped: Option<Stopped>, withheld: bool) -> Failure {
        let guests = |words: String| if withheld { format!("its words are {WITHHELD}") } else { words };
        let error = match fault {
            Fault::Guest(types::Error::Fatal(words)) => return Failure::Stop(self.error(guests(words))),
            Fault::Guest(types::Error::Retry(words)) => {
                return Failure::Stop(Error::backoff(Domain::Guest, self.words(guests(words))));
            }
            Fault::Malformed(_) if withheld => {
                return Failure::Guilty(format!("gave an answer that breaks the contract; why is {WITHHELD}"));
            }
            Fault::Malformed(words) => return Failure::Guilty(words),
            Fault::Host(words) => return Failure::Stop(Error::internal(self.words(words))),
            Fault::Trap(error) => error,
        };
        self.log.failure(&error);
        match stopped {
            Some(Stopped::Cpu) => Failure::Overran,
            Some(Stopped::Wall) => Failure::Stop(self.error(format!("a call took {WALL_MAX:?}; a component must not wait"))),
            Some(Stopped::Memory) => {
                Failure::Guilty(format!("ran out of its {} of memory: {}", bytes(self.memory_max), trap(&error)))
            }
            Some(Stopped::Tables) => {
                Failure::Guilty(format!("ran out of its {TABLE_ELEMENTS_MAX} table entries: {}", trap(&error)))
            }
            None => Failure::Guilty(trap(&error)),
        }
    }

    /// An error of the component, with its name and file.
    pub(crate) fn error(&self, words: impl std::fmt::Display) -> Error {
        Error::fatal(Domain::Guest, self.words(words))
    }

    fn words(&self, words: impl std::fmt::Display) -> String {
        format!("component {} ({}): {words}", self.context.component, self.path.display())
    }
}

/// Why an instance could not be made: it trapped, wanted too much, or has exports of other types.
fn unmade(error: wasmtime::Error, stopped: Option<Stopped>) -> Fault {
    match stopped {
        None if error.downcast_ref::<Trap>().is_none() => Fault::Malformed(format!("does not fit the contract: {error:#}")),
        _ => Fault::Trap(error),
    }
}

/// What the sandbox says of a call that ended early. Its own words are about places and types, never about values.
fn trap(error: &wasmtime::Error) -> String {
    let root = error.root_cause().to_string();
    if let Some(trap) = error.downcast_ref::<Trap>() {
        let words = trap.to_string();
        return format!("trapped: {}", words.trim_start_matches("wasm trap: "));
    }
    if error.downcast_ref::<wasmtime_wasi::I32Exit>().is_some() {
        return "trapped: it ended itself".to_owned();
    }
    if root.contains("fuel allocated for hostcalls") {
        return format!("answered with more than {}", bytes(ANSWER_BYTES_MAX));
    }
    format!("broke the contract: {root}")
}

/// A number of bytes as people write limits.
fn bytes(bytes: usize) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} bytes"),
    }
}
