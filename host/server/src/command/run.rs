//! `sluicebox run`: starts what can start, serves HTTP, waits for the end or a signal, drains.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use metrics_exporter_prometheus::PrometheusBuilder;
use sluicebox_config::spec::Spec;
use sluicebox_core::name::PipelineName;
use sluicebox_core::port::Store;
use sluicebox_engine::pipeline::Finish;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::RunArgs;
use crate::client::socket;
use crate::command::load::{load_and_tell, runtime};
use crate::command::say;
use crate::exit::Exit;
use crate::host::{TenantHost, embed_broker};
use crate::http::{Api, default_tenant, router};
use crate::progress::{Progress, thousands};

/// How long a stop may drain.
const DRAIN: Duration = Duration::from_secs(30);
/// How often the end of a run is looked for.
const LOOK: Duration = Duration::from_millis(20);

pub(super) fn run(args: &RunArgs) -> Result<Exit> {
    let loaded = load_and_tell(&args.config);
    let mut spec = loaded.spec;
    let nothing = spec.tenants.iter().all(|tenant| tenant.pipelines.is_empty());
    if nothing || (args.strict && !loaded.errors.is_empty()) {
        say("nothing was started: mend the configuration first (`sluicebox check` says what is wrong)");
        return Ok(Exit::Usage);
    }
    if !args.listen.ip().is_loopback() {
        say(&format!("--listen {}: only loopback addresses in this version, for there are no tokens yet", args.listen));
        return Ok(Exit::Usage);
    }
    let broker = embed_broker(&mut spec)?;
    if let Some(broker) = &broker {
        say(&format!("embedded broker at {}", broker.bootstrap_servers()));
    }
    runtime()?.block_on(serve(args, &spec))
}

async fn serve(args: &RunArgs, spec: &Spec) -> Result<Exit> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let began = Instant::now();
    let metrics = PrometheusBuilder::new().install_recorder().context("cannot install the metrics recorder")?;
    let tenants = start(args, spec)?;
    let api = Api { tenants: Arc::new(tenants.clone()), default_tenant: default_tenant(), metrics };
    listen(args.listen, &api).await?;
    let mut progress = Progress::default();
    while !tenants.iter().all(|tenant| tenant.ended()) {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            () = tokio::time::sleep(LOOK) => progress.look(&tenants),
        }
    }
    progress.end();
    let stopping = tokio::task::spawn_blocking({
        let tenants = tenants.clone();
        move || stop(&tenants)
    });
    tokio::select! {
        exit = stopping => {
            summary(&tenants, began);
            finish(tenants);
            Ok(exit?)
        }
        _ = terminate.recv() => bail!("stopped at once by a second signal; what was not committed is read again at the next start"),
        _ = interrupt.recv() => bail!("stopped at once by a second signal; what was not committed is read again at the next start"),
    }
}

/// Opens and starts each tenant. One that cannot start keeps only itself from starting.
fn start(args: &RunArgs, spec: &Spec) -> Result<Vec<Arc<TenantHost>>> {
    let mut tenants = Vec::new();
    for tenant in spec.tenants.iter().filter(|tenant| !tenant.pipelines.is_empty()) {
        let started = TenantHost::open(&spec.data, &tenant.name).and_then(|host| {
            let store: Arc<dyn Store> = host.store().clone();
            host.start(&spec.data, tenant, Duration::from_secs(args.wait), store)?;
            Ok(host)
        });
        match started {
            Ok(host) => tenants.push(Arc::new(host)),
            Err(error) => say(&format!("error: tenant {} does not start: {error:#}", tenant.name)),
        }
    }
    if tenants.is_empty() {
        bail!("nothing was started");
    }
    Ok(tenants)
}

/// Serves the API on the address and each tenant's part of it on the socket beside its store.
async fn listen(address: SocketAddr, api: &Api) -> Result<()> {
    match TcpListener::bind(address).await {
        Ok(listener) => {
            say(&format!("listening on http://{}", listener.local_addr()?));
            tokio::spawn(axum::serve(listener, router(api.clone())).into_future());
        }
        Err(error) => say(&format!("warning: no HTTP on {address}: {error}; choose another address with --listen")),
    }
    for tenant in api.tenants.iter() {
        let path = socket(tenant.folder());
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).with_context(|| format!("cannot listen on {}", path.display()))?;
        private(&path)?;
        tokio::spawn(axum::serve(listener, router(api.only(tenant))).into_future());
    }
    Ok(())
}

/// Only the owner may speak to the socket.
fn private(path: &std::path::Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?)
}

/// Stops all tenants at once; each drains for at most [`DRAIN`].
fn stop(tenants: &[Arc<TenantHost>]) -> Exit {
    let ends: Vec<(PipelineName, Option<Finish>)> = std::thread::scope(|scope| {
        let stops: Vec<_> = tenants.iter().map(|tenant| scope.spawn(|| tenant.stop(DRAIN))).collect();
        stops.into_iter().flat_map(|stop| stop.join().unwrap_or_default()).collect()
    });
    let exit = |(pipeline, finish): &(PipelineName, Option<Finish>)| match finish {
        Some(Finish::Done | Finish::Stopped) => Exit::Done,
        Some(Finish::GaveUp(error)) => {
            say(&format!("pipeline {pipeline}: {error}"));
            Exit::TryAgain
        }
        Some(Finish::Failed(error)) => {
            say(&format!("pipeline {pipeline} failed: {error}"));
            Exit::Failed
        }
        None => {
            say(&format!(
                "pipeline {pipeline} did not end in {DRAIN:?}; what it had not committed is read again at the next start"
            ));
            Exit::Failed
        }
    };
    ends.iter().map(exit).max().unwrap_or(Exit::Done)
}

/// Says what was done.
fn summary(tenants: &[Arc<TenantHost>], began: Instant) {
    for tenant in tenants {
        for report in tenant.reports() {
            let counts = &report.counts;
            say(&format!(
                "{}: {} records in {:.1} s: {} emitted, {} filtered, {} rejected; {} rows in {} commits",
                report.pipeline,
                thousands(counts.consumed),
                began.elapsed().as_secs_f64(),
                thousands(counts.emitted),
                thousands(counts.filtered),
                thousands(counts.rejected),
                thousands(counts.rows),
                thousands(report.commits),
            ));
        }
    }
}

/// Leaves the stores tidy: the sockets gone, what can be compacted compacted.
fn finish(tenants: Vec<Arc<TenantHost>>) {
    for tenant in tenants {
        let _ = std::fs::remove_file(socket(tenant.folder()));
        if let Err(error) = tenant.tidy() {
            say(&format!("warning: tenant {}: {error:#}", tenant.name()));
        }
    }
}
