//! A skill with a file in a folder.

use askback::Skill;

pub(super) fn pirate() -> Skill {
    Skill::new(
        "---\nname: pirate\ndescription: Answers like a pirate.\nlicense: MIT\n---\nUse [these words](words/sea.md).\n",
    )
    .file("words/sea.md", "Ahoy, avast.\n")
}
