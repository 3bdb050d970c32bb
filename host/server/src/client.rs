//! Speaks to a running host through the Unix socket beside a tenant's store.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// The socket of a tenant's folder.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("sluicebox.sock")
}

/// A connection to a running host.
pub struct Client {
    path: PathBuf,
}

impl Client {
    /// Finds the host that holds the store of a folder; `None` when none runs.
    pub async fn find(folder: &Path) -> Option<Self> {
        let path = socket(folder);
        UnixStream::connect(&path).await.ok()?;
        Some(Self { path })
    }

    /// Sends a request and answers with the body.
    ///
    /// # Errors
    /// The host went away, or it refuses: the message is the host's.
    pub async fn request(&self, method: Method, uri: &str, accept: &str, body: String) -> Result<String> {
        let stream =
            UnixStream::connect(&self.path).await.with_context(|| format!("no host answers at {}", self.path.display()))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(connection);
        let request = Request::builder().method(method).uri(uri).header("host", "sluicebox").header("accept", accept);
        let response = sender.send_request(request.body(Full::new(Bytes::from(body)))?).await?;
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        driver.abort();
        let text = String::from_utf8(bytes.to_vec()).context("the host answered with bytes that are no text")?;
        if status != StatusCode::OK {
            bail!("{}", message(&text));
        }
        Ok(text)
    }
}

/// The words of an error answer `{"error": …}`.
fn message(text: &str) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let words = parsed.as_ref().and_then(|value| value["error"].as_str());
    words.unwrap_or(text).to_owned()
}
