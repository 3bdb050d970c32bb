//! How fast records become columns, on one thread; arrow-json beside it. `decode.big` and `decode.small` count records.

use std::hint::black_box;
use std::sync::Arc;

use arrow_schema::Schema;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sluicebox_codec::{JsonDecoder, sample};
use sluicebox_core::column::Column;
use sluicebox_core::port::Decoder;
use sluicebox_core::{Records, Rejects};

/// Records a batch.
const ROWS: u64 = 4_000;

fn ours(columns: &[Column], build: &[bool], records: &Arc<Records>, c: &mut Criterion, id: &str) {
    let mut decoder = JsonDecoder::new(columns, build).expect("a decoder");
    let mut group = c.benchmark_group("json");
    group.throughput(Throughput::Elements(ROWS));
    group.bench_function(BenchmarkId::from_parameter(id), |b| {
        b.iter(|| {
            let mut rejects = Rejects::default();
            let batch = decoder.decode(records, 0, &mut rejects).expect("a batch");
            assert!(rejects.is_empty());
            black_box(batch)
        });
    });
}

fn theirs(columns: &[Column], records: &Arc<Records>, c: &mut Criterion, id: &str) {
    let schema = Arc::new(Schema::new(columns.iter().map(Column::decoded_field).collect::<Vec<_>>()));
    let mut decoder = arrow_json::ReaderBuilder::new(schema).with_batch_size(ROWS as usize).build_decoder().expect("a decoder");
    let mut group = c.benchmark_group("json");
    group.throughput(Throughput::Elements(ROWS));
    group.bench_function(BenchmarkId::from_parameter(id), |b| {
        b.iter(|| {
            for record in 0..records.len() {
                decoder.decode(records.value(record).unwrap_or_default()).expect("JSON");
            }
            black_box(decoder.flush().expect("a batch"))
        });
    });
}

fn decode(c: &mut Criterion) {
    let (big, small) = (sample::batch(sample::big, ROWS), sample::batch(sample::small, ROWS));
    let (big_columns, small_columns) = (sample::big_columns(), sample::small_columns());
    ours(&big_columns, &[true; 10], &big, c, "decode.big");
    let three: Vec<bool> = (0..10).map(|n| (1..4).contains(&n)).collect();
    ours(&big_columns, &three, &big, c, "decode.big.three_built");
    ours(&small_columns, &[true; 4], &small, c, "decode.small");
    theirs(&big_columns, &big, c, "arrow-json.big");
    theirs(&small_columns, &small, c, "arrow-json.small");
}

criterion_group!(benches, decode);
criterion_main!(benches);
