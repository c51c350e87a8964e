//! `weir capacity` prints what the chapter shows.

use weir_local::ScratchDir;

use crate::tour::{Step, shell, steps};

#[test]
fn chapter_shows_the_output_of_its_command() {
    let page = include_str!("../../docs/operate/capacity.md");
    let scratch = ScratchDir::create().expect("a scratch folder");
    let mut commands = 0;
    for step in steps(page) {
        let Step::Commands { text, output, .. } = step else { continue };
        let printed = shell(&text).current_dir(scratch.path()).output().expect("there is a bash");
        assert_eq!(String::from_utf8_lossy(&printed.stdout).trim_end(), output, "{text}");
        assert!(printed.status.success(), "{text}");
        commands += 1;
    }
    assert_eq!(commands, 1);
}
