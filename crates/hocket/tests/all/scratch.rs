//! `[node.scratch]`: working memory that is new in each call; times computed by hand.

use hocket::{predict, simulate};
use hocket_algorithms::find;
use hocket_core::{Call, Collective, Error, Program, Rank};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Platform};

const EAGER: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"";
const RENDEZVOUS: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
const LOGGP: &str = "model = \"loggp\"\nL = \"2 us\"\no = \"1 us\"\nG = \"1 ns/B\"";
const LINKS: &str = "model = \"links\"\ntopology = \"crossbar\"\nnodes = 4\nlink_latency = \"1 us\"\nlink_bandwidth = \"1 GB/s\"\n\
                     [host]\no = \"1 us\"";
const PER_BYTE: &str = "per_byte = \"3 ns/B\"";

fn read(network: &str, scratch: &str) -> Result<Platform, Error> {
    let node = "reduce_bandwidth = \"1 GB/s\"\ncopy_bandwidth = \"1 GB/s\"";
    let text = format!("name = \"test\"\n[network]\n{network}\n[node]\n{node}\n[node.scratch]\n{scratch}\n");
    Platform::new(&Machine::parse(&text, "test.toml")?)
}

fn platform(network: &str, scratch: &str) -> Platform {
    read(network, scratch).unwrap_or_else(|e| panic!("{e}"))
}

fn call(collective: Collective, name: &str, ranks: usize, size: usize) -> Call {
    find(collective, name).unwrap().accept(&Call::new(collective, ranks, size), &[]).unwrap()
}

/// Checks the time of a program in every engine that takes it.
fn check(program: &impl Program, call: &Call, platform: &Platform, engines: &[Engine], by_hand_s: f64) {
    for engine in engines {
        let options = Options { engine: *engine, ..Options::default() };
        let found_s = hocket_simulate::simulate(program, call, platform, options).unwrap().time_s();
        assert!((found_s - by_hand_s).abs() < 1e-14, "{engine:?}: {found_s}, by hand {by_hand_s}");
    }
}

const ALL: [Engine; 3] = [Engine::Symmetry, Engine::Dataflow, Engine::Events];

/// An algorithm, called so many times.
struct Times(Collective, &'static str, usize);

impl Program for Times {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        for _ in 0..self.2 {
            find(self.0, self.1).unwrap().program().steps(r, c).await;
        }
    }

    fn symmetry(&self, c: &Call, with_copies: bool) -> Option<hocket_core::Symmetry> {
        find(self.0, self.1).unwrap().program().symmetry(c, with_copies)
    }
}

#[test]
fn the_first_message_into_new_memory_waits_for_its_first_touch() {
    let once = Times(Collective::Allreduce, "recursive_doubling", 1);
    let of = |ranks| call(Collective::Allreduce, "recursive_doubling", ranks, 1000);
    let scratch = format!("from = \"1000 B\"\n{PER_BYTE}");
    // The touch takes 3 us, longer than the message; a copy and a reduction take 1 us each.
    check(&once, &of(2), &platform(EAGER, &scratch), &ALL, 1e-6 + 3e-6 + 1e-6);
    // A rendezvous leaves when the memory is there.
    check(&once, &of(2), &platform(RENDEZVOUS, &scratch), &ALL, 1e-6 + 3e-6 + 2e-6 + 1e-6);
    // The processor sends for 1 us, touches, receives for 1 us.
    check(&once, &of(2), &platform(LOGGP, &scratch), &ALL, 1e-6 + 1e-6 + 3e-6 + 1e-6 + 1e-6);
    check(&once, &of(2), &platform(LINKS, &scratch), &[Engine::Events], 1e-6 + 1e-6 + 3e-6 + 1e-6 + 1e-6);
    // The second message goes to the same buffer.
    check(&once, &of(4), &platform(EAGER, &scratch), &ALL, 1e-6 + 3e-6 + 1e-6 + 2e-6 + 1e-6);
    // Memory is new in each call.
    let twice = Times(Collective::Allreduce, "recursive_doubling", 2);
    check(&twice, &of(2), &platform(EAGER, &scratch), &ALL, 2.0 * 5e-6);
    check(&twice, &of(2), &platform(LINKS, &scratch), &[Engine::Events], 2.0 * 7e-6);
    // Smaller buffers are kept.
    check(&once, &of(2), &platform(EAGER, &scratch.replace("1000", "1001")), &ALL, 1e-6 + 2e-6 + 1e-6);
}

