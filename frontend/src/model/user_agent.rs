//! Names of browsers and programs, from their `User-Agent` header.

/// Names of browsers by their mark. Most browsers also have the marks of those below them.
const BROWSERS: [(&str, &str); 6] = [
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("HeadlessChrome/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Version/", "Safari"),
];

/// Names of systems by their mark. Android also has the mark of Linux, and iPhones have the one of macOS.
const SYSTEMS: [(&str, &str); 6] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// `Firefox 152 on Linux`. Whatever is not a known browser is named as it names itself.
pub fn label(user_agent: &str) -> String {
    if user_agent.is_empty() {
        return "unknown".to_owned();
    }
    browser(user_agent).unwrap_or_else(|| user_agent.to_owned())
}

fn browser(user_agent: &str) -> Option<String> {
    let comment = user_agent.strip_prefix("Mozilla/5.0 ")?;
    let found = |(mark, name): &(&str, &'static str)| Some((*name, comment.split_once(mark)?.1));
    let (name, rest) = BROWSERS.iter().find_map(found)?;
    let version: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let system = SYSTEMS.iter().find(|(mark, _)| comment.contains(mark)).map(|(_, name)| *name);
    Some(match system {
        Some(system) => format!("{name} {version} on {system}"),
        None => format!("{name} {version}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_named_with_their_system() {
        let cases = [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
                "Chrome 156 on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 \
                 Safari/537.36 Edg/156.0.0.0",
                "Edge 156 on Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 \
                 Safari/605.1.15",
                "Safari 26 on macOS",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 26_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                 Version/26.1 Mobile/15E148 Safari/604.1",
                "Safari 26 on iPhone",
            ),
            (
                "Mozilla/5.0 (Android 16; Mobile; rv:152.0) Gecko/152.0 Firefox/152.0",
                "Firefox 152 on Android",
            ),
            ("Mozilla/5.0 Firefox/152.0", "Firefox 152"),
        ];
        for (user_agent, expected) in cases {
            assert_eq!(label(user_agent), expected);
        }
    }

    #[test]
    fn programs_are_named_as_they_name_themselves() {
        for program in ["a script", "curl/8.14", "Mozilla/5.0 (compatible; robot)", "Firefox/152.0"]
        {
            assert_eq!(label(program), program);
        }
        assert_eq!(label(""), "unknown");
    }
}
