//! Prepares the one part of the program that is not compiled: plotly.js, which draws the charts of the HTML report.
//!
//! Besides, it says by which digests a page knows its own scripts and styles from anybody else's.
//!
//! The script comes from the plotly crate. It is compressed here, once, so that a report costs 1.9 MB for it instead of
//! 4.7 MB; a browser unpacks it with `DecompressionStream`.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

/// What stands in a page as scripts and as styles, below `src/report/html`; mod.rs puts it there.
const SCRIPTS: [&str; 3] = ["base.js", "charts.js", "controls.js"];
const STYLES: [&str; 1] = ["style.css"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let sources = plotly::Plot::offline_js_sources();
    // The crate offers scripts for formulas beside it; ours has none.
    let script = sources
        .split("<script type=\"text/javascript\">")
        .find(|script| script.trim_start().starts_with("/**\n* plotly.js "))
        .and_then(|script| script.split("</script>").next())
        .ok_or("the plotly crate no longer carries plotly.js where build.rs looks for it")?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(script.as_bytes())?;
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    std::fs::write(folder.join("plotly.js.gz.base64"), STANDARD.encode(packed.finish()?))?;
    let sources = Path::new("src/report/html");
    let digests = |names: &[&str], made: &str| -> std::io::Result<String> {
        let mut all = vec![digest(made)];
        for name in names {
            println!("cargo::rerun-if-changed={}", sources.join(name).display());
            all.push(digest(&std::fs::read_to_string(sources.join(name))?));
        }
        Ok(all.join(" "))
    };
    // plotly.js makes an empty style element, and fills it rule by rule, which is no text of the page's.
    let policy = format!("script-src {}; style-src {}", digests(&SCRIPTS, script)?, digests(&STYLES, "")?);
    std::fs::write(folder.join("page.policy"), policy)?;
    let version = script.lines().nth(1).unwrap_or_default().trim_start_matches("* ");
    std::fs::write(folder.join("plotly.version"), version)?;
    Ok(())
}

/// As a content security policy names what may stand in a page: by its digest.
fn digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}
