//! Files to [`Loaded`]: one file, or a folder with the operator's file and one file for each tenant.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use sluicebox_core::name::{DEFAULT_TENANT, TenantName};

use crate::build;
use crate::document::Object;
use crate::error::{ConfigError, Mark, Problems};
use crate::keys::ROOT;
use crate::paths::Paths;
use crate::secrets::{Environment, Secrets};
use crate::spec::{Spec, TenantSpec};
use crate::walk::Walker;
use crate::yaml::{self, Content, FILE_BYTES_MAX, Meaning, Node};

/// The operator's file in a folder.
const OPERATOR_FILE: &str = "sluicebox.yaml";
/// The folder of the stores where none is named, beside the operator's file.
const DATA_DEFAULT: &str = "data";

/// Where the configuration is.
pub struct ConfigSource<'a> {
    /// A file, which is the operator's (tenant `default`), or a folder: `sluicebox.yaml` in it is the operator's and
    /// `tenants/NAME.yaml` one tenant's, whose relative paths begin at `tenants/NAME/`.
    pub path: PathBuf,
    /// Looks up the environment for `${env:NAME}`.
    pub environment: Environment<'a>,
}

/// What was loaded: what can start, and why the rest cannot.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// All tenants and pipelines without errors.
    pub spec: Spec,
    /// All errors, in the order of the files.
    pub errors: Vec<ConfigError>,
    /// What is allowed and yet probably not meant.
    pub warnings: Vec<ConfigError>,
}

/// Loads and checks a configuration. It reads files and nothing else.
pub fn load(source: &ConfigSource<'_>) -> Loaded {
    if source.path.is_dir() { load_folder(source) } else { load_file(source) }
}

fn load_file(source: &ConfigSource<'_>) -> Loaded {
    let operator = load_operator(&source.path, source.environment);
    let data = operator.data.unwrap_or_else(|| beside(&source.path).join(DATA_DEFAULT));
    finish(data, vec![(operator.tenant, operator.problems)])
}

fn load_folder(source: &ConfigSource<'_>) -> Loaded {
    let file = source.path.join(OPERATOR_FILE);
    let tenants = source.path.join("tenants");
    let operator = (file.exists() || !tenants.is_dir()).then(|| load_operator(&file, source.environment));
    let data = match &operator {
        Some(operator) => operator.data.clone(),
        None => Some(source.path.join(DATA_DEFAULT)),
    };
    let mut results: Vec<_> = operator.map(|operator| (operator.tenant, operator.problems)).into_iter().collect();
    for entry in tenant_files(&tenants) {
        results.push(match entry {
            Ok(path) => load_tenant(&path, data.is_some()),
            Err((path, message)) => {
                let mut problems = Problems::new(&path, None);
                problems.file_error(message);
                (None, problems)
            }
        });
    }
    finish(data.unwrap_or_else(|| source.path.join(DATA_DEFAULT)), results)
}

fn finish(data: PathBuf, results: Vec<(Option<TenantSpec>, Problems)>) -> Loaded {
    let mut loaded = Loaded { spec: Spec { data, tenants: Vec::new() }, errors: Vec::new(), warnings: Vec::new() };
    for (tenant, problems) in results {
        loaded.spec.tenants.extend(tenant);
        let (errors, warnings) = problems.finish();
        loaded.errors.extend(errors);
        loaded.warnings.extend(warnings);
    }
    loaded.spec.tenants.sort_by(|a, b| a.name.cmp(&b.name));
    loaded
}

struct Operator {
    tenant: Option<TenantSpec>,
    problems: Problems,
    /// None when it is not known where the stores are.
    data: Option<PathBuf>,
}

fn load_operator(file: &Path, environment: Environment<'_>) -> Operator {
    let name = TenantName::new(DEFAULT_TENANT);
    let mut problems = Problems::new(file, Some(name.clone()));
    let paths = Paths::operator(beside(file));
    let data_default = paths.base().join(DATA_DEFAULT);
    let Some(text) = read(file, &mut problems) else { return Operator { tenant: None, problems, data: None } };
    let secrets = Secrets { environment: Some(environment) };
    let Some(root) = parse(&text, &mut problems) else {
        // Tenants may go on, but only if there is no doubt where their stores are.
        let data = (!text.contains("data")).then_some(data_default);
        return Operator { tenant: None, problems, data };
    };
    let Some(document) = walk(&root, &mut problems, secrets) else { return Operator { tenant: None, problems, data: None } };
    let data = match document.text("data") {
        Some(text) => Some(paths.base().join(&text.text)),
        None => (!document.has("data")).then_some(data_default),
    };
    let tenant = build::tenant(&document, name, &paths, &mut problems);
    Operator { tenant, problems, data }
}

