//! Conditions of a rule on the attributes of a request.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use ipnet::{IpNet, Ipv4Net};

use crate::draft::{ConditionDraft, Op, Operand};
use crate::names::{self, InvalidField};
#[cfg(feature = "regex")]
use crate::pattern::Pattern;

mod contradiction;

pub(crate) use self::contradiction::first_contradiction;

/// The most values or networks of a condition.
pub const OPERANDS_MAX: usize = 1000;

/// A checked condition. Gates hold many, so the texts of the draft have no copies.
#[derive(Debug, Clone)]
pub struct Condition {
    draft: ConditionDraft,
    test: Test,
    /// Whether the condition holds for the values that fail the test.
    negated: bool,
}

/// The test of a condition, without the operand if that is a text.
#[derive(Debug, Clone)]
enum Test {
    Equals,
    /// The operands, sorted and without duplicates.
    OneOf(Vec<String>),
    Prefix,
    Suffix,
    /// The networks, sorted, none inside another.
    Cidr(Vec<IpNet>),
    #[cfg(feature = "regex")]
    Regex(Pattern),
    #[cfg(not(feature = "regex"))]
    Regex,
    Exists,
    Absent,
}

/// Equal drafts give equal conditions.
impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.draft == other.draft
    }
}

impl Eq for Condition {}

impl Hash for Condition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.draft.hash(state);
    }
}

impl Condition {
    /// Checks a draft; `path` is its place in the body.
    pub fn parse(draft: ConditionDraft, path: &str) -> Result<Self, InvalidField> {
        if let Err(reason) = names::attribute(&draft.attribute) {
            return Err(InvalidField::new(format!("{path}.attribute"), reason));
        }
        let test = Test::parse(&draft)
            .map_err(|reason| InvalidField::new(format!("{path}.value"), reason))?;
        let negated = draft.op.is_negated();
        Ok(Self { draft, test, negated })
    }

    /// The attribute that the condition tests.
    pub fn attribute(&self) -> &str {
        &self.draft.attribute
    }

    /// The condition as it was written.
    pub fn draft(&self) -> &ConditionDraft {
        &self.draft
    }

    /// Whether the condition holds for an attribute's value, or for its absence. A negated one does not hold for absence.
    pub fn holds(&self, value: Option<&str>) -> bool {
        let Some(value) = value else {
            return matches!(self.test, Test::Absent);
        };
        let passes = match &self.test {
            Test::Equals => value == self.text(),
            Test::OneOf(operands) => {
                operands.binary_search_by(|operand| operand.as_str().cmp(value)).is_ok()
            }
            Test::Prefix => value.starts_with(self.text()),
            Test::Suffix => value.ends_with(self.text()),
            Test::Cidr(networks) => {
                address_or_network(value).is_some_and(|inside| contained_in(networks, &inside))
            }
            #[cfg(feature = "regex")]
            Test::Regex(pattern) => pattern.matches(value),
            #[cfg(not(feature = "regex"))]
            Test::Regex => false,
            Test::Exists => true,
            Test::Absent => false,
        };
        passes != self.negated
    }

    /// The size of the compiled pattern in bytes, if the condition is a `regex`.
    pub fn pattern_bytes(&self) -> Option<usize> {
        match &self.test {
            #[cfg(feature = "regex")]
            Test::Regex(pattern) => Some(pattern.bytes()),
            #[cfg(not(feature = "regex"))]
            Test::Regex => Some(0),
            _ => None,
        }
    }

    /// The values of which the attribute must have one, sorted and without duplicates, if the condition demands any.
    pub fn one_of(&self) -> Option<&[String]> {
        match (&self.test, &self.draft.value) {
            _ if self.negated => None,
            (Test::Equals, Some(Operand::One(operand))) => Some(std::slice::from_ref(operand)),
            (Test::OneOf(operands), _) => Some(operands),
            _ => None,
        }
    }

    /// Whether the result of `holds` is final. Without the feature `regex`, that of a pattern is not.
    pub(crate) fn is_decidable(&self) -> bool {
        cfg!(feature = "regex") || self.draft.op != Op::Regex
    }

    /// The single value that the condition demands, if it is an `equals`.
    pub fn equal_to(&self) -> Option<&str> {
        (matches!(self.test, Test::Equals) && !self.negated).then(|| self.text())
    }

    /// The operand, if it is a text, else an empty text.
    fn text(&self) -> &str {
        match &self.draft.value {
            Some(Operand::One(text)) => text,
            _ => "",
        }
    }
}

