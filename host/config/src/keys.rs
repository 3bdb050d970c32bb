//! The declaration tables: every key of the configuration, once.

use crate::schema::{Key, Shape, Status, Table};

const fn key(name: &'static str, shape: &'static Shape, doc: &'static str) -> Key {
    Key { name, also: None, shape, required: false, status: Status::Here, doc }
}

const fn required(name: &'static str, shape: &'static Shape, doc: &'static str) -> Key {
    Key { name, also: None, shape, required: true, status: Status::Here, doc }
}

const fn with(name: &'static str, status: Status) -> Key {
    Key { name, also: None, shape: &Shape::Any, required: false, status, doc: "" }
}

const fn only(name: &'static str, default: &'static str, doc: &'static str) -> Key {
    Key { name, also: None, shape: &Shape::Any, required: false, status: Status::Only(default), doc }
}

const fn later(name: &'static str) -> Key {
    with(name, Status::Later)
}

const fn instead(name: &'static str, advice: &'static str) -> Key {
    with(name, Status::Instead(advice))
}

const NAME: Shape = Shape::Text("a name");
const WORDS: Shape = Shape::Text("text");
const CONDITION: Shape = Shape::Text("an SQL condition");
const NAMES: Shape = Shape::List(&NAME);
/// A batch is Arrow in memory: more rows than this only cost latency.
const ROWS: Shape = Shape::Integer { min: 1, max: 1_000_000 };
const BYTES: Shape = Shape::Size { min: 1 << 10, max: 1 << 30 };
const MEMORY: Shape = Shape::Size { min: 1 << 20, max: 1 << 38 };
const AGE: Shape = Shape::Duration { min_ms: 1_000, max_ms: 3_650 * 86_400_000 };
const KEPT: Shape = Shape::Size { min: 1 << 20, max: 1 << 50 };
const WAIT: Shape = Shape::Duration { min_ms: 0, max_ms: 600_000 };
const INTERVAL: Shape = Shape::Duration { min_ms: 10, max_ms: 86_400_000 };
/// From one page of WebAssembly to all that 32 bits address.
const GUEST_MEMORY: Shape = Shape::Size { min: 1 << 16, max: 1 << 32 };
/// A half of a batch never gets less than 5 ms; a call of 30 s stops the pipeline whatever it does.
const GUEST_TIME: Shape = Shape::Duration { min_ms: 5, max_ms: 30_000 };
const TRIGGER_WORD: Shape = Shape::Choice { here: &["once", "continuous"], later: &[] };
const OBJECT_TRIGGER: Shape = Shape::Object(&TRIGGER);
const OBJECT_RETENTION: Shape = Shape::Object(&RETENTION);
static COLUMNS: Shape = Shape::List(&Shape::Object(&COLUMN));

/// The whole file.
pub(crate) static ROOT: Table = Table {
    name: "configuration",
    keys: &[
        key(
            "data",
            &Shape::Text("a folder"),
            "Folder of the stores; each tenant's store is in a folder of its name. Default `data`. The operator's file only.",
        ),
        key("connections", &Shape::Named(&Shape::Object(&CONNECTION)), "Clusters, by name."),
        key("types", &Shape::List(&Shape::Object(&TYPE)), "Types of your own for columns."),
        key("components", &Shape::Named(&Shape::Object(&COMPONENT)), "WebAssembly components, by name."),
        key(
            "pipelines",
            &Shape::Named(&Shape::Object(&PIPELINE)),
            "Pipelines, by name: one source, steps in order, sinks, one reject route.",
        ),
        later("datasets"),
        later("secrets"),
        later("views"),
        later("expectations"),
        later("kafka"),
        later("tokens"),
        later("quotas"),
        instead("tenants", "a tenant is a file: `tenants/NAME.yaml` beside sluicebox.yaml, when the folder is given with `-f`"),
        instead("sources", "a pipeline names its topics itself: `pipelines: { NAME: { from: kafka:TOPIC } }`"),
        instead("sinks", "a pipeline names its sinks itself: `pipelines: { NAME: { to: [{ table: TABLE }] } }`"),
    ],
};

/// A connection.
pub(crate) static CONNECTION: Table = Table {
    name: "connection",
    keys: &[
        required("type", &Shape::Choice { here: &["kafka"], later: &[] }, "What kind of system it is."),
        required(
            "options",
            &Shape::Properties,
            "`bootstrapServers` (host:port, several with commas, or `embedded` for a broker inside the process) and any property of librdkafka.",
        ),
        instead("bootstrapServers", "it is an option: `options: { bootstrapServers: HOST:9092 }`"),
    ],
};

