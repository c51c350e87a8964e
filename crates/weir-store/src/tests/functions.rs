//! Every function and trigger of the schema has a test that fails without it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;

/// Each function, with a test of its guarantee.
const FUNCTIONS: [(&str, &str); 70] = [
    ("weir_audit_hash", "every_direct_change_breaks_the_chain_where_it_happened"),
    ("weir_chain_audit", "untouched_chains_of_all_logs_verify"),
    ("weir_count_customers", "batch_is_added_once_and_those_of_all_gates_add_up"),
    ("weir_counted_rules", "busiest_rules_come_with_their_names_even_when_deleted"),
    ("weir_create_backup_login", "login_of_backups_reads_all_rows_and_writes_none"),
    ("weir_create_login", "login_with_more_privileges_than_its_plane_is_refused_in_every_role"),
    (
        "weir_customers_per_day",
        "smallest_customers_beyond_the_ceiling_are_summed_without_their_names",
    ),
    ("weir_delete_old_changes", "old_changes_are_deleted_unless_a_row_refers_to_them"),
    (
        "weir_delete_old_key_hours",
        "requests_of_keys_are_counted_by_hour_and_deleted_after_48_hours",
    ),
    ("weir_delete_old_quota_periods", "old_quota_periods_are_deleted_and_younger_ones_are_not"),
    ("weir_delete_old_statistics", "deletions_of_tenants_are_purged_after_a_year"),
    (
        "weir_delete_old_steps",
        "steps_are_written_once_and_deleted_after_two_hours_unless_redis_was_away",
    ),
    (
        "weir_delete_unusable_keys",
        "keys_that_ended_long_ago_are_deleted_once_no_gate_can_hold_them",
    ),
    (
        "weir_drop_old_day",
        "old_day_that_is_being_read_is_dropped_later_and_writers_do_not_queue_behind_it",
    ),
    ("weir_end_tokens", "changed_credentials_end_the_reset_and_the_sign_up_of_an_account"),
    (
        "weir_fold_customer_days",
        "smallest_customers_beyond_the_ceiling_are_summed_without_their_names",
    ),
    ("weir_forget_deliveries", "old_deliveries_and_firings_are_deleted_and_pending_ones_are_not"),
    ("weir_forget_firings", "old_deliveries_and_firings_are_deleted_and_pending_ones_are_not"),
    (
        "weir_freshness",
        "every_resolution_reads_the_same_before_and_after_a_roll_up_and_with_late_minutes",
    ),
    ("weir_gate", "gate_cannot_write_the_heartbeat_of_another"),
    ("weir_identity", "an_identity_is_seen_once_it_is_confirmed_and_linked_once"),
    ("weir_invitation", "credential_sees_exactly_the_rows_it_opens"),
    ("weir_is_invited", "an_invitation_of_any_tenant_is_known_until_it_expires"),
    ("weir_issue_password_reset", "operators_issue_resets_for_people_and_not_for_operators"),
    ("weir_issue_signup", "a_mailed_token_replaces_the_earlier_one_and_its_tenant"),
    ("weir_keep_days_of_tenants", "statistics_are_removed_after_the_days_of_the_tenants_ceiling"),
    ("weir_keep_plan_revisions", "plans_and_assignments_reach_the_gates"),
    ("weir_keep_profile_revisions", "revisions_of_a_profile_are_listed_restored_and_bounded"),
    ("weir_keep_revisions", "only_the_newest_revisions_of_a_rule_are_retained"),
    ("weir_keep_samples", "old_batches_and_those_above_the_size_are_deleted"),
    ("weir_key", "credential_sees_exactly_the_rows_it_opens"),
    ("weir_list_accounts", "operators_list_accounts_and_other_people_do_not"),
    ("weir_login", "credential_sees_exactly_the_rows_it_opens"),
    ("weir_note_ceiling", "ceilings_that_gates_enforce_are_published_and_others_are_not"),
    ("weir_note_change", "transaction_that_publishes_twice_loses_neither_change"),
    ("weir_note_default_ceiling", "ceilings_that_gates_enforce_are_published_and_others_are_not"),
    ("weir_note_installation", "change_that_was_not_published_is_published_by_its_commit"),
    ("weir_note_removal", "removed_override_is_recorded_and_the_remaining_ids_are_loaded"),
    ("weir_note_row", "suspension_and_revocation_reach_the_gates_and_use_of_a_key_does_not"),
    ("weir_note_tenant", "suspension_and_revocation_reach_the_gates_and_use_of_a_key_does_not"),
    ("weir_note_usage", "tenants_above_their_ceiling_of_live_subjects_are_counted"),
    ("weir_open_day", "partitions_are_created_and_dropped_and_take_over_earlier_rows"),
    ("weir_open_days", "partitions_are_created_and_dropped_and_take_over_earlier_rows"),
    ("weir_password_reset", "a_password_reset_is_seen_by_the_holder_of_its_token_and_spent_once"),
    ("weir_publish", "open_bulk_write_of_one_tenant_delays_no_revocation_of_another"),
    ("weir_publish_at_commit", "change_that_was_not_published_is_published_by_its_commit"),
    ("weir_publish_installation", "change_that_was_not_published_is_published_by_its_commit"),
    ("weir_purge_audit", "purged_chain_still_verifies_and_records_the_purge"),
    ("weir_raise_rulebook_version", "change_that_was_not_published_is_published_by_its_commit"),
    ("weir_request_password_reset", "a_requested_reset_is_stored_for_an_account_that_can_sign_in"),
    ("weir_request_signup", "waiting_sign_ups_are_bounded"),
    ("weir_revoke_own_invitations", "a_person_revokes_own_invitations_of_all_tenants"),
    (
        "weir_roll_up",
        "every_resolution_reads_the_same_before_and_after_a_roll_up_and_with_late_minutes",
    ),
    ("weir_roll_up_usage", "checks_are_exact_and_samples_keep_the_greatest_of_the_day"),
    ("weir_schema_versions", "schema_that_lacks_a_migration_is_older_and_one_with_more_is_not"),
    ("weir_session", "credential_sees_exactly_the_rows_it_opens"),
    ("weir_signup", "a_sign_up_is_seen_by_the_holder_of_its_token_and_by_the_owner"),
    (
        "weir_stamp_rulebook",
        "newest_ten_thousand_stamps_are_retained_and_a_version_set_back_ends_their_history",
    ),
    ("weir_subjects_freshness", "subjects_are_complete_until_their_sketches_were_written"),
    ("weir_sweep", "expired_rows_are_swept_in_batches"),
    ("weir_sweep_assignments", "assignments_are_swept_a_year_after_their_end"),
    ("weir_sweep_password_resets", "expired_password_resets_are_swept"),
    ("weir_sweep_signups", "expired_sign_ups_are_swept"),
    ("weir_take_alerts", "concurrent_evaluations_announce_a_denial_share_once_per_window"),
    ("weir_take_deliveries", "every_tenants_first_delivery_comes_before_any_tenants_second"),
    ("weir_take_quota_readings", "tenants_with_quotas_are_taken_once_until_they_are_due_again"),
    (
        "weir_tallies",
        "every_resolution_reads_the_same_before_and_after_a_roll_up_and_with_late_minutes",
    ),
    ("weir_tenant", "tenant_sees_its_own_rows_only"),
    (
        "weir_tenants_with_ended_overrides",
        "overrides_that_ended_are_found_and_deleted_unless_a_set_owns_them",
    ),
    ("weir_user", "person_sees_own_tenants_and_an_operator_all"),
];

