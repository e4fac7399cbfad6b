//! XML: elements and their attributes, with the line of what is wrong.

use hocket_core::{Error, Result};
use roxmltree::{Document, Node, ParsingOptions};

/// The most elements, texts and comments in a file.
const MOST_NODES: u32 = 1 << 22;

pub(super) fn has_element(text: &str, name: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<') && text.contains(&format!("<{name}"))
}

/// The tree of a text. A document type is passed over.
///
/// # Errors
/// No XML; or entities, by which a short text could stand for one that fills the memory.
pub(super) fn parse(text: &str) -> Result<Document<'_>> {
    if let Some((before, _)) = text.split_once("<!ENTITY") {
        let error = Error::new("got an entity, expected XML without entities of its own");
        return Err(error.at(format!("line {}", before.matches('\n').count() + 1)));
    }
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options)
        .map_err(|error| Error::new(format!("got no XML ({error})")).at(format!("line {}", error.pos().row)))
}

/// Reads elements in the order of the file; an error has the line of its element.
pub(super) fn read_elements<'a, 'b>(
    document: &'b Document<'a>,
    mut read: impl FnMut(Node<'b, 'a>) -> Result<()>,
) -> Result<()> {
    document.root().descendants().filter(Node::is_element).try_for_each(|node| read(node).map_err(|e| at(node, e)))
}

/// The error, met at an element.
pub(super) fn at(element: Node, error: Error) -> Error {
    error.at(format!("line {}", element.document().text_pos_at(element.range().start).row))
}

/// What an attribute says, by `parse`. Without the attribute, it is empty.
///
/// # Errors
/// `parse` makes nothing of it.
pub(super) fn value<'a, T>(
    element: Node<'a, '_>,
    name: &str,
    expected: &str,
    parse: impl FnOnce(&'a str) -> Option<T>,
) -> Result<T> {
    let text = element.attribute(name).unwrap_or_default();
    let tag = element.tag_name().name();
    parse(text).ok_or_else(|| Error::new(format!("got <{tag:.60}> with {name}={text:?}, expected {expected}")))
}

/// A name.
pub(super) fn name<'a>(element: Node<'a, '_>, attribute: &str) -> Result<&'a str> {
    value(element, attribute, "a name", |text| Some(text).filter(|text| !text.is_empty()))
}
