//! The input of a call that may be in place.

use hocket_core::{Call, Rank, Span};

/// The contribution of this rank, where its result does not overwrite it: a copy, when the call is in place.
pub async fn input_apart_from_result(r: &Rank<'_>, c: &Call) -> Span {
    let input = c.input(r);
    if !input.overlaps(c.result(r)) {
        return input;
    }
    let copy = r.scratch(input.len);
    r.copy(input, copy).await;
    copy
}
