//! Finds out what a layout can hold of the lines of a dump, by trying it: lines are loaded into a store in memory and read back.
//! A line that does not come back as it was loses something, as little as will do; what nothing helps is left out.

use super::instance::{Instance, whole_dump};
use super::line::{Line, Repair};
use super::loss::{Loss, Lost};
use std::collections::{BTreeMap, HashMap};

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
    /// The source holds keys in several types at once, and the layout does not.
    one_type: bool,
    /// Lines that tell what the layout has at all, and whether it can hold them.
    probed: HashMap<String, bool>,
}

impl<I: Instance, F: FnMut() -> anyhow::Result<I>> Adapter<F> {
    /// Adapts to the layout of the instances that `fresh` makes, each on an empty store of its own. `source` is one with the layout of the
    /// source, also on an empty store.
    pub fn new(mut fresh: F, source: &mut impl Instance) -> anyhow::Result<Self> {
        let one_type = holds_several_types(source)? && !holds_several_types(&mut fresh()?)?;
        Ok(Self { fresh, one_type, probed: HashMap::new() })
    }

    /// Adapts whole lines of `source`.
    pub fn adapt(&mut self, lines: &[u8], source: &mut impl Instance) -> anyhow::Result<Adapted> {
        let given = lines.split_inclusive(|byte| *byte == b'\n').map(Line::parse).collect::<anyhow::Result<Vec<_>>>()?;
        let mut losses = Vec::new();
        // Lines that cannot be held as they are, as far as is known, and why not.
        let mut open: BTreeMap<usize, String> = BTreeMap::new();
        for (at, line) in given.iter().enumerate() {
            if self.one_type && source.first_type(line.db, &line.key_bytes()?)?.is_some_and(|first| first != line.kind) {
                losses.push(Lost { loss: Loss::SeveralTypes, key: line.name()?, reason: String::new() });
            } else {
                open.insert(at, String::new());
            }
        }
        let mut held: BTreeMap<usize, Line<'_>> = BTreeMap::new();
        for repairs in ATTEMPTS {
            let repaired = |at: &usize| Some((*at, given.get(*at)?.repaired(repairs)?));
            let (places, tried): (Vec<usize>, Vec<Line<'_>>) = open.keys().filter_map(repaired).unzip();
            for ((at, line), verdict) in places.into_iter().zip(&tried).zip(self.try_lines(&tried)?) {
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
                        for repair in repairs {
                            losses.push(Lost { loss: Loss::of(*repair), key: line.name()?, reason: reason.clone() });
                        }
                        held.insert(at, line.clone());
                    }
                }
            }
        }
        for (at, reason) in open {
            if let Some(line) = given.get(at) {
                losses.push(Lost { loss: self.why(line)?, key: line.name()?, reason });
            }
        }
        let lines = held.values().map(Line::write).collect::<anyhow::Result<Vec<_>>>()?.concat();
        Ok(Adapted { lines, losses })
    }

    /// Whether each of the lines comes back as it is, or why not.
    fn try_lines(&mut self, tried: &[Line<'_>]) -> anyhow::Result<Vec<Result<(), String>>> {
        if tried.is_empty() {
            return Ok(Vec::new());
        }
        let mut instance = (self.fresh)()?;
        let mut verdicts: Vec<Result<(), String>> = Vec::with_capacity(tried.len());
        for some in tried.chunks(LINES_AT_ONCE) {
            let mut left = some;
            while !left.is_empty() {
                let together = left.iter().map(Line::write).collect::<anyhow::Result<Vec<_>>>()?.concat();
                let refused = instance.load(&together)?.err();
                let before = |line: u64| usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX).min(left.len());
                let (loaded, behind) = left.split_at(refused.as_ref().map_or(left.len(), |refused| before(refused.line)));
                verdicts.extend(loaded.iter().map(|_| Ok(())));
                left = behind;
                if let (Some(refused), Some((_, behind))) = (refused, left.split_first()) {
                    verdicts.push(Err(refused.reason));
                    left = behind;
                }
            }
        }
        let dump = whole_dump(&mut instance)?;
        let read = dump.split_inclusive(|byte| *byte == b'\n').map(|line| Ok(Line::parse(line)?.in_order()));
        let mut found: HashMap<(u32, &str, &str), Line<'_>> = HashMap::new();
        for line in read.collect::<anyhow::Result<Vec<_>>>()? {
            found.insert((line.db, line.key, line.kind), line);
        }
        for (line, verdict) in tried.iter().zip(&mut verdicts) {
            if verdict.is_ok() && found.get(&(line.db, line.key, line.kind)) != Some(&line.clone().in_order()) {
                *verdict = Err("it is not read back as it was written".to_owned());
            }
        }
        Ok(verdicts)
    }

    /// Why a line cannot be held whatever is taken from it.
    fn why(&mut self, line: &Line<'_>) -> anyhow::Result<Loss> {
        if line.kind == "list" && !self.can_hold(probe(0, "cA==", "list", r#""items":["cA=="]"#))? {
            return Ok(Loss::Lists);
        }
        if !self.can_hold(probe(line.db, "cA==", "string", r#""value":"""#))? {
            return Ok(Loss::Dbs);
        }
        let is_name_held =
            self.try_lines(&[Line::parse(probe(0, line.key, "string", r#""value":"""#).as_bytes())?])?.iter().all(Result::is_ok);
        Ok(if is_name_held { Loss::LongValues } else { Loss::LongKeys })
    }

    /// Whether a line can be held; tried once for each of them.
    fn can_hold(&mut self, line: String) -> anyhow::Result<bool> {
        if let Some(&known) = self.probed.get(&line) {
            return Ok(known);
        }
        let is_held = self.try_lines(&[Line::parse(line.as_bytes())?])?.iter().all(Result::is_ok);
        self.probed.insert(line, is_held);
        Ok(is_held)
    }
}

/// Whether a key may be there in several types at once. The instance's store is empty before.
fn holds_several_types(instance: &mut impl Instance) -> anyhow::Result<bool> {
    let pair = [probe(0, "cA==", "string", r#""value":"""#), probe(0, "cA==", "set", r#""members":["cA=="]"#)].concat();
    let is_loaded = instance.load(pair.as_bytes())?.is_ok();
    Ok(is_loaded && whole_dump(instance)?.iter().filter(|byte| **byte == b'\n').count() == 2)
}

/// A line with a small value.
fn probe(db: u32, key: &str, kind: &str, value: &str) -> String {
    format!("{{\"db\":{db},\"key\":\"{key}\",\"type\":\"{kind}\",\"expire_at_ms\":null,{value}}}\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::digest::{Digest, Hashes};
    use super::super::instance::tests::Native;
    use super::super::lines::{Lines, Position};
    use super::*;
    use orbweaver_engine::layout::NAMES;
    use orbweaver_engine::store::Limits;

    /// A layout with expiries in full seconds until 2038, one db, and a namespace for each type, on a store that takes short keys.
    fn blackwidow() -> Native {
        Native::of("blackwidow", Limits { max_key_bytes: 40, ..Limits::NONE })
    }

    fn line(db: u32, key: &str, kind: &str, expiry: &str, value: &str) -> String {
        probe(db, key, kind, value).replace("null", expiry)
    }

    fn adapt(lines: &[String]) -> (String, Vec<(Loss, String)>) {
        let mut adapter = Adapter::new(|| Ok(blackwidow()), &mut Native::new()).unwrap();
        let adapted = adapter.adapt(lines.concat().as_bytes(), &mut Native::new()).unwrap();
        let losses = adapted.losses.into_iter().map(|lost| (lost.loss, lost.key)).collect();
        (String::from_utf8(adapted.lines).unwrap(), losses)
    }

    #[test]
    fn what_can_be_held_stays_byte_for_byte() {
        let lines = [
            line(0, "YQ==", "string", "2000000000000", r#""value":"dg==""#),
            line(0, "Yg==", "hash", "null", r#""fields":[["Zg==","dg=="]]"#),
        ];
        assert_eq!(adapt(&lines), (lines.concat(), Vec::new()));
    }

    #[test]
    fn each_line_loses_as_little_as_will_do() {
        let hash = |expiry: &str, fields: &str| line(0, "YQ==", "hash", expiry, &format!(r#""fields":[{fields}]"#));
        let (expiring, staying) = (r#"["Zg==","dg==",4102444800000]"#, r#"["Zg==","dg=="]"#);
        let cases = [
            (hash("2000000000001", staying), hash("2000000001000", staying), vec![Loss::Milliseconds]),
            (hash("null", expiring), hash("null", staying), vec![Loss::FieldExpiries]),
            (hash("2000000000001", expiring), hash("2000000001000", staying), vec![Loss::FieldExpiries, Loss::Milliseconds]),
            (hash("4102444800000", staying), hash("null", staying), vec![Loss::Expiries]),
            (hash("4102444800001", expiring), hash("null", staying), vec![Loss::FieldExpiries, Loss::Expiries]),
        ];
        for (given, held, losses) in cases {
            let (lines, found) = adapt(std::slice::from_ref(&given));
            assert_eq!(lines, held);
            assert_eq!(found, losses.into_iter().map(|loss| (loss, "\"a\" in db 0".to_owned())).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_nothing_helps_is_left_out_by_its_reason() {
        let long = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh";
        let longer = format!("{long}YWFhYWFh");
        let kept = line(0, "eg==", "string", "null", r#""value":"dg==""#);
        let lines = [
            line(0, "Yg==", "set", "null", &format!(r#""members":["{long}"]"#)),
            line(0, &longer, "string", "null", r#""value":"""#),
            kept.clone(),
            line(1, "YQ==", "string", "null", r#""value":"""#),
        ];
        let (held, losses) = adapt(&lines);
        assert_eq!(held, kept);
        let names = [
            (Loss::LongValues, "\"b\" in db 0".to_owned()),
            (Loss::LongKeys, format!("\"{}\" in db 0", "a".repeat(42))),
            (Loss::Dbs, "\"a\" in db 1".to_owned()),
        ];
        assert_eq!(losses, names);
    }

    #[test]
    fn of_a_key_in_several_types_the_first_is_kept() {
        let (first, second) = (line(0, "YQ==", "string", "null", r#""value":"""#), line(0, "YQ==", "set", "null", r#""members":["YQ=="]"#));
        let both = [first.clone(), second].concat();
        let mut source = blackwidow();
        source.load(both.as_bytes()).unwrap().unwrap();
        let mut adapter = Adapter::new(|| Ok(Native::new()), &mut blackwidow()).unwrap();
        let lost = Lost { loss: Loss::SeveralTypes, key: "\"a\" in db 0".into(), reason: String::new() };
        assert_eq!(adapter.adapt(both.as_bytes(), &mut source).unwrap(), Adapted { lines: first.into_bytes(), losses: vec![lost] });
        let mut adapter = Adapter::new(|| Ok(blackwidow()), &mut blackwidow()).unwrap();
        assert_eq!(adapter.adapt(both.as_bytes(), &mut source).unwrap(), Adapted { lines: both.into_bytes(), losses: Vec::new() });
    }

    #[test]
    fn many_refused_lines_are_all_found() {
        let one = |number: u64| line(0, &format!("{number:04}"), "string", &(2_000_000_000_000 + number % 2).to_string(), r#""value":"""#);
        let lines: Vec<String> = (0..300).map(one).collect();
        let (held, losses) = adapt(&lines);
        assert_eq!(held.lines().count(), 300);
        assert_eq!(losses.len(), 150);
        assert!(losses.iter().all(|(loss, _)| *loss == Loss::Milliseconds));
    }

    #[test]
    fn lists_are_left_out_of_a_layout_that_has_none() {
        let list = line(0, "YQ==", "list", "null", r#""items":["dg=="]"#);
        let mut adapter = Adapter::new(|| Ok(Native::of("camellia", Limits::NONE)), &mut Native::new()).unwrap();
        let adapted = adapter.adapt(list.as_bytes(), &mut Native::new()).unwrap();
        assert_eq!(adapted.lines, b"");
        assert_eq!(adapted.losses.first().map(|lost| lost.loss), Some(Loss::Lists));
    }

    /// Keys of all types that every layout has, with expiries that fit into all.
    fn common_lines() -> String {
        [
            line(0, "YQ==", "string", "2000000000000", r#""value":"dg==""#),
            line(0, "Yg==", "hash", "null", r#""fields":[["MTA=","dg=="],["Mg==",""],["/w==","dw=="]]"#),
            line(0, "Yw==", "set", "2000000000000", r#""members":["MTA=","Mg==","/w=="]"#),
            line(
                0,
                "ZA==",
                "zset",
                "null",
                r#""members":[["YQ==","-1.5","bff8000000000000"],["Yg==","2","4000000000000000"],["Yw==","1000000","412e848000000000"]]"#,
            ),
        ]
        .concat()
    }

    #[test]
    fn a_migration_between_any_two_layouts_keeps_what_both_can_hold() {
        let lists = line(0, "ZQ==", "list", "null", r#""items":["dg==","dw==","dg=="]"#);
        for from in NAMES {
            for to in NAMES {
                let holds_lists = from != "camellia" && to != "camellia";
                let given = if holds_lists { [common_lines(), lists.clone()].concat() } else { common_lines() };
                let mut source = Native::of(from, Limits::NONE);
                source.load(given.as_bytes()).unwrap().unwrap();
                let mut adapter = Adapter::new(|| Ok(Native::of(to, Limits::NONE)), &mut Native::of(from, Limits::NONE)).unwrap();
                let mut lines = Lines::from(Position::default());
                let mut target = Native::of(to, Limits::NONE);
                let hashes = Hashes::default();
                let (mut expected, mut read) = (Digest::new(hashes.clone()), Digest::new(hashes));
                while let Some(some) = lines.next(&mut source, 40).unwrap() {
                    assert_eq!(adapter.adapt(&some, &mut source).unwrap().losses, [], "{from} to {to}");
                    target.load(&some).unwrap().unwrap();
                }
                expected.add(given.as_bytes()).unwrap();
                read.add(&whole_dump(&mut target).unwrap()).unwrap();
                assert!(expected.difference(&read).is_none(), "{from} to {to}");
            }
        }
    }
}