impl Test {
    fn parse(draft: &ConditionDraft) -> Result<Self, String> {
        let one = || match &draft.value {
            Some(Operand::One(text)) => {
                names::value(text)?;
                Ok(text.as_str())
            }
            _ => Err(format!("must be a string for `{}`", draft.op.as_str())),
        };
        match draft.op {
            Op::Equals | Op::NotEquals => one().map(|_| Self::Equals),
            Op::Prefix | Op::NotPrefix => one().and_then(not_empty).map(|()| Self::Prefix),
            Op::Suffix | Op::NotSuffix => one().and_then(not_empty).map(|()| Self::Suffix),
            Op::Cidr | Op::NotCidr => match &draft.value {
                Some(Operand::Many(texts)) => networks(texts).map(Self::Cidr),
                Some(Operand::One(text)) => networks(std::slice::from_ref(text)).map(Self::Cidr),
                None => Err(format!(
                    "must be a network or a list of networks for `{}`",
                    draft.op.as_str()
                )),
            },
            Op::Regex => one().and_then(pattern),
            Op::OneOf | Op::NotOneOf => match &draft.value {
                Some(Operand::Many(texts)) => list(texts).map(Self::OneOf),
                _ => Err(format!("must be a list of strings for `{}`", draft.op.as_str())),
            },
            Op::Exists | Op::Absent if draft.value.is_some() => {
                Err(format!("must be left out for `{}`", draft.op.as_str()))
            }
            Op::Exists => Ok(Self::Exists),
            Op::Absent => Ok(Self::Absent),
        }
    }
}

fn not_empty(text: &str) -> Result<(), String> {
    if text.is_empty() { Err("must not be empty".to_owned()) } else { Ok(()) }
}

fn list(texts: &[String]) -> Result<Vec<String>, String> {
    if texts.is_empty() || texts.len() > OPERANDS_MAX {
        return Err(format!("must list from 1 to {OPERANDS_MAX} values"));
    }
    for text in texts {
        names::value(text)?;
    }
    let mut sorted = texts.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.shrink_to_fit();
    Ok(sorted)
}

/// The networks, sorted, without those inside others.
fn networks(texts: &[String]) -> Result<Vec<IpNet>, String> {
    if texts.is_empty() || texts.len() > OPERANDS_MAX {
        return Err(format!("must list from 1 to {OPERANDS_MAX} networks"));
    }
    let mut sorted = texts.iter().map(|text| network(text)).collect::<Result<Vec<_>, _>>()?;
    // A network precedes those inside it.
    sorted.sort_unstable();
    sorted.dedup_by(|inner, outer| outer.contains(&*inner));
    sorted.shrink_to_fit();
    Ok(sorted)
}

/// Whether a network lies inside one of these, which are sorted and disjoint.
fn contained_in(networks: &[IpNet], inside: &IpNet) -> bool {
    let after = networks.partition_point(|network| network.addr() <= inside.addr());
    after.checked_sub(1).is_some_and(|at| networks[at].contains(inside))
}

/// Refuses networks that can be read in more than one way: with leading zeros, or with bits set behind the prefix.
fn network(text: &str) -> Result<IpNet, String> {
    let wrong = || "must be a network such as `10.0.0.0/8` or `2001:db8::/32`".to_owned();
    let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
    if has_leading_zero(address) || (prefix.len() > 1 && prefix.starts_with('0')) {
        return Err(format!("{}, without leading zeros: `{text}` could be octal", wrong()));
    }
    let parsed = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    let network = parsed.map_err(|_| wrong())?;
    if network.addr() != network.network() {
        let meant = network.trunc();
        let one = network.addr();
        return Err(format!(
            "must be a network: `{text}` has bits set behind its prefix; write `{meant}`, or `{one}` for one address"
        ));
    }
    Ok(canonical(network))
}

/// Whether a part of an IPv4 address has several digits and begins with a zero.
fn has_leading_zero(address: &str) -> bool {
    let part = |part: &str| part.len() > 1 && part.starts_with('0');
    !address.contains(':') && address.split('.').any(part)
}

/// Converts a network of IPv4 addresses written as IPv6 to the IPv4 network, as for addresses.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else { return network };
    let prefix = v6.prefix_len().checked_sub(96);
    let v4 = v6.network().to_ipv4_mapped().zip(prefix);
    v4.and_then(|(v4, prefix)| Ipv4Net::new(v4, prefix).ok()).map_or(network, IpNet::V4)
}

#[cfg(feature = "regex")]
fn pattern(text: &str) -> Result<Test, String> {
    Pattern::parse(text).map(Test::Regex)
}

/// Without the feature `regex` a pattern is accepted unchecked and never matches. The dashboard checks everything else and
/// leaves patterns to the server.
#[cfg(not(feature = "regex"))]
fn pattern(text: &str) -> Result<Test, String> {
    if text.is_empty() { Err("must not be empty".to_owned()) } else { Ok(Test::Regex) }
}

/// The network of an attribute's value: an address, or a network such as the clients' `2001:db8:1:2::/64`.
fn address_or_network(text: &str) -> Option<IpNet> {
    match address(text) {
        Some(address) => Some(address.into()),
        None if text.contains('/') => network(text.trim_matches(' ')).ok(),
        None => None,
    }
}

/// The address in an attribute's value, also with a port, in brackets (`[2001:db8::1]:443`) or between blanks. An IPv4
/// address written as IPv6 is the IPv4 address. `None` for everything else, such as names, zones and leading zeros.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim_matches(' ');
    let bare = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let address = text.parse::<IpAddr>().ok().or_else(with_port).or_else(bare)?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests;
