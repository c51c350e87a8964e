//! Sign-in with a real OpenID Connect provider: linking, creation, refusals, and a provider that fails.

use std::net::TcpListener;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Http, OidcServer, Reply, Server, Stack, seconds, send, shared, until, weir};

const DASHBOARD: &str = "https://limits.example.com";
const PASSWORD: &str = "a password of mine";

/// A control plane with this provider.
async fn control_with(stack: &Stack, issuer: &str, signup: &str) -> Server {
    let settings = [
        ("WEIR_OIDC_ISSUER", issuer.to_owned()),
        ("WEIR_OIDC_CLIENT_ID", "weir".to_owned()),
        ("WEIR_OIDC_CLIENT_SECRET", OidcServer::SECRET.to_owned()),
        ("WEIR_OIDC_NAME", "Example ID".to_owned()),
        ("WEIR_DASHBOARD_URL", DASHBOARD.to_owned()),
        ("WEIR_SIGNUP", signup.to_owned()),
    ];
    stack.control_that_has(&settings).await
}

async fn post(control: &Server, path: &str, body: &Value) -> Reply {
    let url = format!("{}/api/v1{path}", control.url);
    send(Http::new().request(Method::POST, &url).json(body)).await
}

async fn sign_up(control: &Server, email: &str) -> Reply {
    let body = json!({ "email": email, "password": PASSWORD, "tenant_name": "Example" });
    post(control, "/auth/signup", &body).await.expect(201)
}

/// A request of a browser, which follows redirects by itself.
async fn open(control: &Server, path_and_query: &str, cookie: &str) -> Reply {
    let url = format!("{}/api/v1{path_and_query}", control.url);
    send(Http::without_redirects().request(Method::GET, &url).header("cookie", cookie)).await
}

/// The cookies that an answer sets, in the form that a browser sends.
fn cookies(reply: &Reply) -> String {
    let set = reply.headers.get_all("set-cookie").iter();
    let pairs = set.filter_map(|value| value.to_str().ok()?.split(';').next());
    pairs.collect::<Vec<_>>().join("; ")
}

fn location(reply: &Reply) -> String {
    reply.header("location").expect("a redirect").to_owned()
}

/// Begins a sign-in and identifies the person at the provider. Returns the cookie, and the path to which the provider redirects.
async fn at_provider(control: &Server, person: &str) -> (String, String) {
    let begun = open(control, "/auth/oidc?next=/t/x", "").await.expect(303);
    let back = OidcServer::sign_in(&location(&begun), person).await;
    let path = back.strip_prefix(&format!("{DASHBOARD}/api/v1")).expect("the dashboard").to_owned();
    (cookies(&begun), path)
}

/// A whole sign-in. Returns the last answer.
async fn sign_in(control: &Server, person: &str) -> Reply {
    let (cookie, path) = at_provider(control, person).await;
    open(control, &path, &cookie).await.expect(303)
}

/// The access token of the session that an answer began.
async fn token(control: &Server, answer: &Reply) -> String {
    assert_eq!(location(answer), "/sign-in?session=new&next=%2Ft%2Fx");
    let url = format!("{}/api/v1/auth/refresh", control.url);
    let request = Http::new().request(Method::POST, &url).header("cookie", cookies(answer));
    send(request).await.expect(200).text("/access_token")
}

async fn me(control: &Server, token: &str) -> Reply {
    let url = format!("{}/api/v1/me", control.url);
    send(Http::new().request(Method::GET, &url).bearer_auth(token)).await
}

#[tokio::test]
async fn a_verified_address_leads_to_its_account_and_ends_the_password_of_others() {
    let stack = shared().await;
    let server = OidcServer::start().await;
    let control = control_with(stack, &server.issuer, "open").await;
    let offered = Http::new().get(&format!("{}/api/v1/auth/options", control.url)).await;
    assert_eq!(offered.body["openid_connect"], "Example ID");
    let signed_up = sign_up(&control, "linked@example.com").await;

    let refused = sign_in(&control, "unverified-linked").await;
    assert_eq!(location(&refused), "/sign-in?problem=unverified&next=%2Ft%2Fx");
    me(&control, &signed_up.text("/access_token")).await.expect(200);

    let answer = sign_in(&control, "linked").await;
    let session = token(&control, &answer).await;
    let person = me(&control, &session).await.expect(200);
    assert_eq!(person.text("/user/id"), signed_up.text("/user/id"));
    assert_eq!(person.body["memberships"].as_array().map(Vec::len), Some(1));
    me(&control, &signed_up.text("/access_token")).await.expect(401);
    let log_in = json!({ "email": "linked@example.com", "password": PASSWORD });
    post(&control, "/auth/login", &log_in).await.expect(401);
    // The second time, the identity is known.
    let again = sign_in(&control, "linked").await;
    let session = token(&control, &again).await;
    assert_eq!(me(&control, &session).await.text("/user/id"), signed_up.text("/user/id"));
    let url = format!("{}/api/v1/me/audit", control.url);
    let request = Http::new().request(Method::GET, &url).bearer_auth(&session);
    let audit = send(request).await.expect(200).body.to_string();
    assert!(audit.contains("user.identity_link") && audit.contains(&server.issuer), "{audit}");
    // There is no password to confirm a change with.
    let url = format!("{}/api/v1/me/password", control.url);
    let change = json!({ "current_password": "", "new_password": "another password of mine" });
    let refused = Http::new().post(&url, &session, &change).await.expect(422);
    assert!(refused.body.to_string().contains("this account has no password"), "{}", refused.body);
    let fresh = sign_in(&control, "fresh").await;
    let session = token(&control, &fresh).await;
    let person = me(&control, &session).await.expect(200);
    assert_eq!(person.text("/user/email"), "fresh@example.com");
    assert_eq!(person.text("/user/name"), "Person fresh");
    assert_eq!(person.body["memberships"], json!([]));
}

