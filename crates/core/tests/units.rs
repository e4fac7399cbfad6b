//! Quantities as people write them.

use hocket_core::units::{parse_bytes, parse_bytes_per_s, parse_duration_s, parse_time_per_byte_s, parse_time_s};
use proptest::prelude::*;

#[test]
fn units_are_never_confused() {
    assert_eq!(parse_time_s("1.27 us").unwrap(), 1.27e-6);
    assert_eq!(parse_time_s("3ns").unwrap(), 3e-9);
    assert_eq!(["\u{b5}s", "\u{3bc}s"].map(|unit| parse_time_s(&format!("1 {unit}")).unwrap()), [1e-6; 2]);
    assert_eq!(parse_time_per_byte_s("0.1 ns/B").unwrap(), 1e-10);
    assert_eq!(parse_bytes("8B").unwrap(), 8);
    assert_eq!(parse_bytes("64 KiB").unwrap(), 65536);
    assert_eq!(parse_bytes("1.5kB").unwrap(), 1500);
    assert_eq!(parse_bytes("17").unwrap(), 17);
    assert_eq!(parse_bytes_per_s("3.87 GB/s").unwrap(), 3.87e9);
    assert_eq!(parse_bytes_per_s("100 Gbit/s").unwrap(), 12.5e9);
    assert_eq!(parse_bytes_per_s("1 GiB/s").unwrap(), 1_073_741_824.0);
}

#[test]
fn anything_else_is_refused_in_one_line() {
    for text in ["8X", "", "B", "-8B", "1.5B", "1e400B", "nanB", "8 B B", "1e300 TiB"] {
        let error = parse_bytes(text).unwrap_err().to_string();
        assert_eq!(error, format!("got {text:?}, expected a whole number of bytes such as 8B, 64KiB or 1MB"));
    }
    assert!(parse_time_s("5").is_err() && parse_time_s("1 B").is_err() && parse_time_s("-1 s").is_err());
    assert!(parse_bytes_per_s("1e-320 B/s").is_err(), "its time per byte is infinite");
    assert!(parse_bytes_per_s("0 GB/s").is_err() && parse_bytes_per_s("1 GB").is_err());
}

#[test]
fn a_near_miss_is_asked_about_and_never_guessed() {
    let told = |error: hocket_core::Error| error.to_string();
    for (text, meant) in [
        ("64KB", "64kB or 64KiB"),
        ("64k", "64kB or 64KiB"),
        ("1.5 M", "1.5 MB or 1.5 MiB"),
        ("8 bytes", "8 B"),
        ("1 mib", "1 MiB"),
        ("2 GBytes", "2 GB or 2 GiB"),
    ] {
        assert_eq!(told(parse_bytes(text).unwrap_err()), format!("got {text:?}, did you mean {meant}?"));
    }
    for (text, meant) in [
        ("10 Gb/s", "10 Gbit/s"),
        ("10Gbps", "10Gbit/s"),
        ("100 Mbps", "100 Mbit/s"),
        ("100 mbit/s", "100 Mbit/s"),
        ("100 Gbits/sec", "100 Gbit/s"),
        ("3 MB/sec", "3 MB/s"),
        ("3 GBps", "3 GB/s"),
        ("3 GB", "3 GB/s"),
        ("3 KB/s", "3 kB/s or 3 KiB/s"),
    ] {
        assert_eq!(told(parse_bytes_per_s(text).unwrap_err()), format!("got {text:?}, did you mean {meant}?"));
    }
    for (text, meant) in [("5 usec", "5 us"), ("5 US", "5 us"), ("5 seconds", "5 s"), ("1 microsecs", "1 us")] {
        assert_eq!(told(parse_time_s(text).unwrap_err()), format!("got {text:?}, did you mean {meant}?"));
    }
    assert_eq!(told(parse_time_per_byte_s("5 nsec/B").unwrap_err()), "got \"5 nsec/B\", did you mean 5 ns/B?");
    assert_eq!(told(parse_duration_s("90 sec").unwrap_err()), "got \"90 sec\", did you mean 90 s?");
}

#[test]
fn waiting_is_counted_in_minutes_and_hours_too() {
    assert_eq!(["90s", "1.5 m", "2min", "1h"].map(|text| parse_duration_s(text).unwrap()), [90.0, 90.0, 120.0, 3600.0]);
    let error = parse_duration_s("soon").unwrap_err().to_string();
    assert_eq!(error, "got \"soon\", expected a time such as 90s, 30m or 2h");
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(text in any::<String>()) {
        let _ = (parse_time_s(&text), parse_bytes(&text), parse_bytes_per_s(&text), parse_time_per_byte_s(&text));
        let _ = parse_duration_s(&text);
    }

    #[test]
    fn bytes_are_read_as_written(bytes in 0_u64..1 << 53) {
        prop_assert_eq!(parse_bytes(&format!("{bytes} B")).unwrap(), bytes);
    }
}
