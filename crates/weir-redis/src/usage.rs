//! An estimate of the keys and bytes that tenants have in Redis, from a random sample of keys.
//!
//! The work is bounded, however many keys there are. With `n` keys taken, a tenant that has the share `p` of all keys is
//! estimated with a standard error of √(p(1 − p) ÷ n): 2,000 keys give 1.1 percentage points at most.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use weir_domain::id::TenantId;

use crate::client::Client;
use crate::error::RedisError;

/// The estimated keys and bytes of one tenant in Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeysOfTenant {
    /// The number of keys that hold counters of a subject. A subject with logs has one for each log.
    pub subjects: u64,
    /// The size of all keys of the tenant, in bytes.
    pub bytes: u64,
}

/// The number of keys in one round trip.
const AT_ONCE: usize = 100;
const TIMEOUT: Duration = Duration::from_secs(2);

/// Takes `count` random keys of each primary and estimates the share of each tenant. Tenants with few keys can be missing.
pub async fn sample(
    client: &Client,
    count: usize,
) -> Result<HashMap<TenantId, KeysOfTenant>, RedisError> {
    let mut found = HashMap::new();
    for primary in client.primaries().await? {
        sample_primary(&primary, count, &mut found).await?;
    }
    Ok(found)
}

/// Adds the estimate of the keys of one primary.
async fn sample_primary(
    client: &Client,
    count: usize,
    found: &mut HashMap<TenantId, KeysOfTenant>,
) -> Result<(), RedisError> {
    let (mut connection, _) = client.connect(TIMEOUT).await?;
    let all: u64 = redis::cmd("DBSIZE").query_async(&mut connection).await?;
    let mut taken_of: HashMap<TenantId, KeysOfTenant> = HashMap::new();
    let mut taken = 0_u64;
    while all > 0 && taken < count as u64 {
        for (key, bytes) in some(&mut connection).await? {
            let Some((tenant, is_subject)) = read(&key) else { continue };
            let keys = taken_of.entry(tenant).or_default();
            keys.subjects += u64::from(is_subject);
            keys.bytes += bytes;
        }
        taken += AT_ONCE as u64;
    }
    let scaled = |sum: u64| {
        let product = u128::from(sum) * u128::from(all) / u128::from(taken.max(1));
        u64::try_from(product).unwrap_or(u64::MAX)
    };
    for (tenant, keys) in taken_of {
        let sum = found.entry(tenant).or_default();
        sum.subjects += scaled(keys.subjects);
        sum.bytes += scaled(keys.bytes);
    }
    Ok(())
}

/// Returns some random keys with their sizes in bytes.
async fn some(connection: &mut MultiplexedConnection) -> Result<Vec<(String, u64)>, RedisError> {
    let mut pipe = redis::pipe();
    for _ in 0..AT_ONCE {
        pipe.cmd("RANDOMKEY");
    }
    let keys: Vec<Option<Vec<u8>>> = pipe.query_async(connection).await?;
    let keys: Vec<String> =
        keys.into_iter().flatten().filter_map(|key| String::from_utf8(key).ok()).collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut pipe = redis::pipe();
    for key in &keys {
        pipe.cmd("MEMORY").arg("USAGE").arg(key);
    }
    // A key can have expired in the meantime.
    let bytes: Vec<Option<u64>> = pipe.query_async(connection).await?;
    Ok(keys.into_iter().zip(bytes).filter_map(|(key, bytes)| Some((key, bytes?))).collect())
}

/// The tenant of a key, and whether it holds counters of a subject.
fn read(key: &str) -> Option<(TenantId, bool)> {
    let (_tag, rest) = key.strip_prefix("weir:{")?.split_once("}:")?;
    let mut parts = rest.split(':');
    let (tenant, _namespace, kind) = (parts.next()?, parts.next()?, parts.next()?);
    Some((tenant.parse().ok()?, matches!(kind, "s" | "l")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_their_tenant() {
        let id = TenantId::from_u128(7);
        assert_eq!(read(&format!("weir:{{x}}:{id}:api:s:00")), Some((id, true)));
        assert_eq!(read(&format!("weir:{{x}}:{id}:api:l:rule_1:0:00")), Some((id, true)));
        assert_eq!(read(&format!("weir:{{x}}:{id}:api:i:00")), Some((id, false)));
        for other in ["", "weir:signal", "weir:{attempts}:00", "weir:{x}:s:1", "other:{}:s:"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn an_estimate_is_near_what_there_is() {
        let server = weir_local::shared::redis();
        let client = crate::client(&server.url()).expect("an address");
        let (mut connection, _) = client.connect(TIMEOUT).await.expect("redis answers");
        // Other tests use this server too, so the keys are counted afterwards.
        let (one, two) = (TenantId::from_u128(0xC0_0001), TenantId::from_u128(0xC0_0002));
        let mut pipe = redis::pipe();
        for at in 0..3_000 {
            let tenant = if at % 3 == 0 { two } else { one };
            let key = format!("weir:{{x}}:{tenant}:api:s:{at:032x}");
            pipe.cmd("HSET").arg(&key).arg("f").arg(at).ignore();
            pipe.cmd("EXPIRE").arg(&key).arg(60).ignore();
        }
        let () = pipe.query_async(&mut connection).await.expect("written");
        let found = sample(&client, 4_000).await.expect("a sample");
        let [one, two] = [one, two].map(|tenant| found[&tenant]);
        // 2,000 and 1,000 are expected; the bounds are more than six standard errors away.
        assert!((1_000..=3_000).contains(&one.subjects), "{one:?}");
        assert!((400..=1_900).contains(&two.subjects), "{two:?}");
        assert!(one.bytes > one.subjects * 40, "{one:?}");
    }
}
