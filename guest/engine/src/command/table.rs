//! The command table.

use super::{
