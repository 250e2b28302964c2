//! `batch`.

use super::{hashes, lists, pairs, place, sets, size, sorted_sets, strings, strings_of, value};
use crate::bindings::exports::orbweaver::engine::batch::{self as wit, Guest};
use crate::exports::{Orbweaver, with_engine};
use orbweaver_engine::typed::hashes::Action as Hash;
use orbweaver_engine::typed::keys::Operation as Keys;
use orbweaver_engine::typed::lists::Action as List;
use orbweaver_engine::typed::sets::Action as Set;
use orbweaver_engine::typed::sorted_sets::Action as SortedSet;
use orbweaver_engine::typed::strings::{Action as String, Operation as Strings};
use orbweaver_engine::typed::{Operation, OperationError, Outcome};

impl Guest for Orbweaver {
    fn run(db: u32, operations: Vec<wit::Operation>) -> Result<Vec<wit::Outcome>, wit::Failure> {
        let operations = operations.into_iter().map(Operation::from).collect();
        let performed = with_engine(|engine| engine.perform(size(db), operations));
        let performed = performed.map_err(|text| wit::Failure { position: None, error: wit::Error::Invalid(text) })?;
        performed?.into_iter().map(|outcome| outcome.try_into().map_err(|error| wit::Failure { position: None, error })).collect()
    }
}

impl From<OperationError> for wit::Failure {
    fn from(error: OperationError) -> Self {
        Self { position: error.position.map(place), error: error.failure.into() }
    }
}

impl From<wit::Operation> for Operation {
    fn from(operation: wit::Operation) -> Self {
        use wit::Operation as From;
        match operation {
            From::StringGet(key) => strings::on(key, String::Get).into(),
            From::StringGetMany(keys) => Strings::GetMany(strings_of(keys)).into(),
            From::StringSet((key, value, options)) => strings::on(key, strings::set(value, options)).into(),
            From::StringGetDelete(key) => strings::on(key, String::Take).into(),
            From::StringCompareAndSet((key, expected, new)) => strings::on(key, strings::compare_and_set(expected, new)).into(),
            From::StringAppend((key, tail)) => strings::on(key, String::Append(tail.into())).into(),
            From::StringIncrement((key, by)) => strings::on(key, String::Increment(by)).into(),
            From::StringIncrementFloat((key, by)) => strings::on(key, String::IncrementFloat(by)).into(),
            From::HashGet((key, field)) => hashes::on(key, Hash::Get(field.into())).into(),
            From::HashGetMany((key, fields)) => hashes::on(key, Hash::GetMany(strings_of(fields))).into(),
            From::HashGetAll(key) => hashes::on(key, Hash::GetAll).into(),
            From::HashLength(key) => hashes::on(key, Hash::Length).into(),
            From::HashSet((key, list)) => hashes::on(key, Hash::Set(pairs(list))).into(),
            From::HashDelete((key, fields)) => hashes::on(key, Hash::Remove(strings_of(fields))).into(),
            From::HashIncrement((key, field, by)) => hashes::on(key, Hash::Increment(field.into(), by)).into(),
            From::HashIncrementFloat((key, field, by)) => hashes::on(key, Hash::IncrementFloat(field.into(), by)).into(),
            From::ListPush((key, end, elements)) => lists::on(key, List::Push(end.into(), strings_of(elements))).into(),
            From::ListPop((key, end, count)) => lists::on(key, List::Pop(end.into(), count)).into(),
            From::ListLength(key) => lists::on(key, List::Length).into(),
            From::ListRange((key, start, stop)) => lists::on(key, List::Range(start, stop)).into(),
            From::ListSet((key, position, element)) => lists::on(key, List::Set(position, element.into())).into(),
            From::ListTrim((key, start, stop)) => lists::on(key, List::Trim(start, stop)).into(),
            From::ListMove((key, end, to, to_end)) => {
                lists::on(key, List::Move { from_end: end.into(), to: to.into(), to_end: to_end.into() }).into()
            }
            From::SetAdd((key, members)) => sets::on(key, Set::Add(strings_of(members))).into(),
            From::SetRemove((key, members)) => sets::on(key, Set::Remove(strings_of(members))).into(),
            From::SetContains((key, member)) => sets::on(key, Set::Contains(member.into())).into(),
            From::SetMembers(key) => sets::on(key, Set::Members).into(),
            From::SetCount(key) => sets::on(key, Set::Count).into(),
            From::SetMove((key, to, member)) => sets::on(key, Set::Move(to.into(), member.into())).into(),
            From::SortedSetAdd((key, list, update)) => {
                sorted_sets::on(key, SortedSet::Add(sorted_sets::scored(list), update.into())).into()
            }
            From::SortedSetIncrement((key, member, by, update)) => {
                sorted_sets::on(key, SortedSet::Increment(member.into(), by, update.into())).into()
            }
            From::SortedSetScore((key, member)) => sorted_sets::on(key, SortedSet::Score(member.into())).into(),
            From::SortedSetRank((key, member, direction)) => sorted_sets::on(key, SortedSet::Rank(member.into(), direction.into())).into(),
            From::SortedSetCount(key) => sorted_sets::on(key, SortedSet::Count).into(),
            From::SortedSetRange((key, selection)) => sorted_sets::on(key, SortedSet::Range(selection.into())).into(),
            From::SortedSetRemove((key, members)) => sorted_sets::on(key, SortedSet::Remove(strings_of(members))).into(),
            From::SortedSetPop((key, direction, count)) => sorted_sets::on(key, SortedSet::Pop(direction.into(), count)).into(),
            From::KeyExists(keys) => Keys::Exist(strings_of(keys)).into(),
            From::KeyDelete(keys) => Keys::Remove(strings_of(keys)).into(),
            From::KeyKindOf(key) => Keys::Kind(key.into()).into(),
            From::KeyExpireAt((key, at_ms, when)) => Keys::ExpireAt(key.into(), at_ms, when.into()).into(),
            From::KeyPersist(key) => Keys::Persist(key.into()).into(),
            From::KeyRename((key, to, keep)) => Keys::Rename { from: key.into(), to: to.into(), keep }.into(),
        }
    }
}

impl TryFrom<Outcome> for wit::Outcome {
    type Error = wit::Error;

    fn try_from(outcome: Outcome) -> Result<Self, wit::Error> {
        Ok(match outcome {
            Outcome::Done(()) => Self::Done,
            Outcome::Flag(flag) => Self::Flag(flag),
            Outcome::Count(count) => Self::Count(count),
            Outcome::Integer(sum) => Self::Integer(sum),
            Outcome::Float(sum) => Self::Float(sum),
            Outcome::Position(position) => Self::Position(position),
            Outcome::Value(found) => Self::Value(value(found)),
            Outcome::Values(values) => Self::Values(values.into()),
            Outcome::List(list) => Self::Blobs(list.into()),
            Outcome::Score(score) => Self::Score(score),
            Outcome::Members(members) => Self::Scored(members.into()),
            Outcome::Added(added) => Self::Added(added.into()),
            Outcome::Kind(kind) => Self::Kind(kind.map(Into::into)),
            // No operation of a batch has one of these.
            Outcome::Flags(_)
            | Outcome::Positions(_)
            | Outcome::Scores(_)
            | Outcome::Page(_)
            | Outcome::ScoredPage(_)
            | Outcome::Expiry(_) => return Err(wit::Error::Invalid("an outcome that batches do not have".to_owned())),
        })
    }
}
