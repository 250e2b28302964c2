//! Finds out what a layout can hold of the lines of a dump, by trying it: lines are loaded into a store in memory and read back.
//! A line that does not come back as it was loses something, as little as will do; what nothing helps is left out.

use super::instance::Instance;
use super::line::{Repair, are_equal, head, name, owner, repaired};
use super::loss::{Loss, Lost};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// Bytes that are asked of a trial's engine at a time.
const STEP_BYTES: u32 = 1 << 20;
/// Lines that are loaded together: behind one that is refused, the rest of them is loaded again.
const LINES_AT_ONCE: usize = 64;

/// What is tried in turn on lines that cannot be held: from the smallest loss to the largest.
const ATTEMPTS: [&[Repair]; 6] = [
    &[],
    &[Repair::WholeSeconds],
    &[Repair::FieldsStay],
    &[Repair::FieldsStay, Repair::WholeSeconds],
    &[Repair::KeyStays],
    &[Repair::FieldsStay, Repair::KeyStays],
];

/// Lines as a layout can hold them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Adapted {
    pub lines: Vec<u8>,
    pub losses: Vec<Lost>,
}

/// Adapts lines to a layout.
pub struct Adapter<F> {
    /// Makes an instance with the layout on an empty store.
    fresh: F,
    /// Whether a key may be there in several types.
    holds_several_types: bool,
    /// Whose the last line was.
    last_owner: Vec<u8>,
    /// Lines that tell what the layout has at all, and whether it can hold them.
    probed: HashMap<String, bool>,
}

