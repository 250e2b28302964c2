//! What rewriting a core module takes, whatever is changed in it.

use std::convert::Infallible;
use wasm_encoder::ValType;
use wasm_encoder::reencode::{self, Reencode};
use wasmparser::FunctionBody;

/// What a step of copying a module gives.
pub type Copied<T> = Result<T, reencode::Error<Infallible>>;

/// The locals of a function, but its parameters: how many of which type, in their order.
pub fn locals(rewriter: &mut impl Reencode<Error = Infallible>, body: &FunctionBody<'_>) -> Copied<Vec<(u32, ValType)>> {
    let mut locals = Vec::new();
    for several in body.get_locals_reader()? {
        let (number, local) = several?;
        locals.push((number, rewriter.val_type(local)?));
    }
    Ok(locals)
}
