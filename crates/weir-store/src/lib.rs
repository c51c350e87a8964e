//! All SQL and the migrations.
//!
//! `Store::begin("rules.create", Scope::Tenant(id))` opens a transaction that can see one tenant. Its accessors
//! (`tx.rules()`, `tx.keys()`, …) cover one table each.

mod accounts;
mod actor;
mod alerts;
mod assignments;
mod audit;
mod audit_lines;
mod callers;
mod ceilings;
mod connection;
mod convert;
mod customer_days;
mod deliveries;
mod denials;
mod error;
mod events;
mod gates;
mod hosts;
mod housekeeping;
mod idempotency;
mod identities;
mod idle;
mod installation;
mod invitations;
mod keys;
mod layout;
mod logins;
mod members;
mod message;
mod namespaces;
mod overrides;
mod page;
mod password_resets;
mod plans;
mod profiles;
mod quota_periods;
mod revisions;
mod roles;
mod rulebook;
mod rulebook_load;
mod rules;
mod samples;
mod schema;
mod search;
mod second_factors;
mod served;
mod sessions;
mod signups;
mod silences;
mod specs;
mod store;
mod sweep;
mod tallies;
mod tenants;
#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
#[cfg(test)]
mod tests;
mod top_subjects;
mod tx;
mod usage;
mod users;
mod views;
mod webhooks;

pub use accounts::{AccountRow, Accounts};
pub use actor::Actor;
pub use alerts::{AlertRow, AlertWrite, Alerts, NewFirings};
pub use assignments::{
    AssignmentFilter, AssignmentRow, Assignments, NewAssignment, ServedAssignment,
};
pub use audit::chain::{ChainBreak, ChainHead, ChainId, ChainReport};
pub use audit::{Audit, AuditFilter, AuditLog, AuditRow, NewAudit};
pub use callers::BegunChange;
pub use ceilings::{Ceilings, TenantCeilings};
pub use customer_days::{CustomerCounts, CustomerDay, CustomerDayRow, CustomerDays, CustomerRow};
pub use deliveries::{
    Attempted, Deliveries, DeliveryRow, DeliveryState, Due, NewDelivery, Sending,
};
pub use denials::{
    ALSO_DENIED_BY_MAX, DENIALS_DAYS, DENIALS_PER_SECOND, DenialDetail, DenialFilter, DenialRow,
    Denials, DeniedSubject,
};
pub use error::{Constraint, StoreError};
pub use events::{AlertEvent, AlertEvents, ChangeEvent, ChangeOf, EventFilter, Events};
pub use gates::{GateBeat, GateLoad, GateReport, GateRow, Gates, LiveGates, Rollout};
pub use housekeeping::{Housekeeping, Retention};
pub use idempotency::{Claim, Claimed, Idempotency, Owner};
pub use identities::{Identities, NewIdentity};
pub use installation::Installation;
pub use invitations::{InvitationRow, Invitations, NewInvitation};
pub use keys::{KeyHour, KeyHourRow, KeyRotation, KeyRow, Keys, NewKey, PreviousDigest};
pub use logins::is_verified;
pub use members::{MemberRole, MemberRow, Members};
pub use namespaces::{NamespaceRow, NamespaceWrite, Namespaces};
pub use overrides::{
    OverrideBody, OverrideBulk, OverrideColumns, OverrideFilter, OverrideRow, OverrideSpec,
    OverrideWrite, Overrides, ServedOverride,
};
pub use page::{Listing, Page};
pub use password_resets::PasswordResets;
pub use plans::{PlanBody, PlanColumns, PlanRow, PlanSpec, PlanWrite, Plans, ServedPlan};
pub use profiles::{
    ProfileBody, ProfileColumns, ProfileRow, ProfileSpec, ProfileWrite, Profiles, ServedProfile,
};
pub use quota_periods::{
    QUOTA_PERIODS_MAX, QuotaPeriodAfter, QuotaPeriodFilter, QuotaPeriodRow, QuotaPeriods,
};
pub use revisions::RevisionRow;
pub use rulebook::{
    RemainingIds, RuleRows, Rulebook, RulebookChanges, RulebookPoll, RulebookVersion, TenantChanges,
};
pub use rules::{
    COUNTED_OVERRIDES_MAX, OtherRules, OutageRules, RuleActivity, RuleAfter, RuleBody, RuleColumns,
    RuleFilter, RuleHas, RuleRow, RuleSpec, RuleWrite, Rules, ServedRule,
};
pub use samples::{
    PIECES_AT_ONCE, SampleExtent, SampleHead, SamplePiece, SampleRow, SampleSpan, Samples,
};
pub use schema::{MIGRATOR, Migrated};
pub use search::{FoundObject, Search, SearchFilter};
pub use second_factors::{SecondFactorRow, SecondFactors};
pub use sessions::{
    Membership, NewSession, Person, Rotated, Rotation, SESSIONS_MAX, SessionRow, Sessions,
};
pub use signups::{NewSignup, SignupRow, Signups};
pub use specs::{Revised, Spec, SpecRow, SpecWrite, Specs};
pub use store::{PoolSettings, Role, Store};
pub use sweep::Sweep;
pub use tallies::{
    Counted, DegradedStep, DropCount, Flush, Resolution, RuleTally, STEP_MS, STEPS_RETAINED_MS,
    StepRow, Tallies, TallyCounts, TallyFilter, TallyRange, TallyRow, UnmatchedTally,
};
pub use tenants::{MyTenant, TenantRow, Tenants};
pub use top_subjects::{
    FoundSubject, HistoryFilter, SKETCH_MS, SketchEntry, SketchRow, SubjectSearch, SubjectSpan,
    TopFilter, TopSubject, TopSubjects, sketch_start,
};
pub use tx::{Scope, Tx};
pub use usage::{RedisUsage, Usage, UsageFilter, UsageRow};
pub use users::{NewUser, UserRow, Users};
pub use views::{Views, ViewsRow};
pub use webhooks::{
    NewWebhook, PreviousSecret, WebhookHealth, WebhookRotation, WebhookRow, WebhookTarget,
    WebhookWrite, Webhooks,
};
