//! Says by which digests a page of the HTML report knows its own scripts and styles from anybody else's.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The scripts and styles of a page, below `src/forms/html`; mod.rs puts it there.
const SCRIPTS: [&str; 4] = ["base.js", "drawing.js", "charts.js", "controls.js"];
const STYLES: [&str; 1] = ["style.css"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let policy = format!("script-src {}; style-src {}", digests(&SCRIPTS)?, digests(&STYLES)?);
    std::fs::write(folder.join("page.policy"), policy)?;
    Ok(())
}

/// As a content security policy names what may stand in a page: by its digest.
fn digests(names: &[&str]) -> std::io::Result<String> {
    let mut all = Vec::new();
    for name in names {
        let file = Path::new("src/forms/html").join(name);
        println!("cargo::rerun-if-changed={}", file.display());
        all.push(format!("'sha256-{}'", STANDARD.encode(Sha256::digest(std::fs::read(file)?))));
    }
    Ok(all.join(" "))
}
