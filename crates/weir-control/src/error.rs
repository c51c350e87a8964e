//! Errors of handlers, and their answers.

use axum::response::{IntoResponse, Response};
use weir_http::problem::Problem;
use weir_store::{Constraint, StoreError};
use weir_wire::problem::ErrorCode;

use crate::passwords::Busy;
use crate::rule_service::{CountersError, UnreadableRule};

/// An error that ends a handler early.
#[derive(Debug)]
pub(crate) enum ControlError {
    /// The request was refused.
    Refused(Box<Problem>),
    /// The store refused the request or could not be reached.
    Store(StoreError),
    /// The request was served before under the same idempotency key. This is the first answer.
    Replayed(Box<Response>),
}

impl From<Problem> for ControlError {
    fn from(problem: Problem) -> Self {
        Self::Refused(Box::new(problem))
    }
}

impl From<StoreError> for ControlError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<UnreadableRule> for ControlError {
    fn from(error: UnreadableRule) -> Self {
        Problem::internal(error).into()
    }
}

impl From<CountersError> for ControlError {
    fn from(error: CountersError) -> Self {
        match error {
            CountersError::Unavailable(_) => {
                Problem::unavailable("the counters are temporarily unavailable").caused_by(error)
            }
            CountersError::Region(..) => Problem::unavailable(error.to_string()).caused_by(error),
            CountersError::Undecided => Problem::internal(error),
        }
        .into()
    }
}

impl From<Busy> for ControlError {
    fn from(busy: Busy) -> Self {
        Problem::unavailable(busy.to_string()).into()
    }
}

impl IntoResponse for ControlError {
    fn into_response(self) -> Response {
        match self {
            Self::Refused(problem) => problem.into_response(),
            Self::Store(error) => of_store(error).into_response(),
            Self::Replayed(response) => *response,
        }
    }
}

impl ControlError {
    /// The same, with its fields at this place of the request.
    pub(crate) fn below(self, path: &str) -> Self {
        match self {
            Self::Refused(problem) => problem.below(path).into(),
            Self::Store(error) => of_store(error).below(path).into(),
            replayed @ Self::Replayed(_) => replayed,
        }
    }
}

fn of_store(error: StoreError) -> Problem {
    match error {
        StoreError::Conflict(constraint) => of_constraint(constraint),
        StoreError::Stale => Problem::new(
            ErrorCode::Stale,
            "`If-Match` names an older revision: read the object again",
        ),
        error @ StoreError::Unavailable(_) => {
            Problem::unavailable("the database is temporarily unavailable").caused_by(error)
        }
        error @ (StoreError::OlderSchema(_) | StoreError::FormerSchema) => {
            Problem::unavailable(error.to_string()).caused_by(error)
        }
        error @ (StoreError::Corrupt { .. }
        | StoreError::LoginRefused { .. }
        | StoreError::RestoredWithoutRoles { .. }
        | StoreError::Unconfined { .. }
        | StoreError::OtherLayout { .. }) => Problem::internal(error),
    }
}

fn of_constraint(constraint: Constraint) -> Problem {
    let taken = |detail| Problem::new(ErrorCode::NameTaken, detail);
    let conflict = |detail| Problem::new(ErrorCode::Conflict, detail);
    match constraint {
        Constraint::UserEmail => taken("this e-mail address has an account"),
        Constraint::RuleName => taken("the namespace already has a rule with this name"),
        Constraint::ProfileName => taken("the tenant already has a profile with this name"),
        Constraint::PlanName => taken("the tenant already has a plan with this name"),
        Constraint::AlertName => taken("the set of the alert already has one with this name"),
        Constraint::ProfileDomain => taken("the tenant already has a profile of this domain"),
        Constraint::OverrideSubject => conflict("this subject already has an override of the rule"),
        Constraint::OverrideRule | Constraint::AlertRule => {
            Problem::invalid_field("rule_id", "is not a rule of this tenant")
        }
        // The constraint also refuses the deletion of a webhook that alerts use.
        Constraint::AlertWebhook => conflict("there is no such webhook, or alerts use it"),
        Constraint::MemberTwice => conflict("the person is already a member"),
        Constraint::MemberUser => Problem::invalid_field("user_id", "is not a user"),
        Constraint::TenantMissing => Problem::not_found(),
        Constraint::InvitationTwice => conflict("the address is being invited by somebody else"),
        Constraint::InvitationDigest => {
            Problem::internal("a new invitation has the digest of another")
        }
        Constraint::KeyDigest => Problem::internal("a new key has the digest of another"),
    }
}
