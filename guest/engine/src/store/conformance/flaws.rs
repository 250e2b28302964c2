//! What stores do wrong, and which tests find it: how the suite is tested itself.

/// What a [`super::broken::Broken`] store does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing: a store that passes.
    None,
    /// Gives shorter keys first, whatever their bytes.
    OrdersByLength,
    /// Takes every order for that of bytes.
    OrdersEverythingAsBytes,
    /// Scans forwards whatever the direction.
    WalksForwardOnly,
    /// Gives the start of a range that leaves it out.
    IgnoresAfterStart,
    /// Gives the end of a range, which is not in it.
    IncludesEnd,
    /// Says that nothing is behind a page where there is.
    StopsAfterOnePage,
    /// Says that something is behind the last page.
    RepeatsPagesWithoutEnd,
    /// Takes a limit of nothing at its word.
    GivesEmptyPages,
    /// Ignores the limits of pages.
    GivesTooLongPages,
    /// Has a number for each question, whatever the page is.
    NumbersQuestions,
    /// Tells nobody who keeps pages what has changed.
    TellsNoChanges,
    /// Takes an empty value for an absent key.
    LosesEmptyValues,
    /// Answers `get_many` in another order.
    GetsInReverse,
    /// Leaves absent keys out of the answer of `get_many`.
    GetsWithoutAbsent,
    /// Has one keyspace under all names.
    MixesKeyspaces,
    /// Does not delete single keys.
    LosesDeletes,
    /// Does not delete ranges that go to the end.
    LosesRangeDeletesToTheEnd,
    /// Deletes the end of a range, too.
    DeletesTheEndOfRanges,
    /// Applies range deletes behind the puts of their batch.
    DeletesRangesLast,
    /// Writes a large batch in two steps.
    TearsBatches,
    /// Writes the start of a batch that it refuses.
    KeepsWhatFits,
    /// Takes the empty key and forgets it.
    AcceptsEmptyKeys,
    /// Takes a number that it never gave for a keyspace.
    InventsKeyspaces,
    /// Reads where no transaction is open.
    ReadsWithoutTransaction,
    /// Begins a second transaction and forgets the first.
    ForgetsTheFirstBegin,
    /// Writes in a transaction that only reads.
    WritesInReadScope,
    /// Reads what others have committed since `begin`.
    ReadsTheLatest,
    /// Commits over what others have changed since `begin`.
    LosesUpdates,
    /// Lets others write beside an exclusive transaction.
    SharesExclusive,
    /// Has the same epoch for ever.
    EpochStands,
    /// Has another epoch each time.
    EpochRuns,
    /// Has the same revision for ever.
    RevisionsStand,
    /// Has another revision each time.
    RevisionsRun,
    /// Counts a change of every key that a transaction declares.
    RevisesWhatIsDeclared,
    /// Counts no change of keys that a transaction names which writes nothing.
    RevisesWhatIsWritten,
    /// Is empty when it is opened again.
    ForgetsOnReopening,
}

impl Flaw {
    /// The flaw of this name, spelled as here; `None` where there is no such flaw.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut all = TABLE.iter().map(|(flaw, _)| *flaw).chain([Self::None]);
        all.find(|flaw| format!("{flaw:?}") == name)
    }
}

const ONE_STATE: &str = "a transaction sees one state";
const COMMITTED: &str = "what is committed outlives the store";
const KNOWN: &str = "a page that is known is the answer until a change is told";
const ORDERS: &str = "a keyspace keeps the order that it was opened with";

