//! Prepares the one part of the program that is not compiled: plotly.js, which draws the charts of the HTML report.
//!
//! The script comes from the plotly crate. It is compressed here, once, so that a report costs 1.9 MB for it instead of
//! 4.7 MB; a browser unpacks it with `DecompressionStream`.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

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
    let version = script.lines().nth(1).unwrap_or_default().trim_start_matches("* ");
    std::fs::write(folder.join("plotly.version"), version)?;
    Ok(())
}
