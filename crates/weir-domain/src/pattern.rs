//! Regular expressions of conditions, compiled within a budget of memory.
//!
//! The engine takes time linear in the text, and caches the states that it reaches. Each pattern retains one
//! cache of bounded size, so the memory of a tenant's patterns is bounded by their number and their size.

use std::fmt;
use std::sync::{Arc, Mutex, TryLockError};

use regex_automata::Input;
use regex_automata::meta::{BuildError, Cache, Regex};

/// The most bytes of one compiled pattern.
pub const PATTERN_BYTES_MAX: usize = 256 << 10;
/// The most bytes of states that one pattern caches between checks.
const CACHE_BYTES_MAX: usize = 256 << 10;
/// The most bytes of each automaton that is built in advance, where one is small enough.
const AUTOMATON_BYTES_MAX: usize = 32 << 10;

/// A compiled pattern. Clones share it.
#[derive(Clone)]
pub(crate) struct Pattern(Arc<Compiled>);

struct Compiled {
    text: String,
    regex: Regex,
    cache: Mutex<Option<Cache>>,
}

impl Pattern {
    /// Compiles a pattern. The error is the reason, to follow the name of the field.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let config = Regex::config()
            .nfa_size_limit(Some(PATTERN_BYTES_MAX))
            .onepass_size_limit(Some(AUTOMATON_BYTES_MAX))
            .dfa_size_limit(Some(AUTOMATON_BYTES_MAX))
            .hybrid_cache_capacity(CACHE_BYTES_MAX);
        let regex =
            Regex::builder().configure(config).build(text).map_err(|error| reason(&error))?;
        if regex.memory_usage() > PATTERN_BYTES_MAX {
            return Err(too_large());
        }
        Ok(Self(Arc::new(Compiled { text: text.to_owned(), regex, cache: Mutex::default() })))
    }

    /// Whether the pattern matches somewhere in the text.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let Compiled { regex, cache, .. } = &*self.0;
        let input = Input::new(text).earliest(true);
        let mut retained = match cache.try_lock() {
            Ok(retained) => retained,
            // After a panic the cache is in an unknown state, so it is made anew.
            Err(TryLockError::Poisoned(poisoned)) => {
                let mut retained = poisoned.into_inner();
                *retained = None;
                cache.clear_poison();
                retained
            }
            // Another thread matches the same pattern, and waiting for it would delay this one.
            Err(TryLockError::WouldBlock) => {
                return regex.search_half_with(&mut regex.create_cache(), &input).is_some();
            }
        };
        let used = retained.get_or_insert_with(|| regex.create_cache());
        let found = regex.search_half_with(used, &input).is_some();
        if used.memory_usage() > CACHE_BYTES_MAX {
            *retained = None;
        }
        found
    }

    /// Bytes of the compiled pattern, without its cache.
    pub(crate) fn bytes(&self) -> usize {
        self.0.regex.memory_usage()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.0.text)
    }
}

fn reason(error: &BuildError) -> String {
    let Some(syntax) = error.syntax_error() else { return too_large() };
    let text = syntax.to_string();
    let reason = text.lines().last().unwrap_or("syntax error").trim();
    format!("must be a regular expression: {}", reason.trim_start_matches("error: "))
}

fn too_large() -> String {
    format!("is larger than {} KiB once compiled", PATTERN_BYTES_MAX >> 10)
}

#[cfg(test)]
mod tests;