/// A type of the user's.
pub(crate) static TYPE: Table = Table {
    name: "type",
    keys: &[
        required("name", &NAME, "Its name, for `type` of a column."),
        key(
            "primitiveType",
            &Shape::Text("a built-in type"),
            "The built-in type behind it: string (default), long, short, byte, double, decimal, boolean, date, timestamp, variant.",
        ),
        required(
            "pattern",
            &Shape::Text("a pattern"),
            "What text must match, in full, in Java's dialect. For date and timestamp a java.time pattern, a named format, epoch_second or epoch_milli; for boolean `TRUE<-TF->FALSE`.",
        ),
        key(
            "zone",
            &Shape::Text("a zone"),
            "For timestamp: the zone of text without an offset, such as Europe/Paris. For decimal: `precision,scale`.",
        ),
        key("sample", &WORDS, "An example of a value; checked against the pattern."),
        key("comment", &WORDS, "Words for people."),
        later("ddlMapping"),
        instead("primitive_type", "write `primitiveType`"),
    ],
};

/// A component.
pub(crate) static COMPONENT: Table = Table {
    name: "component",
    keys: &[
        required("path", &Shape::Text("the path of a .wasm file"), "The file, relative to the folder of this file."),
        key("limits", &Shape::Object(&LIMITS), "What it may use."),
        key("settings", &Shape::Any, "Any value; the component gets it as JSON text when it is opened."),
        later("grants"),
    ],
};

static LIMITS: Table = Table {
    name: "limits",
    keys: &[
        key("memory", &GUEST_MEMORY, "Memory of an instance. Default 64MiB."),
        key("cpu_per_batch", &GUEST_TIME, "CPU time for one batch. Default 200ms."),
    ],
};

/// A pipeline.
pub(crate) static PIPELINE: Table = Table {
    name: "pipeline",
    keys: &[
        required(
            "from",
            &Shape::Text("`kafka:TOPIC` or `kafka:[TOPIC, TOPIC]`"),
            "Topics to read: `kafka:TOPIC` or `kafka:[A, B]`.",
        ),
        key("connection", &NAME, "Which connection; may be left out where there is only one."),
        key("options", &Shape::Properties, "Client properties of librdkafka for this pipeline, over those of the connection."),
        key(
            "start",
            &Shape::Text("one of earliest, latest, group, or a time such as 2026-01-31T00:00:00Z"),
            "Where to begin while no position is stored: earliest (default), latest, group, or a time (RFC 3339).",
        ),
        key(
            "on_offset_out_of_range",
            &Shape::Choice { here: &["fail", "earliest", "latest"], later: &[] },
            "When the stored position is gone from the broker: fail (default), earliest, latest.",
        ),
        key("format", &Shape::Choice { here: &["json"], later: &["avro", "csv", "raw"] }, "Format of the values. Default json."),
        key("columns", &COLUMNS, "The columns, in order. Fields that are not declared are left out."),
        key("key", &Shape::Object(&KEY), "What to do with the key of a record."),
        key("filter", &CONDITION, "Rows for which it is not true are left out; after scripts, before steps."),
        key("steps", &Shape::List(&Shape::Object(&STEP)), "Steps, in order."),
        required("to", &Shape::List(&Shape::Object(&SINK)), "Where rows go."),
        key("rejects", &Shape::Object(&REJECTS), "What becomes of refused records."),
        key("batch", &Shape::Object(&BATCH), "When a batch closes: whichever comes first."),
        key("commit", &Shape::Object(&COMMIT), "How many batches one commit carries: whichever comes first."),
        key(
            "trigger",
            &Shape::Either(&TRIGGER_WORD, &OBJECT_TRIGGER),
            "once: all there is at start, then stop. continuous (default): as records come. { processing_time: 10s }: at each interval.",
        ),
        key("group", &Shape::Text("the name of a consumer group"), "Consumer group. Default `sluicebox.TENANT.PIPELINE`."),
        key("memory", &MEMORY, "Bound on bytes that are read and not yet committed. Default 64MiB."),
        only("delivery", "exactly_once", "Rows, rejects and positions commit together; the one way of this version."),
        only("hosts", "one", "One host runs the pipeline; the one way of this version."),
        later("acceleration"),
        later("retention"),
        later("expectations"),
        later("params"),
        instead("topic", "write `from: kafka:TOPIC`"),
        instead("topics", "write `from: kafka:[TOPIC, TOPIC]`"),
        instead("attributes", "write `columns`"),
        instead("table", "write `to: [{ table: TABLE }]`"),
        instead("connectionRef", "write `connection`"),
        instead("group_id", "write `group`"),
        instead("transform", "write `steps: [{ sql: SELECT … FROM message }]`"),
        instead("sql", "write `steps: [{ sql: SELECT … FROM message }]`"),
    ],
};