/// Each flaw, and all the tests that find it, in the order of [`super::TESTS`].
pub const TABLE: &[(Flaw, &[&str])] = &[
    (Flaw::OrdersByLength, &["scans walk in byte order", "scans keep within their range"]),
    (
        Flaw::WalksForwardOnly,
        &[
            "scans walk backwards",
            "scans backwards keep within their range",
            ORDERS,
            "pages backwards add up to the whole range",
            ONE_STATE,
        ],
    ),
    (
        Flaw::IgnoresAfterStart,
        &[
            "scans keep within their range",
            "scans backwards keep within their range",
            ORDERS,
            "pages add up to the whole range",
            "an empty key is kept or refused",
        ],
    ),
    (
        Flaw::IncludesEnd,
        &[
            "scans keep within their range",
            "scans backwards keep within their range",
            ORDERS,
            "pages add up to the whole range",
            "pages backwards add up to the whole range",
        ],
    ),
    (
        Flaw::StopsAfterOnePage,
        &["pages add up to the whole range", "pages backwards add up to the whole range", "a page holds at least one record"],
    ),
    (Flaw::OrdersEverythingAsBytes, &[ORDERS]),
    (Flaw::RepeatsPagesWithoutEnd, &["a page holds at least one record"]),
    (Flaw::GivesEmptyPages, &["a page holds at least one record"]),
    (
        Flaw::GivesTooLongPages,
        &["pages add up to the whole range", "pages backwards add up to the whole range", "a page holds at least one record"],
    ),
    (Flaw::NumbersQuestions, &[KNOWN]),
    (Flaw::TellsNoChanges, &[KNOWN]),
    (Flaw::LosesEmptyValues, &["get tells empty values from absent keys", "get_many answers in the order of its keys", COMMITTED]),
    (Flaw::GetsInReverse, &["get_many answers in the order of its keys"]),
    (Flaw::GetsWithoutAbsent, &["get_many answers in the order of its keys"]),
    (
        Flaw::MixesKeyspaces,
        &["get_many answers in the order of its keys", "keyspaces are separate", "a range delete removes its range", COMMITTED],
    ),
    (Flaw::LosesDeletes, &["a commit is seen by every handle", "an empty key is kept or refused", ONE_STATE]),
    (
        Flaw::LosesRangeDeletesToTheEnd,
        &[ORDERS, "a range delete removes its range", "a put survives the range delete before it", "an unknown keyspace is refused"],
    ),
    (Flaw::DeletesTheEndOfRanges, &[ORDERS, "a range delete removes its range", COMMITTED]),
    (Flaw::DeletesRangesLast, &[ORDERS, "a put survives the range delete before it", COMMITTED]),
    (Flaw::TearsBatches, &["a batch is seen whole or not at all"]),
    (Flaw::KeepsWhatFits, &["what is too large changes nothing"]),
    (Flaw::AcceptsEmptyKeys, &["an empty key is kept or refused"]),
    (Flaw::InventsKeyspaces, &["an unknown keyspace is refused"]),
    (Flaw::ReadsWithoutTransaction, &["reads and commits need a transaction"]),
    (Flaw::ForgetsTheFirstBegin, &["a handle has one transaction"]),
    (Flaw::WritesInReadScope, &["a transaction that reads does not write"]),
    (Flaw::ReadsTheLatest, &["a batch is seen whole or not at all", ONE_STATE]),
    (Flaw::LosesUpdates, &["colliding transactions lose no update", "transactions on several keys lose no update"]),
    (Flaw::SharesExclusive, &["an exclusive transaction runs alone", "the epoch changes with exclusive commits"]),
    (Flaw::EpochStands, &["the epoch changes with exclusive commits"]),
    (Flaw::EpochRuns, &["the epoch changes with exclusive commits", "the epoch stays without exclusive commits"]),
    (Flaw::RevisionsStand, &["a revision changes with its key"]),
    (Flaw::RevisionsRun, &["a revision stays without a change of its key"]),
    (Flaw::RevisesWhatIsWritten, &["a revision changes with its key"]),
    (Flaw::RevisesWhatIsDeclared, &["a revision stays without a change of its key"]),
    (Flaw::ForgetsOnReopening, &[COMMITTED, "what is rolled back stays away"]),
];

/// Tests that a flaw may fail as well, depending on which thread runs first.
pub const MAY: &[(Flaw, &str)] =
    &[(Flaw::LosesUpdates, "an exclusive transaction runs alone"), (Flaw::ReadsTheLatest, "a batch is seen whole or not at all")];
