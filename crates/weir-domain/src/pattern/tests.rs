use super::*;

#[test]
fn cache_of_a_pattern_is_bounded_for_any_text() {
    // A pattern that needs 2^200 states, one with many states, and one too large for its cache.
    for text in ["(a|b)*a(a|b){200}c", "((a{0,10}){0,10}){0,10}z", r"(\w+\s*){4}z"] {
        let pattern = Pattern::parse(text).expect("small enough");
        for seed in 0..50_u64 {
            let letter =
                |at: u64| if (at * 31 + seed * 7 + at * at).is_multiple_of(3) { 'a' } else { 'b' };
            let value: String = (0..512).map(letter).collect();
            pattern.matches(&value);
            let retained = pattern.0.cache.try_lock().expect("no other thread");
            let bytes = retained.as_ref().map_or(0, Cache::memory_usage);
            assert!(bytes <= CACHE_BYTES_MAX, "{text}: {bytes}");
        }
        assert!(pattern.bytes() <= PATTERN_BYTES_MAX, "{text}");
    }
}

#[test]
fn threads_that_share_a_pattern_agree() {
    let pattern = Pattern::parse("^/v[0-9]+/(users|orders)/[0-9]{1,9}$").expect("a pattern");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let pattern = pattern.clone();
            scope.spawn(move || {
                for at in 0..500 {
                    assert!(pattern.matches(&format!("/v1/users/{at}")));
                    assert!(!pattern.matches(&format!("/v1/user/{at}")));
                }
            });
        }
    });
}
