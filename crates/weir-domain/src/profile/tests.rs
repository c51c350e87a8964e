use std::collections::BTreeMap;

use super::*;
use crate::limit::COST_MAX;
use crate::request::Request;

impl ProxyHeaders for [(&'static str, &'static [u8])] {
    fn values<'a>(&'a self, name: &str) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        self.iter().filter(move |(known, _)| *known == name).map(|(_, value)| *value)
    }
}

fn header(name: &str) -> AttributeSource {
    AttributeSource::Value(value(Part::Headers, name))
}

fn value(part: Part, name: &str) -> ValueSource {
    ValueSource { part, name: name.to_owned(), hash: false, default: None }
}

fn path_folding(folds: impl IntoIterator<Item = PathFold>) -> AttributeSource {
    let fold = folds.into_iter().collect();
    AttributeSource::Path { fold, templates: Vec::new(), default: None }
}

fn draft(reads: Reads, sources: &[(&str, AttributeSource)]) -> ProfileDraft {
    ProfileDraft {
        name: "edge".to_owned(),
        reads,
        namespace: "api".to_owned(),
        trusted_hops: 1,
        attributes: sources.iter().map(|(name, of)| ((*name).to_owned(), of.clone())).collect(),
        cost: CostSource::Fixed(1),
        idempotency: None,
        deny_status: 429,
        domain: None,
    }
}

fn profile(reads: Reads) -> Profile {
    let sources = [
        ("ip", AttributeSource::Address { ipv6_prefix: 64 }),
        ("method", AttributeSource::Method),
        ("route", path_folding(PathFold::ALL)),
        ("host", AttributeSource::Host),
    ];
    Profile::parse(draft(reads, &sources)).expect("a valid profile")
}

fn asked<'a>(
    target: &'a str,
    headers: &'a [(&'static str, &'static [u8])],
) -> ProxyRequest<'a, [(&'static str, &'static [u8])]> {
    ProxyRequest { method: "GET", target, host: b"weir.internal:8081", headers }
}

fn attributes(request: &Request) -> BTreeMap<&str, &str> {
    request.attributes().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// All families at once, as a client can send them.
const EVERY: [(&str, &[u8]); 7] = [
    ("x-forwarded-method", b"PUT"),
    ("x-forwarded-uri", b"/forwarded?x=1"),
    ("x-forwarded-host", b"Forwarded.Example:443"),
    ("x-original-method", b"POST"),
    ("x-original-uri", b"/original?x=1"),
    ("x-original-host", b"original.example."),
    ("x-forwarded-for", b"6.6.6.6, 192.0.2.2"),
];

#[test]
fn profile_believes_one_family_of_headers() {
    for (reads, [method, route, host]) in [
        (Reads::ForwardAuth, ["PUT", "/forwarded", "forwarded.example"]),
        (Reads::AuthRequest, ["POST", "/original", "original.example"]),
        (Reads::ExtAuthz, ["GET", "/own", "weir.internal"]),
    ] {
        let request = profile(reads).request(&asked("/own", &EVERY)).expect("described");
        let expected = [("host", host), ("ip", "192.0.2.2"), ("method", method), ("route", route)];
        assert_eq!(attributes(&request), BTreeMap::from(expected), "{reads:?}");
        assert_eq!(request.namespace(), "api");
    }
}

#[test]
fn proxy_of_another_family_is_an_error_and_a_missing_host_is_not() {
    let without =
        |name: &str| -> Vec<_> { EVERY.into_iter().filter(|(known, _)| *known != name).collect() };
    for name in ["x-forwarded-method", "x-forwarded-uri", "x-forwarded-for"] {
        let headers = without(name);
        let missing = profile(Reads::ForwardAuth).request(&asked("/", &headers));
        assert_eq!(missing, Err(MissingHeader(name)));
    }
    let headers = without("x-forwarded-host");
    let request = profile(Reads::ForwardAuth).request(&asked("/", &headers)).expect("described");
    assert_eq!(request.attribute("host"), Some(""));
}

#[test]
fn address_is_counted_from_the_right() {
    let of = |hops: u8, forwarded: &'static [&'static str]| {
        let source = [("ip", AttributeSource::Address { ipv6_prefix: 64 })];
        let draft = ProfileDraft { trusted_hops: hops, ..draft(Reads::ExtAuthz, &source) };
        let profile = Profile::parse(draft).expect("a valid profile");
        let headers: Vec<_> =
            forwarded.iter().map(|line| ("x-forwarded-for", line.as_bytes())).collect();
        let request = profile.request(&asked("/", &headers)).expect("an address");
        request.attribute("ip").expect("an address").to_owned()
    };
    assert_eq!(of(1, &["6.6.6.6, 192.0.2.2"]), "192.0.2.2");
    assert_eq!(of(2, &["6.6.6.6, 192.0.2.2,10.0.0.1"]), "192.0.2.2");
    assert_eq!(of(2, &["6.6.6.6", "192.0.2.2", "10.0.0.1"]), "192.0.2.2");
    assert_eq!(of(3, &["192.0.2.2"]), "192.0.2.2", "fewer proxies than expected");
    assert_eq!(of(1, &["192.0.2.2:4711"]), "192.0.2.2");
    assert_eq!(of(1, &["::ffff:192.0.2.2"]), "192.0.2.2");
    assert_eq!(of(1, &["2001:db8:1:2:3:4:5:6"]), "2001:db8:1:2::");
    assert_eq!(of(1, &["[2001:db8:1:2:ffff::]:80"]), "2001:db8:1:2::", "one network");
    assert_eq!(of(1, &["unknown"]), "unknown");
    assert_eq!(of(1, &["a, "]), "");
}

