//! Events of the YAML parser to nodes, within limits.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_yaml::granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{Content, Entry, Node, Scalar};
use crate::error::Mark;

/// The largest file that is read: a thousand pipelines of a hundred columns take less.
pub(crate) const FILE_BYTES_MAX: usize = 4 << 20;
/// The deepest nesting of lists and mappings; a struct in a struct takes three levels.
const NESTING_MAX: usize = 64;
/// What anchors and aliases may copy, in all: ten thousand times what a configuration needs.
const COPIED_BYTES_MAX: usize = 8 << 20;
/// What a node is counted for beside its text.
const NODE_BYTES: usize = 96;

/// Text that is no YAML, or goes beyond a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Where.
    pub(crate) mark: Mark,
    /// What, without any value of the file.
    pub(crate) message: String,
}

type Result<T> = std::result::Result<T, SyntaxError>;

/// Parses one document. An empty one is null.
pub(crate) fn parse(text: &str) -> Result<Node> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut options = Options::default();
    options.flow_nesting_limit = NESTING_MAX;
    options.block_nesting_limit = NESTING_MAX;
    options.set_emit_comments(false);
    let mut tree = Tree::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| syntax_error(text, &error))?;
        tree.take(event, span)?;
    }
    let nothing = Content::Scalar(Scalar { text: String::new(), plain: true });
    Ok(tree.root.unwrap_or(Node { mark: Mark { line: 1, column: 1 }, content: nothing }))
}

/// A collection that is not closed yet.
struct Frame {
    mark: Mark,
    anchor: usize,
    collection: Collection,
}

enum Collection {
    Sequence(Vec<Node>),
    Mapping { entries: Vec<Entry>, key: Option<(String, Mark, bool)>, merges: Vec<Node> },
}

#[derive(Default)]
struct Tree {
    root: Option<Node>,
    open: Vec<Frame>,
    anchors: HashMap<usize, (Node, usize)>,
    documents: usize,
    copied: usize,
}

