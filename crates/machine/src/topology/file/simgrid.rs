//! SimGrid's platform XML, as far as it is a graph.
//!
//! Hosts are nodes. Routers, and the points where two links of a route meet, are switches. Links are cables, each with its
//! bandwidth in both directions. A cluster is a switch, which its backbone joins to its router. A link of several routes
//! must join the same two vertices in all of them: a bus between more vertices is no cable. Latencies, loopbacks, the
//! hosts' speeds, and which of several ways a route takes are not read.
//!
//! Source: simgrid.dtd and xbt_parse_units.cpp of SimGrid 4.1.

use std::collections::HashMap;

use hocket_core::{Error, Result, ensure};
use roxmltree::Node;

use super::super::hosts::expand_list;
use super::{Sketch, xml};

pub(super) fn is_form(text: &str) -> bool {
    xml::has_element(text, "platform")
}

pub(super) fn read(text: &str) -> Result<Sketch> {
    let document = xml::parse(text)?;
    let mut platform = Platform::default();
    xml::read_elements(&document, |element| platform.declare(element))?;
    xml::read_elements(&document, |element| platform.add_route(element))?;
    platform.place_routes()?;
    Ok(platform.sketch)
}

#[derive(Default)]
struct Platform<'a, 'b> {
    sketch: Sketch,
    links: HashMap<&'b str, Link>,
    routes: Vec<Route<'a, 'b>>,
}

struct Link {
    speed: f64,
    /// What it joins, once a route has told.
    ends: Option<[usize; 2]>,
}

struct Route<'a, 'b> {
    element: Node<'b, 'a>,
    ends: [usize; 2],
    links: Vec<&'b str>,
}

impl<'a, 'b> Platform<'a, 'b> {
    fn declare(&mut self, element: Node<'b, 'a>) -> Result<()> {
        match element.tag_name().name() {
            tag @ ("host" | "router") => self.sketch.vertex(xml::name(element, "id")?, Some(tag == "host")).map(drop),
            "cluster" => self.add_cluster(element),
            "link" => {
                let (id, speed) = (xml::name(element, "id")?, rate(element, "bandwidth")?);
                let is_new = self.links.insert(id, Link { speed, ends: None }).is_none();
                ensure(is_new, || format!("got the link {id} twice, expected it once"))
            }
            "zone" | "AS" => {
                let has_routes = |text: &str| {
                    let explicit = ["full", "floyd", "dijkstra", "dijkstracache", "none"];
                    explicit.contains(&&*text.to_ascii_lowercase()).then_some(())
                };
                xml::value(element, "routing", "Full, Floyd, Dijkstra or None", has_routes)
            }
            tag @ ("cabinet" | "peer" | "host_link" | "backbone" | "bypassRoute" | "bypassZoneRoute" | "include") => {
                Err(Error::new(format!("got <{tag}>, expected hosts, routers, clusters, links and routes")))
            }
            _ => Ok(()),
        }
    }

    fn add_cluster(&mut self, element: Node) -> Result<()> {
        let shapes = "FLAT, or in the machine file topology = \"torus\", \"fat_tree\" or \"dragonfly\"";
        xml::value(element, "topology", shapes, |text| ["", "FLAT"].contains(&text).then_some(()))?;
        let text = |name| element.attribute(name).unwrap_or_default();
        let (id, prefix, suffix) = (xml::name(element, "id")?, text("prefix"), text("suffix"));
        let hosts = |radical| expand_list(&format!("{prefix}[{radical}]{suffix}"));
        let hosts = xml::value(element, "radical", "numbers of hosts such as 0-63,70", hosts)?;
        let router = Some(text("router_id").to_owned()).filter(|router| !router.is_empty());
        let router = router.unwrap_or_else(|| format!("{prefix}{id}_router{suffix}"));
        let mut switch = self.sketch.vertex(&router, Some(false))?;
        if !text("bb_bw").is_empty() {
            let inner = self.sketch.vertex(id, Some(false))?;
            self.sketch.join([inner, switch], rate(element, "bb_bw")?)?;
            switch = inner;
        }
        let limit = if text("limiter_link").is_empty() { f64::INFINITY } else { rate(element, "limiter_link")? };
        let speed = rate(element, "bw")?.min(limit);
        hosts.into_iter().try_for_each(|host| {
            let host = self.sketch.vertex(&host, Some(true))?;
            self.sketch.join([host, switch], speed)
        })
    }

