//! `completions` and `man`: what a shell and `man` are told.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use crate::world::World;

/// The commands that `icefield help` lists.
fn listed(world: &World) -> BTreeSet<String> {
    let help = world.ok(&["help"]);
    let commands = help.split("Commands:\n").nth(1).unwrap();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    // The description of a command may take more than one line.
    let named = lines.filter_map(|line| line.strip_prefix("  "));
    let named = named.filter(|line| !line.starts_with(' '));
    let words = named.filter_map(|line| line.split_whitespace().next());
    words.map(str::to_owned).collect()
}

#[test]
fn a_shell_learns_every_command() {
    let world = World::new();
    let commands = listed(&world);
    assert!(
        commands.contains("import") && commands.len() > 30,
        "{commands:?}"
    );
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = world.ok(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
        // Fish names a long option without its dashes.
        let option = if shell == "fish" {
            "-l append"
        } else {
            "--append"
        };
        assert!(script.contains(option), "{shell}");
    }
    world.fails(2, &["completions", "tcsh"]);
    assert!(!commands.contains("completions") && !commands.contains("man"));
}

#[test]
fn bash_completes_a_command_and_an_option() {
    let world = World::new();
    world.file("complete.bash", world.ok(&["completions", "bash"]));
    let complete = |words: &str, last: usize| {
        let script = format!(
            ". ./complete.bash; COMP_WORDS=({words}); COMP_CWORD={last}; \
             _icefield icefield \"${{COMP_WORDS[{last}]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let ran = Command::new("bash")
            .args(["-c", &script])
            .current_dir(world.path(""))
            .stdin(Stdio::null())
            .output();
        String::from_utf8(ran.unwrap().stdout).unwrap()
    };
    assert_eq!(complete("icefield cherry", 1), "cherry-pick\n");
    assert_eq!(complete("icefield import --app", 2), "--append\n");
}

#[test]
fn every_command_has_a_page() {
    let world = World::new();
    world.ok(&["man", "man/man1"]);
    let pages = world.files("man/man1");
    for command in listed(&world) {
        let page = format!("icefield-{command}.1");
        if command != "help" {
            assert!(pages.contains_key(&page), "{page}: {:?}", pages.keys());
        }
    }
    assert!(pages.contains_key("icefield-branch-create.1"));
    assert!(!pages.keys().any(|page| page.contains("completions")));
    let text = |page: &str| String::from_utf8(pages[page].clone()).unwrap();
    assert!(text("icefield.1").contains("Exit codes: 0 done"));
    assert!(text("icefield-import.1").contains("Append along this dimension"));
}

#[test]
fn pages_that_cannot_be_written_name_their_directory() {
    let world = World::new();
    world.file("taken", "a file");
    let error = world.fails(1, &["man", "taken"]);
    assert!(error.starts_with("error: taken: "), "{error}");
}
