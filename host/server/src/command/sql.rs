//! `sluicebox sql`: one statement or a prompt, through the host that runs, else on the store itself.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use hyper::Method;
use sluicebox_core::name::TenantName;

use crate::cli::{Format, SqlArgs};
use crate::client::Client;
use crate::command::load::{load_and_tell, runtime};
use crate::command::{answer, say};
use crate::exit::Exit;
use crate::host::{TenantHost, tenant_folder};
use crate::http::query;

/// Who answers.
enum Answerer {
    Host(Client),
    Store(Box<TenantHost>),
}

impl Answerer {
    async fn find(data: &Path, tenant: &TenantName) -> Result<Self> {
        if let Some(client) = Client::find(&tenant_folder(data, tenant)).await {
            return Ok(Answerer::Host(client));
        }
        match TenantHost::open(data, tenant) {
            Ok(host) => Ok(Answerer::Store(Box::new(host))),
            // Whoever held the store may be a host that was only starting.
            Err(error) => Client::find(&tenant_folder(data, tenant)).await.map(Answerer::Host).ok_or(error),
        }
    }

    async fn ask(&self, sql: &str, format: Format) -> Result<String> {
        match self {
            Answerer::Host(client) => client.request(Method::POST, "/v1/sql", format.media_type(), sql.to_owned()).await,
            Answerer::Store(tenant) => query(tenant, sql, format).await,
        }
    }
}

pub(super) fn sql(args: &SqlArgs) -> Result<Exit> {
    let loaded = load_and_tell(&args.config);
    let tenant = TenantName::new(&args.tenant.tenant);
    if !loaded.spec.tenants.iter().any(|spec| spec.name == tenant) {
        say(&format!("the configuration has no tenant `{tenant}`"));
        return Ok(Exit::Usage);
    }
    runtime()?.block_on(async {
        let answerer = Answerer::find(&loaded.spec.data, &tenant).await?;
        match &args.statement {
            Some(statement) => answer(&answerer.ask(statement, args.output).await?),
            None => prompt(&answerer, args.output).await?,
        }
        Ok(Exit::Done)
    })
}

/// Reads statements that end with `;` until the end of input or `quit`.
async fn prompt(answerer: &Answerer, format: Format) -> Result<()> {
    let terminal = std::io::stdin().is_terminal();
    let mut statement = String::new();
    loop {
        if terminal {
            answer(if statement.is_empty() { "sql> " } else { "  -> " });
            std::io::stdout().flush()?;
        }
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            break;
        }
        if statement.is_empty() && matches!(line.trim().trim_end_matches(';'), "quit" | "exit" | "\\q") {
            break;
        }
        statement.push_str(&line);
        if statement.trim_end().ends_with(';') {
            tell(answerer, &std::mem::take(&mut statement), format).await;
        }
    }
    if !statement.trim().is_empty() {
        tell(answerer, &statement, format).await;
    }
    Ok(())
}

/// A statement that fails does not end the prompt.
async fn tell(answerer: &Answerer, statement: &str, format: Format) {
    match answerer.ask(statement.trim().trim_end_matches(';'), format).await {
        Ok(text) => answer(&text),
        Err(error) => say(&format!("error: {error:#}")),
    }
}
