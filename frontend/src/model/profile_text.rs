//! A profile as JSON in a form, and the check that it makes of a client's request.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weir_domain::profile::{
    MissingHeader, Profile, ProxyHeaders, ProxyRequest, REQUEST_ID_HEADER, attributes_of,
};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_wire::profiles::ProfileBody;
use weir_wire::words::Reads;

use crate::model::json;

/// A request that a client sends to a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientRequest {
    pub method: String,
    /// The path with its query.
    pub target: String,
    pub host: String,
    pub address: String,
    /// The headers that the proxy passes on, or the entries of a descriptor, one `Name: value` per line.
    pub headers: String,
}

/// The profile in the text, or the reason why it is none.
pub fn parse(text: &str) -> Result<(ProfileBody, Profile), String> {
    let body: ProfileBody = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let profile = body.clone().parse().map_err(|wrong| {
        let each = wrong.iter().map(|field| format!("{} {}", field.field, field.reason));
        each.collect::<Vec<_>>().join("; ")
    })?;
    Ok((body, profile))
}

/// The text of a profile.
pub fn text(body: &ProfileBody) -> String {
    serde_json::to_string_pretty(body).unwrap_or_default()
}

/// The text of a new profile for a kind of proxy, as in the guide.
pub fn template(reads: Reads) -> String {
    let (name, id, deny_status) = match reads {
        // Traefik and Caddy ask once.
        Reads::ForwardAuth => ("edge", Value::Null, 429),
        Reads::AuthRequest => ("nginx", header(REQUEST_ID_HEADER), 403),
        Reads::ExtAuthz => ("envoy", header("x-request-id"), 429),
        Reads::RateLimitService => return template_of_domain(),
    };
    let profile: Value = json!({
        "name": name, "reads": reads.as_str(),
        "attributes": {
            "ip": { "from": "address" }, "method": { "from": "method" },
            "route": { "from": "path" }, "host": { "from": "host" },
        },
        "idempotency": id,
        "deny_status": deny_status,
    });
    json::read_value(&profile).map(|body| text(&body)).unwrap_or_default()
}

fn header(name: &str) -> Value {
    json!({ "from": "header", "name": name })
}

fn template_of_domain() -> String {
    let profile = json!({
        "name": "envoy-domain", "reads": Reads::RateLimitService.as_str(), "domain": "edge",
        "descriptors": "separate", "rename": { "remote_address": "ip" },
    });
    // Only these fields have an effect.
    serde_json::to_string_pretty(&profile).unwrap_or_default()
}

/// The check that a gate makes of the request, if the proxy describes it in the profile's family.
pub fn check_of(profile: &Profile, client: &ClientRequest) -> Result<Request, MissingHeader> {
    let passed = client.headers.lines().filter_map(|line| line.split_once(':'));
    if let Some(domain) = profile.domain() {
        let entries = passed.map(|(key, value)| (key.trim(), value.trim().as_bytes()));
        return Ok(check_of_entries(profile, attributes_of(entries, &domain.rename)));
    }
    let (method, uri, host) = match Reads::from(profile.reads()) {
        Reads::ForwardAuth => ("x-forwarded-method", "x-forwarded-uri", "x-forwarded-host"),
        Reads::AuthRequest => ("x-original-method", "x-original-uri", "x-original-host"),
        // The request itself describes it.
        Reads::ExtAuthz | Reads::RateLimitService => ("", "", ""),
    };
    let described = [
        (method, &client.method),
        (uri, &client.target),
        (host, &client.host),
        ("x-forwarded-for", &client.address),
    ];
    let described = described.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    let passed = passed.map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()));
    let headers: Vec<_> = passed.chain(described).collect();
    profile.request(&ProxyRequest {
        method: client.method.trim(),
        target: client.target.trim(),
        host: client.host.trim().as_bytes(),
        headers: &Headers(headers),
    })
}

/// The check of a descriptor with these attributes.
fn check_of_entries(profile: &Profile, attributes: BTreeMap<String, String>) -> Request {
    let namespace = profile.namespace().to_owned();
    let (operation, idempotency_key) = (Operation::Consume, None);
    let draft = RequestDraft { namespace, attributes, cost: 1, operation, idempotency_key };
    Request::parse(draft).expect("entries make no invalid values")
}

/// Names in lower case, with their values.
struct Headers(Vec<(String, String)>);

impl ProxyHeaders for Headers {
    fn values<'a>(&'a self, name: &str) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> ClientRequest {
        ClientRequest {
            method: "POST".to_owned(),
            target: "/v1/%6De?token=x".to_owned(),
            host: "Shop.Example:443".to_owned(),
            address: "2001:db8:1:2:3::4".to_owned(),
            headers: "X-User: ada\nX-Forwarded-Uri: /evil\nIdempotency-Key: 7\nno header"
                .to_owned(),
        }
    }

    #[test]
    fn templates_are_profiles_and_their_checks_have_the_attributes_of_the_request() {
        for &reads in Reads::ALL {
            let (body, profile) = parse(&template(reads)).expect("a profile");
            assert_eq!(body.reads, reads);
            assert_eq!(weir_domain::warnings::of_profile(&profile), Vec::<String>::new());
            if profile.domain().is_some() {
                continue;
            }
            let check = check_of(&profile, &client()).expect("described");
            let shown: Vec<_> =
                check.attributes().iter().map(|(n, v)| format!("{n}={v}")).collect();
            let expected =
                ["host=shop.example", "ip=2001:db8:1:2::", "method=POST", "route=/v1/me"];
            assert_eq!(shown, expected, "{reads:?}");
        }
    }

    #[test]
    fn headers_that_the_proxy_passes_on_can_be_attributes() {
        let text = r#"{ "name": "edge", "reads": "forward_auth",
            "attributes": { "user": { "from": "header", "name": "x-user" } },
            "idempotency": { "from": "header", "name": "idempotency-key" } }"#;
        let (_, profile) = parse(text).expect("a profile");
        let check = check_of(&profile, &client()).expect("described");
        assert_eq!((check.attribute("user"), check.idempotency_key()), (Some("ada"), Some("7")));
    }

    #[test]
    fn entries_of_a_descriptor_are_attributes() {
        let (_, profile) = parse(&template(Reads::RateLimitService)).expect("a profile");
        let headers = "Remote_Address: 192.0.2.7\nplan: free".to_owned();
        let check = check_of(&profile, &ClientRequest { headers, ..client() }).expect("described");
        assert_eq!(
            (check.attribute("ip"), check.attribute("plan")),
            (Some("192.0.2.7"), Some("free"))
        );
        assert_eq!(check.attribute("descriptor"), Some("Remote_Address.plan"));
    }

    #[test]
    fn text_that_is_no_profile_names_its_fault() {
        assert!(parse("{").is_err_and(|reason| reason.contains("line 1")));
        let wrong = template(Reads::ExtAuthz).replace("429", "500");
        assert_eq!(parse(&wrong).expect_err("a status"), "deny_status must be 429 or 403");
    }
}