fn load_tenant(file: &Path, data_known: bool) -> (Option<TenantSpec>, Problems) {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = TenantName::new(stem);
    let mut problems = Problems::new(file, Some(name.clone()));
    if let Err(message) = check_tenant_name(stem) {
        problems.file_error(message);
        return (None, problems);
    }
    if !data_known {
        let cause =
            format!("the folder of the stores (`data`) is not known until {OPERATOR_FILE} is right; mend that file first");
        problems.file_error(cause);
    }
    let paths = Paths::tenant(beside(file).join(stem));
    let Some(text) = read(file, &mut problems) else { return (None, problems) };
    let Some(root) = parse(&text, &mut problems) else { return (None, problems) };
    let Some(document) = walk(&root, &mut problems, Secrets { environment: None }) else { return (None, problems) };
    if document.has("data") {
        problems.error(document.key_mark("data"), "`data` is the operator's alone; leave it out of a tenant's file");
    }
    let tenant = build::tenant(&document, name, &paths, &mut problems);
    (tenant, problems)
}

/// Names of tenants are folders: lower case, so that no two are the same to any file system.
fn check_tenant_name(name: &str) -> Result<(), String> {
    const LENGTH_MAX: usize = 63;
    let right = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name == DEFAULT_TENANT {
        return Err(format!("the tenant `{DEFAULT_TENANT}` is the operator's, in {OPERATOR_FILE}; give the file another name"));
    }
    if name.is_empty() || name.len() > LENGTH_MAX || !name.chars().all(right) || name.starts_with(['-', '_']) {
        let expected =
            format!("expected lower-case letters, digits, `-` and `_`, beginning with a letter or digit, at most {LENGTH_MAX}");
        return Err(format!("`{name}` is no name for a tenant; {expected}"));
    }
    Ok(())
}

/// The tenants' files in order of name; what looks like one and is not read comes with words.
fn tenant_files(folder: &Path) -> Vec<Result<PathBuf, (PathBuf, String)>> {
    if !folder.is_dir() {
        return Vec::new();
    }
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return vec![Err((folder.to_owned(), format!("cannot list the folder: {error}")))],
    };
    let mut files: Vec<_> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| path.is_file()).collect();
    files.sort();
    let read = |path: PathBuf| match path.extension().and_then(|extension| extension.to_str()) {
        Some("yaml") => Some(Ok(path)),
        Some(extension) if extension.eq_ignore_ascii_case("yml") || extension.eq_ignore_ascii_case("yaml") => {
            Some(Err((path, "a tenant's file is named NAME.yaml; rename it".to_owned())))
        }
        _ => None,
    };
    files.into_iter().filter_map(read).collect()
}

fn beside(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Reads the text of a file; what is too large is not read at all.
fn read(path: &Path, problems: &mut Problems) -> Option<String> {
    let mut bytes = Vec::new();
    let limit = FILE_BYTES_MAX as u64 + 1;
    let opened = std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    if let Err(error) = opened {
        let hint = if error.kind() == std::io::ErrorKind::NotFound { "; expected a configuration file, see `-f`" } else { "" };
        problems.file_error(format!("cannot read the file: {error}{hint}"));
        return None;
    }
    if bytes.len() > FILE_BYTES_MAX {
        problems.file_error(format!("the file has more than {} MiB; expected a configuration", FILE_BYTES_MAX >> 20));
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
            problems.error(Mark { line, column }, "a byte here is not UTF-8; expected UTF-8 text");
            None
        }
    }
}

fn parse(text: &str, problems: &mut Problems) -> Option<Node> {
    match yaml::parse(text) {
        Ok(root) => Some(root),
        Err(error) => {
            problems.error(error.mark, error.message);
            None
        }
    }
}

fn walk(root: &Node, problems: &mut Problems, secrets: Secrets<'_>) -> Option<Object> {
    if matches!(&root.content, Content::Scalar(scalar) if yaml::meaning(scalar) == Meaning::Null) {
        problems.warn(root.mark, "the file is empty; expected `pipelines`");
        return Some(Object { mark: root.mark, fields: Vec::new(), wrong: false });
    }
    Walker { problems, secrets }.object(root, &ROOT)
}
