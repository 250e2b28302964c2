//! The flags of commands, as `COMMAND` shows them.

/// A set of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u32);

macro_rules! flags {
    ($($name:ident = $bit:literal, $text:literal, $doc:literal;)*) => {
        impl Flags {
            $(#[doc = $doc] pub const $name: Self = Self(1 << $bit);)*

            /// The names of the flags in the set, in Redis' order.
            #[must_use]
            pub fn names(self) -> Vec<&'static str> {
                let all = [$((Self::$name, $text)),*];
                all.into_iter().filter(|(flag, name)| self.has(*flag) && !name.is_empty()).map(|(_, name)| name).collect()
            }
        }
    };
}

flags! {
    WRITE = 0, "write", "May change data.";
    READONLY = 1, "readonly", "Reads data and never changes it.";
    DENYOOM = 2, "denyoom", "Redis refuses it when out of memory.";
    ADMIN = 3, "admin", "For administrators.";
    PUBSUB = 4, "pubsub", "Concerns publish and subscribe.";
    NOSCRIPT = 5, "noscript", "Not for scripts.";
    BLOCKING = 6, "blocking", "May block the client.";
    LOADING = 7, "loading", "Allowed while Redis loads its data.";
    STALE = 8, "stale", "Allowed on a stale replica.";
    SKIP_MONITOR = 9, "skip_monitor", "Not shown by MONITOR.";
    SKIP_SLOWLOG = 10, "skip_slowlog", "Not logged as slow.";
    FAST = 11, "fast", "Constant or logarithmic time.";
    NO_AUTH = 12, "no_auth", "Allowed before AUTH.";
    MAY_REPLICATE = 13, "may_replicate", "Redis may replicate it.";
    NO_MULTI = 14, "no_multi", "Not allowed within MULTI.";
    MOVABLEKEYS = 15, "movablekeys", "Where its keys are depends on its arguments.";
    ALLOW_BUSY = 16, "allow_busy", "Allowed while a script is busy.";
    EXCLUSIVE = 24, "", "Orbweaver's own: may change anything, so that no other writer runs beside it.";
    CROSS_DB = 25, "", "Orbweaver's own: its keys may be of another db than the selected one.";
    KEEPS_RESULT = 26, "", "Orbweaver's own: reads, and keeps what it found out with the keys, on stores that can be written.";
}

impl Flags {
    /// No flags.
    pub const NONE: Self = Self(0);

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every flag of `other` is in the set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
