//! The lists. A word that is plain English elsewhere is retired only where it belonged to the dialect: as a whole name,
//! as a word inside a name, as a phrase, or at the beginning of a comment.

/// A retired word in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    pub line: usize,
    pub word: &'static str,
    pub advice: &'static str,
}

#[derive(Debug)]
pub struct Retired {
    pub word: &'static str,
    pub advice: &'static str,
}

impl Retired {
    pub fn at(&self, line: usize) -> Found {
        Found { line, word: self.word, advice: self.advice }
    }
}

const fn retired(word: &'static str, advice: &'static str) -> Retired {
    Retired { word, advice }
}

/// Whole names in code.
pub const NAMES: &[Retired] = &[
    retired("Line", "Batcher, or what the line holds"),
    retired("Waiting", "PendingCheck"),
    retired("Told", "Reply"),
    retired("tell", "reply"),
    retired("gather", "drain_batch"),
    retired("telling_away", "reject_while"),
    retired("Patience", "StallTolerantDeadline"),
    retired("patience", "deadline"),
    retired("within", "wait, or what the span holds"),
    retired("GivenBack", "Refunded"),
    retired("Deaf", "Disconnected"),
    retired("hears", "set_connected"),
    retired("saver", "snapshot"),
    retired("Named", "LimitLabel"),
    retired("Met", "ChargedRules"),
    retired("Meeting", "RuleMatch"),
    retired("meet", "match_rule"),
    retired("Taking", "LeaseRequest"),
    retired("Spent", "LeaseOutcome"),
    retired("Unused", "ReturnedUnits"),
    retired("recall", "get"),
    retired("remember", "insert"),
    retired("Ticket", "Generation"),
    retired("BySubject", "Sharded"),
    retired("Act", "Operation, or SubmitAction in the dashboard"),
    retired("act", "operation"),
    retired("Guard", "RequireSession, or what is guarded"),
    retired("Arm", "Variant"),
    retired("arms", "variants"),
    retired("login_floor", "login_throttle"),
    retired("Room", "TenantLimiter"),
    retired("Place", "Permit"),
    retired("Way", "Route"),
    retired("OnItsWay", "InFlight"),
    retired("Again", "retries"),
    retired("Left", "remaining_ids"),
    retired("Seen", "DecisionEvent"),
    retired("look", "inspect"),
    retired("looked", "inspected"),
];

/// Words inside names, whether in snake or camel case.
pub const WORDS_OF_NAMES: &[Retired] = &[
    retired("told", "reply, or run"),
    retired("tells", "replies, or reports"),
    retired("telling", "replying, or reporting"),
    retired("sheet", "counter_hash, or subject hash"),
    retired("sheets", "counter_hashes"),
    retired("kept", "cached, recorded, retained"),
    retired("remembered", "denial_cache"),
    retired("instead", "override_limits"),
    retired("who", "name the thing"),
    retired("whose", "name the thing"),
    retired("whom", "name the thing"),
    retired("whoever", "name the thing"),
    retired("whatever", "name the thing"),
    retired("manieth", "nth"),
    retired("guardian", "watchdog"),
    retired("workshop", "workspace"),
    retired("worlds", "fixtures"),
    retired("witness", "control"),
    retired("spoilt", "invalidated"),
    retired("unasked", "degraded"),
    retired("withdraw", "revoke"),
    retired("withdrawn", "revoked"),
];

/// Phrases in comments, in strings and on pages, in lower case.
pub const PHRASES: &[Retired] = &[
    retired("so many", "the number"),
    retired("so-manieth", "n-th"),
    retired("as long as it goes", "until it fails"),
    retired("is told", "gets, or is notified"),
    retired("are told", "get, or are notified"),
    retired("was told", "got, or was notified"),
    retired("were told", "got, or were notified"),
    retired("be told", "get, or be notified"),
    retired("been told", "been notified"),
    retired("told when", "sent when"),
    retired("told apart", "distinguished"),
    retired("is said", "is reported"),
    retired("are said", "are reported"),
    retired("is asked about", "is queried"),
    retired("are asked about", "are queried"),
    retired("found out", "detected"),
    retired("finds out", "detects"),
    retired("whoever", "name the thing"),
    retired("nobody's", "no tenant's, no request's"),
    retired("in the time before", "in the previous period"),
    retired("counted until just now", "updated just now"),
    retired("stays out", "is blocked"),
    retired("test world", "fixture"),
    retired("guardian", "watchdog"),
    retired("workshop", "workspace"),
    retired("subject's sheet", "subject hash"),
    retired("by and by", "gradually"),
    retired("withdrawn", "revoked"),
];

/// Words that begin a comment which is no sentence.
pub const OPENINGS: &[Retired] = &[
    retired("Who", "say what it is"),
    retired("Whose", "say what it is"),
    retired("Whom", "say what it is"),
    retired("What", "a noun phrase that names the thing"),
    retired("Which", "say what it is"),
    retired("Whatever", "say what it is"),
    retired("Whoever", "say what it is"),
];

/// Words that begin a sentence without a noun.
pub const SENTENCE_OPENINGS: &[Retired] = &[
    retired("Who", "name the subject of the sentence"),
    retired("Whose", "name the subject of the sentence"),
    retired("Whom", "name the subject of the sentence"),
    retired("Whoever", "name the subject of the sentence"),
    retired("Which.", "say what it is"),
    retired("Whose.", "say what it is"),
    retired("When.", "say what it is"),
];
