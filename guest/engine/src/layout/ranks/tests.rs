//! Trees with few members to a node, so that small sets have many levels; held against a sorted list.

use super::*;
use crate::environment::{HeldEnvironment, random_below};
use crate::layout::orbweaver::Orbweaver;
use crate::layout::{KeyAt, Kind};
use crate::store::{KeyRange, MemoryStore, Scope};
use std::collections::BTreeSet;

const FANOUT: u64 = 4;
const VERSION: u64 = 7;

/// A sorted set with its tree, and what is in it: scores are small integers, so that many are equal.
struct Kept {
    store: MemoryStore,
    layout: Orbweaver,
    set: Collection,
    members: BTreeSet<(u32, String)>,
    random: HeldEnvironment,
}

fn at() -> KeyAt {
    KeyAt::new(1, Bytes::from_static(b"z"))
}

fn tree(layout: &Orbweaver, set: Collection) -> Tree<'_> {
    Tree { fanout: FANOUT, ..Tree::of(layout, set).unwrap() }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap()
}

impl Kept {
    fn new(seed: u64) -> Self {
        let mut store = MemoryStore::new();
        let layout = Orbweaver::open(&mut store).unwrap();
        let set = Collection::empty(Kind::SortedSet, VERSION);
        Self { store, layout, set, members: BTreeSet::new(), random: HeldEnvironment::new(0, seed) }
    }

    fn below(&mut self, limit: u64) -> u64 {
        random_below(&mut self.random, limit)
    }

    fn some(&mut self, count: u64, scores: std::ops::Range<u32>) -> Vec<(u32, String)> {
        let width = u64::from(scores.end - scores.start);
        (0..count).map(|_| (scores.start + u32::try_from(self.below(width)).unwrap(), format!("m{}", self.below(400)))).collect()
    }

    /// Writes members that come or go, as one command would.
    fn change(&mut self, members: &[(u32, String)], come: bool) {
        let changed: BTreeSet<&(u32, String)> = members.iter().filter(|member| self.members.contains(*member) != come).collect();
        let mut transaction = Transaction::begin(&mut self.store, Scope::Exclusive).unwrap();
        for (score, member) in &changed {
            let (score, record) = (f64::from(*score), self.layout.member(&at(), &self.set, member.as_bytes()));
            let (old, new) = if come { (None, Some(score)) } else { (Some(score), None) };
            self.layout.write_score(&mut transaction, &at(), &self.set, member.as_bytes(), record, old, new).unwrap();
        }
        let count = number(changed.len());
        self.set = if come { self.set.changed_by(count, 0) } else { self.set.changed_by(0, count) };
        let mut tree = tree(&self.layout, self.set);
        let changes = changed.iter().map(|(score, member)| tree.change(f64::from(*score), member.as_bytes(), come)).collect();
        if self.set.count > 0 {
            tree.update(&mut transaction, changes).unwrap();
        } else {
            let (keyspace, range) = (tree.records.node(VERSION, 1, b"").0, KeyRange::all());
            transaction.delete_range(keyspace, range).unwrap();
            tree.set.rank_levels = 0;
        }
        for member in members {
            if come {
                self.members.insert(member.clone())
            } else {
                self.members.remove(member)
            };
        }
        // Now and then also as the transaction has left them, by long runs of records and by one after the other.
        match random_below(&mut self.random, 20) {
            0 => assert_ranks_in(&mut transaction, &tree, &self.members),
            1 => {
                for level in [0, 1] {
                    let keyspace = tree.records.level(VERSION, level, b"", None).0;
                    transaction.delete_range(keyspace, KeyRange::between(b"\xff", b"\xff\xff")).unwrap();
                }
                assert_ranks_in(&mut transaction, &tree, &self.members);
            }
            _ => {}
        }
        self.set = tree.set;
        transaction.commit().unwrap();
    }

