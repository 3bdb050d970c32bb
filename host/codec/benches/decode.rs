//! How fast records become columns, on one thread; arrow-json beside it. `decode.big` and `decode.small` count records.

use std::hint::black_box;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use sluicebox_codec::{JsonDecoder, sample};
use sluicebox_core::column::Column;
use sluicebox_core::port::Decoder;
use sluicebox_core::{Records, Rejects};

/// Records a batch.
const ROWS: u64 = 4_000;

fn ours(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, columns: &[Column], build: &[bool], records: &Arc<Records>) {
    let mut decoder = JsonDecoder::new(columns, build).expect("a decoder");
    group.bench_function(name, |b| {
        b.iter(|| {
            let mut rejects = Rejects::default();
            let batch = decoder.decode(records, 0, &mut rejects).expect("a batch");
            assert!(rejects.is_empty());
            black_box(batch)
        });
    });
}

fn theirs(group: &mut BenchmarkGroup<'_, WallTime>, columns: &[Column], records: &Arc<Records>) {
    let schema = Arc::new(Schema::new(columns.iter().map(known_field).collect::<Vec<_>>()));
    let mut decoder = arrow_json::ReaderBuilder::new(schema).with_batch_size(ROWS as usize).build_decoder().expect("a decoder");
    group.bench_function("arrow-json", |b| {
        b.iter(|| {
            for record in 0..records.len() {
                decoder.decode(records.value(record).unwrap_or_default()).expect("JSON");
            }
            black_box(decoder.flush().expect("a batch"))
        });
    });
}

/// The field with its zone written as an offset, which is all that arrow-json knows.
fn known_field(column: &Column) -> Field {
    match column.decoded_field() {
        field if matches!(field.data_type(), DataType::Timestamp(..)) => {
            field.with_data_type(DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())))
        }
        field => field,
    }
}

fn decode(c: &mut Criterion) {
    let three: Vec<bool> = (0..10).map(|n| (1..4).contains(&n)).collect();
    let (columns, records) = (sample::big_columns(), sample::batch(sample::big, ROWS));
    let mut group = c.benchmark_group("decode.big");
    group.throughput(Throughput::Elements(ROWS));
    ours(&mut group, "sluicebox", &columns, &[true; 10], &records);
    ours(&mut group, "sluicebox, 3 of 10 built", &columns, &three, &records);
    theirs(&mut group, &columns, &records);
    group.finish();
    let (columns, records) = (sample::small_columns(), sample::batch(sample::small, ROWS));
    let mut group = c.benchmark_group("decode.small");
    group.throughput(Throughput::Elements(ROWS));
    ours(&mut group, "sluicebox", &columns, &[true; 4], &records);
    theirs(&mut group, &columns, &records);
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
