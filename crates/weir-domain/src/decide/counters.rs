//! Counters in memory.

use std::collections::HashMap;

use crate::algorithm::Counter;
use crate::counter::CounterName;
use crate::reservation::Reservations;

/// Counters in memory, and the units that are reserved at them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters(pub HashMap<CounterName, Counter>, pub Reservations);
