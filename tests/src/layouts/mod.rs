//! The foreign layouts as the test suites take them: with every way of encoding that they have ([`all`]), the commands that they and
//! Redis understand alike ([`fit`]), replies that say what a layout has no room for ([`refusals`]), and what is meant to differ
//! ([`differences`]).

pub mod differences;
pub mod fit;
pub mod refusals;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use orbweaver_engine::layout::camellia::EncodeVersion;
use orbweaver_engine::settings::Settings;

use crate::readers::{self, Contents, Record, camellia};

/// The settings for a layout, with options as golden scripts have them.
///
/// # Panics
/// When there is no such layout or option.
#[must_use]
pub fn settings(layout: &str, options: &BTreeMap<String, String>) -> Settings {
    // The setting for `hash-encode-version` is `camellia-hash-version`.
    let setting = |name: &str| format!("{layout}-{}", name.replace("encode-", ""));
    let options: Vec<(String, &str)> = options.iter().map(|(name, value)| (setting(name), value.as_str())).collect();
    let pairs = options.iter().map(|(name, value)| (name.as_str(), *value));
    Settings::from_pairs([("layout", layout)].into_iter().chain(pairs)).expect("settings that there are")
}

/// The settings for a layout, with the options of its fixtures.
#[must_use]
pub fn of_fixture(layout: &str) -> Settings {
    let mut settings = settings(layout, &BTreeMap::new());
    settings.camellia.namespace = "ns".into();
    settings.camellia.has_slot_prefix = true;
    settings
}

/// Each foreign layout, and Camellia with its other encode versions.
pub fn all() -> impl Iterator<Item = Settings> {
    let mut other = of_fixture("camellia");
    other.camellia.has_slot_prefix = false;
    other.camellia.hashes = EncodeVersion::V1;
    other.camellia.sets = EncodeVersion::V1;
    other.camellia.sorted_sets = EncodeVersion::V1;
    readers::LAYOUTS.into_iter().map(of_fixture).chain([other])
}

/// What to call a layout with its settings.
#[must_use]
pub fn name(settings: &Settings) -> String {
    let is_other = settings.camellia.hashes == EncodeVersion::V1;
    format!("{}{}", settings.layout, if is_other { "-1" } else { "" })
}

/// What a plain reader finds in records of the layout.
#[must_use]
pub fn read(settings: &Settings, records: &[Record], now_ms: i64) -> Contents {
    if settings.layout != "camellia" {
        return readers::read(&settings.layout, records, now_ms);
    }
    let options = &settings.camellia;
    let rows = camellia::Rows { namespace: options.namespace.clone(), have_slot_prefix: options.has_slot_prefix };
    camellia::read(records, &rows, now_ms)
}

/// The layout's page, as one line.
///
/// # Panics
/// When it has none.
#[must_use]
pub fn page(layout: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../docs/layouts/{layout}.md"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