#[tokio::test]
async fn an_account_stays_with_its_identity_until_an_operator_unlinks_it() {
    let stack = shared().await;
    let server = OidcServer::start().await;
    let control = control_with(stack, &server.issuer, "open").await;
    let owner = sign_up(&control, "unlinked@example.com").await;
    let invite = async |session: &str, email: &str| {
        let url =
            format!("{}/api/v1/tenants/{}/invitations", control.url, owner.text("/tenant/id"));
        let body = json!({ "email": email, "role": "admin" });
        Http::new().post(&url, session, &body).await.expect(201).text("/token")
    };
    let preview = async |token: &str| {
        post(&control, "/invitations/preview", &json!({ "token": token })).await.status
    };
    // Another person can have made the account, and invited others to it.
    let early = invite(&owner.text("/access_token"), "early@example.com").await;
    assert_eq!(preview(&early).await, 200);
    let session = token(&control, &sign_in(&control, "unlinked").await).await;
    assert_eq!(preview(&early).await, 404);
    let late = invite(&session, "late@example.com").await;

    // Another person at the provider has the same address.
    let refused = sign_in(&control, "other-unlinked").await;
    assert_eq!(location(&refused), "/sign-in?problem=linked&next=%2Ft%2Fx");
    assert!(!cookies(&refused).contains("weir_refresh"));
    me(&control, &session).await.expect(200);
    token(&control, &sign_in(&control, "unlinked").await).await;
    assert_eq!(preview(&late).await, 200);

    let unlink = ["user", "unlink", "--email", "unlinked@example.com"];
    let database = [("WEIR_DATABASE_URL", stack.postgres.url("weir"))];
    let database = database.each_ref().map(|(name, value)| (*name, value.as_str()));
    let unlinked = weir(&unlink, &database, "");
    let said = String::from_utf8_lossy(&unlinked.stdout).into_owned();
    assert!(said.contains("unlinked, 2 sessions and 1 invitation ended"), "{said} {unlinked:?}");
    me(&control, &session).await.expect(401);
    assert_eq!(preview(&late).await, 404);
    assert!(!weir(&unlink, &database, "").status.success(), "it is not linked any more");
    let other = token(&control, &sign_in(&control, "other-unlinked").await).await;
    assert_eq!(me(&control, &other).await.text("/user/id"), owner.text("/user/id"));
    let refused = sign_in(&control, "unlinked").await;
    assert_eq!(location(&refused), "/sign-in?problem=linked&next=%2Ft%2Fx");
}

