//! NCCL's topology XML, as `NCCL_TOPO_DUMP_FILE` writes it: the inside of a node.
//!
//! GPUs are nodes. Processors (NUMA domains), PCI devices, network cards and all NVSwitches together are switches. A GPU
//! hangs on its own PCI device, so ways over NVLink are shorter than over PCI. Every two processors have a cable. Speeds
//! are those that NCCL expects, in GB/s. Latencies and affinities are not read.
//!
//! Source: src/graph/topo.cc and topo.h of NCCL 2.28.

use std::collections::{BTreeMap, HashMap};

use hocket_core::{Result, ensure};
use roxmltree::Node;

use super::{Sketch, xml};

/// The most processors: every two have a cable.
const MOST_PROCESSORS: usize = 256;

pub(super) fn is_form(text: &str) -> bool {
    xml::has_element(text, "system")
}

pub(super) fn read(text: &str) -> Result<Sketch> {
    let document = xml::parse(text)?;
    let mut system = System::default();
    xml::read_elements(&document, |element| system.add(element))?;
    xml::read_elements(&document, |element| system.add_links(element))?;
    for (&[from, to], speed) in &system.links {
        // Two GPUs both list the links between them.
        if from < to || !system.links.contains_key(&[to, from]) {
            system.sketch.join([from, to], *speed)?;
        }
    }
    Ok(system.sketch)
}

#[derive(Default)]
struct System<'a> {
    sketch: Sketch,
    processors: Vec<usize>,
    /// The GPUs by the addresses of their PCI devices.
    gpus: HashMap<&'a str, usize>,
    /// The speed of all NVLinks from a GPU to each of its neighbours.
    links: BTreeMap<[usize; 2], f64>,
}

impl<'a> System<'a> {
    fn add(&mut self, element: Node<'a, '_>) -> Result<()> {
        let tag = element.tag_name().name();
        if !["cpu", "pci", "gpu", "net"].contains(&tag) {
            return Ok(());
        }
        let name = name_of(element)?;
        let is_new = tag != "gpu" || !self.sketch.numbers.contains_key(&name);
        ensure(is_new, || format!("got {name} twice, expected the inside of one node"))?;
        let vertex = self.sketch.vertex(&name, Some(tag == "gpu"))?;
        if tag == "cpu" {
            ensure(self.processors.len() < MOST_PROCESSORS, || format!("got more than {MOST_PROCESSORS} processors"))?;
            let speed = processor_speed(element);
            self.processors.iter().try_for_each(|other| self.sketch.join([*other, vertex], speed))?;
            self.processors.push(vertex);
        }
        let Some(above) = ancestor(element, &["pci", "cpu"]) else { return Ok(()) };
        if tag == "gpu" {
            self.gpus.insert(xml::name(above, "busid")?, vertex);
        }
        let speed = match tag {
            "net" => number(element, "speed").filter(|megabits| *megabits > 0.0).unwrap_or(10_000.0) / 8000.0,
            "gpu" => pci_speed(above),
            _ => pci_speed(element),
        };
        self.sketch.join([vertex, self.sketch.numbers[&name_of(above)?]], speed)
    }

    /// Adds NVLinks to a GPU, to a processor or to the switches, or links between a chip's GPU and processor.
    fn add_links(&mut self, element: Node<'a, '_>) -> Result<()> {
        let tag = element.tag_name().name();
        let Some(gpu) = ancestor(element, &["gpu"]).filter(|_| ["nvlink", "c2c"].contains(&tag)) else { return Ok(()) };
        let (target, class) = (element.attribute("target").unwrap_or_default(), element.attribute("tclass"));
        let to = match self.gpus.get(target) {
            Some(other) => *other,
            None if class.is_some_and(|class| class.starts_with("0x03")) => return Ok(()),
            None if tag == "c2c" || class == Some("0x068001") => {
                let Some(processor) = ancestor(element, &["cpu"]) else { return Ok(()) };
                self.sketch.numbers[&name_of(processor)?]
            }
            None => self.sketch.vertex("nvswitch", Some(false))?,
        };
        let count = xml::value(element, "count", "a number of links", |text| {
            text.parse().ok().filter(|count: &u32| *count > 0)
        })?;
        let speed = if tag == "c2c" { number(element, "bw").unwrap_or_default() / 1000.0 } else { nvlink_speed(gpu) };
        let from = self.sketch.numbers[&name_of(gpu)?];
        *self.links.entry([from, to]).or_default() += f64::from(count) * speed;
        Ok(())
    }
}

/// The nearest element around an element that has one of these names.
fn ancestor<'a, 'b>(element: Node<'a, 'b>, tags: &[&str]) -> Option<Node<'a, 'b>> {
    element.ancestors().skip(1).find(|element| tags.contains(&element.tag_name().name()))
}

fn name_of(element: Node) -> Result<String> {
    Ok(match element.tag_name().name() {
        "cpu" => format!("cpu{}", xml::name(element, "numaid")?),
        "gpu" => format!("gpu{}", xml::name(element, "dev")?),
        "net" => xml::name(element, "name")?.to_owned(),
        _ => xml::name(element, "busid")?.to_owned(),
    })
}

fn number(element: Node, name: &str) -> Option<f64> {
    element.attribute(name)?.parse().ok()
}

/// Without a width or a rate, as in virtual machines: 16 lanes of generation 3.
fn pci_speed(element: Node) -> f64 {
    let lanes = number(element, "link_width").filter(|lanes| *lanes > 0.0).unwrap_or(16.0);
    let rate = element.attribute("link_speed").and_then(|speed| speed.split_whitespace().next()?.parse().ok());
    let gigatransfers = rate.unwrap_or(8.0);
    let efficiency = if gigatransfers < 8.0 { 0.6 } else { 0.75 };
    lanes * gigatransfers * efficiency / 8.0
}

/// The speed of a GPU's NVLink, by its compute capability.
fn nvlink_speed(gpu: Node) -> f64 {
    match number(gpu, "sm").unwrap_or_default() as u32 {
        100.. => 40.1,
        90.. => 20.6,
        86 => 12.0,
        60..70 => 18.0,
        _ => 20.0,
    }
}

/// The speed between two processors.
fn processor_speed(processor: Node) -> f64 {
    let text = |name| processor.attribute(name).unwrap_or_default();
    match (text("arch"), text("vendor"), number(processor, "modelid").unwrap_or_default() as u32) {
        ("ppc64", ..) => 32.0,
        (_, "AuthenticAMD", _) => 16.0,
        (_, "GenuineIntel", 0xcf..) => 40.0,
        (_, "GenuineIntel", 0x8f..) => 22.0,
        (_, "GenuineIntel", 0x55..) => 10.0,
        _ => 6.0,
    }
}
