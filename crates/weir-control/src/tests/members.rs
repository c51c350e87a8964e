//! Members and invitations: the right to invite, and the single use and the expiry of invitations. A tenant always has an
//! owner.

use serde_json::{Value, json};

use super::support::{Answer, Member, PASSWORD, Plane};
use crate::ControlSettings;

/// Invites an address. Returns the token.
async fn invite(plane: &Plane, by: &Member, email: &str, role: &str) -> String {
    let body = json!({ "email": email, "role": role });
    plane.by(by, "POST", "invitations").json(&body).send().await.expect(201).text("/token")
}

async fn accept(plane: &Plane, person: &Member, token: &str) -> Answer {
    let body = json!({ "token": token });
    plane.ask("POST", "/v1/invitations/accept").bearer(&person.token).json(&body).send().await
}

/// A person with an account who joined by invitation.
async fn joined(plane: &Plane, by: &Member, email: &str, role: &str) -> Member {
    let person = plane.member(email).await;
    let token = invite(plane, by, email, role).await;
    accept(plane, &person, &token).await.expect(200);
    Member { tenant: by.tenant.clone(), ..person }
}

async fn set_role(plane: &Plane, by: &Member, target: &Member, role: &str) -> Answer {
    let path = format!("members/{}", target.user);
    plane.by(by, "PATCH", &path).json(&json!({ "role": role })).send().await
}

async fn remove(plane: &Plane, by: &Member, target: &Member) -> Answer {
    plane.by(by, "DELETE", &format!("members/{}", target.user)).send().await
}

#[tokio::test]
async fn invited_person_joins_once_with_that_role() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("Eve@example.com").await;
    let token = invite(&plane, &ada, "eve@EXAMPLE.com", "editor").await;
    assert!(token.starts_with("invite_"), "{token}");

    let body = json!({ "token": token });
    let offer = plane.ask("POST", "/v1/invitations/preview").json(&body).send().await.expect(200);
    assert_eq!((offer.text("/tenant_name"), offer.text("/role")), ("Acme".into(), "editor".into()));
    assert_eq!(offer.text("/invited_by"), "ada@example.com");

    let tenant = accept(&plane, &eve, &token).await.expect(200);
    assert_eq!((tenant.text("/id"), tenant.text("/role")), (ada.tenant.clone(), "editor".into()));
    accept(&plane, &eve, &token).await.problem(404, "not_found");
    plane.ask("POST", "/v1/invitations/preview").json(&body).send().await.problem(404, "not_found");

    let members = plane.by(&ada, "GET", "members").send().await.expect(200);
    let rows = members.body["data"].as_array().expect("a list");
    let seen: Vec<_> = rows.iter().map(|row| (&row["email"], &row["role"])).collect();
    let (ada_row, eve_row) = (json!("ada@example.com"), json!("eve@example.com"));
    let (owner, editor) = (json!("owner"), json!("editor"));
    assert_eq!(seen, [(&ada_row, &owner), (&eve_row, &editor)]);
    assert!(!members.body.to_string().contains("argon2"), "no password is shown");

    let audit = plane.by(&ada, "GET", "audit?limit=2").send().await.expect(200);
    assert_eq!(audit.text("/data/0/action"), "member.join");
    assert_eq!(audit.text("/data/1/action"), "invitation.create");
    assert!(!audit.body.to_string().contains(&token), "the token is in no record");
}

#[tokio::test]
async fn an_invitation_holds_for_its_address_for_seven_days_and_until_replaced_or_revoked() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let other = invite(&plane, &ada, "other@example.com", "viewer").await;
    accept(&plane, &eve, &other).await.problem(403, "forbidden");

    let first = invite(&plane, &ada, "eve@example.com", "viewer").await;
    let second = invite(&plane, &ada, "eve@example.com", "editor").await;
    accept(&plane, &eve, &first).await.problem(404, "not_found");

    let open = plane.by(&ada, "GET", "invitations").send().await.expect(200);
    assert_eq!(open.text("/data/0/email"), "eve@example.com");
    assert_eq!(open.body["data"].as_array().map(Vec::len), Some(2));
    let invitation = format!("invitations/{}", open.text("/data/0/id"));
    plane.by(&ada, "DELETE", &invitation).send().await.expect(204);
    plane.by(&ada, "DELETE", &invitation).send().await.problem(404, "not_found");
    accept(&plane, &eve, &second).await.problem(404, "not_found");

    let late = invite(&plane, &ada, "late@example.com", "viewer").await;
    plane.advance(7 * 24 * 60 * 60 * 1000);
    let late_person = plane.member("late@example.com").await;
    accept(&plane, &late_person, &late).await.problem(404, "not_found");
}