#[tokio::test]
async fn a_sign_in_belongs_to_the_browser_that_began_it_and_works_once() {
    let stack = shared().await;
    let server = OidcServer::start().await;
    let control = control_with(stack, &server.issuer, "open").await;
    let (cookie, path) = at_provider(&control, "victim").await;
    let (others, _) = at_provider(&control, "attacker").await;
    let expired = "/sign-in?problem=expired&next=";
    for wrong in ["", others.as_str(), "__Host-weir_oidc=1.a.b.c.d.e"] {
        let refused = open(&control, &path, wrong).await.expect(303);
        assert_eq!(location(&refused), expired, "{wrong}");
        assert!(!cookies(&refused).contains("weir_refresh"));
    }
    let foreign = path.replace("iss=http", "iss=https");
    assert_ne!(foreign, path);
    let refused = open(&control, &foreign, &cookie).await.expect(303);
    assert_eq!(location(&refused), "/sign-in?problem=provider&next=%2Ft%2Fx");
    let answer = open(&control, &path, &cookie).await.expect(303);
    token(&control, &answer).await;
    let repeated = open(&control, &path, &cookie).await.expect(303);
    assert_eq!(location(&repeated), "/sign-in?problem=expired&next=%2Ft%2Fx");
    let denied = open(&control, "/auth/oidc/callback?error=access_denied", &cookie).await;
    assert_eq!(location(&denied.expect(303)), expired);

    // A path is data of the query, and never the address.
    for next in ["//evil.example", "https://evil.example", "/\\evil.example", "/%0d%0aevil"] {
        let begun = open(&control, &format!("/auth/oidc?next={next}"), "").await;
        // Some of them are no address of a request.
        if begun.status != 303 {
            continue;
        }
        let back = OidcServer::sign_in(&location(&begun), "victim").await;
        let path = back.strip_prefix(&format!("{DASHBOARD}/api/v1")).expect("the dashboard");
        let to = location(&open(&control, path, &cookies(&begun)).await.expect(303));
        let encoded = to.strip_prefix("/sign-in?session=new&next=").expect("the sign-in page");
        assert!(encoded.chars().all(|c| c.is_ascii_alphanumeric() || c == '%'), "{to}");
    }
}

#[tokio::test]
async fn disabled_accounts_and_accounts_with_a_second_factor_are_refused_and_not_linked() {
    let stack = shared().await;
    let server = OidcServer::start().await;
    let control = control_with(stack, &server.issuer, "open").await;
    for email in ["factor-later@example.com", "factor@example.com"] {
        sign_up(&control, email).await;
    }
    token(&control, &sign_in(&control, "factor-later").await).await;
    let sql = "INSERT INTO second_factors SELECT id, '\\x00', now(), 0, now() FROM users
        WHERE email IN ('factor-later@example.com', 'factor@example.com')";
    stack.postgres.psql("weir", &["-c", sql]).expect("insert second factors");
    sign_up(&control, "away@example.com").await;
    let disable = ["user", "disable", "--email", "away@example.com"];
    let disabled = weir(&disable, &[("WEIR_DATABASE_URL", &stack.postgres.url("weir"))], "");
    assert!(disabled.status.success(), "{disabled:?}");
    for (person, problem) in
        [("factor", "second_factor"), ("factor-later", "second_factor"), ("away", "disabled")]
    {
        let refused = sign_in(&control, person).await;
        assert_eq!(location(&refused), format!("/sign-in?problem={problem}&next=%2Ft%2Fx"));
        assert!(!cookies(&refused).contains("weir_refresh"), "{person}");
    }
    let log_in = json!({ "email": "factor@example.com", "password": PASSWORD });
    let asked = post(&control, "/auth/login", &log_in).await.expect(401);
    assert_eq!(asked.problem(), "second_factor", "the password is still the right one");
    let sql = "SELECT count(*) FROM identities JOIN users ON users.id = user_id
        WHERE email IN ('factor@example.com', 'away@example.com')";
    assert_eq!(stack.postgres.psql("weir", &["-c", sql]).expect("count").trim(), "0");
}

#[tokio::test]
async fn closed_sign_up_admits_invited_addresses_alone() {
    let stack = shared().await;
    let server = OidcServer::start().await;
    let control = control_with(stack, &server.issuer, "closed").await;
    let refused = sign_in(&control, "guest-of-oidc").await;
    assert_eq!(location(&refused), "/sign-in?problem=no_account&next=%2Ft%2Fx");
    let owner = sign_up(&stack.control, "owner-of-oidc@example.com").await;
    let url = format!("{}/api/v1/tenants/{}/invitations", control.url, owner.text("/tenant/id"));
    let body = json!({ "email": "guest-of-oidc@example.com", "role": "viewer" });
    Http::new().post(&url, &owner.text("/access_token"), &body).await.expect(201);
    let admitted = sign_in(&control, "guest-of-oidc").await;
    token(&control, &admitted).await;
}

#[tokio::test]
async fn a_provider_that_is_away_or_silent_is_reported_on_the_sign_in_page() {
    let stack = shared().await;
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let silent = format!("http://{}", silent.local_addr().expect("it is bound"));
    let away = format!("http://127.0.0.1:{}", weir_local::free_port().expect("a port is free"));
    for issuer in [silent, away] {
        let control = control_with(stack, &issuer, "open").await;
        let answer = open(&control, "/auth/oidc?next=/t/x", "").await.expect(303);
        assert_eq!(location(&answer), "/sign-in?problem=unavailable&next=%2Ft%2Fx");
        assert!(answer.took < seconds(20), "{:?}", answer.took);
        until(seconds(20), "the reason is logged", async || {
            control.log().contains("could not redirect a sign-in to the provider")
        })
        .await;
        assert!(!control.log().contains(OidcServer::SECRET));
    }
}
