//! Requests and record keys as templates: what varies from run to run stands in them as a sign.
//!
//! | sign | becomes |
//! |---|---|
//! | `#` | the number of a key |
//! | `@` | the number of the run: no other run has it |
//! | `?` | a number that looks random, of the run |
//! | `%` | the number of an element of the collection |
//! | `&` | half of the collection's size |
//! | `=` | the collection's size |
//! | `$` | a value of [`VALUE_BYTES`] bytes, which begins with the number of the run: what is as it was need not be written |
//!
//! Numbers have twelve digits, as redis-benchmark writes them; those of the size, which are arguments by themselves, as many as
//! they need, because Redis takes no integers with leading zeros.

/// Bytes of a value.
pub const VALUE_BYTES: usize = 100;

/// What the signs of a template become.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    pub key: usize,
    pub run: usize,
    pub element: usize,
    pub size: usize,
}

/// The text of a template.
pub fn expand(template: &str, numbers: Numbers) -> Vec<u8> {
    let mut text = Vec::with_capacity(template.len() + VALUE_BYTES);
    let digits = |text: &mut Vec<u8>, number: usize| text.extend_from_slice(format!("{number:012}").as_bytes());
    for byte in template.bytes() {
        match byte {
            b'#' => digits(&mut text, numbers.key),
            b'@' => digits(&mut text, numbers.run),
            b'?' => digits(&mut text, random(numbers.run)),
            b'%' => digits(&mut text, numbers.element),
            b'&' => text.extend_from_slice((numbers.size / 2).to_string().as_bytes()),
            b'=' => text.extend_from_slice(numbers.size.to_string().as_bytes()),
            b'$' => {
                let end = text.len() + VALUE_BYTES;
                digits(&mut text, numbers.run);
                text.resize(end, b'x');
            }
            byte => text.push(byte),
        }
    }
    text
}

/// A request as a client sends it: the words of a template.
pub fn request(template: &str, numbers: Numbers) -> Vec<u8> {
    orbweaver_tests::client::encode_command(&words(template, numbers))
}

/// A command for a whole collection: `command`, and behind it `element` for each of `elements`. Its values are those of no run.
pub fn filling(command: &str, element: &str, numbers: Numbers, elements: std::ops::Range<usize>) -> Vec<u8> {
    let [command, element] = [command, element].map(|template| template.replace('$', &"x".repeat(VALUE_BYTES)));
    let mut arguments = words(&command, numbers);
    for number in elements {
        arguments.extend(words(&element, Numbers { element: number, ..numbers }));
    }
    orbweaver_tests::client::encode_command(&arguments)
}

fn words(template: &str, numbers: Numbers) -> Vec<Vec<u8>> {
    template.split_ascii_whitespace().map(|word| expand(word, numbers)).collect()
}

/// The same number for the same run, below 10^12.
fn random(run: usize) -> usize {
    let seed = u64::try_from(run).unwrap_or_default();
    usize::try_from(fastrand::Rng::with_seed(seed).u64(..1_000_000_000_000)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_become_numbers_of_twelve_digits_and_words_become_arguments() {
        let numbers = Numbers { key: 7, run: 12, element: 3, size: 100 };
        assert_eq!(expand("k:#/@/%/&", numbers), b"k:000000000007/000000000012/000000000003/50");
        assert_eq!(request("GET k:#", numbers), b"*2\r\n$3\r\nGET\r\n$14\r\nk:000000000007\r\n");
        let filling = filling("SADD s", "m%", numbers, 1..3);
        assert_eq!(filling, b"*4\r\n$4\r\nSADD\r\n$1\r\ns\r\n$13\r\nm000000000001\r\n$13\r\nm000000000002\r\n");
    }

    #[test]
    fn no_run_has_the_values_of_another_one_or_of_what_was_there_before() {
        let of = |run| expand("$", Numbers { run, ..Numbers::default() });
        assert_eq!(of(7), [b"000000000007".as_slice(), &[b'x'; VALUE_BYTES - 12]].concat());
        let filling = filling("SET k $", "", Numbers::default(), 0..0);
        assert!(filling.ends_with(&[&[b'x'; VALUE_BYTES], b"\r\n".as_slice()].concat()));
    }
}
