//! What a right configuration becomes: the values of the spec.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sluicebox_config::spec::{CommitSpec, RawRejects, Spec, StepSpec, Target, Trigger};
use sluicebox_config::{ConfigSource, Loaded, load};
use sluicebox_core::column::{Digest, Kind, Privacy, TimeFormat, Trim};
use sluicebox_core::name::TableName;
use sluicebox_core::port::{BatchLimits, Retention};
use sluicebox_core::start::{OutOfRange, Start};

fn environment(name: &str) -> Option<String> {
    match name {
        "KAFKA_PASSWORD" | "PHONE_KEY" => Some("hunter2".to_owned()),
        "TRICKY" => Some("a#b: > \"q\"\n{x}".to_owned()),
        "ROWS" => Some("500".to_owned()),
        "YES" => Some("yes".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(case)
}

fn load_path(path: PathBuf) -> Loaded {
    load(&ConfigSource { path, environment: &environment })
}

fn load_text(text: &str) -> Loaded {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sluicebox.yaml");
    std::fs::write(&path, text).expect("writes");
    load_path(path)
}

fn pipeline<'s>(spec: &'s Spec, name: &str) -> &'s sluicebox_config::spec::PipelineSpec {
    let all = spec.tenants.iter().flat_map(|tenant| &tenant.pipelines);
    all.into_iter().find(|pipeline| pipeline.name.as_str() == name).expect(name)
}

