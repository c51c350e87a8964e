//! Parameters of the document: a control character in any of them is refused, and the problem names the parameter.

use serde_json::Value;

use super::support::Plane;

#[tokio::test]
async fn control_character_in_any_parameter_is_refused_and_named() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let document = serde_json::to_value(crate::openapi()).expect("a document serialises");
    let mut walked = 0;
    for (path, item) in document["paths"].as_object().expect("an object") {
        for (method, operation) in item.as_object().expect("an object") {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().expect("a name");
                for bad in ["%00", "%1F", "%7F", "a%0Ab", "%C2%85"] {
                    let Some(path) = with_value(path, operation, parameter, bad) else { continue };
                    let path = path.replace("{tenant}", &ada.tenant);
                    let ask = plane.ask(&method.to_uppercase(), &path).bearer(&ada.token);
                    let field = ask.send().await.refused_field();
                    assert_eq!(field, name, "{method} {path}");
                    walked += 1;
                }
            }
        }
    }
    assert!(walked > 500, "{walked} requests");
}

#[tokio::test]
async fn parameter_that_an_operation_does_not_have_is_refused_and_named() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let document = serde_json::to_value(crate::openapi()).expect("a document serialises");
    let mut walked = 0;
    for (path, item) in document["paths"].as_object().expect("an object") {
        // Programs that probe a process, and the provider of a sign-in, can add parameters of their own.
        if !path.starts_with("/api/") || path.ends_with("/oidc/callback") {
            continue;
        }
        for method in item.as_object().expect("an object").keys() {
            let path = path.replace("{tenant}", &ada.tenant);
            let ask = plane.ask(&method.to_uppercase(), &format!("{path}?dry_run=true"));
            assert_eq!(ask.bearer(&ada.token).send().await.refused_field(), "dry_run", "{path}");
            walked += 1;
        }
    }
    assert!(walked > 100, "{walked} requests");
}

/// The path with this value of a parameter, and a placeholder for each other parameter except `{tenant}`.
fn with_value(path: &str, operation: &Value, parameter: &Value, value: &str) -> Option<String> {
    let name = parameter["name"].as_str()?;
    let mut path = match parameter["in"].as_str()? {
        "path" => path.replace(&format!("{{{name}}}"), value),
        "query" => format!("{path}?{name}={value}"),
        _ => return None,
    };
    for other in operation["parameters"].as_array()? {
        let other = other["name"].as_str()?;
        if other != "tenant" {
            path = path.replace(&format!("{{{other}}}"), "x");
        }
    }
    Some(path)
}