#[test]
fn a_path_has_one_form_and_keeps_its_beginning() {
    let long = format!("/api/{}", "a".repeat(600));
    let other = format!("/api/{}b", "a".repeat(600));
    let of = |path: &str| {
        let source = [("route", path_folding(PathFold::ALL))];
        let profile = Profile::parse(draft(Reads::ExtAuthz, &source)).expect("a valid profile");
        let request = profile.request(&asked(path, &[])).expect("a path");
        request.attribute("route").expect("a path").to_owned()
    };
    for (path, route) in [
        ("/v1/me?token=x&namespace=evil", "/v1/me"),
        ("", ""),
        ("*", "*"),
        ("/", "/"),
        ("//", "/"),
        ("/..", "/"),
        ("/%6Cogin", "/login"),
        ("/%256Cogin", "/%6cogin"),
        ("/login%00x", "/login%00x"),
        ("/login%0d%0ax", "/login%0D%0Ax"),
        ("/%C3%BC/%ff/%C2%85", "/ü/%FF/%C2%85"),
        ("/100%/%zz/%4", "/100%/%zz/%4"),
        ("http://evil.example/login?x", "/login"),
        ("http://evil.example", "/"),
        ("/a://b/c", "/a:/b/c"),
        ("/login#x", "/login#x"),
        ("/Ü", "/ü"),
    ] {
        assert_eq!(of(path), route, "{path}");
    }
    assert_eq!(of(&long).len(), 512);
    assert!(of(&long).starts_with("/api/aaa"), "the rule of a prefix matches it");
    assert_ne!(of(&long), of(&other));
    assert_eq!(of(&long), of(&format!("{long}?x")));
}

