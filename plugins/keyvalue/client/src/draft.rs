//! An application that knows only `wasi:keyvalue@0.2.0-draft`: it goes through all functions and prints what the store answers.
//! It finds its buckets empty, and leaves them empty.

/// Generated from the WIT package.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package orbweaver:keyvalue-client-draft;

            world client {
                include wasi:keyvalue/imports@0.2.0-draft;
            }
        ",
        path: "../wit/keyvalue-0.2.0-draft",
        generate_all,
    });
}

use bindings::wasi::keyvalue::store::{self, Bucket, Error};
use bindings::wasi::keyvalue::{atomics, batch};
use std::process::ExitCode;

/// More than two pages.
const KEYS: usize = 2500;

/// Goes through all functions.
pub fn main() -> ExitCode {
    let Err(error) = everything() else { return ExitCode::SUCCESS };
    eprintln!("{error:?}");
    ExitCode::FAILURE
}

fn everything() -> Result<(), Error> {
    println!("open a:b: {:?}", store::open("a:b").map(drop));
    values(&store::open("users")?)?;
    counters(&store::open("counters")?)?;
    // What has a meaning in patterns has none in an identifier.
    let neighbour = store::open("pages")?;
    neighbour.set("x", b"")?;
    pages(&store::open("p[a]*")?)?;
    neighbour.delete("x")
}

fn values(bucket: &Bucket) -> Result<(), Error> {
    bucket.set("binary", &[0, 255])?;
    batch::set_many(bucket, &[("empty".into(), Vec::new())])?;
    println!("values: {:?} {:?}", bucket.get("binary")?, bucket.get("absent")?);
    println!("exist: {} {}", bucket.exists("empty")?, bucket.exists("absent")?);
    println!("many: {:?}", batch::get_many(bucket, &["binary", "absent", "empty"].map(String::from))?);
    bucket.delete("binary")?;
    batch::delete_many(bucket, &["absent", "empty"].map(String::from))?;
    println!("left: {:?}", bucket.list_keys(None)?);
    Ok(())
}

fn counters(bucket: &Bucket) -> Result<(), Error> {
    println!("from nothing: {:?}", atomics::increment(bucket, "n", 5));
    println!("beyond 2^63: {:?}", atomics::increment(bucket, "n", u64::MAX - 5));
    println!("too far: {:?}", atomics::increment(bucket, "n", 1));
    println!("as it was: {}", bucket.get("n")? == Some(u64::MAX.to_string().into_bytes()));
    bucket.set("n", b"-1")?;
    println!("negative: {:?}", atomics::increment(bucket, "n", 1));
    bucket.delete("n")
}

fn pages(bucket: &Bucket) -> Result<(), Error> {
    let written: Vec<String> = (0..KEYS).map(|number| format!("{number:04}")).collect();
    let pairs: Vec<(String, Vec<u8>)> = written.iter().map(|key| (key.clone(), Vec::new())).collect();
    batch::set_many(bucket, &pairs)?;
    let (mut listed, mut pages, mut cursor) = (Vec::new(), Vec::new(), None);
    loop {
        let page = bucket.list_keys(cursor)?;
        pages.push(page.keys.len());
        listed.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    listed.sort_unstable();
    println!("pages: {pages:?}, all of the keys: {}", listed == written);
    batch::delete_many(bucket, &written)
}
