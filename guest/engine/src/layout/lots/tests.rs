//! What is taken of stored records as they lie, beside a plain walk.

use super::*;
use crate::resp::reply::{Protocol, Reply};
use crate::store::{Headed, Page, PageBuilder, PageLimit};
use proptest::prelude::*;

/// Takes what is in chunks, and all else, as long as there is room for so many strings.
#[derive(Default)]
struct Strings {
    taken: Vec<Vec<u8>>,
    room: usize,
    /// None that is in a chunk.
    only_any: bool,
}

impl Strings {
    fn has_room(&self, strings: usize) -> bool {
        self.taken.len() + strings <= self.room
    }
}

impl StringSink for Strings {
    fn last_for(&self, _: usize, _: usize) -> Option<usize> {
        (!self.only_any).then_some(0)
    }

    fn put<const C: usize>(&mut self, _: usize, (chunk, length): Headed<'_, C>) -> bool {
        let string = chunk.get(..length).filter(|_| self.has_room(1));
        self.taken.extend(string.map(<[u8]>::to_vec));
        string.is_some()
    }

    fn put_pair<const A: usize, const B: usize>(&mut self, _: usize, (a, a_length): Headed<'_, A>, (b, b_length): Headed<'_, B>) -> bool {
        let pair = a.get(..a_length).zip(b.get(..b_length)).filter(|_| self.has_room(2));
        self.taken.extend(pair.into_iter().flat_map(|(a, b)| [a.to_vec(), b.to_vec()]));
        pair.is_some()
    }

    fn put_any<const N: usize>(&mut self, strings: [&[u8]; N]) -> bool {
        let has_room = self.has_room(N);
        self.taken.extend(strings.iter().filter(|_| has_room).map(|string| string.to_vec()));
        has_room
    }
}

/// What is taken of a page of such records, and how many of them, in several calls.
fn taken(page: &Page, from: usize, form: Form, with_names: Option<bool>, sink: &mut Strings) -> usize {
    let Some(mut stored) = Stored::new(&page.pieces_from(from), form, u64::MAX) else { return 0 };
    let all = stored.most();
    let mut take = || match with_names {
        Some(with_names) => stored.take_fields(with_names, sink),
        None => stored.take_strings(sink),
    };
    let count = take() + take();
    assert_eq!(stored.most(), all - count);
    count
}

/// The strings of a record, `None` where it is not of the form.
fn strings(form: Form, before: usize, with_names: bool, (key, value): (&[u8], &[u8])) -> Option<Vec<Vec<u8>>> {
    Some(match form {
        Form::Member if value.is_empty() => vec![key.get(8..)?.to_vec()],
        Form::ScoredMember if value.is_empty() => {
            let (score, member) = key.get(8..)?.split_first_chunk()?;
            ordered_score::is_one(u64::from_be_bytes(*score)).then(|| vec![member.to_vec()])?
        }
        Form::Element(first) => {
            let index: &[u8; 8] = key.get(8..)?.as_array()?;
            (u64::from_be_bytes(*index) == first + before as u64).then(|| vec![value.to_vec()])?
        }
        Form::Field => {
            let (name, [0, value @ ..]) = (key.get(8..)?, value) else { return None };
            if with_names { vec![name.to_vec(), value.to_vec()] } else { vec![value.to_vec()] }
        }
        _ => return None,
    })
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..40_usize, 2 => 90..140_usize, 1 => 0..400_usize]
}

proptest! {
    #[test]
    fn what_is_taken_as_it_lies_is_what_records_of_the_form_hold(
        (form, with_names) in prop::sample::select(
            [(Form::Member, None), (Form::ScoredMember, None), (Form::Element(7), None), (Form::Field, Some(true)), (Form::Field, Some(false))].as_slice()),
        lengths in prop::collection::vec((length(), length()), 1..60),
        flaw in prop::option::weighted(0.5, (0..60_usize, 0..4_u8)),
        room in prop_oneof![Just(usize::MAX), 0..120_usize],
        only_any in prop::bool::weighted(0.1),
    ) {
        let text = |length| -> Vec<u8> { (b'a'..=b'z').cycle().take(length).collect() };
        let mut page = PageBuilder::new(PageLimit::items(u32::MAX));
        for (place, &(one, other)) in lengths.iter().enumerate() {
            let version = 9_u64.to_be_bytes();
            let middle = match form {
                Form::ScoredMember => ordered_score::encode(one as f64).to_be_bytes().to_vec(),
                Form::Element(first) => (first + place as u64).to_be_bytes().to_vec(),
                _ => Vec::new(),
            };
            let (mut key, mut value) = match form {
                Form::Element(_) => ([&version[..], &middle].concat(), text(one)),
                Form::Field => ([&version[..], &text(one)].concat(), [&[0], &text(other)[..]].concat()),
                _ => ([&version[..], &middle, &text(one)].concat(), Vec::new()),
            };
            match flaw.filter(|(at, _)| *at == place) {
                Some((_, 0)) => key.truncate(5),
                Some((_, 1)) => value.insert(0, 1),
                Some((_, 2)) => key.push(b'!'),
                Some(_) => value.clear(),
                None => {}
            }
            prop_assert!(page.push(&key, &value));
        }
        let page = page.finish(false);
        for from in [0, lengths.len() / 2] {
            let form = if let Form::Element(first) = form { Form::Element(first + from as u64) } else { form };
            let of_form = page.pieces_from(from).enumerate();
            let records: Vec<_> = of_form.map_while(|(before, record)| strings(form, before, with_names.unwrap_or_default(), record)).collect();
            let fitting: Vec<_> = records.iter().scan(0, |sum, strings| {
                *sum += strings.len();
                (*sum <= room).then(|| strings.clone())
            }).collect();
            let mut sink = Strings { taken: Vec::new(), room, only_any };
            prop_assert_eq!(taken(&page, from, form, with_names, &mut sink), fitting.len());
            prop_assert_eq!(sink.taken, fitting.concat());
            // As bulk strings, with about as much room as is asked for: as many of them as fit, and none in part.
            let mut reply = Reply::new(Protocol::Resp2);
            let (mut stored, most) = (Stored::new(&page.pieces_from(from), form, u64::MAX).unwrap(), lengths.len());
            let count = reply.lying_bulks(most, room.min(1000), |bulks| match with_names {
                Some(with_names) => stored.take_fields(with_names, bulks),
                None => stored.take_strings(bulks),
            });
            let mut expected = Reply::new(Protocol::Resp2);
            records.iter().take(count).flatten().for_each(|string| expected.bulk(string));
            prop_assert_eq!(reply.as_bytes(), expected.as_bytes());
        }
    }

    #[test]
    fn nothing_is_taken_that_is_not_within_the_bytes_of_a_page(
        bytes in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..400),
        ends in prop::collection::vec(prop_oneof![3 => 0..450_u32, 1 => any::<u32>()], 0..20),
        from in 0..4_usize,
    ) {
        let page = Page { bytes: bytes.clone().into(), ends, more: false };
        for (form, with_names) in
            [(Form::Member, None), (Form::ScoredMember, None), (Form::Element(0), None), (Form::Field, Some(true)), (Form::Field, Some(false))]
        {
            let mut sink = Strings { taken: Vec::new(), room: usize::MAX, only_any: false };
            let count = taken(&page, from, form, with_names, &mut sink);
            let walked: Vec<_> = page.pieces_from(from).enumerate()
                .map_while(|(before, record)| strings(form, before, with_names.unwrap_or_default(), record)).collect();
            prop_assert_eq!(count, walked.len());
            prop_assert_eq!(sink.taken, walked.concat());
        }
    }
}