    fn add_route(&mut self, element: Node<'b, 'a>) -> Result<()> {
        let ends = match element.tag_name().name() {
            "route" => ["src", "dst"],
            "zoneRoute" | "ASroute" => ["gw_src", "gw_dst"],
            _ => return Ok(()),
        };
        let find = |text: &str| self.sketch.numbers.get(text).copied();
        let vertex = |name| xml::value(element, name, "a host or router of the file", find);
        let ends = [vertex(ends[0])?, vertex(ends[1])?];
        let is_one_way = element.attribute("symmetrical").is_some_and(|text| text.eq_ignore_ascii_case("no"));
        let link = |child: Node<'b, 'a>| {
            let has_back = !is_one_way || ["UP", "DOWN"].contains(&child.attribute("direction").unwrap_or_default());
            ensure(has_back, || "got a link in one direction, expected both, or the direction UP or DOWN of a link")?;
            xml::name(child, "id")
        };
        let links = element.children().filter(|child| child.has_tag_name("link_ctn"));
        let links = links.map(link).collect::<Result<Vec<_>>>()?;
        ensure(!links.is_empty(), || "got a route without links, expected some")?;
        self.routes.extend((ends[0] != ends[1]).then_some(Route { element, ends, links }));
        Ok(())
    }

    /// Places the links of all routes, short ones first. A route may have to wait until others have placed its links.
    fn place_routes(&mut self) -> Result<()> {
        self.routes.sort_by_key(|route| route.links.len());
        let mut must_place = false;
        while !self.routes.is_empty() {
            let routes = std::mem::take(&mut self.routes);
            let count = routes.len();
            for route in routes {
                let is_placed = self.follow(&route, must_place).map_err(|error| xml::at(route.element, error))?;
                self.routes.extend((!is_placed).then_some(route));
            }
            must_place = self.routes.len() == count;
        }
        Ok(())
    }

    /// Places the links of a route, unless it has to wait. Links that have a place lead from either end to those that
    /// have none, and these meet in new switches.
    fn follow(&mut self, route: &Route, must_place: bool) -> Result<bool> {
        let (links, [from, to]) = (&route.links, route.ends);
        let step = |at: &mut usize, link: &&str| {
            let ends = self.links.get(link)?.ends?;
            *at = ends[1 - ends.iter().position(|end| end == at)?];
            Some(*at)
        };
        let mut way = vec![from];
        way.extend(links[..links.len() - 1].iter().scan(from, step));
        let mut end = vec![to];
        end.extend(links[way.len()..].iter().rev().scan(to, step));
        let gap = &links[way.len() - 1..=links.len() - end.len()];
        let has_place = |link: &&str| self.links.get(link).is_some_and(|link| link.ends.is_some());
        if gap.len() > 1 && gap.iter().any(has_place) && !must_place {
            return Ok(false);
        }
        for pair in gap.windows(2) {
            way.push(self.sketch.vertex(&format!("{}|{}", pair[0], pair[1]), Some(false))?);
        }
        way.extend(end.into_iter().rev());
        links.iter().zip(way.windows(2)).try_for_each(|(link, ends)| self.place(link, [ends[0], ends[1]]))?;
        Ok(true)
    }

    fn place(&mut self, id: &str, [from, to]: [usize; 2]) -> Result<()> {
        let stranger = || Error::new(format!("got the link {id:?}, expected one of the file"));
        let link = self.links.get_mut(id).ok_or_else(stranger)?;
        let Some(ends) = link.ends else {
            link.ends = Some([from, to]);
            return self.sketch.join([from, to], link.speed);
        };
        ensure(ends == [from, to] || ends == [to, from], || {
            let [from, to, one, other] = [from, to, ends[0], ends[1]].map(|end| &self.sketch.names[end]);
            format!("got the link {id} from {from} to {to}, expected it between {one} and {other}, as in other routes")
        })
    }
}

/// Bytes per second.
fn rate(element: Node, name: &str) -> Result<f64> {
    xml::value(element, name, "a rate such as 125MBps or 1Gbps", bytes_per_s)
}

/// A number and a unit of SimGrid: `bps` or `Bps`, which is the default, with a prefix of powers of 1000 or 1024.
fn bytes_per_s(text: &str) -> Option<f64> {
    let scale = |base: f64, prefixes: [&str; 9]| {
        prefixes.into_iter().enumerate().find_map(|(power, prefix)| {
            let number = |unit| text.strip_suffix(unit)?.strip_suffix(prefix)?.parse::<f64>().ok();
            let bytes = number("Bps").or_else(|| Some(number("bps")? / 8.0))?;
            Some((0..power).fold(bytes, |bytes, _| bytes * base))
        })
    };
    let decimal = || scale(1000.0, ["", "k", "M", "G", "T", "P", "E", "Z", "Y"]);
    let binary = || scale(1024.0, ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"]);
    text.parse().ok().or_else(decimal).or_else(binary)
}