    /// The nodes of each level, from the first one on.
    fn levels(&mut self) -> Vec<Vec<Node>> {
        let tree = tree(&self.layout, self.set);
        let mut transaction = Transaction::begin(&mut self.store, Scope::Read).unwrap();
        let mut levels = Vec::new();
        for level in 0..=MAX_LEVELS {
            let mut nodes = tree.nodes(level, b"", None, Direction::Forward, 100);
            levels.push(Vec::new());
            while let Some(node) = nodes.next(&mut transaction).unwrap() {
                levels.last_mut().unwrap().push(node);
            }
        }
        levels
    }

    /// Asserts that every node counts what it covers, begins where one below it begins, and is not too large.
    fn assert_sound(&mut self) {
        let levels = self.levels();
        let own = usize::from(self.set.rank_levels);
        assert_eq!(levels[0].len(), self.members.len());
        assert!(levels[own + 1..].iter().all(Vec::is_empty), "{own} levels");
        let tree = tree(&self.layout, self.set);
        for level in 1..=own {
            let (nodes, children) = (&levels[level], &levels[level - 1]);
            assert!(nodes[0].place.is_empty());
            for (position, node) in nodes.iter().enumerate() {
                let inside =
                    |child: &&Node| child.place >= node.place && nodes.get(position + 1).is_none_or(|next| child.place < next.place);
                let count: u64 = children.iter().filter(inside).map(|child| child.count).sum();
                assert_eq!(node.count, count, "level {level}: {node:?}");
                assert!(level == 1 || children.iter().any(|child| child.place == node.place), "level {level}: {node:?}");
                // A node that absorbs what an empty neighbour has left is the one exception, and lasts until something is added to it.
                assert!(count <= tree.unit(u8::try_from(level).unwrap()) * MAX_FILL + FANOUT, "level {level}: {node:?}");
            }
        }
    }

    /// Asserts that ranks are found from places, and places from ranks.
    fn assert_ranks(&mut self) {
        let tree = tree(&self.layout, self.set);
        let mut transaction = Transaction::begin(&mut self.store, Scope::Read).unwrap();
        assert_ranks_in(&mut transaction, &tree, &self.members);
    }
}

fn assert_ranks_in(transaction: &mut Transaction<'_>, tree: &Tree<'_>, members: &BTreeSet<(u32, String)>) {
    for (rank, (score, member)) in (0..).zip(members) {
        let cut = Cut::BeforeMember(f64::from(*score), member.clone().into());
        assert_eq!(tree.position(transaction, &cut, false), Ok(rank));
        let ((keyspace, range), before) = tree.at_rank(transaction, rank).unwrap();
        let mut scan = Scan::new(keyspace, range, Direction::Forward, 1);
        let found = (0..=before).filter_map(|_| transaction.next(&mut scan).unwrap()).last().unwrap().0;
        assert!(found.ends_with(member.as_bytes()), "{rank}");
    }
    for score in 0..50 {
        let count = number(members.iter().filter(|(own, _)| *own <= score).count());
        assert_eq!(tree.position(transaction, &Cut::Behind(f64::from(score)), true), Ok(count));
    }
    assert_eq!(tree.position(transaction, &Cut::Behind(f64::INFINITY), false), Ok(tree.set.count));
    assert_eq!(tree.position(transaction, &Cut::Edge, true), Ok(tree.set.count));
    assert_eq!(tree.position(transaction, &Cut::Edge, false), Ok(0));
    assert!(tree.at_rank(transaction, tree.set.count).is_err());
}

