//! Dead letters: listed, let wait again, and deleted.

use std::time::Duration;

use super::isolation::dead_letter;
use super::support::Plane;

#[tokio::test]
async fn dead_letter_is_listed_waits_again_and_another_one_is_deleted() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let tenant = ada.tenant.parse().expect("an id");
    let id = dead_letter(&plane, &ada.tenant).await;
    let listed = plane.by(&ada, "GET", "deferred/failed").send().await.expect(200);
    assert_eq!(listed.body["data"][0]["id"], id.to_string());
    assert_eq!(listed.body["data"][0]["payload"]["number"], 1);
    assert_eq!(listed.text("/data/0/error"), "the receiver answered 500");
    let usage = async || plane.by(&ada, "GET", "deferred").send().await.expect(200).body;
    assert_eq!((&usage().await["failed"], &usage().await["waiting"]), (&1.into(), &0.into()));

    let path = format!("deferred/{id}/retry");
    plane.by(&ada, "POST", &path).send().await.expect(202);
    plane.by(&ada, "POST", &path).send().await.expect(404);
    plane.by(&ada, "DELETE", &format!("deferred/{id}")).send().await.expect(404);
    assert_eq!((&usage().await["failed"], &usage().await["waiting"]), (&0.into(), &1.into()));
    let taken = plane.state.deferred.take(tenant, 1).await.expect("Redis");
    assert_eq!(taken.jobs[0].id, id);
    assert!(taken.next.is_some_and(|next| next > Duration::ZERO));

    assert!(plane.state.deferred.cancel(tenant, id).await.expect("Redis"));
    let claim = (id, taken.jobs[0].state.order.as_str(), taken.jobs[0].claim);
    let done = weir_redis::deferred::Settled::Delivered;
    assert!(plane.state.deferred.settle(tenant, claim, &done).await.expect("Redis"));
    let id = dead_letter(&plane, &ada.tenant).await;
    plane.by(&ada, "DELETE", &format!("deferred/{id}")).send().await.expect(204);
    let listed = plane.by(&ada, "GET", "deferred/failed").send().await.expect(200);
    assert_eq!(listed.body["data"].as_array().map(Vec::len), Some(0));
}
