//! Replies that say what a layout has no room for. Whoever gets one has changed nothing.

use std::io;

use orbweaver_engine::resp::Value;

use crate::compare::first_difference;
use crate::sequence::{Step, run};
use crate::target::Target;

/// A step that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which step: of a command that EXEC has run, the one that queued it.
    pub step: usize,
    /// What the layout says.
    pub text: String,
}

/// The text, where a reply is the refusal of a layout.
#[must_use]
pub fn text_of(reply: &Value) -> Option<String> {
    match reply {
        Value::Error(text) if text.starts_with(b"ERR the layout ") => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

/// The steps that were refused.
#[must_use]
pub fn find(steps: &[Step], replies: &[Value]) -> Vec<Refusal> {
    let mut found = Vec::new();
    first_difference(steps, replies, replies, &mut |exchange, _| {
        if let Some(text) = text_of(exchange.other) {
            let step = steps.iter().position(|step| std::ptr::eq(&step.command, exchange.command));
            found.push(Refusal { step: step.expect("the command is one of the steps"), text });
        }
        true
    });
    found
}

/// Executes the steps as [`run`] does, again and again without those that are refused, until none is. Returns the steps that are left with
/// their replies; `each` is told of every refusal.
///
/// # Errors
/// When the target is gone.
pub fn run_without(
    target: &mut dyn Target,
    mut steps: Vec<Step>,
    each: &mut dyn FnMut(&Step, &str),
) -> io::Result<(Vec<Step>, Vec<Value>)> {
    loop {
        let replies = run(target, &steps)?;
        let refusals = find(&steps, &replies);
        if refusals.is_empty() {
            return Ok((steps, replies));
        }
        for Refusal { step, text } in &refusals {
            each(&steps[*step], text);
        }
        let mut index = 0;
        steps.retain(|_| {
            index += 1;
            refusals.iter().all(|refusal| refusal.step != index - 1)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_inside_of_exec_is_that_of_the_step_that_was_queued() {
        let commands = ["MULTI", "SET a b", "EXPIREAT a 9999999999", "EXEC", "EXPIREAT a 9999999999"];
        let steps = commands.map(|command| Step::new(command.split(' ').map(Vec::from).collect()));
        let refused = Value::Error("ERR the layout x keeps none".into());
        let (ok, queued) = (Value::Simple("OK".into()), Value::Simple("QUEUED".into()));
        let inside = Value::Array(vec![ok.clone(), refused.clone()]);
        let found = find(&steps, &[ok, queued.clone(), queued, inside, refused]);
        assert_eq!(found.iter().map(|refusal| refusal.step).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(found[0].text, "ERR the layout x keeps none");
    }
}