impl<I: Instance, F: FnMut() -> anyhow::Result<I>> Adapter<F> {
    /// Adapts to the layout of the instances that `fresh` makes, each on an empty store of its own.
    pub fn new(mut fresh: F) -> anyhow::Result<Self> {
        let mut instance = fresh()?;
        let pair = [probe(0, "cA==", "string", r#""value":"""#), probe(0, "cA==", "set", r#""members":["cA=="]"#)].concat();
        let holds_several_types =
            instance.load(pair.as_bytes())?.is_ok() && whole_dump(&mut instance)?.split_inclusive(is_end).count() == 2;
        Ok(Self { fresh, holds_several_types, last_owner: Vec::new(), probed: HashMap::new() })
    }

    /// Goes on behind the lines of a key, which [`Adapter::last_owner`] named; none at the beginning of a dump.
    pub fn go_on_behind(&mut self, owner: Vec<u8>) {
        self.last_owner = owner;
    }

    /// Whose the last line was.
    pub fn last_owner(&self) -> &[u8] {
        &self.last_owner
    }

    /// Adapts whole lines, which follow upon those of the last call.
    pub fn adapt(&mut self, lines: &[u8]) -> anyhow::Result<Adapted> {
        let given: Vec<&[u8]> = lines.split_inclusive(is_end).collect();
        let mut losses = Vec::new();
        let mut open: BTreeMap<usize, String> = BTreeMap::new();
        for (at, &line) in given.iter().enumerate() {
            if !self.holds_several_types && owner(line) == self.last_owner {
                losses.push(Lost { loss: Loss::SeveralTypes, key: name(line)?, reason: String::new() });
            } else {
                open.insert(at, String::new());
            }
            self.last_owner.clear();
            self.last_owner.extend_from_slice(owner(line));
        }
        let mut held: BTreeMap<usize, Cow<'_, [u8]>> = BTreeMap::new();
        for repairs in ATTEMPTS {
            let mut tried: Vec<(usize, Cow<'_, [u8]>)> = Vec::new();
            for &at in open.keys() {
                let Some(&line) = given.get(at) else { continue };
                match repairs {
                    [] => tried.push((at, Cow::Borrowed(line))),
                    _ => tried.extend(repaired(line, repairs)?.map(|line| (at, Cow::Owned(line)))),
                }
            }
            let verdicts = self.try_lines(&tried, &given)?;
            for ((at, line), verdict) in tried.into_iter().zip(verdicts) {
                match verdict {
                    Err(reason) => {
                        open.entry(at).and_modify(|first| {
                            if first.is_empty() {
                                *first = reason
                            }
                        });
                    }
                    Ok(()) => {
                        let reason = open.remove(&at).unwrap_or_default();
                        let key = if repairs.is_empty() { String::new() } else { name(&line)? };
                        losses.extend(repairs.iter().map(|repair| Lost {
                            loss: Loss::of(*repair),
                            key: key.clone(),
                            reason: reason.clone(),
                        }));
                        held.insert(at, line);
                    }
                }
            }
        }
        for (at, reason) in open {
            let line = given.get(at).copied().unwrap_or_default();
            losses.push(Lost { loss: self.why(line)?, key: name(line)?, reason });
        }
        Ok(Adapted { lines: held.into_values().collect::<Vec<_>>().concat(), losses })
    }

    /// Whether each of the lines comes back as it is, or why not. They are lines of `given`, some of them repaired, with their positions.
    fn try_lines(&mut self, tried: &[(usize, Cow<'_, [u8]>)], given: &[&[u8]]) -> anyhow::Result<Vec<Result<(), String>>> {
        if tried.is_empty() {
            return Ok(Vec::new());
        }
        let mut instance = (self.fresh)()?;
        let mut verdicts: Vec<Result<(), String>> = Vec::with_capacity(tried.len());
        for some in tried.chunks(LINES_AT_ONCE) {
            let mut left = some;
            while !left.is_empty() {
                let together: Vec<u8> = left.iter().flat_map(|(_, line)| line.iter().copied()).collect();
                let loaded = instance.load(&together)?;
                let before =
                    loaded.as_ref().map_or_else(|refused| usize::try_from(refused.line).unwrap_or(1).saturating_sub(1), |()| left.len());
                verdicts.extend(left.iter().take(before).map(|_| Ok(())));
                left = left.get(before..).unwrap_or_default();
                if let (Err(refused), Some((_, behind))) = (loaded, left.split_first()) {
                    verdicts.push(Err(refused.reason));
                    left = behind;
                }
            }
        }
        let dump = whole_dump(&mut instance)?;
        let mut found: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
        for line in dump.split_inclusive(is_end) {
            found.entry(owner(line)).or_default().push(line);
        }
        for ((at, line), verdict) in tried.iter().zip(&mut verdicts) {
            let own = given.get(*at).and_then(|line| found.get(owner(line)));
            if verdict.is_ok() && !own.is_some_and(|own| own.iter().any(|read| are_equal(read, line))) {
                *verdict = Err("it is not read back as it was written".to_owned());
            }
        }
        Ok(verdicts)
    }

    /// Why a line cannot be held whatever is taken from it.
    fn why(&mut self, line: &[u8]) -> anyhow::Result<Loss> {
        let head = head(line)?;
        if head.kind == "list" && !self.can_hold(probe(0, "cA==", "list", r#""items":["cA=="]"#))? {
            return Ok(Loss::Lists);
        }
        if !self.can_hold(probe(head.db, "cA==", "string", r#""value":"""#))? {
            return Ok(Loss::Dbs);
        }
        let named = probe(0, head.key, "string", r#""value":"""#);
        let is_held = self.try_lines(&[(0, Cow::Borrowed(named.as_bytes()))], &[named.as_bytes()])?.iter().all(Result::is_ok);
        Ok(if is_held { Loss::LongValues } else { Loss::LongKeys })
    }

    /// Whether a line can be held; asked once for each of them.
    fn can_hold(&mut self, line: String) -> anyhow::Result<bool> {
        if let Some(&known) = self.probed.get(&line) {
            return Ok(known);
        }
        let is_held = self.try_lines(&[(0, Cow::Borrowed(line.as_bytes()))], &[line.as_bytes()])?.iter().all(Result::is_ok);
        self.probed.insert(line, is_held);
        Ok(is_held)
    }
}

fn is_end(byte: &u8) -> bool {
    *byte == b'\n'
}

/// A line with a small value.
fn probe(db: u32, key: &str, kind: &str, value: &str) -> String {
    format!("{{\"db\":{db},\"key\":\"{key}\",\"type\":\"{kind}\",\"expire_at_ms\":null,{value}}}\n")
}

fn whole_dump(instance: &mut impl Instance) -> anyhow::Result<Vec<u8>> {
    let mut whole = Vec::new();
    let mut cursor: Option<Vec<u8>> = None;
    loop {
        let (mut piece, next) = instance.dump(cursor.as_deref(), STEP_BYTES)?;
        whole.append(&mut piece);
        cursor = next;
        if cursor.is_none() {
            return Ok(whole);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::super::refused::Refused;
    use super::super::instance::tests::Native;
    use super::*;
    use orbweaver_engine::store::Limits;

    /// A format with times in 32-bit seconds that cannot hold lists and expiries of fields, as the foreign ones are.
    struct Seconds(Native);

    impl Seconds {
        fn fresh() -> anyhow::Result<Self> {
            Ok(Self(Native::limited(Limits { max_key_bytes: 40, ..Limits::NONE }, 1)))
        }
    }

    fn objection(line: &[u8]) -> Option<&'static str> {
        let line: serde_json::Value = serde_json::from_slice(line).unwrap();
        let at_ms = line["expire_at_ms"].as_u64().unwrap_or_default();
        let fields_expire = line["fields"].as_array().is_some_and(|fields| fields.iter().any(|field| field.as_array().unwrap().len() > 2));
        match () {
            () if at_ms % 1000 != 0 => Some("a time of whole seconds is needed"),
            () if at_ms / 1000 > u64::from(u32::MAX) => Some("a time before 2106 is needed"),
            () if fields_expire => Some("fields cannot expire"),
            () if line["type"] == "list" => Some("there are no lists"),
            () => None,
        }
    }

    impl Instance for Seconds {
        fn dump(&mut self, start: Option<&[u8]>, max_bytes: u32) -> anyhow::Result<(Vec<u8>, Option<Vec<u8>>)> {
            self.0.dump(start, max_bytes)
        }

        fn load(&mut self, lines: &[u8]) -> anyhow::Result<Result<(), Refused>> {
            for (number, line) in (1..).zip(lines.split_inclusive(is_end)) {
                let loaded = match objection(line) {
                    Some(reason) => Err(reason.to_owned()),
                    None => self.0.load(line)?.map_err(|refused| refused.reason),
                };
                if let Err(reason) = loaded {
                    return Ok(Err(Refused { line: number, reason }));
                }
            }
            Ok(Ok(()))
        }
    }

    fn line(db: u32, key: &str, kind: &str, expiry: &str, value: &str) -> String {
        probe(db, key, kind, value).replace("null", expiry)
    }

    fn adapt(lines: &[String]) -> (String, Vec<(Loss, String)>) {
        let mut adapter = Adapter::new(Seconds::fresh).unwrap();
        let adapted = adapter.adapt(lines.concat().as_bytes()).unwrap();
        let losses = adapted.losses.into_iter().map(|lost| (lost.loss, lost.key)).collect();
        (String::from_utf8(adapted.lines).unwrap(), losses)
    }

    #[test]
    fn what_can_be_held_stays_byte_for_byte() {
        let lines = [
            line(0, "YQ==", "string", "4102444800000", r#""value":"dg==""#),
            line(0, "Yg==", "hash", "null", r#""fields":[["Zg==","dg=="]]"#),
        ];
        assert_eq!(adapt(&lines), (lines.concat(), Vec::new()));
    }

    #[test]
    fn each_line_loses_as_little_as_will_do() {
        let hash = |expiry: &str, fields: &str| line(0, "YQ==", "hash", expiry, &format!(r#""fields":[{fields}]"#));
        let (expiring, staying) = (r#"["Zg==","dg==",4102444800000]"#, r#"["Zg==","dg=="]"#);
        let cases = [
            (hash("4102444800001", staying), hash("4102444801000", staying), vec![Loss::Milliseconds]),
            (hash("null", expiring), hash("null", staying), vec![Loss::FieldExpiries]),
            (hash("4102444800001", expiring), hash("4102444801000", staying), vec![Loss::FieldExpiries, Loss::Milliseconds]),
            (hash("9000000000000", staying), hash("null", staying), vec![Loss::Expiries]),
            (hash("9000000000001", expiring), hash("null", staying), vec![Loss::FieldExpiries, Loss::Expiries]),
        ];
        for (given, held, losses) in cases {
            let (lines, found) = adapt(std::slice::from_ref(&given));
            assert!(are_equal(lines.as_bytes(), held.as_bytes()), "{given} became {lines}");
            assert_eq!(found, losses.into_iter().map(|loss| (loss, "\"a\" in db 0".to_owned())).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_nothing_helps_is_left_out_by_its_reason() {
        let long = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh";
        let longer = format!("{long}YWFh");
        let kept = line(0, "eg==", "string", "null", r#""value":"dg==""#);
        let lines = [
            line(0, "YQ==", "list", "null", r#""items":["dg=="]"#),
            line(0, "Yg==", "set", "null", &format!(r#""members":["{long}"]"#)),
            line(0, &longer, "string", "null", r#""value":"""#),
            kept.clone(),
            line(1, "YQ==", "string", "null", r#""value":"""#),
        ];
        let (held, losses) = adapt(&lines);
        assert_eq!(held, kept);
        let names = [
            (Loss::Lists, "\"a\" in db 0".to_owned()),
            (Loss::LongValues, "\"b\" in db 0".to_owned()),
            (Loss::LongKeys, format!("\"{}\" in db 0", "a".repeat(39))),
            (Loss::Dbs, "\"a\" in db 1".to_owned()),
        ];
        assert_eq!(losses, names);
    }

    #[test]
    fn of_a_key_in_several_types_the_first_is_kept_also_across_calls() {
        let (first, second) = (line(0, "YQ==", "string", "null", r#""value":"""#), line(0, "YQ==", "set", "null", r#""members":["YQ=="]"#));
        let mut adapter = Adapter::new(Seconds::fresh).unwrap();
        assert_eq!(adapter.adapt(first.as_bytes()).unwrap(), Adapted { lines: first.clone().into_bytes(), losses: Vec::new() });
        let lost = Lost { loss: Loss::SeveralTypes, key: "\"a\" in db 0".into(), reason: String::new() };
        assert_eq!(adapter.adapt(second.as_bytes()).unwrap(), Adapted { lines: Vec::new(), losses: vec![lost] });
        adapter.go_on_behind(Vec::new());
        assert_eq!(adapter.adapt(second.as_bytes()).unwrap().lines, second.into_bytes());
    }

    #[test]
    fn many_refused_lines_are_all_found() {
        let one = |number: u64| line(0, &format!("{number:04}"), "string", &(4_102_444_800_000 + number % 2).to_string(), r#""value":"""#);
        let lines: Vec<String> = (0..300).map(one).collect();
        let (held, losses) = adapt(&lines);
        assert_eq!(held.lines().count(), 300);
        assert_eq!(losses.len(), 150);
        assert!(losses.iter().all(|(loss, _)| *loss == Loss::Milliseconds));
    }
}