#[test]
fn a_path_has_one_form_however_it_is_spelled() {
    let of = |reads: Reads, folds: &[PathFold], path: &'static str| {
        let source = [("route", path_folding(folds.iter().copied()))];
        let profile = Profile::parse(draft(reads, &source)).expect("a valid profile");
        let headers = [("x-original-uri", path.as_bytes())];
        let request = profile.request(&asked(path, &headers)).expect("a path");
        request.attribute("route").expect("a path").to_owned()
    };
    for path in [
        "//login",
        "/./login",
        "/x/../login",
        "/x//../login",
        "/../login",
        "/%2e/login",
        "/x/%2E%2e/login",
        "/%6cogin",
        "/%2flogin",
        "/x%2f..%2flogin",
        "\\login",
        "/x\\..\\login",
        "/%5Clogin",
        "/login?x",
        "http://a.example//login",
        "login",
    ] {
        for reads in [Reads::ExtAuthz, Reads::AuthRequest] {
            assert_eq!(of(reads, &[], path), "/login", "{path}");
        }
    }
    assert_eq!(of(Reads::AuthRequest, &[], "/login#x"), "/login", "as nginx");
    for (fold, path, folded, unfolded) in [
        (PathFold::Case, "/%4cOGIN", "/login", "/LOGIN"),
        (PathFold::TrailingSlash, "/login//", "/login", "/login/"),
        (PathFold::TrailingSlash, "/login/x/..", "/login", "/login/"),
        (PathFold::TrailingSlash, "/login/.", "/login", "/login/"),
        (PathFold::TrailingSlash, "/", "/", "/"),
        (PathFold::Parameters, "/login;a=b;c", "/login", "/login;a=b;c"),
        (PathFold::Parameters, "/login%3Ba", "/login", "/login;a"),
        (PathFold::Parameters, "/x/..;/login", "/login", "/x/..;/login"),
        (PathFold::Parameters, "/;a=b/login", "/login", "/;a=b/login"),
    ] {
        assert_eq!(of(Reads::ExtAuthz, &[fold], path), folded, "{path}");
        let others: Vec<_> = PathFold::ALL.into_iter().filter(|other| *other != fold).collect();
        assert_eq!(of(Reads::ExtAuthz, &others, path), unfolded, "{path}");
    }
}

#[test]
fn no_value_of_a_client_is_an_error() {
    let hashed = ValueSource { hash: true, ..value(Part::Headers, "Authorization") };
    let plan = ValueSource { default: Some("free".into()), ..value(Part::Headers, "x-plan") };
    let sources = [
        ("user", header("X-User")),
        ("client", AttributeSource::Value(hashed)),
        ("plan", AttributeSource::Value(plan)),
    ];
    let with = ProfileDraft {
        cost: CostSource::Header { name: "X-Cost".to_owned(), default: 3 },
        idempotency: Some("Idempotency-Key".to_owned()),
        ..draft(Reads::ExtAuthz, &sources)
    };
    let profile = Profile::parse(with).expect("a valid profile");
    let of = |headers: &[(&'static str, &'static [u8])]| {
        profile.request(&asked("/", headers)).expect("no error")
    };
    let empty = of(&[("x-user", b""), ("x-plan", b""), ("idempotency-key", b"")]);
    assert_eq!(attributes(&empty), BTreeMap::from([("plan", "free")]));
    assert_eq!((empty.cost(), empty.idempotency_key()), (3, None));

    let plain = of(&[("x-user", b"u-1"), ("x-user", b"u-2"), ("authorization", b"Bearer t")]);
    assert_eq!(plain.attribute("user"), Some("u-1,u-2"));
    let digest = "sha256:b5a4e44a1d4bcb1bc0a0a5ae7c1ecc6d3a5e2d8a0f5b2e7c";
    assert_eq!(
        plain.attribute("client").map(|value| (&value[..7], value.len())),
        Some((&digest[..7], 71))
    );

    for wrong in [&[b'u'; 513][..], b"\xff", b"a\x00b", "a\u{85}".as_bytes()] {
        let wrong: &'static [u8] = wrong.to_vec().leak();
        let request = of(&[("x-user", wrong), ("idempotency-key", wrong)]);
        let user = request.attribute("user").expect("a digest");
        assert!(user.starts_with("sha256:") && user.len() == 71, "{user}");
        assert_eq!(request.idempotency_key(), Some(user));
    }
    for (given, cost) in [
        ("7", 7),
        ("0", 1),
        ("-1", 3),
        ("1.5", 3),
        ("1,2", 3),
        ("99999999999999999999999", COST_MAX),
    ] {
        assert_eq!(of(&[("x-cost", given.as_bytes())]).cost(), cost, "{given}");
    }
}

