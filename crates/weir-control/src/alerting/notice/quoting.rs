//! Names and subjects in messages. Callers of checks choose the values of subjects, so a message must not turn them into a link or
//! a mention of people.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::mails::unlinked;

/// The rules of a kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::alerting) enum Quoting {
    /// A text that is displayed as it is.
    Plain,
    /// The mark-up of Slack.
    Slack,
    /// A text of a mail program, which turns addresses into links.
    Mail,
}

/// The most characters of a name or a subject.
const CHARS_MAX: usize = 100;

impl Quoting {
    /// A name that members of the tenant chose.
    pub(super) fn name(self, name: &str) -> String {
        match self {
            Self::Plain => shortened(name),
            Self::Slack => escaped(&shortened(name)),
            Self::Mail => format!("\"{}\"", unlinked(name)),
        }
    }

    /// A subject, such as `user=u-1`. `None` for the only subject of a rule that counts by nothing.
    pub(super) fn subject(self, subject: &BTreeMap<String, String>) -> Option<String> {
        if subject.is_empty() {
            return None;
        }
        let of_mail = |value: &str| match value.parse::<IpAddr>() {
            Ok(_) => value.to_owned(),
            Err(_) => unlinked(value),
        };
        let pairs = subject.iter().map(|(name, value)| match self {
            Self::Mail => format!("{name}={}", of_mail(value)),
            _ => format!("{name}={value}"),
        });
        let text = shortened(&pairs.collect::<Vec<_>>().join(", "));
        Some(match self {
            // In code, nothing is a link or a mention.
            Self::Slack => format!("`{}`", escaped(&text.replace('`', "'"))),
            Self::Plain | Self::Mail => text,
        })
    }
}

/// The first characters, in one line.
fn shortened(text: &str) -> String {
    let line: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A text without the mark-up of Slack: its entities, and an invisible space after `@`, because Discord and Mattermost read
/// `@everyone` in a text as a mention.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('@', "@\u{200b}")
}
