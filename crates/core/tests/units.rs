//! Quantities as people write them.

use hocket_core::units::{parse_bytes, parse_bytes_per_s, parse_time_per_byte_s, parse_time_s};
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

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(text in any::<String>()) {
        let _ = (parse_time_s(&text), parse_bytes(&text), parse_bytes_per_s(&text), parse_time_per_byte_s(&text));
    }

    #[test]
    fn bytes_are_read_as_written(bytes in 0_u64..1 << 53) {
        prop_assert_eq!(parse_bytes(&format!("{bytes} B")).unwrap(), bytes);
    }
}