/// The attribute `of` of a request for `target`, with this header `Cookie`.
fn value_of(source: AttributeSource, target: &str, cookies: &[&'static str]) -> Option<String> {
    let profile = Profile::parse(draft(Reads::ExtAuthz, &[("of", source)])).expect("valid");
    let headers: Vec<_> = cookies.iter().map(|line| ("cookie", line.as_bytes())).collect();
    let request = profile.request(&asked(target, &headers)).expect("described");
    request.attribute("of").map(ToOwned::to_owned)
}

#[test]
fn parameter_of_the_query_has_one_value_however_it_is_spelled() {
    let source = AttributeSource::Value(value(Part::Query, "plan"));
    for (target, expected) in [
        ("/a?plan=gold", Some("gold")),
        ("/a?x=1&plan=gold&y", Some("gold")),
        ("/a?%70lan=g%6Fld", Some("gold")),
        ("/a?PLAN=gold", Some("gold")),
        ("/a?plan=gold&plan=gold", Some("gold")),
        ("/a?plan=gold&Plan=1", Some("repeated")),
        ("/a?plan=&plan=1", Some("repeated")),
        ("/a?plan=a+b", Some("a b")),
        ("/a?plan=a%2Bb%26c", Some("a+b&c")),
        ("/a?plan=%2541", Some("%41")),
        ("/a?plan=a=b", Some("a=b")),
        ("/a?plan=", None),
        ("/a?plan", None),
        ("/a?plans=1", None),
        ("/plan=1", None),
        ("/a%3Fplan=1", None),
    ] {
        assert_eq!(value_of(source.clone(), target, &[]).as_deref(), expected, "{target}");
    }
    let forwarded = Profile::parse(draft(Reads::ForwardAuth, &[("of", source)])).expect("valid");
    let headers: [(&str, &[u8]); 1] = [("x-forwarded-uri", b"/a?plan=gold")];
    let request = forwarded.request(&asked("/?plan=of-the-gate", &headers)).expect("described");
    assert_eq!(request.attribute("of"), Some("gold"), "the family's, not the gate's own");
}

#[test]
fn cookie_is_counted_by_its_digest_however_it_is_spelled() {
    let source = AttributeSource::Value(ValueSource { hash: true, ..value(Part::Cookies, "sid") });
    let of = |lines: &[&'static str]| value_of(source.clone(), "/", lines);
    let expected = of(&["sid=s-1"]).expect("a digest");
    assert!(expected.starts_with("sha256:"), "{expected}");
    let spellings: [&[&str]; 6] = [
        &["a=1; sid=s-1; b=2"],
        &["a=1", "sid=s-1"],
        &["sid=\"s-1\""],
        &[" SID = s-1 ;"],
        &["sid=%73-1"],
        &["sid=s-1; sid=s-1"],
    ];
    for lines in spellings {
        assert_eq!(of(lines).as_ref(), Some(&expected), "{lines:?}");
    }
    let repeated = of(&["sid=s-1; sid=x"]);
    assert_ne!(repeated.as_ref(), Some(&expected));
    assert_eq!(repeated, of(&["sid=y", "SID=z"]), "one value for all that repeat it");
    for none in ["", "sid", "sid=", "xsid=s-1", "=s-1"] {
        assert_eq!(of(&[none]), None, "{none}");
    }
}

#[test]
fn segment_of_the_path_is_an_attribute_if_the_path_matches() {
    let with = |template: &str, folds: &[PathFold]| {
        let fold = folds.iter().copied().collect();
        AttributeSource::Value(value(Part::Segments { template: template.to_owned(), fold }, "id"))
    };
    for (template, target, expected) in [
        ("/users/{id}", "/users/7", Some("7")),
        ("/users/{id}", "//x/../%75sers//7/?a=1", Some("7")),
        ("/users/{id}", "/uSERS/A;b=c", Some("a")),
        ("/users/{id}", "/users", None),
        ("/users/{id}", "/users/7/posts", None),
        ("/users/{id}/*", "/users/7", None),
        ("/users/{id}/*", "/users/7/posts/8", Some("7")),
        ("/{tenant}/users/{id}", "/a/users/7", Some("7")),
        ("/{tenant}/users/{id}", "/a/groups/7", None),
        ("/{id}", "/", None),
    ] {
        let found = value_of(with(template, &PathFold::ALL), target, &[]);
        assert_eq!(found.as_deref(), expected, "{template} {target}");
    }
    let found = value_of(with("/Shops/{id}", &[]), "/Shops/A;b", &[]);
    assert_eq!(found.as_deref(), Some("A;b"));
}

#[test]
fn paths_with_ids_count_as_their_template() {
    let source = |default: Option<&str>| AttributeSource::Path {
        fold: PathFold::ALL.into(),
        templates: ["/users/{id}", "/users/{id}/*", "/health"].map(ToOwned::to_owned).into(),
        default: default.map(ToOwned::to_owned),
    };
    for (target, expected) in [
        ("/users/7", "/users/{id}"),
        ("/uSERS/%37/", "/users/{id}"),
        ("/users/7/posts/8", "/users/{id}/*"),
        ("/health?x", "/health"),
        ("/users", "/users"),
    ] {
        assert_eq!(value_of(source(None), target, &[]).as_deref(), Some(expected), "{target}");
    }
    assert_eq!(value_of(source(Some("other")), "/users", &[]).as_deref(), Some("other"));
}

#[test]
fn wrong_names_and_templates_are_refused_with_a_reason() {
    let segment = |template: &str| Part::Segments {
        template: template.to_owned(),
        fold: PathFold::ALL.into(),
    };
    let path = |templates: &[&str], default: Option<&str>| AttributeSource::Path {
        fold: PathFold::ALL.into(),
        templates: templates.iter().map(|&text| text.to_owned()).collect(),
        default: default.map(ToOwned::to_owned),
    };
    let many = vec!["/a"; TEMPLATES_MAX + 1];
    for (source, field, reason) in [
        (AttributeSource::Value(value(Part::Query, "")), "name", "1 to 64"),
        (AttributeSource::Value(value(Part::Query, "api_KEY")), "hash", "credential"),
        (AttributeSource::Value(value(Part::Cookies, "theme")), "hash", "credential"),
        (AttributeSource::Value(value(segment("users/{id}"), "id")), "path", "begin with `/`"),
        (AttributeSource::Value(value(segment("/Shops/{id}"), "id")), "path", "`/shops/{id}`"),
        (AttributeSource::Value(value(segment("/users/{id}/"), "id")), "path", "`/users/{id}`"),
        (AttributeSource::Value(value(segment("/u{id}"), "id")), "path", "whole segments"),
        (AttributeSource::Value(value(segment("/*/{id}"), "id")), "path", "only at the end"),
        (AttributeSource::Value(value(segment("/{id}/{id}"), "id")), "path", "once"),
        (AttributeSource::Value(value(segment("/{ID}"), "ID")), "path", "the name in `{ID}`"),
        (AttributeSource::Value(value(segment("/users/{id}"), "user")), "name", "a name of `path`"),
        (path(&["/a", "b"], None), "templates[1]", "begin with `/`"),
        (path(&many, None), "templates", "at most 32"),
        (path(&[], Some("x")), "default", "needs `templates`"),
        (path(&["/a"], Some("\0")), "default", ""),
    ] {
        let wrong = Profile::parse(draft(Reads::ExtAuthz, &[("of", source)])).expect_err(field);
        assert_eq!((wrong.len(), &*wrong[0].field), (1, &*format!("attributes.of.{field}")));
        assert!(wrong[0].reason.contains(reason), "{}: {}", wrong[0].field, wrong[0].reason);
    }
}

fn domain(name: &str, rename: &[(&str, &str)]) -> ProfileDraft {
    let rename = rename.iter().map(|&(key, name)| (key.to_owned(), name.to_owned())).collect();
    let domain = DomainDraft { name: name.to_owned(), descriptors: Descriptors::Separate, rename };
    ProfileDraft { domain: Some(domain), ..draft(Reads::RateLimitService, &[]) }
}

#[test]
fn entries_of_a_descriptor_are_attributes_and_none_is_an_error() {
    let profile = Profile::parse(domain("eg/Default", &[("Remote_Address", "ip")]));
    let profile = profile.expect("a valid profile");
    let rename = &profile.domain().expect("a domain").rename;
    let of = |entries: &[(&'static str, &'static str)]| {
        let entries = entries.iter().map(|&(key, value)| (key, value.as_bytes()));
        attributes_of(entries, rename).into_iter().collect::<Vec<_>>()
    };
    let owned = |all: &[(&str, &str)]| -> Vec<_> {
        all.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    assert_eq!(
        of(&[("remote_address", "192.0.2.1"), (":path", "/x"), ("X-User", "ada")]),
        owned(&[
            ("descriptor", "remote_address.:path.X-User"),
            ("ip", "192.0.2.1"),
            ("x-user", "ada"),
            ("x__path", "/x"),
        ])
    );
    assert_eq!(
        of(&[("generic_key", "a"), ("generic_key", "b"), ("descriptor", "own")]),
        owned(&[("descriptor", "own"), ("generic_key", "a"), ("generic_key_2", "b")])
    );
    assert_eq!(of(&[]), owned(&[("descriptor", "")]));
    let long: &'static str = "k".repeat(600).leak();
    for (key, value) in [("", "x"), (long, "x"), ("a", long), ("a", "\0"), ("\0\u{e4}", "x")] {
        for (name, value) in of(&[(key, value), (key, value)]) {
            assert_eq!(crate::names::attribute(&name), Ok(()), "{name}");
            assert_eq!(crate::names::value(&value), Ok(()), "{name}");
        }
    }
    let many: Vec<(&'static str, &'static str)> = (0..40).map(|_| ("key", "value")).collect();
    assert_eq!(of(&many).len(), 32);
}

#[test]
fn profile_of_a_domain_has_no_settings_of_headers() {
    let fields = |draft| -> Vec<String> {
        let wrong = Profile::parse(draft).expect_err("wrong").into_iter();
        wrong.map(|invalid| invalid.field).collect()
    };
    let attributes = [("method", AttributeSource::Method)];
    let with = |draft: ProfileDraft| ProfileDraft { domain: domain("d", &[]).domain, ..draft };
    assert_eq!(fields(draft(Reads::RateLimitService, &[])), ["domain"]);
    assert_eq!(fields(with(draft(Reads::ExtAuthz, &attributes))), ["domain"]);
    assert_eq!(fields(domain("", &[("a", "B")])), ["domain", "rename.a"]);
    let all = ProfileDraft {
        trusted_hops: 2,
        cost: CostSource::Fixed(2),
        idempotency: Some("x-request-id".to_owned()),
        deny_status: 403,
        ..draft(Reads::RateLimitService, &attributes)
    };
    assert_eq!(
        fields(with(all)),
        ["attributes", "trusted_hops", "cost", "idempotency", "deny_status"]
    );
}

#[test]
fn every_wrong_field_is_named() {
    let bare = |name: &str| value(Part::Headers, name);
    let sources = [
        ("ip", AttributeSource::Address { ipv6_prefix: 0 }),
        ("User", AttributeSource::Method),
        ("a", AttributeSource::Value(bare("X-Forwarded-For"))),
        ("b", AttributeSource::Value(bare("Authorization"))),
        ("c", AttributeSource::Value(bare("x y"))),
        ("d", AttributeSource::Value(ValueSource { default: Some("\0".into()), ..bare("x") })),
        ("e", AttributeSource::Value(bare("X-Weir-Key"))),
    ];
    let wrong = ProfileDraft {
        name: "Edge".to_owned(),
        namespace: "a b".to_owned(),
        trusted_hops: 0,
        cost: CostSource::Header { name: String::new(), default: 1 },
        idempotency: Some("a:b".to_owned()),
        deny_status: 503,
        ..draft(Reads::ExtAuthz, &sources)
    };
    let fields: Vec<_> = Profile::parse(wrong).expect_err("wrong").into_iter().collect();
    let fields: Vec<&str> = fields.iter().map(|invalid| invalid.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "name",
            "namespace",
            "trusted_hops",
            "deny_status",
            "idempotency.name",
            "cost.name",
            "attributes.User",
            "attributes.a.name",
            "attributes.b.hash",
            "attributes.c.name",
            "attributes.d.default",
            "attributes.e.name",
            "attributes.ip.ipv6_prefix",
        ]
    );
    for units in [0, COST_MAX + 1] {
        let wrong = ProfileDraft {
            cost: CostSource::Fixed(units),
            ..draft(Reads::ExtAuthz, &[("method", AttributeSource::Method)])
        };
        assert_eq!(Profile::parse(wrong).expect_err("a cost")[0].field, "cost");
    }
    let empty = Profile::parse(draft(Reads::ExtAuthz, &[])).expect_err("no attribute");
    assert_eq!(empty[0].field, "attributes");
}
