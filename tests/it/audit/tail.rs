//! A reader that follows a log while the processes that write it are killed in the midst of commits.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{
    PATIENT_MS, Server, Stack, Tenant, print, seconds, send_signal, try_send, until,
};

/// The kills of each control plane.
const KILLS: usize = 4;

/// An entry as a reader sees it: its number and id, and the name that the change gave.
type Entry = (u64, String, String);

/// The entries after a number, at most 50.
async fn page(tenant: &Tenant<'_>, after: u64) -> Vec<Entry> {
    let path = format!("/audit?order=asc&limit=50&after={after}");
    let page = tenant.admin(Method::GET, &path, &Value::Null).await.expect(200);
    let entry = |entry: &Value| {
        let text = |pointer| entry.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let seq = entry["seq"].as_u64().expect("a number");
        (seq, text("/id").to_owned(), text("/after/name").to_owned())
    };
    page.body["data"].as_array().expect("entries").iter().map(entry).collect()
}

/// All entries after a number.
async fn read_on(tenant: &Tenant<'_>, read: &mut Vec<Entry>) {
    loop {
        let more = page(tenant, read.last().map_or(0, |entry| entry.0)).await;
        if more.is_empty() {
            return;
        }
        read.extend(more);
    }
}

/// The progress of the writers, for the killer.
#[derive(Default)]
struct Progress {
    over: AtomicBool,
    /// The answered changes of each control plane.
    answered: [AtomicUsize; 2],
}

/// Renames the tenant again and again, by both control planes. Returns the names that were answered with success.
async fn write(
    tenant: &Tenant<'_>,
    planes: &[Server; 2],
    progress: &Progress,
    writer: usize,
) -> Vec<String> {
    let mut names = Vec::new();
    let mut turn = writer;
    while !progress.over.load(Ordering::Relaxed) {
        turn += 1;
        let name = format!("writer {writer} turn {turn}");
        let url = format!("{}/api/v1/tenants/{}", planes[turn % 2].url, tenant.id);
        let change = tenant.http.request(Method::PATCH, &url).bearer_auth(&tenant.token);
        // A killed process answers nothing: whether it committed is seen in the log.
        if let Ok(answer) = try_send(change.json(&json!({ "name": name }))).await
            && answer.status == 200
        {
            progress.answered[turn % 2].fetch_add(1, Ordering::Relaxed);
            names.push(name);
        }
        tokio::task::yield_now().await;
    }
    names
}

/// Kills the control planes by turns while they commit, and starts them again.
async fn kill(stack: &Stack, planes: &[Server; 2], progress: &Progress) {
    for turn in 0..2 * KILLS {
        let (plane, answered) = (&planes[turn % 2], &progress.answered[turn % 2]);
        let before = answered.load(Ordering::Relaxed);
        until(seconds(60), "the process commits", async || {
            answered.load(Ordering::Relaxed) > before + turn
        })
        .await;
        send_signal(plane.pid(), "KILL");
        until(seconds(20), "the process ends", async || plane.exit_code().is_some()).await;
        plane.start_again();
        stack.until_ready(plane).await;
    }
    progress.over.store(true, Ordering::Relaxed);
}

#[tokio::test]
async fn reader_gets_each_entry_once_although_control_planes_are_killed_in_the_midst_of_commits() {
    let stack = Stack::start(PATIENT_MS).await;
    let planes = [(); 2].map(|()| stack.another_control(stack.control_url()));
    for plane in &planes {
        stack.until_ready(plane).await;
    }
    let tenant = Tenant::sign_up(&stack).await;
    let progress = Progress::default();
    let mut read = Vec::new();
    let follow = async {
        until(seconds(300), "the writers end", async || {
            read_on(&tenant, &mut read).await;
            progress.over.load(Ordering::Relaxed)
        })
        .await;
    };
    let writers = async {
        let write = |writer| write(&tenant, &planes, &progress, writer);
        let (one, two, three) = tokio::join!(write(0), write(1), write(2));
        [one, two, three].concat()
    };
    let ((), names, ()) = tokio::join!(follow, writers, kill(&stack, &planes, &progress));

    // The transactions of killed processes have ended when the next change is done.
    tenant.admin(Method::PATCH, "", &json!({ "name": "the last" })).await.expect(200);
    read_on(&tenant, &mut read).await;
    let mut whole = Vec::new();
    read_on(&tenant, &mut whole).await;
    assert_eq!(read, whole, "the reader that followed has what a reader of the whole log has");
    let numbers: Vec<u64> = read.iter().map(|entry| entry.0).collect();
    let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, expected, "each number once, in order");
    let ids: BTreeSet<_> = read.iter().map(|entry| &entry.1).collect();
    assert_eq!(ids.len(), read.len(), "each entry once");
    for name in &names {
        let found = read.iter().filter(|entry| entry.2 == *name).count();
        assert_eq!(found, 1, "{name} was answered with success");
    }
    let renamed = read.iter().filter(|entry| entry.2.starts_with("writer ")).count();
    print(&format!("{} kills, {} answered changes, {renamed} entries", 2 * KILLS, names.len()));
    assert!(renamed >= names.len());
}
