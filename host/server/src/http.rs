//! What a running host answers over HTTP, and over the Unix socket beside each store.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Deserialize;
use serde_json::{Value, json};
use sluicebox_core::name::DEFAULT_TENANT;
use sluicebox_engine::pipeline::Command;
use sluicebox_engine::status::{Report, State as PipelineState};

use crate::cli::Format;
use crate::host::TenantHost;
use crate::rows;

/// What the handlers see: all tenants, or the one whose socket it is.
#[derive(Clone)]
pub struct Api {
    /// The tenants.
    pub tenants: Arc<Vec<Arc<TenantHost>>>,
    /// The one tenant that is spoken for when none is named.
    pub default_tenant: String,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
}

/// `?tenant=NAME&pipeline=NAME`
#[derive(Debug, Default, Deserialize)]
pub struct Scope {
    tenant: Option<String>,
    pipeline: Option<String>,
}

/// A refusal: status and words, as `{"error": …}`.
struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, axum::Json(json!({ "error": self.1 }))).into_response()
    }
}

/// The routes.
pub fn router(api: Api) -> Router {
    Router::new()
        .route("/v1/sql", post(sql))
        .route("/v1/status", get(status))
        .route("/v1/ready", get(ready))
        .route("/v1/pipelines/{pipeline}/{action}", post(pipeline))
        .route("/metrics", get(metrics))
        .route("/health", get(|| async { "ok\n" }))
        .with_state(api)
}

impl Api {
    /// An API that speaks for one tenant only.
    pub fn only(&self, tenant: &Arc<TenantHost>) -> Api {
        let default_tenant = tenant.name().to_string();
        Api { tenants: Arc::new(vec![tenant.clone()]), default_tenant, metrics: self.metrics.clone() }
    }

    fn tenant(&self, scope: &Scope) -> Result<&Arc<TenantHost>, Refusal> {
        let name = scope.tenant.as_deref().unwrap_or(&self.default_tenant);
        let found = self.tenants.iter().find(|tenant| tenant.name().as_str() == name);
        found.ok_or_else(|| Refusal(StatusCode::NOT_FOUND, format!("there is no tenant `{name}` here")))
    }

    fn reports(&self, scope: &Scope) -> Vec<Report> {
        let wanted = |name: &Option<String>, found: &str| name.as_deref().is_none_or(|name| name == found);
        let reports = self.tenants.iter().flat_map(|tenant| tenant.reports());
        reports.filter(|r| wanted(&scope.tenant, r.tenant.as_str()) && wanted(&scope.pipeline, r.pipeline.as_str())).collect()
    }
}

/// The tenant that the TCP address speaks for when none is named.
pub fn default_tenant() -> String {
    DEFAULT_TENANT.to_owned()
}

/// `POST /v1/sql`: the statement as the body, or `{"sql": …}`.
async fn sql(State(api): State<Api>, Query(scope): Query<Scope>, headers: HeaderMap, body: String) -> Result<Response, Refusal> {
    let tenant = api.tenant(&scope)?.clone();
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let format = Format::accepted(accept);
    let text = query(&tenant, &statement(&body)?, format)
        .await
        .map_err(|error| Refusal(StatusCode::BAD_REQUEST, format!("{error:#}")))?;
    Ok(([(header::CONTENT_TYPE, format.media_type())], text).into_response())
}

fn statement(body: &str) -> Result<String, Refusal> {
    if !body.trim_start().starts_with('{') {
        return Ok(body.to_owned());
    }
    let wrong = |what: String| Refusal(StatusCode::BAD_REQUEST, format!("expected the statement, or {{\"sql\": \"…\"}}: {what}"));
    let value: Value = serde_json::from_str(body).map_err(|error| wrong(error.to_string()))?;
    if let Some(key) = value.as_object().and_then(|object| object.keys().find(|key| *key != "sql")) {
        return Err(wrong(format!("unknown key `{key}`")));
    }
    value["sql"].as_str().map(str::to_owned).ok_or_else(|| wrong("`sql` is missing or no text".into()))
}

/// Runs a statement and formats its rows.
///
/// # Errors
/// What the statement or its limits do not allow.
pub async fn query(tenant: &TenantHost, sql: &str, format: Format) -> anyhow::Result<String> {
    let result = tenant.queries().query(sql).await?;
    let schema = result.schema();
    rows::format(&schema, &result.collect().await?, format)
}

/// `GET /v1/status`: each pipeline's state, counts and lag.
async fn status(State(api): State<Api>, Query(scope): Query<Scope>) -> axum::Json<Value> {
    axum::Json(json!({ "pipelines": api.reports(&scope).iter().map(report).collect::<Vec<_>>() }))
}

fn report(report: &Report) -> Value {
    let Report { counts, progress, state, .. } = report;
    json!({
        "tenant": report.tenant.as_str(),
        "pipeline": report.pipeline.as_str(),
        "state": state.word(),
        "reason": state.reason(),
        "ready": report.ready,
        "lag": progress.lag,
        "consumed": counts.consumed,
        "emitted": counts.emitted,
        "filtered": counts.filtered,
        "rejected": counts.rejected,
        "rows": counts.rows,
        "bytes": report.bytes,
        "commits": report.commits,
    })
}

/// `GET /v1/ready`: 200 once everything that was there at start is committed, of all pipelines or of `?pipeline=`.
async fn ready(State(api): State<Api>, Query(scope): Query<Scope>) -> Response {
    let reports = api.reports(&scope);
    if reports.is_empty() {
        return Refusal(StatusCode::NOT_FOUND, "there is no such pipeline here".into()).into_response();
    }
    let behind = |r: &&Report| !r.ready || matches!(r.state, PipelineState::Failed(_));
    let waiting: Vec<Value> = reports.iter().filter(behind).map(report).collect();
    let status = if waiting.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, axum::Json(json!({ "ready": waiting.is_empty(), "waiting_for": waiting }))).into_response()
}

/// `POST /v1/pipelines/NAME/pause`, `resume`, `restart`.
async fn pipeline(
    State(api): State<Api>,
    Query(scope): Query<Scope>,
    Path((pipeline, action)): Path<(String, String)>,
) -> Result<axum::Json<Value>, Refusal> {
    let command = match action.as_str() {
        "pause" => Command::Pause,
        "resume" => Command::Resume,
        "restart" => Command::Restart,
        other => return Err(Refusal(StatusCode::NOT_FOUND, format!("`{other}` is none of pause, resume, restart"))),
    };
    let tenant = api.tenant(&scope)?;
    tenant.command(&pipeline, command).map_err(|error| Refusal(StatusCode::NOT_FOUND, format!("{error:#}")))?;
    Ok(axum::Json(json!({ "pipeline": pipeline, "told": action })))
}

async fn metrics(State(api): State<Api>) -> String {
    api.metrics.render()
}