#[test]
fn the_example_of_the_design() {
    let folder = golden("design_example");
    let loaded = load_path(folder.join("sluicebox.yaml"));
    assert_eq!(loaded.errors, []);
    assert_eq!(loaded.spec.data, folder.join("data"));
    let tenant = &loaded.spec.tenants[0];
    let mask = &tenant.components.values().nth(1).expect("two components");
    assert_eq!(mask.path, folder.join("components/mask.wasm"));
    assert_eq!((mask.memory, mask.cpu_per_batch), (64 << 20, Duration::from_millis(200)));
    assert_eq!(mask.settings.expose(), r#"{"columns":["note"]}"#);
    let orders = &tenant.pipelines[0];
    assert_eq!(orders.source.topics, ["orders"]);
    assert_eq!(orders.source.group, "sluicebox.default.orders");
    assert_eq!(orders.source.properties.len(), 1);
    assert_eq!(orders.source.properties[0].0, "bootstrap.servers");
    assert_eq!(orders.source.properties[0].1.expose(), "localhost:9092");
    assert!(!orders.source.embedded);
    assert_eq!((orders.source.start, orders.source.out_of_range), (Start::Earliest, OutOfRange::Fail));
    assert_eq!(orders.columns.len(), 8);
    assert!(orders.columns[0].required && orders.columns[0].kind == Kind::Long);
    assert_eq!(orders.columns[1].privacy, Privacy::Hash(Digest::Sha256));
    assert_eq!(orders.columns[1].type_name, "email");
    assert!(orders.columns[1].pattern.is_some());
    assert_eq!(orders.columns[2].privacy, Privacy::Hide { text: String::new(), times: 1 });
    assert_eq!(orders.columns[2].validate[0].as_str(), "luhn");
    assert_eq!(orders.columns[7].script.as_deref(), Some("quantity * price"));
    assert_eq!(orders.columns[7].kind, Kind::Decimal { precision: 14, scale: 2 });
    let sql = "SELECT order_id, email, note, total FROM message WHERE status <> 'test'";
    assert_eq!(orders.steps[0], StepSpec::Sql(sql.to_owned()));
    assert!(matches!(&orders.steps[1], StepSpec::Component(name) if name.as_str() == "mask"));
    let Target::Table { table, retention } = &orders.sinks[0].target;
    assert_eq!((table, *retention), (&TableName::new("shop", "orders"), Retention::default()));
    assert_eq!(orders.rejects.raw, RawRejects::Omit);
    assert_eq!(orders.batch, BatchLimits { rows: 10_000, bytes: 8 << 20, time: Duration::from_secs(1) });
    assert_eq!(orders.commit, CommitSpec { time: Duration::ZERO, bytes: 16 << 20 });
    assert_eq!((orders.trigger, orders.memory), (Trigger::Continuous, 64 << 20));
}

#[test]
fn every_key_reaches_the_spec() {
    let loaded = load_text(
        "
data: stores
connections:
  c:
    type: kafka
    options: { bootstrapServers: 'a:1', fetch.min.bytes: 1, sslCaLocation: ca.pem }
  e: { type: kafka, options: { bootstrapServers: embedded } }
types: [{ name: day, primitiveType: date, pattern: dd/MM/yyyy }]
pipelines:
  p:
    from: kafka:[a, b]
    connection: c
    options: { fetch.min.bytes: 2, client.id: x }
    start: 2026-01-31T00:00:00+01:00
    on_offset_out_of_range: LATEST
    columns:
      - { name: a, type: day, rename: z, trim: BOTH, empty_is_null: false, array: true, comment: words, ignore: true }
      - { name: b, type: struct, columns: [{ name: x, type: short, default: 5 }] }
      - { name: c, privacy: 'Mask(\"*\", 8, 4, 2)' }
    key: { privacy: 'hmac_sha256(${env:PHONE_KEY})' }
    filter: c is not null
    to: [{ table: t, where: c > 1, retention: { age: 7d, bytes: 10GiB } }]
    rejects: { retention: { age: 1d } }
    batch: { rows: 5, bytes: 64KiB, time: 0 }
    commit: { time: 100ms, bytes: 1MiB }
    trigger: { processing_time: 10s }
    group: mine
    memory: 1MiB
  q: { from: kafka:a, connection: e, start: group, columns: [{ name: a }], to: [{ table: q }], trigger: ONCE }
",
    );
    assert_eq!(loaded.errors, []);
    let p = pipeline(&loaded.spec, "p");
    assert_eq!(p.source.topics, ["a", "b"]);
    let property =
        |name: &str| p.source.properties.iter().find(|(other, _)| other == name).map(|(_, value)| value.expose().to_owned());
    assert_eq!(property("fetch.min.bytes").as_deref(), Some("2"));
    assert_eq!(property("client.id").as_deref(), Some("x"));
    assert!(property("ssl.ca.location").is_some_and(|path| path.ends_with("/ca.pem")), "relative to the file");
    assert_eq!((p.source.start, p.source.out_of_range), (Start::Time(1_769_814_000_000), OutOfRange::Latest));
    assert_eq!(p.columns[0].output_name(), "z");
    assert_eq!(p.columns[0].kind, Kind::Date { format: TimeFormat::Pattern("dd/MM/yyyy".to_owned()) });
    assert_eq!((p.columns[0].trim, p.columns[0].empty_is_null, p.columns[0].array), (Trim::Both, false, true));
    assert_eq!((p.columns[0].comment.as_deref(), p.columns[0].ignore), (Some("words"), true));
    let Kind::Struct(nested) = &p.columns[1].kind else { panic!("a struct") };
    assert_eq!((nested[0].kind.clone(), nested[0].default.as_deref()), (Kind::Short, Some("5")));
    assert_eq!(p.columns[2].privacy, Privacy::Mask { fill: '*', count: 8, left: 4, right: 2 });
    assert!(matches!(&p.key_privacy, Privacy::HmacSha256(key) if key.expose() == "hunter2"));
    assert_eq!(p.filter.as_deref(), Some("c is not null"));
    assert_eq!(p.sinks[0].filter.as_deref(), Some("c > 1"));
    let Target::Table { retention, .. } = &p.sinks[0].target;
    assert_eq!(*retention, Retention { age: Some(Duration::from_secs(7 * 86_400)), bytes: Some(10 << 30) });
    assert_eq!(p.rejects.raw, RawRejects::Omit, "a rule protects the key");
    assert_eq!(p.rejects.retention.age, Some(Duration::from_secs(86_400)));
    assert_eq!(p.batch, BatchLimits { rows: 5, bytes: 64 << 10, time: Duration::ZERO });
    assert_eq!(p.commit, CommitSpec { time: Duration::from_millis(100), bytes: 1 << 20 });
    assert_eq!((p.trigger, p.memory), (Trigger::ProcessingTime(Duration::from_secs(10)), 1 << 20));
    assert_eq!(p.source.group, "mine");
    let q = pipeline(&loaded.spec, "q");
    assert!(q.source.embedded && q.source.properties.is_empty());
    assert_eq!((q.source.start, q.trigger, q.rejects.raw), (Start::Group, Trigger::Once, RawRejects::Plain));
}

#[test]
fn b165_secrets_are_text_byte_for_byte() {
    let loaded = load_path(golden("b173_secrets").join("sluicebox.yaml"));
    let p = pipeline(&loaded.spec, "b165_always_text");
    assert_eq!(p.columns[0].name, "a#b: > \"q\"\n{x}");
    assert_eq!(p.columns[0].default.as_deref(), Some("yes"));
    assert_eq!(p.columns[1].default.as_deref(), Some(""));
    assert_eq!(p.batch.rows, 500);
    let password = p.source.properties.iter().find(|(name, _)| name == "sasl.password").map(|(_, value)| value.expose());
    assert_eq!(password, Some("pre-hunter2-${x}"));
    let mechanism = p.source.properties.iter().find(|(name, _)| name == "sasl.mechanism").map(|(_, value)| value.expose());
    assert_eq!(mechanism, Some("SCRAM-SHA-512"));
}

#[test]
fn b168_no_stays_the_word_no() {
    let loaded = load_path(golden("b168_no_is_text").join("sluicebox.yaml"));
    let on = pipeline(&loaded.spec, "on");
    assert_eq!(on.source.topics, ["no", "on", "y", "NO"]);
    let names: Vec<_> = on.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!((names, on.columns[2].default.as_deref()), (vec!["no", "on", "y", "007"], Some("no")));
    assert_eq!(on.filter.as_deref(), Some("no"));
}

#[test]
fn b193_tenants_have_folders_of_their_own() {
    let folder = golden("b193_tenants");
    let loaded = load_path(folder.clone());
    assert_eq!(loaded.spec.data, folder.join("stores"));
    let acme = &loaded.spec.tenants[0];
    assert_eq!(acme.name.as_str(), "acme");
    let mask = acme.components.values().next().expect("a component");
    assert_eq!(mask.path, folder.join("tenants/acme/mask.wasm"));
    let ca = acme.pipelines[0].source.properties.iter().find(|(name, _)| name == "ssl.ca.location");
    assert!(ca.is_some_and(|(_, path)| path.expose().ends_with("tenants/acme/certs/ca.pem")));
    let evil = loaded.errors.iter().filter(|error| error.tenant.as_ref().is_some_and(|tenant| tenant.as_str() == "evil"));
    assert_eq!(evil.count(), 8);
}

#[test]
fn b170_a_file_of_100_mib_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sluicebox.yaml");
    let file = std::fs::File::create(&path).expect("a file");
    file.set_len(100 << 20).expect("a long file");
    let began = Instant::now();
    let loaded = load_path(path);
    assert!(loaded.errors[0].message.contains("more than 4 MiB"), "{}", loaded.errors[0]);
    assert!(loaded.spec.tenants.is_empty() && began.elapsed() < Duration::from_secs(1));
}

