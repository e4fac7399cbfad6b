//! The node-link form of networkx, in JSON: `nodes` with `id`, and `kind` if it is given; `links` or `edges` with `source`,
//! `target`, and `speed` if it is given.

use hocket_core::{Error, Result, ensure};
use serde::Deserialize;

use super::Sketch;

#[derive(Deserialize)]
struct Document {
    nodes: Vec<Vertex>,
    #[serde(alias = "edges")]
    links: Vec<Edge>,
}

#[derive(Deserialize)]
struct Vertex {
    id: Name,
    kind: Option<Kind>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Node,
    Switch,
}

#[derive(Deserialize)]
struct Edge {
    source: Name,
    target: Name,
    speed: Option<f64>,
}

/// A text or a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Number(u64),
}

impl Name {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

pub(super) fn is_form(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

pub(super) fn read(text: &str) -> Result<Sketch> {
    let document: Document = serde_json::from_str(text).map_err(|error| {
        Error::new(format!("got no network ({error}), expected nodes with id, and links with source and target"))
    })?;
    let mut sketch = Sketch::default();
    for vertex in document.nodes {
        sketch.vertex(&vertex.id.text(), vertex.kind.map(|kind| kind == Kind::Node))?;
    }
    let count = sketch.names.len();
    for edge in document.links {
        let ends = [sketch.vertex(&edge.source.text(), None)?, sketch.vertex(&edge.target.text(), None)?];
        let [from, to] = ends.map(|end| &sketch.names[end]);
        ensure(sketch.names.len() == count, || format!("got a link from {from} to {to}, expected nodes of the list"))?;
        sketch.join(ends, edge.speed.unwrap_or(1.0))?;
    }
    Ok(sketch)
}
