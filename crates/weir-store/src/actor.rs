//! Actors, as revisions and audit entries record them.

use uuid::Uuid;
use weir_domain::id::{KeyId, UserId};

use crate::convert::uuid;
use crate::error::StoreError;

/// The person, key or system that acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A signed-in person.
    Person {
        /// The person.
        id: UserId,
        /// The e-mail address at that time.
        email: String,
    },
    /// A program with an API key.
    Key {
        /// The key.
        id: KeyId,
        /// The key's name at that time.
        name: String,
    },
    /// Weir itself, or its command line.
    System,
    /// A client that did not authenticate.
    Anonymous,
}

impl Actor {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Person { .. } => "person",
            Self::Key { .. } => "key",
            Self::System => "system",
            Self::Anonymous => "anonymous",
        }
    }

    pub(crate) fn stored_id(&self) -> Option<Uuid> {
        match self {
            Self::Person { id, .. } => Some(uuid(id.to_u128())),
            Self::Key { id, .. } => Some(uuid(id.to_u128())),
            Self::System | Self::Anonymous => None,
        }
    }

    /// The id as it is shown.
    pub(crate) fn id(&self) -> Option<String> {
        match self {
            Self::Person { id, .. } => Some(id.to_string()),
            Self::Key { id, .. } => Some(id.to_string()),
            Self::System | Self::Anonymous => None,
        }
    }

    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Person { email, .. } => email,
            Self::Key { name, .. } => name,
            Self::System | Self::Anonymous => "",
        }
    }

    pub(crate) fn from_stored(
        kind: &str,
        id: Option<Uuid>,
        label: String,
    ) -> Result<Self, StoreError> {
        match (kind, id.map(|id| id.as_u128())) {
            ("person", Some(id)) => Ok(Self::Person { id: UserId::from_u128(id), email: label }),
            ("key", Some(id)) => Ok(Self::Key { id: KeyId::from_u128(id), name: label }),
            ("system", None) => Ok(Self::System),
            ("anonymous", None) => Ok(Self::Anonymous),
            _ => Err(StoreError::corrupt(format!("an actor of kind {kind}"))),
        }
    }
}