#[tokio::test]
async fn an_invitation_opens_a_closed_installation_to_its_address_alone() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let token = invite(&plane, &ada, "new@example.com", "viewer").await;
    let closed = plane.also(ControlSettings::default());
    let options = closed.ask("GET", "/v1/auth/options").send().await.expect(200);
    assert_eq!(
        options.body,
        json!({ "signup_open": false, "signup_confirmed": false, "password_reset": false, "openid_connect": null })
    );
    let sign_up = |body: Value| closed.ask("POST", "/v1/auth/signup").json(&body).send();
    let with = |email: &str, invitation: &str| json!({ "email": email, "password": PASSWORD, "invitation": invitation });

    sign_up(json!({ "email": "new@example.com", "password": PASSWORD, "tenant_name": "T" }))
        .await
        .problem(403, "forbidden");
    sign_up(with("else@example.com", &token)).await.problem(403, "forbidden");
    sign_up(with("new@example.com", "invite_x")).await.problem(404, "not_found");
    let mut both = with("new@example.com", &token);
    both["tenant_name"] = json!("T");
    assert_eq!(sign_up(both).await.refused_field(), "tenant_name");

    let signed_up = sign_up(with("New@example.com", &token)).await.expect(201);
    assert_eq!(signed_up.text("/tenant/id"), ada.tenant);
    assert_eq!(signed_up.text("/tenant/role"), "viewer");
    sign_up(with("new@example.com", &token)).await.problem(404, "not_found");
}

#[tokio::test]
async fn the_last_owner_stays() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    set_role(&plane, &ada, &ada, "admin").await.problem(409, "conflict");
    remove(&plane, &ada, &ada).await.problem(409, "conflict");
    plane.by(&ada, "DELETE", "members/me").send().await.problem(409, "conflict");

    let eve = joined(&plane, &ada, "eve@example.com", "owner").await;
    // Both owners leave at once, and one of them must stay.
    let leave = |member| plane.by(member, "DELETE", "members/me").send();
    let (first, second) = tokio::join!(leave(&ada), leave(&eve));
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 409]);
}

#[tokio::test]
async fn admins_manage_all_but_owners() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let admin = joined(&plane, &ada, "admin@example.com", "admin").await;
    let eve = joined(&plane, &admin, "eve@example.com", "viewer").await;

    set_role(&plane, &admin, &eve, "editor").await.expect(200);
    set_role(&plane, &admin, &eve, "owner").await.problem(403, "forbidden");
    set_role(&plane, &admin, &ada, "viewer").await.problem(403, "forbidden");
    remove(&plane, &admin, &ada).await.problem(403, "forbidden");
    let owner = json!({ "email": "x@example.com", "role": "owner" });
    plane.by(&admin, "POST", "invitations").json(&owner).send().await.problem(403, "forbidden");
    let again = json!({ "email": "EVE@example.com", "role": "viewer" });
    plane.by(&admin, "POST", "invitations").json(&again).send().await.problem(409, "conflict");
}

#[tokio::test]
async fn a_changed_role_and_a_removal_hold_on_the_next_request() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = joined(&plane, &ada, "eve@example.com", "editor").await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
    let rule = json!({ "name": "r", "limits": limits });
    plane.by(&eve, "POST", "rules").json(&rule).send().await.expect(201);
    set_role(&plane, &ada, &eve, "viewer").await.expect(200);
    let rule = json!({ "name": "s", "limits": limits });
    plane.by(&eve, "POST", "rules").json(&rule).send().await.problem(403, "forbidden");
    remove(&plane, &ada, &eve).await.expect(204);
    plane.by(&eve, "GET", "rules").send().await.problem(404, "not_found");
    let eve_again = joined_again(&plane, &ada, &eve).await;
    plane.by(&eve_again, "DELETE", "members/me").send().await.expect(204);
    plane.by(&eve_again, "GET", "rules").send().await.problem(404, "not_found");
}