#[test]
fn b170_a_large_file_of_few_keys_is_read_fast() {
    let columns: String =
        (0..20_000).map(|n| format!("      - {{ name: c{n}, type: long, comment: \"{}\" }}\n", "x".repeat(80))).collect();
    let began = Instant::now();
    let loaded = load_text(&format!(
        "connections: {{ c: {{ type: kafka, options: {{ bootstrapServers: embedded }} }} }}\npipelines:\n  p:\n    from: kafka:a\n    \
         to: [{{ table: t }}]\n    columns:\n{columns}"
    ));
    assert_eq!(loaded.errors, []);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn a_missing_file_says_so() {
    let loaded = load_path(golden("minimal").join("none.yaml"));
    assert!(loaded.errors[0].to_string().contains("none.yaml: cannot read the file"), "{}", loaded.errors[0]);
}

#[test]
fn no_cut_of_a_file_does_harm() {
    for case in ["design_example", "b172_merge_and_anchors", "b173_secrets", "types"] {
        let text = std::fs::read(golden(case).join("sluicebox.yaml")).expect(case);
        for end in (0..text.len()).step_by(11) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("sluicebox.yaml");
            std::fs::write(&path, &text[..end]).expect("writes");
            let loaded = load_path(path);
            assert!(loaded.errors.iter().all(|error| error.line <= 60), "{case} cut at {end}");
        }
    }
}

#[test]
fn b170_a_wrong_entry_used_by_reference_is_wrong_at_each_place() {
    let loaded = load_text(
        "connections:\n  a: &a { type: kafka, options: { bootstrapServers: embedded }, oops: 1 }\n  b: *a\npipelines:\n  p:\n    \
         from: kafka:a\n    connection: b\n    columns: [{ name: a }]\n    to: [{ table: t }]\n",
    );
    assert_eq!(loaded.spec.tenants[0].pipelines.len(), 0);
    let messages: Vec<_> = loaded.errors.iter().map(|error| error.message.as_str()).collect();
    assert!(messages[1].contains("connection `b` has errors of its own, see line 3"), "{messages:?}");
}