#[test]
fn each_byte_is_touched_once() {
    // Bruck's allgather copies its block of 500 B to new memory, 1.5 us and 0.5 us, and receives the other one, 1.5 us each; then
    // it copies both back.
    let bruck = Times(Collective::Allgather, "bruck", 1);
    let of = call(Collective::Allgather, "bruck", 2, 500);
    let scratch = format!("from = \"1000 B\"\n{PER_BYTE}");
    check(&bruck, &of, &platform(EAGER, &scratch), &ALL[1..], 2e-6 + 1.5e-6 + 1e-6);
}

#[test]
fn several_buffers_are_new_where_one_is_kept() {
    // Recursive doubling takes one buffer of 1000 B.
    let scratch = format!("from = \"1 MB\"\ntogether_from = \"1000 B\"\n{PER_BYTE}");
    let one = Times(Collective::Allreduce, "recursive_doubling", 1);
    let of = call(Collective::Allreduce, "recursive_doubling", 2, 1000);
    check(&one, &of, &platform(EAGER, &scratch), &ALL, 4e-6);
    // Pairwise exchange takes two of 500 B. It copies a block to the first one, receives one into the second one, which takes
    // 1.5 us like its touch, reduces, and copies the total to the result.
    let two = Times(Collective::ReduceScatter, "pairwise", 1);
    let of = call(Collective::ReduceScatter, "pairwise", 2, 1000);
    check(&two, &of, &platform(EAGER, &scratch), &ALL, 1.5e-6 + 0.5e-6 + 1.5e-6 + 0.5e-6 + 0.5e-6);
    check(&two, &of, &platform(EAGER, &scratch.replace("1000", "1001")), &ALL, 0.5e-6 + 1.5e-6 + 0.5e-6 + 0.5e-6);
}

#[test]
fn formulas_do_not_know_new_memory() {
    let entry = find(Collective::Allreduce, "ring").unwrap();
    let of = call(Collective::Allreduce, "ring", 4, 1000);
    let text = format!("name = \"test\"\n[network]\n{RENDEZVOUS}\n");
    for (scratch, knows) in [("", true), ("[node.scratch]\nfrom = \"1 MB\"\nper_byte = \"3 ns\"", false)] {
        let machine = Machine::parse(&format!("{text}{scratch}"), "test.toml").unwrap();
        let predicted = predict(entry, &of, &Platform::new(&machine).unwrap()).unwrap();
        assert_eq!(predicted.is_some(), knows, "{scratch}");
    }
    assert!(simulate(entry, &of, &platform(EAGER, "from = \"1 B\"\nper_byte = \"3 ns\""), Options::default()).is_ok());
}

#[test]
fn wrong_keys_are_refused() {
    for (scratch, message) in [
        (PER_BYTE, "test.toml: node.scratch.from is missing, expected a size such as \"1 MiB\""),
        (
            "from = \"1 MiB\"",
            "test.toml: node.scratch.per_byte is missing, expected a time per byte such as \"0.2 ns/B\"",
        ),
        (
            "from = \"1 us\"\nper_byte = \"1 ns\"",
            "test.toml:10: node.scratch.from: got \"1 us\", expected a whole number of bytes",
        ),
        (
            "from = \"1 B\"\nper_byte = \"1 GB/s\"",
            "test.toml:11: node.scratch.per_byte: got \"1 GB/s\", expected a time per byte",
        ),
        (
            "from = \"1 B\"\nper_byte = \"1 ns\"\nkeep = true",
            "test.toml:12: node.scratch.keep: unknown key, expected one of",
        ),
    ] {
        let Err(refusal) = read(RENDEZVOUS, scratch) else { panic!("{scratch} is taken") };
        assert!(refusal.to_string().contains(message), "{refusal}");
    }
}