async fn joined_again(plane: &Plane, by: &Member, person: &Member) -> Member {
    let token = invite(plane, by, "eve@example.com", "viewer").await;
    accept(plane, person, &token).await.expect(200);
    person.clone()
}

#[tokio::test]
async fn what_a_removed_admin_made_is_revoked_or_listed() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = joined(&plane, &ada, "eve@example.com", "admin").await;
    let key = plane.key(&eve, &["admin"]).await;
    let own = plane.key(&ada, &["read"]).await;
    let token = invite(&plane, &eve, "friend@example.com", "admin").await;
    let friend = plane.member("friend@example.com").await;

    let removed = remove(&plane, &ada, &eve).await.expect(200);
    assert_eq!(removed.text("/invitations_revoked/0/email"), "friend@example.com");
    assert_eq!(removed.body["keys"].as_array().map(Vec::len), Some(1), "{:#}", removed.body);
    assert_eq!(removed.body["keys_revoked"], false);
    accept(&plane, &friend, &token).await.problem(404, "not_found");

    let keys = plane.by(&ada, "GET", "keys").send().await.expect(200);
    let former = |at: usize| keys.body["data"][at]["created_by_former_member"].clone();
    assert_eq!((former(0), former(1)), (json!(false), json!(true)), "{:#}", keys.body);

    let again = joined_again(&plane, &ada, &eve).await;
    let path = format!("members/{}?revoke_keys=true", again.user);
    let removed = plane.by(&ada, "DELETE", &path).send().await.expect(200);
    assert_eq!(removed.body["keys_revoked"], true);
    let with = |secret: &str| {
        let path = format!("/v1/tenants/{}/rules", ada.tenant);
        plane.ask("GET", &path).bearer(secret).send()
    };
    with(&key).await.problem(401, "unauthenticated");
    with(&own).await.expect(200);
}

#[tokio::test]
async fn nobody_joins_a_suspended_tenant() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let operator = plane.operator("op@example.com").await;
    let token = invite(&plane, &ada, "eve@example.com", "viewer").await;
    let new = invite(&plane, &ada, "new@example.com", "viewer").await;
    let suspend = |suspended: bool| {
        let path = format!("/v1/operator/tenants/{}", ada.tenant);
        let body = json!({ "suspended": suspended });
        plane.ask("PATCH", &path).bearer(&operator.token).json(&body).send()
    };
    suspend(true).await.expect(200);
    accept(&plane, &eve, &token).await.problem(403, "forbidden");
    let body = json!({ "email": "new@example.com", "password": PASSWORD, "invitation": new });
    let sign_up = plane.ask("POST", "/v1/auth/signup").json(&body).send().await;
    sign_up.problem(403, "forbidden");
    suspend(false).await.expect(200);
    accept(&plane, &eve, &token).await.expect(200);
}

#[tokio::test]
async fn viewers_see_no_secrets_in_addresses() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = joined(&plane, &ada, "eve@example.com", "viewer").await;
    let read = plane.key(&ada, &["read"]).await;
    let url = "https://hooks.example.com:8443/services/T000/SECRETTOKEN?key=hush";
    let body = json!({ "name": "chat", "url": url });
    plane.by(&ada, "POST", "webhooks").json(&body).send().await.expect(201);
    super::gates::beat(&plane).await;
    for secretive in [eve.token.as_str(), read.as_str()] {
        let get = |path: &str| {
            let path = format!("/v1/tenants/{}/{path}", ada.tenant);
            plane.ask("GET", &path).bearer(secretive).send()
        };
        let webhooks = get("webhooks").await.expect(200);
        assert_eq!(webhooks.text("/data/0/url"), "https://hooks.example.com:8443/…");
        let replicas = get("replicas").await.expect(200);
        assert_eq!(replicas.body["data"][0]["address"], Value::Null, "{:#}", replicas.body);
    }
    set_role(&plane, &ada, &eve, "editor").await.expect(200);
    let webhooks = plane.by(&eve, "GET", "webhooks").send().await.expect(200);
    assert_eq!(webhooks.text("/data/0/url"), url);
    let replicas = plane.by(&eve, "GET", "replicas").send().await.expect(200);
    assert_eq!(replicas.text("/data/0/address"), "http://10.1.2.3:8081");
}