static KEY: Table = Table {
    name: "key",
    keys: &[key("privacy", &Shape::Text("a privacy rule"), "What hides the key, before anything is written.")],
};

static STEP: Table = Table {
    name: "step",
    keys: &[
        key("sql", &Shape::Text("an SQL statement over the table `message`"), "A row-local SELECT over the table `message`."),
        key("component", &NAME, "A transform, by the name of its component."),
    ],
};

static SINK: Table = Table {
    name: "sink",
    keys: &[
        key("table", &Shape::Text("the name of a table"), "A table: `TABLE` or `SCHEMA.TABLE`."),
        key("where", &CONDITION, "Rows for which it is not true are not for this sink."),
        key("retention", &OBJECT_RETENTION, "What the table keeps; by commit time, in whole segments."),
        later("topic"),
        later("files"),
        later("format"),
        later("connection"),
        later("engine"),
        later("mode"),
        later("key"),
        later("primary_key"),
        later("on_conflict"),
        later("retention_sql"),
        later("partition_by"),
        instead("filter", "write `where`"),
    ],
};

static RETENTION: Table = Table {
    name: "retention",
    keys: &[
        key("age", &AGE, "Segments committed longer ago go."),
        key("bytes", &KEPT, "The oldest segments go while there are more bytes."),
    ],
};

static REJECTS: Table = Table {
    name: "rejects",
    keys: &[
        key(
            "raw",
            &Shape::Choice { here: &["plain", "omit"], later: &["encrypted"] },
            "Whether raw key, value and headers are kept: plain where no privacy rule is, else omit.",
        ),
        key("retention", &OBJECT_RETENTION, "What the rejects keep; by commit time, in whole segments."),
        later("topic"),
        later("max"),
        later("encrypted"),
    ],
};

static BATCH: Table = Table {
    name: "batch",
    keys: &[
        key("rows", &ROWS, "Records. Default 10000."),
        key("bytes", &BYTES, "Bytes of keys, values and headers. Default 8MiB."),
        key("time", &WAIT, "The longest wait for a batch to fill. Default 1s."),
    ],
};

static COMMIT: Table = Table {
    name: "commit",
    keys: &[
        key("time", &WAIT, "The longest wait of a finished batch. Default 0: as soon as the disk is free."),
        key("bytes", &BYTES, "Bytes that close a commit. Default 16MiB."),
    ],
};

static TRIGGER: Table =
    Table { name: "trigger", keys: &[required("processing_time", &INTERVAL, "The interval between two runs.")] };

/// A column.
pub(crate) static COLUMN: Table = Table {
    name: "column",
    keys: &[
        required("name", &NAME, "Name in the payload."),
        key("type", &Shape::Text("a type"), "A built-in type or one of `types`. Default string."),
        key("array", &Shape::Boolean, "Whether the value is a list of the type. Default false."),
        key("required", &Shape::Boolean, "Whether an absent or null value refuses the record. Default false."),
        key("privacy", &Shape::Text("a privacy rule"), "What hides the value, before anything is written."),
        key("comment", &WORDS, "Words for people."),
        key("rename", &NAME, "Name from here on."),
        key("default", &WORDS, "Value in place of null."),
        key(
            "trim",
            &Shape::Choice { here: &["none", "left", "right", "both"], later: &[] },
            "White space to take off text before anything else. Default none.",
        ),
        key(
            "script",
            &Shape::Text("an SQL expression"),
            "SQL expression over the other columns; such a column is not read from the payload.",
        ),
        key("ignore", &Shape::Boolean, "Whether the column is left out after `filter`. Default false."),
        key("validate", &NAMES, "Components that check the column, in order."),
        Key {
            name: "columns",
            also: Some("attributes"),
            shape: &COLUMNS,
            required: false,
            status: Status::Here,
            doc: "Nested columns of `type: struct`.",
        },
        key("empty_is_null", &Shape::Boolean, "Whether empty text counts as null. Default true."),
        key("sample", &WORDS, "An example of a value, for people."),
        key("tags", &NAMES, "Words for people."),
        with("metricType", Status::Documentation("no metrics of values are computed")),
        with("foreignKey", Status::Documentation("references between tables are not checked")),
        later("position"),
        later("accessPolicy"),
        instead("emptyIsNull", "write `empty_is_null`"),
        instead("nullable", "write `required: true` where null is refused"),
        instead("pattern", "a pattern belongs to a type: `types: [{ name: NAME, pattern: PATTERN }]`, then `type: NAME`"),
    ],
};