#[test]
fn a_tree_tells_the_ranks_of_a_sorted_list_whatever_comes_and_goes() {
    for seed in 0..5 {
        let mut kept = Kept::new(seed);
        for step in 0..80 {
            let all: Vec<(u32, String)> = kept.members.iter().cloned().collect();
            let count = [1, 2, 3, 30, 300][usize::try_from(kept.below(5)).unwrap()];
            let middle = usize::try_from(kept.below(number(all.len()) + 1)).unwrap();
            let end = all.len().min(middle + usize::try_from(count).unwrap());
            match kept.below(8) {
                0 => kept.change(&all[..all.len().min(end - middle)], false),
                1 => kept.change(&all[middle..end], false),
                2 => kept.change(&all[all.len() - (end - middle)..], false),
                3 => {
                    let odd: Vec<(u32, String)> = all.iter().step_by(2).cloned().collect();
                    kept.change(&odd, false);
                }
                4 => {
                    let near = kept.some(count, 10..12);
                    kept.change(&near, true);
                }
                _ => {
                    let anywhere = kept.some(count, 0..50);
                    kept.change(&anywhere, true);
                }
            }
            kept.assert_sound();
            if step % 10 == 0 && kept.set.rank_levels > 0 {
                kept.assert_ranks();
            }
        }
    }
}

#[test]
fn a_queue_keeps_its_size_in_nodes_however_much_has_gone_through_it() {
    let mut kept = Kept::new(1);
    let name = |number: u32| (number, format!("m{number}"));
    let mut most = 0;
    for number in 0..1200 {
        kept.change(&[name(number)], true);
        if number >= 200 {
            kept.change(&[name(number - 200)], false);
            let nodes: usize = kept.levels().iter().skip(1).map(Vec::len).sum();
            most = most.max(nodes);
        }
    }
    kept.assert_sound();
    // 200 members in nodes of 2 at least, and the levels above them.
    assert!(most < 120, "{most} nodes");
    for number in 1000..1200 {
        kept.change(&[name(number)], false);
    }
    assert_eq!(kept.levels().iter().map(Vec::len).sum::<usize>(), 0);
    assert_eq!(kept.set.rank_levels, 0);
}

#[test]
fn a_set_that_shrinks_to_a_few_members_loses_its_levels() {
    let mut kept = Kept::new(2);
    let many: Vec<(u32, String)> = (0..1200).map(|number| (number % 40, format!("m{number}"))).collect();
    kept.change(&many, true);
    assert!(kept.set.rank_levels >= 4, "{}", kept.set.rank_levels);
    let mut left: Vec<(u32, String)> = kept.members.iter().cloned().collect();
    while left.len() > 3 {
        let position = usize::try_from(kept.below(number(left.len()))).unwrap();
        let gone = left.swap_remove(position);
        kept.change(&[gone], false);
        if left.len().is_multiple_of(100) {
            kept.assert_sound();
            kept.assert_ranks();
        }
    }
    let nodes: usize = kept.levels().iter().skip(1).map(Vec::len).sum();
    assert!(nodes <= 4 && kept.set.rank_levels <= 1, "{nodes} nodes, {} levels", kept.set.rank_levels);
}

#[test]
fn a_tree_is_the_same_whether_it_is_made_at_once_or_node_by_node() {
    let mut kept = Kept::new(3);
    let many: Vec<(u32, String)> = (0..700).map(|number| (number % 9, format!("m{number}"))).collect();
    kept.change(&many, true);
    let (at_once, levels) = (kept.levels(), kept.set.rank_levels);
    let mut tree = tree(&kept.layout, Collection { rank_levels: 0, ..kept.set });
    let mut transaction = Transaction::begin(&mut kept.store, Scope::Exclusive).unwrap();
    let keyspace = tree.records.node(VERSION, 1, b"").0;
    transaction.delete_range(keyspace, KeyRange::all()).unwrap();
    let mut steps = 0;
    let mut cutting = tree.wants();
    while cutting.is_some() {
        cutting = tree.grow(&mut transaction, cutting, 1).unwrap();
        steps += 1;
    }
    assert_eq!(tree.set.rank_levels, levels);
    transaction.commit().unwrap();
    assert_eq!(kept.levels(), at_once);
    assert_eq!(steps, at_once.iter().skip(1).map(Vec::len).sum::<usize>());
}