impl Tree {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<()> {
        let mark = mark(span);
        match event {
            Event::DocumentStart(..) => self.start_document(mark),
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && !is_text_tag(tag.as_deref(), mark)?;
                let scalar = Scalar { text: text.into_owned(), plain };
                self.place(Node { mark, content: Content::Scalar(scalar) }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => self.start(mark, anchor, tag, "seq", Collection::Sequence(Vec::new())),
            Event::MappingStart(_, anchor, tag) => {
                let collection = Collection::Mapping { entries: Vec::new(), key: None, merges: Vec::new() };
                self.start(mark, anchor, tag, "map", collection)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(anchor, mark),
            _ => Ok(()),
        }
    }

    fn start_document(&mut self, mark: Mark) -> Result<()> {
        self.documents += 1;
        match self.documents {
            1 => Ok(()),
            _ => fail(mark, "a second YAML document begins here; expected one document in a file, without a further `---`"),
        }
    }

    fn start(
        &mut self,
        mark: Mark,
        anchor: usize,
        tag: Option<Cow<'_, Tag>>,
        expected: &str,
        collection: Collection,
    ) -> Result<()> {
        if tag.is_some_and(|tag| tag.core_suffix() != Some(expected)) {
            return fail(mark, TAG_MESSAGE);
        }
        self.open.push(Frame { mark, anchor, collection });
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let content = match frame.collection {
            Collection::Sequence(items) => Content::Sequence(items),
            Collection::Mapping { mut entries, merges, .. } => {
                for merge in merges {
                    self.merge(&mut entries, merge)?;
                }
                Content::Mapping(entries)
            }
        };
        self.place(Node { mark: frame.mark, content }, frame.anchor)
    }

    /// Puts a finished node where its parent wants it: as root, item, key or value.
    fn place(&mut self, node: Node, anchor: usize) -> Result<()> {
        if anchor != 0 {
            let bytes = weight(&node);
            self.copy(bytes, node.mark)?;
            self.anchors.insert(anchor, (node.clone(), bytes));
        }
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut frame.collection {
            Collection::Sequence(items) => items.push(node),
            Collection::Mapping { entries, key, merges } => match key.take() {
                None => *key = Some(read_key(node)?),
                Some((_, _, true)) => merges.push(node),
                Some((name, key_mark, false)) => entries.push(Entry { key: name, key_mark, value: node }),
            },
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, mark: Mark) -> Result<()> {
        let Some((_, bytes)) = self.anchors.get(&anchor) else {
            return fail(mark, "an alias inside of what it names: an anchor cannot refer to itself");
        };
        self.copy(*bytes, mark)?;
        let Some((node, _)) = self.anchors.get(&anchor) else { return Ok(()) };
        let node = Node { mark, ..node.clone() };
        self.place(node, 0)
    }

    /// `<<`: keys that the mapping itself has win, then the mappings of a list in their order.
    fn merge(&mut self, entries: &mut Vec<Entry>, merged: Node) -> Result<()> {
        let mark = merged.mark;
        match merged.content {
            Content::Mapping(others) => {
                for other in others {
                    if entries.iter().all(|entry| entry.key != other.key) {
                        entries.push(other);
                    }
                }
                Ok(())
            }
            Content::Sequence(items) if items.iter().all(|item| matches!(item.content, Content::Mapping(_))) => {
                items.into_iter().try_for_each(|item| self.merge(entries, item))
            }
            _ => fail(mark, "`<<` merges a mapping or a list of mappings; expected an alias such as `<<: *defaults`"),
        }
    }

    fn copy(&mut self, bytes: usize, mark: Mark) -> Result<()> {
        self.copied = self.copied.saturating_add(bytes);
        if self.copied <= COPIED_BYTES_MAX {
            return Ok(());
        }
        fail(mark, format!("anchors and aliases expand to more than {} MiB; write less by reference", COPIED_BYTES_MAX >> 20))
    }
}

const TAG_MESSAGE: &str = "a YAML tag is not supported; leave it out, and quote text that begins with `!`";

/// Whether a tag says that a scalar is text.
fn is_text_tag(tag: Option<&Tag>, mark: Mark) -> Result<bool> {
    match tag {
        None => Ok(false),
        Some(tag) if tag.core_suffix() == Some("str") || tag.original() == "!" => Ok(true),
        Some(_) => fail(mark, TAG_MESSAGE),
    }
}

/// Name, place, and whether it is the merge key.
fn read_key(node: Node) -> Result<(String, Mark, bool)> {
    match node.content {
        Content::Scalar(scalar) => {
            let merge = scalar.plain && scalar.text == "<<";
            Ok((scalar.text, node.mark, merge))
        }
        _ => fail(node.mark, "a key is a list or a mapping; expected a name"),
    }
}

/// Bytes that a copy of the node takes, roughly.
fn weight(node: &Node) -> usize {
    let inner: usize = match &node.content {
        Content::Scalar(scalar) => scalar.text.len(),
        Content::Sequence(items) => items.iter().map(weight).sum(),
        Content::Mapping(entries) => entries.iter().map(|entry| entry.key.len() + NODE_BYTES + weight(&entry.value)).sum(),
    };
    NODE_BYTES + inner
}

fn mark(span: Span) -> Mark {
    Mark { line: span.start.line(), column: span.start.col() + 1 }
}

fn fail<T>(mark: Mark, message: impl Into<String>) -> Result<T> {
    Err(SyntaxError { mark, message: message.into() })
}

fn syntax_error(text: &str, error: &ScanError) -> SyntaxError {
    let mark = Mark { line: error.marker().line().max(1), column: error.marker().col() + 1 };
    let message = match error.kind() {
        ErrorKind::RecursionLimitExceeded => format!("nested more than {NESTING_MAX} deep; expected at most that"),
        _ if indented_by_tab(text, mark.line) => "a tab indents this line; YAML wants spaces".to_owned(),
        _ => format!("this is no YAML: {}", error.info()),
    };
    SyntaxError { mark, message }
}

fn indented_by_tab(text: &str, line: usize) -> bool {
    let Some(line) = text.lines().nth(line - 1) else { return false };
    let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
    indent.contains('\t')
}
