//! Files that are none, and links.

use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;

fn sources(path: &Path) -> Result<Vec<String>, String> {
    let files = FilesArgs { files: vec![path.to_owned()] };
    let sources = files.sources().map_err(|error| format!("{error:#}"))?;
    Ok(sources.into_iter().map(|source| source.text).collect())
}

#[test]
fn links_are_followed_inside_the_folder_only() {
    let scratch = weir_local::ScratchDir::create().expect("a folder");
    let folder = scratch.path().join("rules");
    std::fs::create_dir_all(folder.join("..data")).expect("new");
    std::fs::write(folder.join("..data/rule.yaml"), "inside").expect("new");
    symlink("..data/rule.yaml", folder.join("rule.yaml")).expect("new");
    assert_eq!(sources(&folder), Ok(vec!["inside".to_owned()]), "as Kubernetes mounts files");
    std::fs::write(scratch.path().join("key"), "a secret").expect("new");
    symlink("../key", folder.join("stolen.yaml")).expect("new");
    let refused = sources(&folder).expect_err("a link out of the folder");
    assert!(refused.contains("is a link out of") && !refused.contains("secret"), "{refused}");
}

#[test]
fn only_regular_files_are_read_and_their_bytes_are_counted() {
    let scratch = weir_local::ScratchDir::create().expect("a folder");
    let pipe = scratch.path().join("pipe.yaml");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for path in [pipe.as_path(), Path::new("/dev/zero")] {
        let refused = sources(path).expect_err("no regular file");
        assert!(refused.contains("is not a regular file"), "{refused}");
    }
    assert!(sources(scratch.path()).is_err(), "in a folder too");
    let refused = read(Path::new("/dev/zero"), 1000).expect_err("endless").to_string();
    assert!(refused.contains("has more than 1000 bytes"), "{refused}");
    let full = scratch.path().join("full.yaml");
    std::fs::write(&full, "x".repeat(4 << 20)).expect("new");
    assert_eq!(sources(&full).map(|texts| texts[0].len()), Ok(4 << 20));
    std::fs::write(&full, "x".repeat((4 << 20) + 1)).expect("new");
    assert!(sources(&full).expect_err("too long").contains("has more than 4194304 bytes"));
}
