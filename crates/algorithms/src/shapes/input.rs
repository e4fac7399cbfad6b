//! The input of a call that may be in place.

use hocket_core::{Call, Rank, Span};

/// The contribution of this rank, safe from writes to the result: if the call is in place, this is a copy.
pub async fn input_apart_from_result(r: &Rank<'_>, c: &Call) -> Span {
    let input = c.input(r);
    if !input.overlaps(c.result(r)) {
        return input;
    }
    let copy = r.scratch(input.len);
    r.copy(input, copy).await;
    copy
}
