//! An application that knows only `wasi:keyvalue@0.2.0-draft2`: it prints what the store answers.
//!
//! Without arguments it goes through all functions; it finds its buckets empty, and leaves them empty. With arguments it does what
//! they say: any number of `count BUCKET KEY`, which adds one, `get BUCKET KEY`, and `keys BUCKET`, page by page.

/// Generated from the WIT package.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package orbweaver:keyvalue-client-draft2;

            world client {
                include wasi:keyvalue/imports@0.2.0-draft2;
            }
        ",
        path: "../wit/keyvalue-0.2.0-draft2",
        generate_all,
    });
}

use bindings::wasi::keyvalue::atomics::{self, Cas, CasError};
use bindings::wasi::keyvalue::batch;
use bindings::wasi::keyvalue::store::{self, Error};
use std::env;
use std::process::ExitCode;

/// Goes through all functions, or does what the arguments say.
pub fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let outcome = if words.is_empty() { everything() } else { obey(&words) };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    eprintln!("{error:?}");
    ExitCode::FAILURE
}

fn obey(words: &[String]) -> Result<(), Error> {
    match words {
        [] => Ok(()),
        [verb, bucket, key, rest @ ..] if verb == "count" => {
            println!("{}", atomics::increment(&store::open(bucket)?, key, 1)?);
            obey(rest)
        }
        [verb, bucket, key, rest @ ..] if verb == "get" => {
            println!("{:?}", store::open(bucket)?.get(key));
            obey(rest)
        }
        [verb, bucket, rest @ ..] if verb == "keys" => {
            let (bucket, mut cursor) = (store::open(bucket)?, None);
            loop {
                let page = bucket.list_keys(cursor.as_deref())?;
                println!("{:?}", page.keys);
                cursor = page.cursor;
                if cursor.is_none() {
                    return obey(rest);
                }
            }
        }
        _ => Err(Error::Other("usage: client [count BUCKET KEY | get BUCKET KEY | keys BUCKET]...".into())),
    }
}

fn everything() -> Result<(), Error> {
    values()?;
    counters()?;
    many()?;
    pages()?;
    swaps()
}

fn values() -> Result<(), Error> {
    let (users, all) = (store::open("users")?, store::open("")?);
    println!("open a:b: {:?}", store::open("a:b").map(drop));
    println!("absent: {:?} {:?} {:?}", users.get("ada"), users.exists("ada"), users.delete("ada"));
    users.set("ada", &[0, 255, b'\r', b'\n'])?;
    println!("binary: {:?} {:?}", users.get("ada")?, users.exists("ada")?);
    println!("by its whole name: {:?}", all.get("users:ada")?);
    println!("in another bucket: {:?}", store::open("user")?.get("ada")?);
    users.set("ada", b"")?;
    println!("empty: {:?} {:?}", users.get("ada")?, users.exists("ada")?);
    users.delete("ada")?;
    println!("deleted: {:?} {:?}", users.get("ada")?, users.exists("ada")?);
    users.set("", b"no name")?;
    println!("no name: {:?} {:?}", users.get("")?, users.list_keys(None)?);
    users.delete("")
}

fn counters() -> Result<(), Error> {
    let bucket = store::open("counters")?;
    println!("from nothing: {:?}", atomics::increment(&bucket, "n", -3));
    println!("and on: {:?} {:?}", atomics::increment(&bucket, "n", 10), bucket.get("n")?);
    println!("by nothing: {:?}", atomics::increment(&bucket, "zero", 0));
    bucket.set("n", i64::MAX.to_string().as_bytes())?;
    println!("too far: {:?}", atomics::increment(&bucket, "n", 1));
    println!("as it was: {:?}", bucket.get("n")? == Some(i64::MAX.to_string().into_bytes()));
    bucket.set("n", b"seven")?;
    println!("no integer: {:?}", atomics::increment(&bucket, "n", 1));
    batch::delete_many(&bucket, &["n".into(), "zero".into()])
}

fn many() -> Result<(), Error> {
    let bucket = store::open("many")?;
    let pair = |key: &str, value: &[u8]| (key.to_owned(), value.to_owned());
    batch::set_many(&bucket, &[pair("a", b"1"), pair("b", b""), pair("a", b"2")])?;
    let keys = ["b", "absent", "a", "b"].map(String::from);
    println!("many: {:?}", batch::get_many(&bucket, &keys)?);
    println!("none: {:?} {:?} {:?}", batch::get_many(&bucket, &[]), batch::set_many(&bucket, &[]), batch::delete_many(&bucket, &[]));
    batch::delete_many(&bucket, &keys)?;
    println!("left: {:?}", bucket.list_keys(None)?);
    Ok(())
}

fn pages() -> Result<(), Error> {
    // Other buckets' keys, before and behind, are no part of it.
    let neighbours = [store::open("page")?, store::open("pages2")?];
    neighbours.iter().try_for_each(|bucket| bucket.set("x", b""))?;
    println!("pages: {}", listed(2500)?);
    println!("exactly two pages: {}", listed(2000)?);
    neighbours.iter().try_for_each(|bucket| bucket.delete("x"))
}

/// Writes so many keys, walks over them, and removes them.
fn listed(count: usize) -> Result<String, Error> {
    let bucket = store::open("pages")?;
    let written: Vec<String> = (0..count).map(|number| format!("key {number:04} é")).collect();
    let pairs: Vec<(String, Vec<u8>)> = written.iter().map(|key| (key.clone(), Vec::new())).collect();
    batch::set_many(&bucket, &pairs)?;
    let (mut listed, mut pages, mut cursor) = (Vec::new(), Vec::new(), None);
    loop {
        let page = bucket.list_keys(cursor.as_deref())?;
        pages.push(page.keys.len());
        listed.extend(page.keys);
        cursor = page.cursor;
        // What is removed between two pages moves no others.
        bucket.delete(listed.last().map_or("", String::as_str))?;
        if cursor.is_none() {
            break;
        }
    }
    batch::delete_many(&bucket, &written)?;
    Ok(format!("{pages:?}, all of the keys in order: {}", listed == written))
}

fn swaps() -> Result<(), Error> {
    let bucket = store::open("swaps")?;
    let (first, second) = (Cas::new(&bucket, "k")?, Cas::new(&bucket, "k")?);
    println!("current: {:?}", first.current()?);
    println!("swap from nothing: {}", told(atomics::swap(first, b"first")));
    let Err(CasError::CasFailed(retry)) = atomics::swap(second, b"second") else { return Err(Error::Other("no conflict".into())) };
    println!("conflict: {:?}, the key has {:?}", retry.current()?, bucket.get("k")?);
    println!("swap again: {}, the key has {:?}", told(atomics::swap(retry, b"second")), bucket.get("k")?);
    let last = Cas::new(&bucket, "k")?;
    bucket.delete("k")?;
    println!("swap of what is gone: {}, the key has {:?}", told(atomics::swap(last, b"third")), bucket.get("k")?);
    Ok(())
}

fn told(outcome: Result<(), CasError>) -> String {
    match outcome {
        Ok(()) => "done".to_owned(),
        Err(CasError::CasFailed(retry)) => format!("failed, current is {:?}", retry.current()),
        Err(CasError::StoreError(error)) => format!("{error:?}"),
    }
}