/// Each trigger, with a test of the statements that fire it.
const TRIGGERS: [(&str, &str); 25] = [
    (
        "api_keys.api_keys_note_row",
        "suspension_and_revocation_reach_the_gates_and_use_of_a_key_does_not",
    ),
    ("assignments.assignments_note_row", "plans_and_assignments_reach_the_gates"),
    ("audit_entries.audit_entries_chain", "entries_appended_at_once_make_one_chain"),
    (
        "default_ceilings.default_ceilings_note",
        "ceilings_that_gates_enforce_are_published_and_others_are_not",
    ),
    (
        "identities.identities_end_tokens",
        "changed_credentials_end_the_reset_and_the_sign_up_of_an_account",
    ),
    ("installation.installation_note", "change_that_was_not_published_is_published_by_its_commit"),
    (
        "installation.installation_note_regions",
        "change_that_was_not_published_is_published_by_its_commit",
    ),
    (
        "installation.installation_unpublished_check",
        "change_that_was_not_published_is_published_by_its_commit",
    ),
    (
        "namespaces.namespaces_note_row",
        "settings_of_a_namespace_reach_the_gates_with_all_others_of_the_tenant",
    ),
    (
        "overrides.overrides_note_removal",
        "removed_override_is_recorded_and_the_remaining_ids_are_loaded",
    ),
    (
        "overrides.overrides_note_row",
        "open_bulk_write_of_one_tenant_delays_no_revocation_of_another",
    ),
    ("plans.plans_note_removal", "plans_and_assignments_reach_the_gates"),
    ("plans.plans_note_row", "plans_and_assignments_reach_the_gates"),
    ("profiles.profiles_note_removal", "written_and_removed_profiles_reach_the_gates"),
    ("profiles.profiles_note_row", "written_and_removed_profiles_reach_the_gates"),
    (
        "rulebook_versions.rulebook_versions_stamp",
        "version_of_another_history_is_unknown_and_everything_is_loaded",
    ),
    ("rules.rules_note_removal", "gate_loads_writes_and_deletions_after_its_version"),
    (
        "rules.rules_note_row",
        "change_that_is_published_late_is_loaded_by_a_gate_that_saw_a_later_start",
    ),
    (
        "second_factors.second_factors_end_tokens",
        "changed_credentials_end_the_reset_and_the_sign_up_of_an_account",
    ),
    (
        "tenant_ceilings.tenant_ceilings_note",
        "ceilings_that_gates_enforce_are_published_and_others_are_not",
    ),
    ("tenants.tenants_deleted_check", "change_that_was_not_published_is_published_by_its_commit"),
    ("tenants.tenants_note_insert", "gate_loads_writes_and_deletions_after_its_version"),
    (
        "tenants.tenants_note_update",
        "suspension_and_revocation_reach_the_gates_and_use_of_a_key_does_not",
    ),
    (
        "tenants.tenants_unpublished_check",
        "change_that_was_not_published_is_published_by_its_commit",
    ),
    ("users.users_end_tokens", "changed_credentials_end_the_reset_and_the_sign_up_of_an_account"),
];

