//! Lists: elements by position under one key. <https://redis.io/docs/latest/commands/?group=list>
//!
//! Every element is a record at an index; the key's meta record holds the index of the first one and how many there are. So a
//! position is one addition away from its record, both ends grow, and a change in the middle moves the shorter side. A list
//! without elements does not exist: the last one takes the key with it.
//!
//! Positions count from 0 at the head, or from -1 at the tail backwards. All functions fail with WRONGTYPE where the key holds
//! another type, and with store errors and corrupt records.

mod elements;

use crate::db::Db;
use crate::error::{Error, Result, texts};
use crate::events::Classes;
