//! What a host may set: limits and options of the engine.

use crate::events::Classes;
use crate::layout::NAMES;
use crate::layout::camellia::{self, EncodeVersion};
use bytes::Bytes;

/// The most that [`Settings::max_packed_bytes`] may be: each change of a packed collection writes all of it.
pub const MAX_PACKED_BYTES: usize = 4096;

/// What [`Settings::max_packed_bytes`] is in databases that are new where nothing else is asked for, but by hosts that choose themselves.
pub const USUAL_PACKED_BYTES: usize = 512;

/// Limits and options. Every command sees the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The layout's name, one of [`crate::layout::NAMES`].
    pub layout: String,
    /// How a database of Camellia was made.
    pub camellia: camellia::Options,
    /// Collections of the layout `orbweaver` are packed, kept in the record of their key, as long as their records take no more bytes than these,
    /// lists half of them; 0: none are. At most [`MAX_PACKED_BYTES`]. `None`: [`USUAL_PACKED_BYTES`] where the store is new, or may have packed collections, and 0 where it
    /// has none, as programs may read it that know none.
    pub max_packed_bytes: Option<usize>,
    /// How many dbs there are, where the layout has room for so many.
    pub databases: usize,
    /// Longest string in bytes, also longest argument (`proto-max-bulk-len`).
    pub max_string_bytes: usize,
    /// Most arguments of one command.
    pub max_args: u64,
    /// What AUTH must say; `None`: nobody needs to.
    pub password: Option<String>,
    /// Which keyspace events are told (`notify-keyspace-events`).
    pub notify_keyspace_events: Classes,
    /// The instance's number among those on the store.
    pub instance: u32,
    /// How many instances there are on the store that hear what each other says; at least 1.
    pub instances: u32,
    /// Allows `DEBUG PANIC`, which ends the instance: for tests of hosts.
    pub allow_debug_panic: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            layout: NAMES[0].to_owned(),
            camellia: camellia::Options::default(),
            max_packed_bytes: Some(0),
            databases: 16,
            max_string_bytes: 512 << 20,
            max_args: 1 << 20,
            password: None,
            notify_keyspace_events: Classes::NONE,
            instance: 0,
            instances: 1,
            allow_debug_panic: false,
        }
    }
}

impl Settings {
    /// Settings from names and texts, as `control.open` in `wit/engine` lists them; what is not named keeps its default.
    ///
    /// # Errors
    /// A text for people: which setting is unknown, or what it should have been.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut settings = Self::default();
        for (name, value) in pairs {
            let wrong = |expected: &str| format!("setting {name}: {expected} expected, not '{value}'");
            match name {
                "layout" => {
                    if !NAMES.contains(&value) {
                        return Err(wrong(&format!("one of {}", NAMES.join(", "))));
                    }
                    value.clone_into(&mut settings.layout);
                }
                "camellia-namespace" => settings.camellia.namespace = Bytes::copy_from_slice(value.as_bytes()),
                "camellia-slot-prefix" => {
                    settings.camellia.has_slot_prefix = yes_or_no(value).ok_or_else(|| wrong("yes or no"))?;
                }
                "camellia-hash-version" => settings.camellia.hashes = encode_version(value).ok_or_else(|| wrong("0 or 1"))?,
                "camellia-set-version" => settings.camellia.sets = encode_version(value).ok_or_else(|| wrong("0 or 1"))?,
                "camellia-zset-version" => settings.camellia.sorted_sets = encode_version(value).ok_or_else(|| wrong("0 or 1"))?,
                "packed-bytes" if value == "auto" => settings.max_packed_bytes = None,
                "packed-bytes" => {
                    let bytes = value.parse().ok().filter(|bytes| *bytes <= MAX_PACKED_BYTES);
                    let bytes = bytes.ok_or_else(|| wrong(&format!("a number of bytes up to {MAX_PACKED_BYTES}, or auto,")))?;
                    settings.max_packed_bytes = Some(bytes);
                }
                "databases" => {
                    let count = value.parse().ok().filter(|count| (1..=1024).contains(count));
                    settings.databases = count.ok_or_else(|| wrong("a number from 1 to 1024"))?;
                }
                "password" => settings.password = (!value.is_empty()).then(|| value.to_owned()),
                "max-string-bytes" => settings.max_string_bytes = value.parse().map_err(|_| wrong("a number of bytes"))?,
                "max-args" => settings.max_args = value.parse().map_err(|_| wrong("a number"))?,
                "notify-keyspace-events" => {
                    settings.notify_keyspace_events = Classes::parse(value).ok_or_else(|| wrong("some of Ag$lshzxeKEtmdn"))?;
                }
                "instance" => settings.instance = value.parse().map_err(|_| wrong("a number"))?,
                "instances" => {
                    let count = value.parse().ok().filter(|count| (1..=1024).contains(count));
                    settings.instances = count.ok_or_else(|| wrong("a number from 1 to 1024"))?;
                }
                "allow-debug-panic" => settings.allow_debug_panic = yes_or_no(value).ok_or_else(|| wrong("yes or no"))?,
                _ => return Err(format!("unknown setting {name}")),
            }
        }
        Ok(settings)
    }
}

fn encode_version(text: &str) -> Option<EncodeVersion> {
    match text {
        "0" => Some(EncodeVersion::V0),
        "1" => Some(EncodeVersion::V1),
        _ => None,
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}
