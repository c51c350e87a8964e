//! Documents with profiles: `Gateway` holds one, by which proxies ask over HTTP; `EnvoyDomains` holds one for each domain of
//! the rate limit service.

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_wire::profiles::ProfileBody;
use weir_wire::words::Reads;

use crate::document::{
    Document, ENVOY_DOMAINS, GATEWAY, Renamed, list_without_metadata, map, parse, parse_all,
};
use crate::fields::{Fields, join};
use crate::yaml::Misplaced;

/// A profile of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct ProfileDocument {
    pub(crate) body: ProfileBody,
    pub(crate) renamed_from: Option<String>,
    pub(crate) fields: Fields,
    place: Location,
}

/// The place of a profile in its document.
#[derive(Debug, Clone, Copy)]
enum Location {
    /// The name is in `metadata`, the rest in `spec`.
    Gateway,
    /// Everything is in this entry of `spec`.
    Domain(usize),
}

/// The fields of the profile of a domain.
const DOMAIN_FIELDS: [&str; 6] =
    ["name", "namespace", "domain", "descriptors", "rename", "renamed"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
    #[serde(default)]
    renamed: Option<Renamed>,
}

impl ProfileDocument {
    /// The place of a field of the profile in its document.
    pub(crate) fn path(&self, field: &str) -> String {
        self.place.path(field)
    }
}

impl Location {
    fn path(self, field: &str) -> String {
        match (self, field) {
            (Self::Gateway, "name") => "metadata.name".to_owned(),
            (Self::Gateway, "renamed_from") => "metadata.renamed.from".to_owned(),
            (Self::Gateway, _) => join("spec", field),
            (Self::Domain(at), "renamed_from") => format!("spec[{at}].renamed.from"),
            (Self::Domain(at), _) => join(&format!("spec[{at}]"), field),
        }
    }
}

/// Reads the profile of a `Gateway`, or returns everything that is wrong with it.
pub(crate) fn gateway(document: Document) -> Result<ProfileDocument, Vec<Misplaced>> {
    let one = |error| vec![error];
    let Document { metadata, spec, fields } = document;
    let metadata = Value::Object(metadata);
    let Metadata { name, renamed } =
        parse(metadata, &fields, |path| join("metadata", path)).map_err(one)?;
    let mut spec = map(spec, "spec", &fields).map_err(one)?;
    if spec.contains_key("name") {
        let at = fields.position("spec.name");
        return Err(one(Misplaced::new(at, "`name` belongs in `metadata`".to_owned())));
    }
    if spec.get("reads").and_then(Value::as_str) == Some(Reads::RateLimitService.as_str()) {
        let text = format!("a profile of a domain is an entry of a document `{ENVOY_DOMAINS}`");
        return Err(one(Misplaced::new(fields.position("spec.reads"), text)));
    }
    spec.insert("name".to_owned(), name.into());
    profile(spec, renamed, &fields, Location::Gateway)
}

/// Reads the profiles of `EnvoyDomains`, or returns everything that is wrong with them.
pub(crate) fn domains(document: Document) -> Result<Vec<ProfileDocument>, Vec<Misplaced>> {
    let Document { metadata, spec, fields } = document;
    let entries = list_without_metadata(&metadata, spec, ENVOY_DOMAINS, &fields)?;
    let (mut read, mut wrong) = (Vec::new(), Vec::new());
    for (at, entry) in entries.into_iter().enumerate() {
        match domain(entry, at, &fields) {
            Ok(document) => read.push(document),
            Err(errors) => wrong.extend(errors),
        }
    }
    if wrong.is_empty() { Ok(read) } else { Err(wrong) }
}

fn domain(entry: Value, at: usize, fields: &Fields) -> Result<ProfileDocument, Vec<Misplaced>> {
    let (one, place) = (|error| vec![error], Location::Domain(at));
    let mut spec = map(entry, &format!("spec[{at}]"), fields).map_err(one)?;
    if let Some(other) = spec.keys().find(|field| !DOMAIN_FIELDS.contains(&field.as_str())) {
        let text = format!("unknown field `{other}`, expected one of {}", DOMAIN_FIELDS.join(", "));
        return Err(one(Misplaced::new(fields.position(&place.path(other)), text)));
    }
    let renamed = spec.shift_remove("renamed");
    let renamed = renamed.map(|renamed| {
        parse::<Renamed>(renamed, fields, |path| join(&place.path("renamed"), path))
    });
    let renamed = renamed.transpose().map_err(one)?;
    spec.insert("reads".to_owned(), Reads::RateLimitService.as_str().into());
    profile(spec, renamed, fields, place)
}

fn profile(
    spec: Map<String, Value>,
    renamed: Option<Renamed>,
    fields: &Fields,
    place: Location,
) -> Result<ProfileDocument, Vec<Misplaced>> {
    let body: ProfileBody = parse_all(Value::Object(spec), fields, |field| place.path(field))?;
    if let Err(wrong) = body.clone().parse() {
        let misplaced = wrong.into_iter().map(|wrong| {
            let at = fields.position(&place.path(&wrong.field));
            Misplaced::new(at, format!("`{}` {}", wrong.field, wrong.reason))
        });
        return Err(misplaced.collect());
    }
    let renamed_from = renamed.map(|renamed| renamed.from);
    Ok(ProfileDocument { body, renamed_from, fields: fields.clone(), place })
}

/// The kind of the document that holds a profile.
pub(crate) fn kind(profile: &ProfileBody) -> &'static str {
    if profile.reads == Reads::RateLimitService { ENVOY_DOMAINS } else { GATEWAY }
}