#[tokio::test]
async fn every_function_and_trigger_has_a_test() {
    let database = database().await;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let functions = texts(
        &mut tx,
        "SELECT DISTINCT proname::text FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace ORDER BY 1",
    )
    .await;
    let triggers = texts(
        &mut tx,
        "SELECT concat_ws('.', tgrelid::regclass, tgname) FROM pg_trigger
        WHERE NOT tgisinternal AND tgparentid = 0 ORDER BY 1",
    )
    .await;
    let names =
        |of: &[(&str, &str)]| of.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(functions, names(&FUNCTIONS));
    assert_eq!(triggers, names(&TRIGGERS));

    let mut tests = BTreeSet::new();
    for crate_name in ["weir-store", "weir-control"] {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(crate_name);
        tests_below(&crate_folder.join("src/tests"), &mut tests);
    }
    for (name, test) in FUNCTIONS.iter().chain(&TRIGGERS) {
        assert!(tests.contains(*test), "the test of {name} is missing: {test}");
    }
}

fn tests_below(folder: &Path, tests: &mut BTreeSet<String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            tests_below(&path, tests);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let signatures = text.lines().filter_map(|line| line.strip_prefix("async fn "));
        tests.extend(signatures.filter_map(|line| Some(line.split_once('(')?.0.to_owned())));
    }
}
