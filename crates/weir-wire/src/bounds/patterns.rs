//! The forms of texts in requests, as regular expressions of JSON Schema.

pub(super) const NAMESPACE: &str = "^[a-z0-9][a-z0-9_-]{0,62}$";
pub(super) const RULE_NAME: &str = "^[a-z0-9][a-z0-9-]{0,62}$";
/// The name of a header.
pub(super) const HEADER_NAME: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$";
pub(super) const RESERVATION: &str = "^resv_[A-Za-z0-9_-]+$";
pub(super) const CHARGE: &str = "^chg_[0-9a-f]+([.-][0-9a-f]+)+$";
pub(super) const LEASE: &str = "^lease_[A-Za-z0-9_-]+$";
pub(super) const ATTRIBUTE: &str = "^[a-z][a-z0-9_.-]{0,63}$";
/// No control characters.
pub(super) const ONE_LINE: &str = "^[^\\u0000-\\u001F\\u007F-\\u009F]*$";
/// No control characters but line feeds.
pub(super) const PROSE: &str = "^[^\\u0000-\\u0009\\u000B-\\u001F\\u007F-\\u009F]*$";
/// No control characters, and no blank at the beginning or end.
pub(super) const TITLE: &str = "^[^\\s\\u0000-\\u001F\\u007F-\\u009F]([^\\u0000-\\u001F\\u007F-\\u009F]*[^\\s\\u0000-\\u001F\\u007F-\\u009F])?$";

/// The form of an id of this kind.
pub(super) fn id(kind: &str) -> String {
    format!("^{kind}_[0-7][0-9A-HJKMNP-TV-Z]{{25}}$")
}
