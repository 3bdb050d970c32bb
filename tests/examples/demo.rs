//! `make demo`: the embedded broker, 200,000 orders, some of them bad in each way, through `examples/orders`, and what came of them.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sluicebox_config::ConfigSource;
use sluicebox_config::spec::Trigger;
use sluicebox_core::port::Store;
use sluicebox_engine::pipeline::Finish;
use sluicebox_kafka::{EmbeddedBroker, Message};
use sluicebox_server::cli::Format;
use sluicebox_server::host::{TenantHost, connect};
use sluicebox_server::http::query;
use sluicebox_server::progress::{Progress, thousands};

const ORDERS: u64 = 200_000;

fn main() -> Result<()> {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/orders/sluicebox.yaml");
    let loaded = sluicebox_config::load(&ConfigSource { path: config, environment: &|_| None });
    loaded.errors.iter().for_each(|error| eprintln!("{error}"));
    ensure!(loaded.errors.is_empty(), "examples/orders is wrong");
    let mut spec = loaded.spec;
    let folder = tempfile::tempdir()?;
    spec.data = folder.path().to_owned();
    let broker = EmbeddedBroker::start()?;
    broker.fill("orders", (0..ORDERS).map(order))?;
    println!("embedded broker: {} orders in topic `orders`", thousands(ORDERS));
    connect(&mut spec, &broker, |_| true);
    let tenant = &mut spec.tenants[0];
    tenant.pipelines[0].trigger = Trigger::Once;

    let began = Instant::now();
    let host = Arc::new(TenantHost::open(&spec.data, &tenant.name)?);
    let store: Arc<dyn Store> = host.store().clone();
    host.start(&spec.data, tenant, Duration::from_secs(30), store)?;
    let mut progress = Progress::default();
    while !host.ended() {
        progress.look(std::slice::from_ref(&host));
        std::thread::park_timeout(Duration::from_millis(5));
    }
    progress.end();
    let took = began.elapsed();
    for (_, finish) in host.stop(Duration::from_secs(30)) {
        ensure!(finish == Some(Finish::Done), "the pipeline did not end well: {finish:?}");
    }
    tell(&host, took)
}

fn tell(host: &TenantHost, took: Duration) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for (title, sql) in [
        ("the first rows", "SELECT * FROM shop.orders ORDER BY order_id LIMIT 5"),
        ("a query", "SELECT part, count(*) AS orders, sum(total) AS total FROM shop.orders GROUP BY part ORDER BY part LIMIT 5"),
        (
            "rejects by reason",
            "SELECT e['code'] AS code, e['path'] AS path, count(*) AS records FROM (SELECT unnest(errors) AS e FROM audit.rejected) \
             GROUP BY 1, 2 ORDER BY records DESC, code",
        ),
    ] {
        println!("\n{title}: {sql}");
        print!("{}", runtime.block_on(query(host, sql, Format::Table)).with_context(|| sql.to_owned())?);
    }
    let counts = &host.reports()[0].counts;
    ensure!(
        counts.consumed == ORDERS && counts.emitted + counts.filtered + counts.rejected == ORDERS,
        "the books do not close: {counts:?}"
    );
    println!(
        "\n{} orders in {:.2} s ({}/s): {} in the table, {} filtered, {} rejected",
        thousands(ORDERS),
        took.as_secs_f64(),
        thousands((ORDERS as f64 / took.as_secs_f64()) as u64),
        thousands(counts.emitted),
        thousands(counts.filtered),
        thousands(counts.rejected),
    );
    Ok(())
}

/// Order `n`: one in a hundred is bad, in one way after the other.
fn order(n: u64) -> Message {
    let mut email = format!("customer{}@example.com", n % 5_000);
    let mut card = "4539148803436467";
    let mut id = format!("{n}");
    let status = if n % 50 == 7 { "test" } else { "paid" };
    let mut price = format!("{}.{:02}", 1 + n % 90, n % 100);
    let note = match n % 4 {
        0 => "please call +49 30 90182044 before noon",
        1 => "refund to DE89 3704 0044 0532 0130 00, thank you",
        2 => "write to sales@example.org if it is late",
        _ => "gift wrap, no invoice in the box",
    };
    if n % 100 == 99 {
        match n / 100 % 6 {
            0 => email = "nobody at example".into(),
            1 => card = "4539148803436468",
            2 => id = "\"none\"".into(),
            3 => price = "12.345".into(),
            4 => return Message::of(format!("{{\"order_id\":{n},\"status\":\"pa")),
            _ => return Message::of(format!("{{\"email\":\"{email}\",\"status\":\"paid\"}}")),
        }
    }
    let mut value = String::new();
    let _ = write!(
        value,
        "{{\"order_id\":{id},\"email\":\"{email}\",\"card\":\"{card}\",\"status\":\"{status}\",\"note\":\"{note}\",\"quantity\":{},\"price\":{price},\
         \"ordered_at\":\"2026-03-{:02}T{:02}:{:02}:00Z\"}}",
        1 + n % 5,
        1 + n % 28,
        n / 60 % 24,
        n % 60,
    );
    Message::of(value)
}
