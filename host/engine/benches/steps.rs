//! What a value costs in the checks and privacy rules: `steps/…`, per value of one column.

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::column::{Column, Digest, Kind, Pattern, Privacy};
use sluicebox_core::reject::Rejects;
use sluicebox_core::secret::Secret;
use sluicebox_engine::steps::protect::Protect;
use sluicebox_engine::steps::validate::Patterns;

/// Values a batch.
const ROWS: usize = 8_192;
const EMAIL: &str = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,6}";

fn column(pattern: Option<&str>, privacy: Privacy) -> Column {
    let pattern = pattern.map(|p| Pattern { written: p.into(), regex: format!(r"(?s)\A(?:{p})\z") });
    Column { pattern, privacy, ..Column::new("v", Kind::Text) }
}

fn batch(column: &Column, value: impl Fn(usize) -> String) -> Batch {
    let values: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(value)));
    let schema = Arc::new(Schema::new(vec![Field::clone(&column.decoded_field())]));
    let columns = RecordBatch::try_new(schema, vec![values]).expect("a batch");
    Batch { columns, rows: Rows::Same(ROWS), records: Arc::default(), closed_at: 0 }
}

fn patterns(c: &mut Criterion) {
    let mut group = c.benchmark_group("steps/pattern");
    group.throughput(Throughput::Elements(ROWS as u64));
    let email = |i: usize| format!("first.last{i}@example.com");
    let event = |i: usize| format!("evt-{i:016x}");
    type Value<'a> = &'a dyn Fn(usize) -> String;
    for (name, pattern, value) in
        [("email", EMAIL, &email as Value<'_>), ("regex", "evt-[0-9a-f]{16}", &event), ("anything", ".+", &event)]
    {
        let column = column(Some(pattern), Privacy::None);
        let batch = batch(&column, value);
        let patterns = Patterns::new(std::slice::from_ref(&column), &batch.columns.schema()).expect("a pattern");
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut rejects = Rejects::default();
                patterns.check(black_box(&batch), &mut rejects);
                assert!(rejects.is_empty());
            });
        });
    }
}

fn privacy(c: &mut Criterion) {
    let mut group = c.benchmark_group("steps/privacy");
    group.throughput(Throughput::Elements(ROWS as u64));
    for (name, rule) in [
        ("sha256", Privacy::Hash(Digest::Sha256)),
        ("md5", Privacy::Hash(Digest::Md5)),
        ("hmac_sha256", Privacy::HmacSha256(Secret::new("a key that nobody can guess"))),
        ("mask", Privacy::Mask { fill: '*', count: 8, left: 4, right: 2 }),
        ("email_sha256", Privacy::Email(Digest::Sha256)),
    ] {
        let column = column(None, rule);
        let batch = batch(&column, |i| format!("first.last{i}@example.com"));
        let protect = Protect::new(std::slice::from_ref(&column), &batch.columns.schema()).expect("a rule");
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut rejects = Rejects::default();
                black_box(protect.apply(batch.clone(), &mut rejects).expect("applies"));
                assert!(rejects.is_empty());
            });
        });
    }
}

criterion_group!(benches, patterns, privacy);
criterion_main!(benches);
